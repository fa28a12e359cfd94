"""The posterior on a mesh of free coordinates, which follows the mass as it narrows.

The trapezoidal rule is right to 1e-7 for a normal density in steps of up to one standard deviation, so that few points
serve a posterior that narrows by half before it gets a new mesh. A new mesh starts anew from all answers: nothing is
interpolated, and errors do not add up.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.design.adaptive.answering import Answerer, knots, log_answer
from confide.prior import Prior, free_probes

Floats = NDArray[np.float64]

#: points along each free coordinate, for one and for two
POINTS = {1: (192,), 2: (48, 24)}
#: what is left out of a mesh: where the density of a coordinate is e^{−18} of the largest
_NEGLIGIBLE = 18.0
#: by how much a first mesh is wider than 2,048 draws from the prior
_WIDER = 0.15


class Mesh(NamedTuple):
    """The ends of a mesh (k,), and the log density of the free coordinates at its points (M,), not normalised."""

    low: jax.Array
    high: jax.Array
    log_density: jax.Array


def first_mesh(prior: Prior) -> Mesh:
    """The prior."""
    probes = np.asarray(free_probes(prior))
    low, high = probes.min(axis=0), probes.max(axis=0)
    margin = _WIDER * (high - low)
    return blank(prior, jnp.asarray(low - margin), jnp.asarray(high + margin))


def blank(prior: Prior, low: jax.Array, high: jax.Array) -> Mesh:
    """The prior between these ends."""
    log_prior = prior.log_prob_free(free_points(low, high))
    return Mesh(low, high, jnp.where(jnp.isnan(log_prior), -jnp.inf, log_prior))


def free_points(low: jax.Array, high: jax.Array) -> jax.Array:
    """Free coordinates of the points (M, k)."""
    unit = [np.linspace(0.0, 1.0, count) for count in POINTS[low.shape[0]]]
    mesh = np.stack(np.meshgrid(*unit, indexing="ij"), axis=-1).reshape(-1, len(unit))
    return low + (high - low) * mesh


def thetas_of(prior: Prior, mesh: Mesh) -> jax.Array:
    """θ at the points (M, d)."""
    return prior.constrain(free_points(mesh.low, mesh.high))


def shares(mesh: Mesh) -> jax.Array:
    """The share of the posterior at each point."""
    weight = jnp.exp(mesh.log_density - jnp.max(mesh.log_density))
    return weight / weight.sum()


def told(how: Answerer, prior: Prior, mesh: Mesh, answers: jax.Array, questions: jax.Array, count: jax.Array) -> Mesh:
    """The mesh with the first `count` of some answers (N,) to questions (N, 3) known besides."""
    thetas = thetas_of(prior, mesh)
    ends = knots(how.population, thetas)

    def one(i: jax.Array, total: jax.Array) -> jax.Array:
        return total + log_answer(how, thetas, ends, answers[i], questions[i])

    return mesh._replace(log_density=jax.lax.fori_loop(0, count, one, mesh.log_density))


def narrowed(prior: Prior, mesh: Mesh) -> Mesh:
    """The prior on a mesh that the posterior fills: as wide as its mass, and wider where that is cut off."""
    sizes = POINTS[mesh.low.shape[0]]
    weight = shares(mesh).reshape(sizes)
    low, high = [], []
    for axis, count in enumerate(sizes):
        along = weight.sum(axis=tuple(i for i in range(len(sizes)) if i != axis))
        kept = along > along.max() * np.exp(-_NEGLIGIBLE)
        first, last = jnp.argmax(kept), count - 1 - jnp.argmax(kept[::-1])
        step = (mesh.high[axis] - mesh.low[axis]) / (count - 1)
        # a tenth of the width more where mass may lie beyond the end
        more = 0.1 * (mesh.high[axis] - mesh.low[axis])
        low.append(mesh.low[axis] + jnp.where(first == 0, -more, (first - 1) * step))
        high.append(mesh.low[axis] + jnp.where(last == count - 1, (count - 1) * step + more, (last + 1) * step))
    return blank(prior, jnp.stack(low), jnp.stack(high))


def moments(prior: Prior, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    """The posterior mean of θ (d,) and its covariance (d, d)."""
    share, thetas = shares(mesh), thetas_of(prior, mesh)
    mean = share @ thetas
    away = thetas - mean
    return mean, (share[:, None] * away).T @ away
