"""Bounds of the columns of a row: what a search knows of a population of rows, and how it goes about.

Bounds are sought in normal scores of each column's own law averaged over θ, so that heavy tails are like others. Moves
are tried together, in one compiled call: each end out or in, each column wider, narrower, up or down, all columns wider
or narrower. The best of them is taken, and steps are halved where none is better.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from confide.design.points import Points
from confide.population import Population

Floats = NDArray[np.float64]

#: rows that are drawn to learn each column's law, at all θ together
_DRAWS = 2**15
#: normal scores within which bounds are sought, and how near the two of a column may come
_FARTHEST, _NEAREST = 6.0, 0.2
#: where a search starts: all columns clipped at ± a score, and one-sidedly
_STARTS = (0.7, 1.2, 1.7, 2.2, 2.8, 3.5, 4.5)
#: starts that are followed, the first step, and the last
_FOLLOWED, _FIRST, _LAST = 3, 0.6, 0.02
#: rounds of one start
_ROUNDS = 60


@dataclass(frozen=True, eq=False)
class RowTable:
    """A population of rows at some θ, and the laws of its columns there, averaged, as draws."""

    population: Population
    points: Points

    @property
    def reference(self) -> int:
        """The position of a middle θ: the one nearest to the average, in units of the spread."""
        thetas, weights = self.points.thetas, self.points.weights
        scale = np.std(thetas, axis=0) + 1e-300
        return int(np.argmin(np.sum(((thetas - weights @ thetas) / scale) ** 2, axis=1)))

    @cached_property
    def _drawn(self) -> dict[str, tuple[Floats, Floats]]:
        """Values of each column in order, and their normal scores."""
        count = max(_DRAWS // len(self.points.thetas), 16)
        found = _draws(self.population, self.points.thetas, count)
        mass = np.repeat(self.points.weights, count) / count
        table = {}
        for name, values in found.items():
            flat = np.asarray(values).ravel()
            order = np.argsort(flat, kind="stable")
            below = np.cumsum(mass[order]) - 0.5 * mass[order]
            kept = (mass[order] > 0) & np.isfinite(flat[order])
            table[name] = flat[order][kept], ndtri(np.clip(below[kept], 1e-12, 1 - 1e-12))
        return table

    def whole(self, name: str) -> bool:
        """Whether a column's values are whole numbers."""
        return dict(self.population.rows.columns)[name].population.discrete  # type: ignore[union-attr]

    def levels(self, name: str, scores: Floats) -> Floats:
        """Values of a column at normal scores of its law: straight on beyond the draws where it has no end there."""
        x, z = self._drawn[name]
        found = np.interp(scores, z, x)
        below, above = dict(self.population.rows.columns)[name].population.facts.bounded  # type: ignore[union-attr]
        for outside, one, two, ended in ((scores < z[0], 0, 1.0, below), (scores > z[-1], -1, -1.0, above)):
            inner = np.interp(z[one] + two, z, x)
            straight = x[one] + (scores - z[one]) * (inner - x[one]) / two
            found = np.where(outside & (not ended), straight, found)
        return np.asarray(found)

    def some(self, most: int) -> RowTable:
        """The same at no more than so many of the θ."""
        thetas, weights = self.points.thetas, self.points.weights
        if len(thetas) <= most:
            return self
        which = np.unique(np.linspace(0, len(thetas) - 1, most).astype(int))
        share = weights[which] / weights[which].sum()
        return RowTable(self.population, Points(thetas[which], share, precision=self.points.precision))


@partial(jax.jit, static_argnums=(0, 2))
def _draws(population: Population, thetas: Any, count: int) -> dict[str, jax.Array]:
    rows = population.rows
    assert rows is not None
    keys = jax.random.split(jax.random.key(0), len(thetas))
    drawn: dict[str, jax.Array] = jax.vmap(lambda key, theta: rows.draws(population.space, key, theta, (count,)))(
        keys, thetas
    )
    return drawn


def pattern_search(losses: Callable[[Floats], Floats], columns: int) -> list[tuple[float, Floats]]:
    """Scores (columns, 2) with the least losses that were met, best first; `losses` takes many (B, columns, 2)."""
    sides = np.asarray([[-1.0, 1.0]])
    starts = np.stack([np.broadcast_to(each * sides, (columns, 2)) for each in _STARTS])
    met = list(zip(_finite(losses(starts)), starts, strict=True))
    moves = _moves(columns)
    for start in sorted(met, key=lambda each: each[0])[:_FOLLOWED]:
        (loss, here), step = start, _FIRST
        for _ in range(_ROUNDS):
            tried = _inside(here + step * moves)
            found = _finite(losses(tried))
            best = int(np.argmin(found))
            if found[best] < loss:
                loss, here = float(found[best]), tried[best]
                met.append((loss, here))
            elif step <= _LAST:
                break
            else:
                step *= 0.5
    return sorted(met, key=lambda each: each[0])


def _moves(columns: int) -> Floats:
    """Directions (count, columns, 2)."""
    ends = np.eye(2 * columns).reshape(-1, columns, 2)
    sides = np.asarray([[-1.0, 1.0], [1.0, 1.0]])
    of_a_column = np.einsum("ab,ce->acbe", np.eye(columns), sides).reshape(-1, columns, 2)
    together = np.broadcast_to(sides[0], (1, columns, 2))
    each = np.concatenate([ends, of_a_column, together]) if columns > 1 else np.concatenate([ends, of_a_column])
    return np.concatenate([each, -each])


def _inside(scores: Floats) -> Floats:
    """Scores within reach, the two of a column apart."""
    low, high = np.moveaxis(np.clip(scores, -_FARTHEST, _FARTHEST), -1, 0)
    middle, half = 0.5 * (low + high), np.maximum(0.5 * (high - low), 0.5 * _NEAREST)
    return np.stack([middle - half, middle + half], axis=-1)


def moves_of(columns: int) -> int:
    """How many are tried together."""
    return len(_moves(columns))


def _finite(losses: Floats) -> Floats:
    return np.where(np.isfinite(losses), losses, np.inf)


#: scores that hold all others
WIDEST = np.asarray([-_FARTHEST - _NEAREST, _FARTHEST + _NEAREST])
