"""Where a law has two derivatives in θ, one from either side: that is said, and neither is chosen.

Mass that moves with θ past a jump of s moves the law at the rate ∂F/∂θ at the jump. Where an end of the support (or a
jump of the density) lies there too, that rate jumps as well: P(X > 1) of a uniform record on (0, θ) is 0 up to θ = 1
and 1 − 1/θ from there on. A continuous s has no such points, whatever the support does (see `slopes`).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from confide.errors import ParameterError
from confide.likelihood.local.noisy_record import thresholds
from confide.likelihood.local.response import ResponseCells, level_law
from confide.likelihood.record_law.record import Floats
from confide.likelihood.record_law.skeleton import frame
from confide.likelihood.record_law.slopes import moves
from confide.population import Population, tails
from confide.statistic import Statistic
from confide.statistic.histogram import cells_of

if TYPE_CHECKING:
    from confide.model import Model

#: one-sided derivatives that differ by more than this share of their size, and by more than rounding, are two
_DIFFERENT, _ROUNDING = 1e-6, 1e-12


def jumps_of(model: Model) -> Floats:
    """Where what is computed from a record jumps as a function of it, if its law has ends or kinks that move."""
    population, statistic, law = model.population, model.channel.statistic, model.channel.law
    if population.rows is not None or population.discrete or not moves(population):
        return np.zeros(0)  # rows refuse such a law themselves
    if statistic.tallies:  # a record passes from cell to cell at the edges
        return np.asarray(cells_of(statistic).cuts[0].edges)
    alone = statistic.per_record or statistic.ranked or model.channel.n == 1
    if law.answers is not None:
        levels = np.asarray(law.answers)
        return _level_jumps(population, statistic, 0.5 * (levels[1:] + levels[:-1]))
    if alone and law.added is not None and law.added.step is not None:
        return _level_jumps(population, statistic, thresholds(statistic, float(law.added.step)))
    return frame(population, statistic).jumps.x


def _level_jumps(population: Population, statistic: Statistic, between: Floats) -> Floats:
    """Where a scalar s passes from one level to another, given the thresholds between the levels."""
    cells = level_law(population, statistic, between)
    assert isinstance(cells, ResponseCells)
    *inside, first, last = np.searchsorted(between, cells.s[0], side="right")
    return np.asarray(cells.edges[np.diff([first, *inside, last]) != 0])


def require_one_derivative(model: Model, thetas: Floats) -> None:
    """Refuse a θ of (M, d) at which the law has two derivatives, and name the point of the record where that is so."""
    jumps = jumps_of(model)
    if jumps.size == 0:
        return
    two = np.asarray(_two_sided(model.population, jumps, thetas))
    if np.any(two):
        row, at = np.argwhere(two)[0]
        raise ParameterError(
            "theta",
            thetas[row].tolist(),
            f"is where the law of y has two derivatives, from the left and from the right: {model.channel.statistic} "
            f"jumps at x = {jumps[at]:g}, and so does the density of a record of {model.population.name} there",
            "ask on either side of it",
        )


@partial(jax.jit, static_argnums=0)
def _two_sided(population: Population, jumps: jax.Array, thetas: jax.Array) -> jax.Array:
    """Whether ∂F/∂θ differs on the two sides of each of the points, at each θ."""

    def one(theta: jax.Array, c: jax.Array) -> jax.Array:
        gap = jnp.where(c == 0, 1e-280, 2.0**-48 * jnp.abs(c))
        left, right = (jax.jacfwd(lambda t: tails.cdf(population, x, t))(theta) for x in (c - gap, c + gap))  # noqa: B023
        size = jnp.where(theta == 0, 1.0, jnp.abs(theta))
        apart = jnp.abs(left - right) > _DIFFERENT * (jnp.abs(left) + jnp.abs(right)) + _ROUNDING / size
        return jnp.any(apart)

    return jax.vmap(lambda theta: jax.vmap(lambda c: one(theta, c))(jumps))(thetas)


def watched(model: Model, theta: jax.Array) -> jax.Array:
    """Zero at a traced θ (d,), with a derivative that is zero; but not a number where the law has two."""
    jumps = jumps_of(model)
    return jnp.zeros(()) if jumps.size == 0 else _watched(model.population, jnp.asarray(jumps), theta)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _watched(population: Population, jumps: jax.Array, theta: jax.Array) -> jax.Array:
    del population, jumps
    return 0.0 * theta[0]


@_watched.defjvp
def _watched_jvp(population: Population, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    (jumps, theta), (*_, theta_dot) = primals, tangents
    two = jnp.any(_two_sided(population, jumps, jax.lax.stop_gradient(theta)[None]))
    return _watched(population, jumps, theta), jnp.where(two, jnp.nan, 0.0) * theta_dot[0]
