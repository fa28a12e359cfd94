"""The quantile and distribution function of s(clip X) inside a chain, by the cheapest way that serves.

Where s is monotone between the bounds, Q_s = s(clip Q_X). Where s is even and increasing in |x| and records are
symmetric about 0, |X| has the upper tail 2 P(X > x), so that Q_s(u) = s(clip −Q_X((1−u)/2)). Otherwise the law of s(X)
is surveyed and inverted at every θ, and integer records are steps.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import sigmoid

from confide._compile import FAST_COMPILE, numbers_of
from confide.expression.evaluate import evaluate
from confide.likelihood.rank.pool import window_model
from confide.likelihood.rank.window import window_values
from confide.likelihood.value_law.quantile import quantile, survey
from confide.likelihood.value_law.value import Tails, TransformedLaw
from confide.model import Model
from confide.population import Population, space, tails

#: above so many records the levels near 1 need digits that a quantile function of u does not have
_MOST_RECORDS = 10**7
_PROBES = 64
_MONOTONE = ("increasing", "decreasing", "even")


@lru_cache(maxsize=256)
def shape(model: Model) -> str:
    """How s lies on the records: increasing, decreasing, even, surveyed (anything else) or steps."""
    law = window_model(model).values
    if not isinstance(law, TransformedLaw):
        return "steps"
    if model.channel.n > _MOST_RECORDS:
        return "surveyed"
    directions = set(law.directions)
    if directions in ({1}, {-1}) and _ordered(law):
        return "increasing" if directions == {1} else "decreasing"
    if _even(law) and _symmetric(model):
        return "even"
    return "surveyed"


def _ordered(law: TransformedLaw) -> bool:
    """Whether the pieces follow each other, so that their union is monotone."""
    ends = np.asarray(law.values)
    jumps = (ends[1:, 0] - ends[:-1, 1]) * (ends[-1, 1] - ends[0, 0])
    return bool(np.all(jumps >= 0))


def _even(law: TransformedLaw) -> bool:
    """Whether s(−x) = s(x), with s increasing in |x|: two mirrored halves of one tree."""
    knots, ends = np.asarray(law.knots), np.asarray(law.values)
    half = len(law.directions) // 2
    if not np.array_equal(knots, -knots[::-1]) or law.directions != (-1,) * half + (1,) * half:
        return False
    if np.any(ends[half + 1 :, 0] < ends[half:-1, 1]):
        return False
    x = np.linspace(0.0, knots[-1], 257)
    return bool(np.array_equal(evaluate(law.tree, x), evaluate(law.tree, -x)))


def _symmetric(model: Model) -> bool:
    """Whether records are symmetric about 0, at random θ and x."""
    population, generator = model.population, np.random.default_rng(1)
    free = 2.0 * generator.normal(size=(_PROBES, population.unconstrained_dimension))
    levels = generator.uniform(0.5, 0.95, _PROBES)
    with jax.enable_x64(True):
        below, above = numbers_of(_mirrored, levels, free, population=population)
    return bool(np.all(np.abs(np.asarray(below) - np.asarray(above)) <= 1e-13))


@partial(jax.jit, static_argnames="population", compiler_options=FAST_COMPILE)
def _mirrored(levels: jax.Array, free: jax.Array, population: Population) -> tuple[jax.Array, jax.Array]:
    """P(X ≤ −x) and P(X > x) at the quantiles x of levels."""

    def one(level: jax.Array, free: jax.Array) -> tuple[jax.Array, jax.Array]:
        theta = space.constrain(population.space, free)
        x = tails.quantile(population, level, theta)
        return tails.cdf(population, -x, theta), tails.survival(population, x, theta)

    return jax.vmap(one)(levels, free)


def window(model: Model, zeta: jax.Array, theta: jax.Array) -> jax.Array:
    """The values of a window at logits ζ of any shape; ranks that do not exist hold the ends of the range."""
    return window_at(model, Tails(sigmoid(zeta), sigmoid(-zeta)), theta)


def window_at(model: Model, levels: Tails, theta: jax.Array) -> jax.Array:
    """The same at levels that come with what is above them."""
    prepared, how = window_model(model), shape(model)
    law = prepared.values
    if how in _MONOTONE:
        assert isinstance(law, TransformedLaw)
        level = {"increasing": levels.below, "decreasing": levels.above, "even": 0.5 * levels.above}[how]
        x = jnp.vectorize(lambda q: tails.quantile(model.population, q, theta))(level)
        value = law.apply(-x if how == "even" else x)
        return jnp.where(levels.below == 0, prepared.low, jnp.where(levels.above == 0, prepared.high, value))
    zeta = jnp.where(levels.below == 0, -jnp.inf, jnp.where(levels.above == 0, jnp.inf, levels.logit()))
    if not isinstance(law, TransformedLaw):
        return window_values(_Fixed(law.steps(theta).quantile), zeta, prepared.low, prepared.high)  # type: ignore[arg-type]
    ladder = survey(law, theta, jnp.zeros((0,))).ladder
    return window_values(
        _Fixed(lambda z: quantile(law, ladder, z, theta)),  # type: ignore[arg-type]
        zeta,
        prepared.low,
        prepared.high,
    )


def level_of(model: Model, values: jax.Array, theta: jax.Array) -> tuple[Tails, jax.Array]:
    """P(V ≤ v) with what is above it, and the density of V, at values (M,); at the upper end of the range P(V < v).

    So at an end one tail is the mass of the atom of clipped records, and the other that of all others. For a law
    without gaps, and without atoms between the ends.
    """
    law, how = window_model(model).values, shape(model)
    assert isinstance(law, TransformedLaw)
    if how not in _MONOTONE:
        found, density = law.tails_and_density(values, theta)
        at_end = values >= law.cuts[-1]
        return Tails(*(jnp.where(at_end, *pair) for pair in zip(found.strict, found.weak, strict=True))), density
    x, density = law.from_one_side(values, theta, mirrored=how == "even")
    above = jax.vmap(lambda x: tails.survival(law.population, x, theta))(x)
    if how == "even":
        return Tails(1.0 - 2.0 * above, 2.0 * above), 2.0 * density
    below = jax.vmap(lambda x: tails.cdf(law.population, x, theta))(x)
    return Tails(below, above) if how == "increasing" else Tails(above, below), density


class _Fixed:
    """A quantile function in the place of a table."""

    def __init__(self, quantile: Callable[[jax.Array], jax.Array]) -> None:
        self.quantile = quantile
