"""Laws of V that are steps: discrete records, and a continuous V that is rounded to a lattice before noise.

Such a law is a list of values v₁ < … < v_A and the levels of the distribution function between them, on the logit
scale: V ≤ v_i where the uniform variable behind it has a logit of at most ζ_i. The values do not depend on θ; the
levels do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.value_law.value import Floats, Tails, TransformedLaw, distinct
from confide.population import Population, density, tails
from confide.statistic import Statistic
from confide.statistic.transform import Function, apply

#: the most values that a law of steps may have
MOST_STEPS = 2**14


class Steps(NamedTuple):
    """Values (A,) and the logits of P(V ≤ v_i) for all but the last of them, (A − 1,)."""

    values: jax.Array
    levels: jax.Array

    def quantile(self, zeta: jax.Array) -> jax.Array:
        """The value at a logit; no derivative, for it jumps."""
        return self.values[jnp.searchsorted(self.levels, zeta)]


class DiscreteLaw(eqx.Module):
    """The law of s(clip X) for integer records: all integers inside the bounds, and an atom at each bound."""

    population: Population = eqx.field(static=True)
    points: Floats
    bounds: Floats
    values: Floats
    #: which value each of the points, the lower and the upper atom takes
    index: NDArray[np.intp]

    def masses(self, theta: jax.Array) -> jax.Array:
        """P(V = v_i)."""
        inside = jnp.exp(jax.vmap(lambda x: density.log_prob(self.population, x, theta))(self.points))
        low = tails.cdf(self.population, self.bounds[0], theta)
        # survival is P(X > x), and the upper atom holds P(X ≥ high)
        high = tails.survival(self.population, jnp.ceil(self.bounds[1]) - 1.0, theta)
        each = jnp.concatenate([inside, jnp.stack([low, high])])
        return jnp.zeros(self.values.shape).at[self.index].add(each)

    def steps(self, theta: jax.Array) -> Steps:
        """The values and levels at θ; each tail is a sum of positive terms."""
        masses = self.masses(theta)
        upper = jnp.cumsum(masses[::-1])[::-1]
        return Steps(jnp.asarray(self.values), Tails(jnp.cumsum(masses)[:-1], upper[1:]).logit())


def discrete_law(population: Population, statistic: Statistic) -> DiscreteLaw:
    """The law of s(clip X) for integer records."""
    (transform,) = statistic.transforms
    if not population.discrete or isinstance(transform, Function):
        raise IncompatibleError("a law of steps needs integer records and a statistic written as an expression")
    low, high = statistic.bounds
    points = np.arange(math.floor(low) + 1, math.ceil(high), dtype=np.float64)
    if points.size > MOST_STEPS:
        raise AccuracyError(
            f"there are {points.size:,} integers inside the bounds {statistic.bounds}, more than {MOST_STEPS:,}; "
            "narrow the bounds, or use latent methods"
        )
    each = np.asarray(apply(transform, np, np.concatenate([points, [low, high]]), low, high))
    values = distinct(each)
    index = np.searchsorted(0.5 * (values[1:] + values[:-1]), each)
    return DiscreteLaw(population, points, np.asarray([low, high]), values, index)


def cells(law: TransformedLaw, step: float, first: float, count: int, theta: jax.Array) -> Steps:
    """V rounded half up to the multiples of a step: the points first, …, first + count − 1, in units of the step.

    A point k holds (k − ½)·step ≤ V < (k + ½)·step, so that its upper level is P(V < (k + ½)·step).
    """
    index = first + jnp.arange(count)
    levels = law.tails((index[:-1] + 0.5) * step, theta)
    return Steps(index * step, levels.strict.logit())
