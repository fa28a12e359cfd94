"""The paired exact start: a test of any kernel, with no burn-in, no effective sizes and no tolerance.

Draw θ₀ from the prior, the latent from its law given θ₀ and y from the mechanism: (θ₀, latent₀) is then an exact draw
from the posterior given y. After any number of steps of a correct kernel, h(θ, latent, y) has the same mean, so that
the mean difference over independent replicates is zero: a z-test.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import confide as cf
from confide.inference.kernel import Averaged, CorrelatedPseudoMarginal, WithinGibbs
from confide.inference.kernel.proposal import Proposal
from confide.inference.target import EachTarget, RecordsTarget, StatisticTarget, quantiles
from confide.inference.target.window import Anchor, WindowTarget
from confide.likelihood.rank.pool import window_model
from confide.likelihood.rank.window import outward
from confide.prior import Prior

ALPHA = 1e-6
#: replicates side by side; a number of them that this does not divide would compile the chain twice
BATCH = 2500


@dataclass(frozen=True)
class Case:
    """A model, what is latent in it, and a prior."""

    latent: str
    model: cf.Model
    prior: Any

    def target(self, value, prior):
        model = self.model
        match self.latent:
            case "u":
                return StatisticTarget(prior, model, value)
            case "z" | "subset":
                subset = max(1, model.channel.n // 2) if self.latent == "subset" else None
                return RecordsTarget(prior, model.population, (model.channel,), (value,), subset)
            case "each":
                return EachTarget(prior, model, value)
            case "window":
                return WindowTarget(prior, model, value, None)
            case "anchored":
                low, high = (jnp.asarray(end, dtype=float) for end in model.channel.statistic.ranges[0])
                atoms = jnp.asarray([0.0, 0.1])  # abs(x) has an atom at its upper end only
                return WindowTarget(prior, model, value, Anchor(jnp.clip(value, low, high), 0.3, low, high, atoms))
        raise AssertionError(self.latent)

    def draw(self, key, theta, prior):
        """An exact draw: the noise behind the latent, the latent, and y."""
        for_noise, for_value = jax.random.split(key)
        channel, population = self.model.channel, self.model.population
        blank = jnp.zeros(channel.value_shape)
        if self.latent in ("window", "anchored"):
            free = WindowTarget(prior, self.model, blank, None)
            noise = free.noise(for_noise, 1)
            cap = (
                channel.law.window
            )  # ranks that do not exist have no exponentials, and whatever stands there is not used
            middle, *sides = noise
            sides = [jnp.pad(side, ((0, 0), (0, cap - side.shape[1])), constant_values=1.0) for side in sides]
            window = quantiles.window(self.model, outward(middle, *sides, free.ranks), theta)
            value = channel.law.sample(for_value, window[0])
            one = jax.tree.map(lambda leaf: leaf[0], noise)
            return (
                (one, one, value) if self.latent == "window" else (None, self._anchored(one, window[0], theta), value)
            )
        target = self.target(blank, prior)
        noise = target.noise(for_noise, 1)
        latents = target.place(noise, theta)
        if self.latent == "u":
            summary = latents[0] if channel.statistic.dimension > 1 else latents[0, 0]
        else:
            summary = channel.statistic.summary(population.transform(latents[0], theta), channel.law.window)
        one, latent = jax.tree.map(lambda leaf: leaf[0], (noise, latents))
        return one, latent, channel.law.sample(for_value, summary)

    def _anchored(self, one, window, theta):
        logit, above, below = one
        value = window[window.shape[0] // 2]
        levels = window_model(self.model).values.tails(value, theta)
        inside = (jax.nn.sigmoid(logit) - levels.strict.below) / jnp.maximum(levels.strict.above, 1e-300)
        return (value, jnp.where(levels.weak.above > 0, 0.5, inside)), above, below


@partial(jax.jit, static_argnums=2)
def prior_draws(prior, key, replicates):
    """θ₀ of every replicate: a gamma sampler takes long to compile, and one serves all cases."""
    return prior.sample(key, (replicates,))


@partial(jax.jit, static_argnums=0)
def exact_draws(case, keys, thetas):
    """Noise, latent and published value of every replicate, which serve all kernels."""
    return _map(lambda key, theta: case.draw(key, theta, case.prior), (keys, thetas))


@partial(jax.jit, static_argnums=(0, 5))
def differences(case, kernel, proposal, keys, starts, steps):
    """h after `steps` less h before, for each replicate: θ, θ², log weight and their product."""
    carries = isinstance(kernel, Averaged | WithinGibbs)

    def h(target, state):
        # the weight that a step reports is relative to its own pair; here it must be a function of the state
        weight = target.log_density(state.theta, state.latent) if carries else state.log_weight
        weight = jnp.clip(weight, -50.0, 50.0)
        return jnp.concatenate([state.theta, state.theta**2, weight[None], weight * state.theta])

    def one(key, theta, noise, latent, value):
        for_start, for_steps = jax.random.split(key)
        target = case.target(value, case.prior)
        start = kernel.init(for_start, target, theta, noise if isinstance(kernel, CorrelatedPseudoMarginal) else latent)

        def step(state, key):
            return kernel.step(key, target, proposal, state)[0], None

        end = jax.lax.scan(step, start, jax.random.split(for_steps, steps))[0]
        # side by side, the weight is compiled once
        before, after = jax.vmap(partial(h, target))(jax.tree.map(lambda *both: jnp.stack(both), start, end))
        return after - before

    return _map(one, (keys, *starts))


def _map(function, arguments):
    return jax.lax.map(lambda each: function(*each), arguments, batch_size=BATCH)


def p_value(case, kernel, *, key=0, steps=15, replicates=5_000, proposal=None, target_case=None):
    """The smallest p-value over the components of h, corrected for their number."""
    with jax.enable_x64(True):
        size = case.prior.free_dimension
        chosen = proposal or Proposal(0.8 * jnp.eye(size))
        for_theta, for_draws, for_chains = jax.random.split(jax.random.key(key), 3)
        thetas = prior_draws(case.prior, for_theta, replicates)
        starts = (thetas, *exact_draws(_Static(case), jax.random.split(for_draws, replicates), thetas))
        analyst, keys = _Static(target_case or case), jax.random.split(for_chains, replicates)
        found = np.asarray(differences(analyst, kernel, chosen, keys, starts, steps))
    error = found.std(axis=0, ddof=1) / np.sqrt(replicates)
    z = np.abs(found.mean(axis=0)) / np.where(error > 0, error, 1.0)
    return float(min(1.0, z.size * 2 * stats.norm.sf(z.max())))


class _Static:
    """A case as a static argument: equal if its model and latent are; the prior is a constant of the trace."""

    def __init__(self, case):
        self.case, self.prior = case, case.prior

    def __hash__(self):
        return hash((self.case.latent, self.case.model))

    def __eq__(self, other):
        return (self.case.latent, self.case.model, id(self.prior)) == (
            other.case.latent,
            other.case.model,
            id(other.prior),
        )

    def __getattr__(self, name):
        return getattr(self.case, name)


def scalar_prior(population=None):
    import numpyro.distributions as dist

    return Prior.of(population or cf.populations.normal_variance(), {"variance": dist.InverseGamma(3.0, 4.0)})
