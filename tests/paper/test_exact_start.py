"""The paired exact start for the sampling loops of the paper, and planted bugs that it must catch.

θ₀ from the prior and y given θ₀ make θ₀ an exact posterior draw, so that no correct chain moves its mean.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from confide.inference.kernel import Averaged, PseudoMarginal
from confide.paper.metropolis import metropolis
from confide.paper.moments import clipped_moments
from confide.paper.settings import BOUND, ENDS
from confide.paper.targets import PowerEach, PowerMean
from tests.statistical.exact_start import ALPHA, p_value, scalar_prior

PRIOR = scalar_prior()


@dataclass(frozen=True)
class PowerCase:
    """A target of the paper, and exact draws from what it says."""

    #: what makes two cases one compiled function: the kind of target, power, n, the scale of the noise
    model: tuple[Any, int, int, float]
    prior: Any = PRIOR
    latent: str = "power"

    def target(self, value, prior):
        kind, power, n, scale = self.model
        return kind(prior, value, jnp.asarray(scale), power, n)

    def draw(self, key, theta, prior):
        kind, power, n, scale = self.model
        for_noise, for_value = jax.random.split(key)
        if kind is PowerEach:
            latent = jax.random.normal(for_noise, (n,))
            summary = jnp.abs(jnp.clip(jnp.sqrt(theta[0]) * latent, -BOUND, BOUND)) ** power
        else:
            mean, variance = clipped_moments(theta[0], power, BOUND)
            latent = summary = mean + jnp.sqrt(variance / n) * jax.random.normal(for_noise)
        return None, latent, summary + scale * jax.random.laplace(for_value, jnp.shape(summary))


#: noise-dominated and latent-informative, with either power
MEANS = {
    "noisy": (PowerCase((PowerMean, 2, 20, 5.0)), Averaged(5)),
    "informative": (PowerCase((PowerMean, 1, 4, 0.1)), Averaged(2)),
    "informative, estimated": (PowerCase((PowerMean, 1, 4, 0.1)), PseudoMarginal(2)),
}
EACH = {
    "noisy": (PowerCase((PowerEach, 2, 20, 20.0)), Averaged(5)),
    "informative": (PowerCase((PowerEach, 1, 4, 0.2)), Averaged(2)),
}


@pytest.mark.parametrize("regime", list(MEANS))
def test_a_noisy_mean_leaves_its_posterior_invariant(regime):
    case, kernel = MEANS[regime]
    assert p_value(case, kernel) > ALPHA


@pytest.mark.parametrize("regime", list(EACH))
def test_noisy_records_leave_their_posterior_invariant(regime):
    case, kernel = EACH[regime]
    assert p_value(case, kernel) > ALPHA


@pytest.mark.parametrize("regime", ["noisy", "informative"])
@pytest.mark.parametrize("cases", [MEANS, EACH], ids=["mean", "each"])
def test_planted_a_wrong_noise_scale(cases, regime):
    told, kernel = cases[regime]
    *same, scale = told.model
    assert p_value(told, kernel, target_case=PowerCase((*same, 0.7 * scale))) < ALPHA


CHAINS, RECORDS = 20_000, 100


def drift(scale, *, told=None, ends=ENDS, power=1, double=False):
    """The smallest p-value of the mean change in θ and in θ·(y − ȳ) over 24 steps from an exact start."""
    generator = np.random.default_rng(0)
    theta = generator.uniform(*ENDS, CHAINS)
    with jax.enable_x64(True):
        mean, variance = (np.asarray(part) for part in clipped_moments(jnp.asarray(theta), power, BOUND))
    value = mean + np.sqrt(variance / RECORDS + scale**2) * generator.normal(size=CHAINS)
    found = metropolis(value, told or scale, power=power, n=RECORDS, steps=24, key=1, sd=0.5, ends=ends, start=theta,
                       double=double)  # fmt: skip
    assert 0.05 < found.acceptance.mean() < 0.95
    change = (found.mean - theta)[:, None] * np.stack([np.ones(CHAINS), value - value.mean()], axis=1)
    z = np.abs(change.mean(axis=0)) / (change.std(axis=0, ddof=1) / np.sqrt(CHAINS))
    return min(1.0, z.size * 2 * stats.norm.sf(z.max()))


@pytest.mark.parametrize("power", [1, 2])
def test_algorithm_4_leaves_its_posterior_invariant(power):
    """Noise far above the spread of the mean, and far below it."""
    for scale in (10.0**power / 20, 10.0**power / 1000):
        assert drift(scale, power=power) > ALPHA


def test_planted_a_prior_flat_on_log_theta():
    assert drift(0.5, ends=None) < ALPHA


def test_planted_too_little_noise_in_algorithm_4():
    assert drift(0.5, told=0.35) < ALPHA
