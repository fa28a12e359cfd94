"""The global sensitivity of a vector of expressions: how far s(x) and s(x') can lie apart.

For one expression it is the width of its certified range. For several it is not the norm of the widths, because the
components move together: (x, x²) on [−10, 10] changes by at most 110 in L1, not by 20 + 100. The supremum over pairs
(x, x') is bounded by branch and bound on pairs of cells, each cell bounded by interval arithmetic: an upper bound at
every moment, tightened until it is within `_GAP` of a pair that was found.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from confide.expression import Expression
from confide.expression.bounding import RangeReader
from confide.expression.evaluate import evaluate
from confide.expression.interval import Interval
from confide.expression.pieces import kinks
from confide.expression.specialise import specialise
from confide.expression.tree import Tree, read
from confide.statistic.transform import Transform

_GAP = 1e-6
_MOST_CELLS = 700
_ROUNDS = 60

Array = NDArray[np.float64]


@functools.lru_cache(maxsize=256)
def vector_sensitivity(transforms: tuple[Transform, ...], bounds: tuple[float, float], norm: int) -> float:
    """sup over x, x' in the bounds of ‖s(x) − s(x')‖ in L1 or L2, never below the truth."""
    widths = [high - low for low, high in (t.range(*bounds) for t in transforms)]
    naive = float(_norm(np.asarray(widths), norm))
    expressions = [t for t in transforms if isinstance(t, Expression)]
    if len(transforms) == 1 or len(expressions) < len(transforms):
        return naive
    return min(naive, _bounded(expressions, bounds, norm))


def _norm(differences: Array, norm: int, axis: int = 0) -> Array:
    result: Array = np.linalg.norm(differences, ord=norm, axis=axis)
    return np.asarray(result)


@dataclass(frozen=True)
class _Cells:
    """Cells of x on which every expression follows one branch, as the intervals of values of each expression."""

    trees: tuple[Tree, ...]
    low: Array
    high: Array

    def ranges(self) -> tuple[Array, Array]:
        """Lower and upper ends, shape (expressions, cells)."""
        bounds = [read(tree, RangeReader(Interval.of(self.low, self.high))) for tree in self.trees]
        ends = ((np.broadcast_to(end, self.low.shape) for end in (b.low, b.high)) for b in bounds)
        low, high = zip(*ends, strict=True)
        return np.stack(low), np.stack(high)

    def halved(self, chosen: Array) -> _Cells:
        """The chosen cells, cut in two (points stay points)."""
        low, high = self.low[chosen], self.high[chosen]
        middle = 0.5 * (low + high)
        wide = low < high
        return _Cells(
            self.trees,
            np.concatenate([low, middle[wide]]),
            np.concatenate([np.where(wide, middle, high), high[wide]]),
        )


def _first_cells(expressions: list[Expression], bounds: tuple[float, float]) -> list[_Cells]:
    """A few cells per smooth piece, and the switching points themselves, where a jump may take either value."""
    switches = sorted(set().union(*(kinks(e.tree, *bounds) for e in expressions)))
    around = [np.nextafter(point, side) for point in switches for side in (-np.inf, point, np.inf)]
    points = np.asarray([*bounds, *around])
    cells = [_Cells(tuple(e.tree for e in expressions), points, points)]
    for low, high in pairwise([bounds[0], *switches, bounds[1]]):
        edges = np.linspace(low, high, 9)
        trees = tuple(specialise(e.tree, low, high) for e in expressions)
        cells.append(_Cells(trees, edges[:-1], edges[1:]))
    return cells


def _bounded(expressions: list[Expression], bounds: tuple[float, float], norm: int) -> float:
    cells = _first_cells(expressions, bounds)
    settled, found = 0.0, 0.0
    for _ in range(_ROUNDS):
        low, high = (np.concatenate(ends, axis=1) for ends in zip(*(c.ranges() for c in cells), strict=True))
        apart = np.maximum(high[:, :, None] - low[:, None, :], high[:, None, :] - low[:, :, None])
        upper = _norm(apart, norm)
        found = max(found, _witness(cells, norm))
        unsettled = np.any(upper > found * (1 + _GAP), axis=1)
        if not unsettled.any() or 2 * unsettled.sum() > _MOST_CELLS:
            return max(settled, float(upper.max()))
        # cells that cannot take part in a larger pair any more are settled at their bound, the others are halved
        settled = max(settled, float(upper[~unsettled].max(initial=0.0)))
        ends = np.cumsum([0, *(c.low.size for c in cells)])
        cells = [c.halved(unsettled[a:b]) for c, a, b in zip(cells, ends[:-1], ends[1:], strict=True)]
    return max(settled, float(upper.max()))


def _witness(cells: list[_Cells], norm: int) -> float:
    """The largest distance between the values at the cells' middles: no bound can be below it."""
    middles = [
        np.stack([np.broadcast_to(evaluate(tree, 0.5 * (c.low + c.high)), c.low.shape) for tree in c.trees])
        for c in cells
    ]
    values = np.concatenate(middles, axis=1)
    return float(_norm(values[:, :, None] - values[:, None, :], norm).max())
