"""Where chains start: near the mass however far into the prior it lies, apart, and not where nothing is possible."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.inference import start
from confide.inference.kernel import Averaged
from confide.inference.target.window import WindowTarget
from confide.prior import Prior

CHAINS = 64
#: the sd of the posterior, nearly: that of the median, √¼n / f(median), times dθ/d median
SPREAD = 2 * 2.0 / 0.954 * 0.5e-3 / (2 * 0.2247)


@pytest.fixture(scope="module")
def target():
    """A million records: the mass is a ten-thousandth of the prior, around 2."""
    population = cf.populations.normal_variance()
    channel = cf.Channel(cf.Median("abs(x)", bounds=(-10, 10)), cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4)), n=10**6)
    with jax.enable_x64(True):
        prior = Prior.of(population, {"variance": dist.Uniform(0.01, 60.0)})
        found = WindowTarget.of(prior, cf.Model(population, channel), jnp.asarray(0.954), True)
    assert found.anchor is not None
    return found


def thetas(target, key=0):
    with jax.enable_x64(True):
        return np.asarray(start.starts(Averaged(2), target, jax.random.key(key), CHAINS).theta)[:, 0]


def test_starts_are_near_the_mass_and_apart(target):
    found = thetas(target)
    assert np.unique(found).size == CHAINS
    # chosen by a power of the weight, they are wider spread than the posterior, and not by much
    assert np.all(np.abs(found - 2.0) < 10 * SPREAD)
    assert 0.5 * SPREAD < found.std() < 4 * SPREAD


def test_planted_draws_from_the_prior_have_no_offspring(target, monkeypatch):
    monkeypatch.setattr(start, "_GENERATIONS", 1)
    found = thetas(target)
    assert np.unique(found).size < CHAINS or np.any(np.abs(found - 2.0) > 10 * SPREAD)


def test_a_value_that_no_theta_can_have_published(target):
    with jax.enable_x64(True):
        impossible = eqx.tree_at(lambda each: each.value, target, jnp.asarray(np.inf))
    with pytest.raises(cf.InvalidArgument, match=r"density zero at all of 256 draws from the prior.* do not fit"):
        thetas(impossible)
