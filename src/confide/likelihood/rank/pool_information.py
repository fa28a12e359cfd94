"""The Fisher information from a pool of windows, with its standard error.

F = ∫ (∂p)(∂p)ᵀ/p dy on a grid of y. The pool comes in independent batches. In the numerator only products of
different batches are taken (a U-statistic), which removes the bias that squaring a noisy derivative has; what is
left, from the pooled p below, is removed to first order by the jackknife over batches, which also gives the standard
error.

Of the two unbiased derivatives at hand, pathwise and anchored (see `pool_density`), any mixture is unbiased as well:
each component of θ takes the one whose variance, integrated over y, is least.

Panels of y end at quantiles of values published from the pool itself, so they are as fine as p is; further out they
grow geometrically.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from confide._compile import IN_PARTS
from confide.likelihood.rank.pool_density import Slopes, WindowModel, slopes
from confide.likelihood.rank.window import WindowPool
from confide.likelihood.value_law.table import QuantileTable, StepTable
from confide.likelihood.value_law.value import TransformedLaw

# Panels of y with a few Gauss–Legendre nodes each: 64 between quantiles, 16 beyond them on either side.
_LEVELS = np.concatenate([[0.003, 0.006], np.linspace(0.0125, 0.9875, 61), [0.994, 0.997]])
_GROWTH = 1.9 ** np.arange(16)
_NODES, _WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(4))
#: batches of which one value each is published to find where y is
_TRIAL = 8
_LEAST = 1e-280


class Totals(NamedTuple):
    """Sums over batches of p (Y,), ∂p (d, Y) and (∂p)(∂p)ᵀ (d, d, Y)."""

    p: jax.Array
    slope: jax.Array
    square: jax.Array


def grid(model: WindowModel, table: QuantileTable | StepTable, pool: WindowPool) -> tuple[jax.Array, jax.Array]:
    """Nodes of y and their weights."""
    windows = model.windows(table, pool.zeta[:_TRIAL])
    y = model.law.sample(jax.random.key(0), windows).ravel()
    weight = jnp.exp(pool.log_weight[:_TRIAL].ravel())
    order = jnp.argsort(y)
    share = jnp.cumsum(weight[order])
    ends = jnp.interp(_LEVELS, share / share[-1], y[order])
    centre = ends[_LEVELS.size // 2]
    left, right = centre - ends[0], ends[-1] - centre
    beyond = [ends[0] - 0.3 * left * jnp.cumsum(_GROWTH), ends[-1] + 0.3 * right * jnp.cumsum(_GROWTH)]
    kinks = jnp.asarray(model.values.cuts) if isinstance(model.values, TransformedLaw) else jnp.zeros(0)
    ends = jnp.sort(jnp.concatenate([ends, *beyond, kinks]))
    if model.bounded:
        ends = jnp.clip(ends, model.low, model.high)
    width = jnp.diff(ends)[:, None]
    nodes = ends[:-1, None] + width * (_NODES + 0.5)
    return nodes.ravel(), (width * _WEIGHTS).ravel()


@partial(jax.jit, compiler_options=IN_PARTS)
def pool_information(model: WindowModel, theta: jax.Array, pool: WindowPool) -> tuple[jax.Array, jax.Array]:
    """F and its standard error at one θ (d,), each (d, d)."""
    table, push = jax.linearize(lambda t: model.table(t, pool.low, pool.high), theta)
    tangent = jax.vmap(push)(jnp.eye(theta.size))
    y, weight = grid(model, table, pool)
    found = slopes(model, table, tangent, pool, y)
    return jackknife(found.p, best_mixture(found, weight), weight)


def best_mixture(found: Slopes, weight: jax.Array) -> jax.Array:
    """The mixture of the two derivatives that varies least between batches, one share per component of θ."""
    density = jnp.maximum(jnp.mean(found.p, axis=0), _LEAST)
    gap = found.second - found.first
    spread, base = gap - jnp.mean(gap, axis=0), found.first - jnp.mean(found.first, axis=0)
    scale = jnp.where(density > _LEAST, weight / density, 0.0)
    variance = jnp.einsum("bdy,bdy,y->d", spread, spread, scale)
    share = -jnp.einsum("bdy,bdy,y->d", spread, base, scale) / jnp.where(variance > 0, variance, 1.0)
    return found.first + jnp.clip(share, 0.0, 1.0)[:, None] * gap


def jackknife(p: jax.Array, slope: jax.Array, weight: jax.Array) -> tuple[jax.Array, jax.Array]:
    """∫ (∂p)(∂p)ᵀ/p from batch means p (B, Y) and ∂p (B, d, Y): corrected for bias, and its standard error."""
    batches = p.shape[0]

    def information(totals: Totals, count: int) -> jax.Array:
        products = totals.slope[:, None] * totals.slope[None, :] - totals.square
        product, density = products / (count * (count - 1)), totals.p / count
        usable = density > _LEAST
        return jnp.sum(jnp.where(usable, weight * product / jnp.where(usable, density, 1.0), 0.0), axis=-1)

    square = slope[:, :, None] * slope[:, None, :]
    parts = Totals(p, slope, square)
    totals = jax.tree.map(lambda part: jnp.sum(part, axis=0), parts)
    whole = information(totals, batches)
    each = jax.vmap(lambda part: information(jax.tree.map(jnp.subtract, totals, part), batches - 1))(parts)
    mean = jnp.mean(each, axis=0)
    error = jnp.sqrt((batches - 1) / batches * jnp.sum(jnp.square(each - mean), axis=0))
    return batches * whole - (batches - 1) * mean, error
