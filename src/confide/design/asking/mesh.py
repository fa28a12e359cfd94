"""The posterior on a mesh of free coordinates, which follows the mass as it narrows.

The trapezoidal rule is right to 1e-7 for a normal density in steps of up to one standard deviation, so that few points
serve a posterior that narrows by half before it gets a new mesh. A new mesh starts anew from all answers: nothing is
interpolated, and errors do not add up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.design.asking.answering import Answerer, knots, log_answer
from confide.prior import Prior, free_probes

Floats = NDArray[np.float64]

#: points along each free coordinate, for one and for two
POINTS = {1: (192,), 2: (48, 24)}
#: what is left out of a mesh: where the density of a coordinate is e^{−18} of the largest
_NEGLIGIBLE = 18.0
#: by how much a first mesh is wider than 2,048 draws from the prior
_WIDER = 0.15
_QUARTILES = np.asarray([0.25, 0.5, 0.75])


class Mesh(NamedTuple):
    """Points along each free coordinate, in equal steps of u where it is `centre` + `scale` · sinh u: all are (k,).

    Steps are even in the middle, and grow with the distance in the tails, of which little else would be seen: bits
    leave a spread of records open above for long. `log_density` is that in u at the points (M,), not normalised.
    """

    # arrays, of NumPy or traced
    low: Any
    high: Any
    centre: Any
    scale: Any
    log_density: Any


def first_mesh(prior: Prior) -> Mesh:
    """The prior."""
    probes = np.asarray(free_probes(prior))
    low, high = probes.min(axis=0), probes.max(axis=0)
    margin = _WIDER * (high - low)
    first, middle, last = np.quantile(probes, _QUARTILES, axis=0)
    ends = jnp.asarray(low - margin), jnp.asarray(high + margin)
    return blank(prior, Mesh(*ends, jnp.asarray(middle), jnp.asarray(0.5 * (last - first)), jnp.zeros(0)), 1)


def blank(prior: Prior, mesh: Mesh, finer: int) -> Mesh:
    """The prior between the ends of a mesh, on so many times the usual points each way."""
    count = int(np.prod([finer * each for each in POINTS[mesh.low.shape[0]]]))
    mesh = mesh._replace(log_density=jnp.zeros(count))
    centre, scale = mesh.centre, mesh.scale
    lines = axes(mesh)
    slope = [jnp.log(jnp.hypot(line - c, s)) for line, c, s in zip(lines, centre, scale, strict=True)]
    jacobian = slope[0] if len(slope) == 1 else (slope[0][:, None] + slope[1]).ravel()
    log_prior = prior.log_prob_free(free_points(mesh))
    return mesh._replace(log_density=jnp.where(jnp.isnan(log_prior), -jnp.inf, log_prior + jacobian))


def sizes(mesh: Mesh) -> tuple[int, ...]:
    """The number of points along each free coordinate: those of `POINTS`, or a multiple of them."""
    usual = POINTS[mesh.low.shape[0]]
    finer = round((mesh.log_density.shape[0] / np.prod(usual)) ** (1.0 / len(usual)))
    return tuple(finer * each for each in usual)


def axes(mesh: Mesh) -> list[jax.Array]:
    """The points along each free coordinate."""
    found = []
    for i, count in enumerate(sizes(mesh)):
        first, last = (jnp.arcsinh((end[i] - mesh.centre[i]) / mesh.scale[i]) for end in (mesh.low, mesh.high))
        found.append(mesh.centre[i] + mesh.scale[i] * jnp.sinh(jnp.linspace(first, last, count)))
    return found


def free_points(mesh: Mesh) -> jax.Array:
    """Free coordinates of the points (M, k)."""
    lines = jnp.meshgrid(*axes(mesh), indexing="ij")
    return jnp.stack(lines, axis=-1).reshape(-1, len(lines))


def thetas_of(prior: Prior, mesh: Mesh) -> jax.Array:
    """θ at the points (M, d)."""
    return prior.constrain(free_points(mesh))


def shares(mesh: Mesh) -> jax.Array:
    """The share of the posterior at each point."""
    weight = jnp.exp(mesh.log_density - jnp.max(mesh.log_density))
    return weight / weight.sum()


def along(mesh: Mesh, axis: int) -> jax.Array:
    """The share of the posterior at each point of one free coordinate."""
    weight = shares(mesh).reshape(sizes(mesh))
    return weight if weight.ndim == 1 else weight.sum(axis=1 - axis)


def quantiles(line: jax.Array, share: jax.Array, levels: jax.Array) -> jax.Array:
    """Where shares of points of a line add up to levels: half of each point's lies on either side of it."""
    cumulative = jnp.cumsum(share) - 0.5 * share
    return jnp.interp(levels * cumulative[-1], cumulative, line)


def told(how: Answerer, prior: Prior, mesh: Mesh, answers: jax.Array, questions: jax.Array, count: jax.Array) -> Mesh:
    """The mesh with the first `count` of some answers (N,) to questions (N, 3) known besides."""
    thetas = thetas_of(prior, mesh)
    ends = knots(how.population, thetas)

    def one(i: jax.Array, total: jax.Array) -> jax.Array:
        return total + log_answer(how, thetas, ends, answers[i], questions[i])

    return mesh._replace(log_density=jax.lax.fori_loop(0, count, one, mesh.log_density))


def narrowed(prior: Prior, mesh: Mesh) -> Mesh:
    """The prior on a mesh that the posterior fills: as wide as its mass, and wider where that is cut off."""
    ends: list[tuple[Any, Any, Any, Any]] = []
    for axis, line in enumerate(axes(mesh)):
        share = along(mesh, axis)
        kept = share > share.max() * np.exp(-_NEGLIGIBLE)
        first, last = jnp.argmax(kept), share.size - 1 - jnp.argmax(kept[::-1])
        more = 0.1 * (line[-1] - line[0])
        low = jnp.where(first == 0, line[0] - more, line[jnp.maximum(first - 1, 0)])
        high = jnp.where(last == line.size - 1, line[-1] + more, line[jnp.minimum(last + 1, line.size - 1)])
        quarter, middle, most = quantiles(line, share, jnp.asarray(_QUARTILES))
        # not less than a step between the points around the middle, for what is narrower is not seen yet
        step = jnp.interp(middle, line[1:], jnp.diff(line))
        ends.append((low, high, middle, jnp.maximum(0.5 * (most - quarter), 0.5 * step)))
    low, high, centre, scale = (jnp.stack(part) for part in zip(*ends, strict=True))
    return blank(prior, Mesh(low, high, centre, scale, jnp.zeros(0)), 1)


def moments(prior: Prior, mesh: Mesh) -> tuple[jax.Array, jax.Array]:
    """The posterior mean of θ (d,) and its covariance (d, d)."""
    share, thetas = shares(mesh), thetas_of(prior, mesh)
    mean = share @ thetas
    away = thetas - mean
    return mean, (share[:, None] * away).T @ away
