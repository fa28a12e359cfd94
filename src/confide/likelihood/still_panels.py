"""Panels that many θ share: on each of them the density at every θ is the polynomial through its 16 nodes.

They are halved until that holds, relative to the density's size on the panel, so that tails keep their digits. Data
that differ a little ask for θ that differ a little: where the parameter is positive, the panels of a round range serve,
if they resolve the density at all θ that are asked.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import constraints

from confide.errors import AccuracyError
from confide.likelihood.frames import Frame
from confide.likelihood.frames import frame as frame_of
from confide.likelihood.gauss import HALF_NODES, TO_HALVES, Mask, halve, on_panels
from confide.likelihood.record import NODES, ORDER, WEIGHTS, Floats, RecordLaw
from confide.likelihood.response import Cells
from confide.population import Population
from confide.statistic import Statistic

#: how far the polynomial through a panel's nodes may be off, relative to the density's largest value on the panel
_INTERPOLATED = 1e-11
_LARGEST_DEFECT = 1e-10
_ROUNDING = 16 * np.finfo(float).eps
_CHOSEN = 16
#: θ for which panels are looked for among those of others
_MANY = 32
#: the widest range that panels of others may have
_OCTAVES = 32
_ROWS, _COLUMNS = 32, 1024


@jax.jit
def weights_of(law: RecordLaw | Cells, thetas: jax.Array) -> jax.Array:
    """w_j(θ), shape (θ, nodes)."""
    return jnp.asarray(jax.vmap(law.weights)(thetas))


@jax.jit
def slopes_of(law: RecordLaw | Cells, thetas: jax.Array) -> jax.Array:
    """∂w_j/∂θ, shape (θ, nodes, d)."""
    return jnp.asarray(jax.vmap(jax.jacfwd(law.weights))(thetas))


def tabulated(compute: Callable[..., jax.Array], law: RecordLaw | Cells, thetas: Floats) -> Floats:
    """Weights or their slopes at all θ, in blocks of one size: compiled once per population."""
    rows = []
    for at in range(0, len(thetas), _ROWS):
        block = thetas[at : at + _ROWS]
        padded = np.concatenate([block, np.repeat(block[-1:], _ROWS - len(block), axis=0)])
        rows.append(_one_block(compute, law, padded)[: len(block)])
    return np.concatenate(rows)


def _one_block(compute: Callable[..., jax.Array], law: RecordLaw | Cells, thetas: Floats) -> Floats:
    if isinstance(law, Cells):
        return np.asarray(compute(law, thetas))
    parts = []
    for at in range(0, max(law.x.size, 1), _COLUMNS):
        some = law.x[at : at + _COLUMNS]
        x = np.concatenate([some, np.full(_COLUMNS - some.size, law.x[-1] if law.x.size else law.low)])
        chunk = RecordLaw(law.population, x, np.ones(_COLUMNS), np.zeros(0), law.low, law.high)
        part = np.asarray(compute(chunk, thetas))
        parts.append(part[:, : some.size])
    return np.concatenate([*parts, part[:, _COLUMNS:]], axis=1)  # the atoms are the same in every chunk


@dataclass(frozen=True, eq=False)
class Panels:
    """Panels by their edges, on a frame that knows the pieces of s; and a record's law on their nodes.

    The interior weights of the law are densities, without the panels' own weights.
    """

    frame: Frame
    edges: Floats
    law: RecordLaw

    @classmethod
    def on(cls, population: Population, frame: Frame, edges: Floats) -> Panels:
        """With the values of s at the nodes."""
        x = on_panels(edges[:-1], edges[1:], NODES)
        s = np.concatenate([frame.pieces.values(x, frame.pieces.at(x)).reshape(len(frame.atoms), -1), frame.atoms], 1)
        return cls(frame, edges, RecordLaw(population, x.ravel(), np.ones(x.size), s, frame.low, frame.high))

    @functools.cached_property
    def base(self) -> Floats:
        """Gauss–Legendre weights on the panels, and one for each atom."""
        return np.concatenate([(0.5 * np.diff(self.edges)[:, None] * WEIGHTS).ravel(), [1.0, 1.0]])


def panels_for(
    population: Population, statistic: Statistic, changes: int, nats: float, thetas: Floats
) -> tuple[Panels, Floats]:
    """Panels for the θ (M, d), which resolve the density down to e^{−nats} of the mass; and the weights there."""
    return _panels(population, statistic, changes, nats, thetas.tobytes())


@functools.lru_cache(maxsize=32)
def _panels(
    population: Population, statistic: Statistic, changes: int, nats: float, content: bytes
) -> tuple[Panels, Floats]:
    """Panels of a round range around all θ, if they serve them, or their own; and weights."""
    thetas = np.frombuffer(content).reshape(-1, population.dimension)
    around = _round_range(population, thetas)
    shared = None if around is None else _round_panels(population, statistic, changes, nats, *around)
    if shared is not None:
        rough, weights, missing = _looked_at(shared, thetas, nats)
        if not np.any(rough) and missing.max() <= _LARGEST_DEFECT:
            return shared, weights
    return _refined(population, frame_of(population, statistic, changes), thetas, nats)


def _round_range(population: Population, thetas: Floats) -> tuple[int, int] | None:
    """Powers of two around many values of a positive parameter: data that differ a little share their panels."""
    positive = [parameter.constraint for parameter in population.space] == [constraints.positive]
    if not positive or len(thetas) < _MANY or thetas.min() <= 0 or not np.all(np.isfinite(thetas)):
        return None
    low, high = math.floor(math.log2(thetas.min())), math.ceil(math.log2(thetas.max()))
    return (low, high) if high - low <= _OCTAVES else None


@functools.lru_cache(maxsize=32)
def _round_panels(
    population: Population, statistic: Statistic, changes: int, nats: float, low: int, high: int
) -> Panels | None:
    """Panels for a range of θ from one power of two to another; None where that is more than can be integrated."""
    thetas = 2.0 ** np.linspace(low, high, 8 * (high - low) + 1)[:, None]
    try:
        return _refined(population, frame_of(population, statistic, changes), thetas, nats)[0]
    except AccuracyError:
        return None


def _looked_at(panels: Panels, thetas: Floats, nats: float) -> tuple[Mask, Floats, Floats]:
    """Which panels are too wide at which θ; the weights; and by how much their sums miss one."""
    edges, law = panels.edges, panels.law
    wide = np.diff(edges) > _smallest(panels.frame)
    rough = ~_resolved(law.population, thetas, edges[:-1], edges[1:], _floor(nats)) & wide
    weights = tabulated(weights_of, law, thetas)
    return rough, weights, np.abs(weights @ panels.base - 1.0)


def _smallest(frame: Frame) -> float:
    return float(2.0**-44 * (frame.high - frame.low))


def _floor(nats: float) -> float:
    return max(1e-17 * math.exp(-nats), 1e-280)


def _refined(population: Population, frame: Frame, thetas: Floats, nats: float) -> tuple[Panels, Floats]:
    """Panels for a few θ, then for those at which a panel is still too wide or the total mass not one; and weights."""
    smallest = _smallest(frame)
    edges, chosen = frame.edges, np.unique(np.linspace(0, len(thetas) - 1, _CHOSEN).astype(int))
    while True:
        some = thetas[chosen]
        edges = halve(
            edges,
            lambda a, b: _resolved(population, some, a, b, _floor(nats)).all(axis=0) | (b - a <= smallest),  # noqa: B023
        )
        panels = Panels.on(population, frame, edges)
        rough, weights, missing = _looked_at(panels, thetas, nats)
        more = np.setdiff1d(np.flatnonzero(rough.any(axis=1) | (missing > _LARGEST_DEFECT)), chosen)
        if more.size == 0:
            break
        chosen = np.union1d(chosen, more[np.linspace(0, more.size - 1, _CHOSEN).astype(int)])
    if missing.max() > _LARGEST_DEFECT:
        raise AccuracyError(
            f"the law of a record of {population.name} on {(frame.low, frame.high)} sums to one within "
            f"{missing.max():.0e} only; declare where its density is not smooth (breaks), or narrow the range of theta"
        )
    return panels, weights


def _resolved(population: Population, thetas: Floats, a: Floats, b: Floats, floor: float) -> Mask:
    """Whether the density at each θ is the polynomial through its nodes on each panel (or tiny), shape (θ, panels).

    A panel that meets the mass of a θ but is far wider than it might not see it at all, and is not resolved. Near an
    end of the support the rounding of x is felt: the distance to the end is known with fewer digits than x.
    """
    x = np.concatenate([on_panels(a, b, NODES), on_panels(a, b, HALF_NODES)], axis=1)
    law = RecordLaw(population, x.ravel(), np.ones(x.size), np.zeros(0), float(a[0]), float(b[-1]))
    p = tabulated(weights_of, law, thetas)[:, :-2].reshape(len(thetas), *x.shape)
    largest = p.max(axis=2)
    error = np.abs(p[..., :ORDER] @ TO_HALVES.T - p[..., ORDER:]).max(axis=2)
    start, stop = np.asarray(population.support(thetas))[..., None]
    rounding = _ROUNDING * np.maximum(np.abs(a), np.abs(b)) / np.minimum(a - start, stop - b)
    low, high = np.asarray(population.quantile(np.array([1e-12, 1.0 - 1e-12]), thetas[:, None])).T[..., None]
    blind = (a <= high) & (b >= low) & (b - a > 3.0 * (high - low))
    smooth = (error <= np.maximum(_INTERPOLATED, rounding) * largest) | (largest * (b - a) <= floor)
    return np.asarray(smooth & ~blind)
