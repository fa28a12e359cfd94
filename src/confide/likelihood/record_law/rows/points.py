"""Scrambled Sobol points where more columns are continuous than panels can serve.

Values are quantiles of fixed uniform points, so that they move with θ and clip with them; discrete columns in between
are enumerated by weights. The points are scrambled but fixed, so that likelihoods are smooth in θ.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from confide.likelihood.record_law.rows import axis as axes
from confide.likelihood.record_law.rows.layout import RowLayout, layout
from confide.population import Population, density, tails
from confide.statistic import Statistic

Row = dict[str, jax.Array]

#: points of one scrambling, a power of two: chosen, moments of regressions on five covariates are right to a few 1e-4
#: of their standard deviations, beside 1e-2 of ten thousand records
SIZE = 2**12


def why_not_exact(population: Population, statistic: Statistic) -> str | None:
    """In words, where a mean of rows is known by such points; None where its law is integrated, or has no rows.

    >>> import confide as cf
    >>> three = cf.populations.independent(**dict.fromkeys("abc", cf.populations.normal()))
    >>> print(why_not_exact(three, cf.Mean("a + b", bounds={"a": (0, 1), "b": (0, 1)})))
    None
    >>> print(why_not_exact(three, cf.Mean("a + b + c", bounds=dict.fromkeys("abc", (0, 1)))))
    3 continuous columns are averaged over 4,096 points, which leaves thousandths of a row's standard deviation
    """
    if population.rows is None or not (statistic.averages or statistic.totals):
        return None
    found = layout(population, statistic)
    if not found.sampled:
        return None
    return (
        f"{found.continuous} continuous columns are averaged over {SIZE:,} points, which leaves thousandths of a row's "
        "standard deviation"
    )


@functools.lru_cache(maxsize=16)
def uniform(columns: int, size: int = SIZE, seed: int = 0) -> NDArray[np.float64]:
    """Points (columns, size) of the open unit cube."""
    from scipy.stats import qmc  # half a second that few need

    exponent = size.bit_length() - 1
    found = qmc.Sobol(columns, rng=np.random.default_rng(seed)).random_base2(exponent)
    # 32 bits of a scrambled point, and half a step further in: no quantile is infinite
    return np.ascontiguousarray((found + 2.0**-33).T)


def sampled(at: RowLayout, known: dict[str, Any], seed: int = 0) -> tuple[Row, jax.Array]:
    """What is seen of all columns, not yet clipped, (J,) each, and weights (J,)."""
    u = iter(uniform(at.continuous, SIZE, seed))
    row: Row = {}
    seen: Row = {}
    weights = jnp.full(SIZE, 1.0 / SIZE)
    for axis in at.axes:
        copies = weights.size // SIZE
        if axis.discrete:
            masses = _given(lambda theta, _, a=axis: axes.discrete(a, theta).weights, axis, known, row, weights)
            row, seen, weights = _split(row, seen, weights, masses)
            row[axis.name] = jnp.tile(jnp.asarray(axis.points), SIZE * copies)
        else:
            levels = jnp.repeat(jnp.asarray(next(u)), copies)
            row[axis.name], weights = _continuous(axis, known, row, levels, weights, at.jumps)
        seen[axis.name] = row[axis.name]
        if axis.law.missing is not None:
            name, constant = axis.law.missing
            row, seen, weights = _split(row, seen, weights, jnp.stack([1.0 - known[name], known[name]]))
            gone = jnp.arange(weights.size) % 2 == 1
            seen[axis.name] = jnp.where(gone, constant, seen[axis.name])
    return seen, weights


def _split(row: Row, seen: Row, weights: jax.Array, masses: jax.Array) -> tuple[Row, Row, jax.Array]:
    """Each node as often as there are masses (m,) or (J, m), which share its weight."""
    size = masses.shape[-1]
    row, seen = ({name: jnp.repeat(values, size) for name, values in part.items()} for part in (row, seen))
    return row, seen, (weights[:, None] * masses).ravel()


def _continuous(
    axis: Any, known: dict[str, Any], row: Row, levels: jax.Array, weights: jax.Array, jumps: bool
) -> tuple[jax.Array, jax.Array]:
    """Quantiles. Where the statistic jumps they stand still, and their weights have the derivative of the density."""

    def place(theta: jax.Array, level: jax.Array) -> jax.Array:
        return tails.quantile(axis.population, level, theta)

    x = _given(place, axis, known, row, levels)
    if not jumps:
        return x, weights
    x = lax.stop_gradient(x)
    log_p = _given(lambda theta, at: density.log_prob(axis.population, at, theta), axis, known, row, x)
    return x, weights * jnp.exp(log_p - lax.stop_gradient(log_p))


def _given(function: Any, axis: Any, known: dict[str, Any], row: Row, argument: jax.Array) -> jax.Array:
    """A function of the column's θ and a number, over all nodes."""
    needed = {name: row[name] for name in axis.law.needs if name in row}

    def one(given: Row, value: jax.Array) -> jax.Array:
        found: jax.Array = function(axis.law.theta(known, given), value)
        return found

    mapped: jax.Array = jax.vmap(one)(needed, argument)
    return mapped
