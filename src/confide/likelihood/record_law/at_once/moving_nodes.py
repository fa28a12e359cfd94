"""The law of `traced` at known θ, whose support or kinks move, in NumPy.

All that is compiled is what belongs to the population (its density, the slopes of its distribution function and the
places where its panels are cut), in tiles: it serves every statistic, however fine its frame is.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE, on_the_cpu
from confide.likelihood.record_law.record import NODES, WEIGHTS, Floats
from confide.likelihood.record_law.skeleton import PanelSkeleton, frame
from confide.likelihood.record_law.slopes import TO_SLOPES, WITH_ENDS
from confide.likelihood.record_law.traced import ROUNDS, SPLITS, TWO_RULES, places
from confide.population import Population, density, tiles
from confide.statistic import Statistic

#: θ whose nodes are remembered
_FEW = 32


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _follow(population: Population, thetas: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The ends of the support (θ, 2), places that follow the population, and the kinks of its density."""

    def one(theta: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        ends, breaks = jnp.stack(density.support(population, theta)), density.breaks(population, theta)
        return ends, jnp.concatenate(places(population, theta)), breaks

    return jax.vmap(one)(thetas)


def _followed(population: Population, thetas: Floats) -> list[Floats]:
    """The same, in tiles."""
    with on_the_cpu():
        found = [_follow(population, block) for block in tiles.rows_of(thetas)]
    return [np.concatenate([np.asarray(part) for part in parts])[: len(thetas)] for parts in zip(*found, strict=True)]


@dataclass(frozen=True, eq=False)
class MovingNodes:
    """Panels at each θ (B, d): the nodes of each with its two ends x (B, P, 18), half widths and pieces of s (B, P)."""

    population: Population
    skeleton: PanelSkeleton
    thetas: Floats
    x: Floats
    half: Floats
    piece: NDArray[np.intp]

    @cached_property
    def s(self) -> Floats:
        """Values (components, B, J): on the panels, on both sides of jumps, and of the atoms."""
        on_panels = self.skeleton.pieces.values(self.x, self.piece[..., None]).reshape(-1, len(self.x), self._inner)
        jumps, atoms = self.skeleton.jumps, self.skeleton.atoms
        others = np.concatenate([jumps.left, jumps.right, atoms], axis=1)[:, None]
        rows = np.broadcast_to(others, (len(others), len(self.x), others.shape[2]))
        return np.concatenate([on_panels, rows], axis=2)

    @property
    def _inner(self) -> int:
        return self.x.shape[1] * self.x.shape[2]

    @cached_property
    def weights(self) -> Floats:
        """Weights (B, J)."""
        ends = np.asarray([self.skeleton.low, self.skeleton.high])
        below, above = tiles.tails(self.population, ends, self.thetas)
        p = tiles.own_densities(self.population, self.x[..., 1:-1].reshape(len(self.x), -1), self.thetas)
        inside = self.half[..., None] * WEIGHTS * p.reshape(*self.half.shape, -1)
        panels = np.pad(inside, [(0, 0), (0, 0), (1, 1)]).reshape(len(self.x), -1)
        still = np.zeros((len(self.x), 2 * self.skeleton.jumps.x.size))
        return np.concatenate([panels, still, below[:, :1], above[:, 1:]], axis=1)

    @cached_property
    def weight_slopes(self) -> Floats:
        """∂w/∂θ (B, d, J), from the distribution function (`slopes`)."""
        inner = self.x[..., 1:-1].reshape(len(self.x), -1)
        jumps = np.broadcast_to(self.skeleton.jumps.x, (len(self.x), self.skeleton.jumps.x.size))
        found = tiles.own_cdf_slopes(self.population, np.concatenate([inner, jumps], axis=1), self.thetas)
        found = np.moveaxis(found, 2, 1)
        g = found[..., : inner.shape[1]].reshape(*found.shape[:2], *self.half.shape[1:], NODES.size)
        # the ends of an empty panel exchange nothing but rounding, and there may be hundreds of them at one point
        moved = np.where(self.half[:, None, :, None] > 0, g @ TO_SLOPES.T, 0.0).reshape(*found.shape[:2], -1)
        past = found[..., inner.shape[1] :]
        return np.concatenate([moved, past, -past, np.zeros((*found.shape[:2], 2))], axis=2)


def moving_nodes(population: Population, statistic: Statistic, thetas: Floats, changes: int) -> MovingNodes:
    """The nodes at θ (B, d), those of a few θ remembered."""
    thetas = np.asarray(thetas, dtype=np.float64)
    if len(thetas) > _FEW:
        return _made(population, statistic, thetas, changes)
    return _remembered(population, statistic, thetas.tobytes(), changes)


@functools.lru_cache(maxsize=16)
def _remembered(population: Population, statistic: Statistic, content: bytes, changes: int) -> MovingNodes:
    return _made(population, statistic, np.frombuffer(content).reshape(-1, population.dimension), changes)


def _made(population: Population, statistic: Statistic, thetas: Floats, changes: int) -> MovingNodes:
    """Panels as `traced.panels` has them."""
    at = frame(population, statistic, changes)
    ends, follow, breaks = _followed(population, thetas)
    start, stop = (np.clip(end, at.low, at.high)[:, None] for end in ends.T)
    many = len(thetas)
    known = np.broadcast_to(at.edges, (many, at.edges.size))
    parts = [known[:, :-1], follow, breaks]
    if population.closed.quantile is None:  # of no known shape: perhaps with several modes
        everywhere = np.sort(np.clip(np.concatenate(parts, axis=1), start, stop), axis=1)
        parts.append(_middles(population, thetas, everywhere))
    edges = np.concatenate([*parts, known[:, -1:]], axis=1)
    edges = np.clip(np.where(np.isnan(edges), at.low, edges), start, stop)
    order = np.argsort(edges, axis=1, kind="stable")
    begins = np.isin(np.arange(edges.shape[1]), at.begins)
    piece = at.piece[np.cumsum(begins[order], axis=1)[:, :-1] - 1]
    edges = np.take_along_axis(edges, order, axis=1)
    half = 0.5 * np.diff(edges, axis=1)
    x = 0.5 * (edges[:, 1:] + edges[:, :-1])[..., None] + half[..., None] * WITH_ENDS
    return MovingNodes(population, at, thetas, x, half, piece)


def _middles(population: Population, thetas: Floats, edges: Floats) -> Floats:
    """Where panels are cut on which two rules disagree the most about the mass, as `splitting.middles` finds them."""

    def error(a: Floats, b: Floats) -> Any:
        half, middle = 0.5 * (b - a)[..., None], 0.5 * (a + b)[..., None]
        x = np.concatenate([middle + half * nodes for nodes, _ in TWO_RULES], axis=2)
        weights = np.concatenate([TWO_RULES[0][1], -TWO_RULES[1][1]])
        p = tiles.own_densities(population, x.reshape(len(x), -1), thetas).reshape(x.shape)
        off = np.abs(np.sum(half * weights * p, axis=2))
        return np.where(np.isnan(off), np.inf, off)

    low, high = edges[:, :-1].copy(), edges[:, 1:].copy()
    wrong, found = error(low, high), []
    for _ in range(ROUNDS):
        worst = np.argsort(-wrong, axis=1, kind="stable")[:, :SPLITS]
        start, stop = (np.take_along_axis(part, worst, axis=1) for part in (low, high))
        middle = 0.5 * (start + stop)
        off = error(np.concatenate([start, middle], axis=1), np.concatenate([middle, stop], axis=1))
        np.put_along_axis(high, worst, middle, axis=1)
        np.put_along_axis(wrong, worst, off[:, :SPLITS], axis=1)
        low, high = np.concatenate([low, middle], axis=1), np.concatenate([high, stop], axis=1)
        wrong = np.concatenate([wrong, off[:, SPLITS:]], axis=1)
        found.append(middle)
    return np.concatenate(found, axis=1)
