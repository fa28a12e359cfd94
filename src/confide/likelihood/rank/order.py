"""The order route: the exact law of a noisy order statistic.

The m-th smallest of s(clip X₁), …, s(clip Xₙ) is u = Q(B; θ), with Q the quantile function of one s(clip X), atoms
included, and B ~ Beta(m, n−m+1) the m-th of n uniform variables; y = u + V. So p(y | θ) is an integral over one
variable whatever n is (Sec 3.3 of the paper samples it). `value_law` is the law of s(clip X), `rank_law` that of
B, `rule` puts nodes on their composition, `density` adds the noise, and `order_information` integrates
over y.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from confide.likelihood.rank import order_information
from confide.likelihood.rank.density import WIDEST, NoisyOrder, log_likelihood, noise_grid
from confide.likelihood.rank.rank_law import rank_law
from confide.likelihood.route import Floats, Route, require_finite
from confide.likelihood.score_integral import Told
from confide.likelihood.value_law.steps import MOST_STEPS, discrete_law
from confide.likelihood.value_law.value import transformed_law
from confide.mechanism.additive import AdditiveLaw
from confide.population import Population
from confide.statistic import Statistic
from confide.statistic.transform import Function

if TYPE_CHECKING:
    from confide.model import Model


@dataclass(frozen=True)
class Order(Route):
    """Exact p(y | θ) for `Maximum`, `Minimum`, `Median` and `Quantile` with additive noise.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Maximum("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=10)
    >>> cf.Order().refuses(cf.Model(cf.populations.normal_mean(), channel)) is None
    True
    """

    name = "order"
    error = "none (1e-8 or better)"
    for_many_thetas = True
    dear = True

    def refuses(self, model: Model) -> str | None:
        """What is not an order statistic with additive noise, or cannot be read, or is too fine."""
        channel = model.channel
        statistic, law = channel.statistic, channel.law
        if not statistic.ranked:
            return "the order route serves Maximum, Minimum, Median and Quantile; use route 'spectral' or 'records'"
        if law.smooths or law.selects:
            return "the noise depends on the records next to the order statistic; use route 'pool', or latent methods"
        if law.added is None:
            return "the order route serves additive noise; use a Laplace or Gaussian mechanism"
        return _unreadable(model.population, statistic) or _too_fine(statistic, law)

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """log p(y | θ) of one value at one θ, differentiable in θ, inside a trace."""
        return noisy_order(model).log_prob(theta, jnp.reshape(value, (1,)))[0]

    def traced(self, model: Model, thetas: jax.Array, values: jax.Array) -> jax.Array:
        """All θ against all values inside a trace: one rule per θ."""
        noisy = noisy_order(model)
        return jax.vmap(lambda theta: noisy.log_prob(theta, values))(thetas)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Float[Floats, "thetas values"]:
        """All θ (M, d) against all values (Y,): one rule per θ."""
        found = log_likelihood(noisy_order(model), np.asarray(thetas), np.asarray(values))
        return require_finite(model, thetas, values, found)

    def told(self, model: Model, thetas: Any) -> list[list[Told]]:
        """On panels of y, at two orders that must agree."""

        @functools.cache
        def of_records() -> np.ndarray:
            population, n = model.population, model.channel.n
            if not population.moving:
                return np.asarray(n * np.diagonal(population.fisher(thetas), axis1=1, axis2=2))
            # with ends that move there is no such number; a location or a scale is a matter of the spread
            low, high = np.asarray(population.quantile(np.array([0.1, 0.9]), np.asarray(thetas)[:, None])).T
            return np.asarray(n / np.square(high - low)[:, None] * np.ones_like(thetas))

        return order_information.told(noisy_order(model), np.asarray(thetas), str(model.channel.statistic), of_records)


def _unreadable(population: Population, statistic: Statistic) -> str | None:
    if isinstance(statistic.transforms[0], Function):
        return "the monotone pieces of a Python function cannot be read; write the statistic as an expression"
    low, high = statistic.bounds
    if population.discrete and high - low > MOST_STEPS:
        return f"there are more than {MOST_STEPS:,} integers inside the bounds; narrow them, or use latent methods"
    return None


def _too_fine(statistic: Statistic, law: Any) -> str | None:
    """Noise so small against the range that the nodes would be too many."""
    low, high = statistic.ranges[0]
    if law.noise.step is not None:
        if (high - low) / law.noise.step > MOST_STEPS:
            return f"the range of s holds more than {MOST_STEPS:,} lattice points; so fine a step can be left out"
        return None
    if (high - low) / law.noise.scale > WIDEST:
        return f"the noise is less than 1/{WIDEST:g} of the range of s; narrow the bounds, or use latent methods"
    return None


@functools.lru_cache(maxsize=256)
def noisy_order(model: Model) -> NoisyOrder:
    """The model's order statistic and noise, read once."""
    channel = model.channel
    statistic, law = channel.statistic, cast(AdditiveLaw, channel.law)  # `refuses` has looked at it
    read = discrete_law if model.population.discrete else transformed_law
    values = read(model.population, statistic)
    low, high = statistic.ranges[0]
    first, count = 0.0, 0
    if law.noise.step is not None:
        first = math.floor(low / law.noise.step + 0.5)
        count = math.floor(high / law.noise.step + 0.5) - int(first) + 1
    return NoisyOrder(
        values, rank_law(channel.n, statistic.rank(channel.n)), law, noise_grid(low, high, law), float(first), count
    )
