"""p(y | θ) of one noisy record at a θ that may be traced.

Laplace noise has a kink at s(x) = y, which spoils Gauss–Legendre quadrature on the panel that holds it (2e-4). Each
monotone piece of s holds at most one such point, wherever θ is; its panel is replaced by the two parts on either side.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from confide.likelihood.local.response import ResponseCells
from confide.likelihood.record_law import traced
from confide.likelihood.record_law.record import RecordLaw
from confide.likelihood.record_law.skeleton import frame as frame_of
from confide.mechanism import Law
from confide.population import Population
from confide.statistic import Statistic

#: values whose terms are in memory at once
_BATCH = 2048


def _log_mixture(law: Law, y: jax.Array, s: jax.Array, weights: jax.Array) -> jax.Array:
    """log Σ_j w_j g(y | s_j), linear in w so that a weight of zero has its derivative."""
    log_noise = law.log_prob(y, s)
    usable = weights > 1e-290
    top = jnp.max(jnp.where(usable, log_noise + jnp.log(jnp.where(usable, weights, 1.0)), -jnp.inf))
    top = lax.stop_gradient(jnp.where(jnp.isfinite(top), top, 0.0))
    total = jnp.sum(weights * jnp.exp(jnp.minimum(log_noise - top, 600.0)))
    positive = total > 0
    return jnp.where(positive, top + jnp.log(jnp.where(positive, total, 1.0)), -jnp.inf)


@partial(jax.jit, static_argnums=(0, 1, 2))
def log_density(
    population: Population,
    statistic: Statistic,
    changes: int,
    law: Law,
    record: RecordLaw | ResponseCells | None,
    theta: jax.Array,
    y: jax.Array,
) -> jax.Array:
    """log p(y | θ) of each value (n,) at one θ, differentiable in θ; nodes move if no law of the record is given."""
    one: Callable[[jax.Array], jax.Array]
    if record is not None:
        s, weights = jnp.asarray(record.s)[0], record.weights(theta)
        one = partial(_log_mixture, law, s=s, weights=weights)
    else:
        one = _moving(population, statistic, changes, law, theta)
    values = lax.stop_gradient(jnp.asarray(y))
    if values.size <= _BATCH:
        return jax.vmap(one)(values)
    return jnp.asarray(lax.map(jax.checkpoint(one), values, batch_size=_BATCH))


def _moving(
    population: Population, statistic: Statistic, changes: int, law: Law, theta: jax.Array
) -> Callable[[jax.Array], jax.Array]:
    """log p(y | θ) as a function of one y, on panels that move with θ."""
    frame = frame_of(population, statistic, changes)
    cut = traced.panels(population, frame, theta)
    x, weights = traced.nodes(population, theta, cut.edges[:-1], cut.edges[1:])
    s = frame.pieces.values(x, cut.piece[:, None])[0].ravel()
    values, other_weights = traced.edges_and_atoms(population, frame, theta)
    others = values[0], other_weights
    monotone = np.flatnonzero(frame.pieces.directions[frame.piece])

    def smooth(y: jax.Array) -> jax.Array:
        return _log_mixture(law, y, jnp.concatenate([s, others[0]]), jnp.concatenate([weights.ravel(), others[1]]))

    def kinked(y: jax.Array) -> jax.Array:
        piece = jnp.asarray(frame.piece[monotone])
        root = frame.pieces.solve(y, piece)
        panel = jnp.searchsorted(cut.edges, root, side="right") - 1
        panel = jnp.clip(panel, cut.first[monotone], cut.last[monotone])
        whole = jnp.ones(len(cut.piece)).at[panel].set(0.0)[:, None] * weights
        a, b = cut.edges[panel], cut.edges[panel + 1]
        ends = jnp.stack([a, jnp.clip(root, a, b), b])
        inner, inner_weights = traced.nodes(population, theta, ends[:-1], ends[1:])
        inner_s = frame.pieces.values(inner, piece[:, None])[0]
        values = jnp.concatenate([s, others[0], inner_s.ravel()])
        return _log_mixture(law, y, values, jnp.concatenate([whole.ravel(), others[1], inner_weights.ravel()]))

    has_kink = law.added is not None and law.added.kinked and monotone.size > 0
    return kinked if has_kink else smooth


@partial(jax.jit, static_argnums=(0, 1, 2))
def log_densities(
    population: Population, statistic: Statistic, changes: int, law: Law, record: Any, thetas: jax.Array, y: jax.Array
) -> jax.Array:
    """`log_density` at all θ (M, d)."""
    each = lax.map(lambda theta: log_density(population, statistic, changes, law, record, theta, y), thetas)
    return jnp.asarray(each)


@partial(jax.jit, static_argnums=(0, 1, 2))
def with_scores(
    population: Population, statistic: Statistic, changes: int, law: Law, record: Any, thetas: jax.Array, y: jax.Array
) -> jax.Array:
    """log p(y | θ) and its derivatives, on one last axis."""

    def twice(theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        log_p = log_density(population, statistic, changes, law, record, theta, y)
        return log_p, log_p

    def one(theta: jax.Array) -> jax.Array:
        score, log_p = jax.jacfwd(twice, has_aux=True)(theta)
        return jnp.concatenate([log_p[:, None], score], axis=1)

    return jnp.asarray(lax.map(one, thetas))
