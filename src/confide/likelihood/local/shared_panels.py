"""Panels that many θ share: on each of them the density at every θ is the polynomial through its 16 nodes.

They are halved until that holds, relative to the density's size on the panel, so that tails keep their digits. Data
that differ a little ask for θ that differ a little: where the parameter is positive, the panels of a round range serve,
if they resolve the density at all θ that are asked.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import constraints

from confide._compile import FAST_COMPILE
from confide.errors import AccuracyError
from confide.likelihood.batched import filled
from confide.likelihood.record_law.panels import HALF_NODES, TO_HALVES, Mask, halve, on_panels
from confide.likelihood.record_law.record import NODES, ORDER, WEIGHTS, Floats, RecordLaw
from confide.likelihood.record_law.skeleton import PanelSkeleton
from confide.likelihood.record_law.skeleton import frame as frame_of
from confide.population import Population, density, tails
from confide.population.tiles import densities
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
#: of the nodes of a panel's halves, those at which panels of others are looked at
_FEW = np.linspace(0, HALF_NODES.size - 1, 8).astype(int)


@dataclass(frozen=True, eq=False)
class SharedPanels:
    """Panels by their edges, on a frame that knows the pieces of s; and a record's law on their nodes.

    The interior weights of the law are densities, without the panels' own weights.
    """

    frame: PanelSkeleton
    edges: Floats
    law: RecordLaw

    @classmethod
    def on(cls, population: Population, frame: PanelSkeleton, edges: Floats) -> SharedPanels:
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
) -> tuple[SharedPanels, Floats]:
    """Panels for the θ (M, d), which resolve the density down to e^{−nats} of the mass; and the weights there."""
    return _panels(population, statistic, changes, nats, thetas.tobytes())


@functools.lru_cache(maxsize=32)
def _panels(
    population: Population, statistic: Statistic, changes: int, nats: float, content: bytes
) -> tuple[SharedPanels, Floats]:
    """Panels of a round range around all θ, if they serve them, or their own; and weights."""
    thetas = np.frombuffer(content).reshape(-1, population.dimension)
    around = _round_range(population, thetas)
    shared = None if around is None else _round_panels(population, statistic, changes, nats, *around)
    if shared is not None:
        rough, weights, missing = _looked_at(shared, thetas, nats, _FEW)
        if not np.any(rough) and missing.max() <= _LARGEST_DEFECT:
            return shared, weights
    return _refined(population, frame_of(population, statistic, changes), thetas, nats)


def _round_range(population: Population, thetas: Floats) -> tuple[int, int] | None:
    """Powers of four around many values of a positive parameter: data that differ a little share their panels.

    By their logarithms to the base of two, which are even.
    """
    positive = [parameter.constraint for parameter in population.space] == [constraints.positive]
    if not positive or len(thetas) < _MANY or thetas.min() <= 0 or not np.all(np.isfinite(thetas)):
        return None
    low, high = 2 * math.floor(0.5 * math.log2(thetas.min())), 2 * math.ceil(0.5 * math.log2(thetas.max()))
    return (low, high) if high - low <= _OCTAVES else None


@functools.lru_cache(maxsize=32)
def _round_panels(
    population: Population, statistic: Statistic, changes: int, nats: float, low: int, high: int
) -> SharedPanels | None:
    """Panels for a range of θ from one power of four to another; None where that is more than can be integrated."""
    thetas = 2.0 ** np.linspace(low, high, 8 * (high - low) + 1)[:, None]
    try:
        return _refined(population, frame_of(population, statistic, changes), thetas, nats)[0]
    except AccuracyError:
        return None


def _looked_at(
    panels: SharedPanels, thetas: Floats, nats: float, checks: NDArray[np.intp] | slice = slice(None)
) -> tuple[Mask, Floats, Floats]:
    """Which panels are too wide at which θ; the weights; and by how much their sums miss one."""
    a, b = panels.edges[:-1], panels.edges[1:]
    weights = panels.law.weights_at(thetas)
    at_nodes = weights[:, :-2].reshape(len(thetas), a.size, ORDER)
    rough = ~_resolved(panels.law, thetas, a, b, _floor(nats), at_nodes, checks) & (b - a > _smallest(panels.frame))
    return rough, weights, np.abs(weights @ panels.base - 1.0)


def _densities(population: Population, x: Floats, thetas: Floats) -> Floats:
    """p(x | θ) at points of any shape, after an axis of θ."""
    return densities(population, x.ravel(), thetas).reshape(len(thetas), *x.shape)


def _smallest(frame: PanelSkeleton) -> float:
    return float(2.0**-44 * (frame.high - frame.low))


def _floor(nats: float) -> float:
    return max(1e-17 * math.exp(-nats), 1e-280)


def _refined(population: Population, frame: PanelSkeleton, thetas: Floats, nats: float) -> tuple[SharedPanels, Floats]:
    """Panels for a few θ, then for those at which a panel is still too wide or the total mass not one; and weights."""
    smallest, panels = _smallest(frame), SharedPanels.on(population, frame, frame.edges)
    chosen = np.unique(np.linspace(0, len(thetas) - 1, _CHOSEN).astype(int))

    def settled(a: Floats, b: Floats) -> Mask:
        at_nodes = _densities(population, on_panels(a, b, NODES), thetas[chosen])
        fine = _resolved(panels.law, thetas[chosen], a, b, _floor(nats), at_nodes)
        return np.asarray(fine.all(axis=0) | (b - a <= smallest))

    while True:
        panels = SharedPanels.on(population, frame, halve(panels.edges, settled))
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


def _resolved(
    law: RecordLaw,
    thetas: Floats,
    a: Floats,
    b: Floats,
    floor: float,
    at_nodes: Floats,
    checks: NDArray[np.intp] | slice = slice(None),
) -> Mask:
    """Whether the density at each θ is the polynomial through its nodes on each panel (or tiny), shape (θ, panels).

    A panel that meets the mass of a θ but is far wider than it might not see it at all, and is not resolved. Near an
    end of the support the rounding of x is felt: the distance to the end is known with fewer digits than x.
    """
    between = _densities(law.population, on_panels(a, b, HALF_NODES[checks]), thetas)
    largest = np.maximum(at_nodes.max(axis=2), between.max(axis=2))
    error = np.abs(at_nodes @ TO_HALVES[checks].T - between).max(axis=2)
    start, stop, low, high = (np.asarray(part)[: len(thetas), None] for part in _reach(law.population, filled(thetas)))
    rounding = _ROUNDING * np.maximum(np.abs(a), np.abs(b)) / np.minimum(a - start, stop - b)
    blind = (a <= high) & (b >= low) & (b - a > 3.0 * (high - low))
    smooth = (error <= np.maximum(_INTERPOLATED, rounding) * largest) | (largest * (b - a) <= floor)
    return np.asarray(smooth & ~blind)


@functools.partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _reach(population: Population, thetas: jax.Array) -> tuple[jax.Array, ...]:
    """The ends of the support at each θ, and of all but 1e-12 of the mass on either side."""

    def one(theta: jax.Array) -> tuple[jax.Array, ...]:
        # one search for both: there is half as much to compile
        ends = jax.vmap(lambda level: tails.quantile(population, level, theta))(jnp.asarray([1e-12, 1.0 - 1e-12]))
        return *density.support(population, theta), *ends

    return jax.vmap(one)(thetas)
