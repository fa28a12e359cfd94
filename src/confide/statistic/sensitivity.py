"""The global sensitivity of a vector of expressions: how far s(x) and s(x') can lie apart.

For one expression it is the width of its certified range. For several it is not the norm of the widths, because the
components move together: (x, x²) on [−10, 10] changes by at most 110.25 in L1, not by 20 + 100.

*The proof.* The bounds are covered by cells of doubles (`expression.cells`), and interval arithmetic bounds every
component on every cell as any engine may compute it: a box per cell. A switch is decided by these intervals or it
stays open, [0, 1]. Two records lie in two cells, so the distance of their values is at most the largest distance
between the two boxes, and the largest over all pairs of boxes is a bound, with differences, sums and roots rounded up.
That holds wherever cells are cut; kinks that were found with floats say only where it is worthwhile, and so do the
distances that are really attained, at which the search stops. Boxes are clamped to the certified ranges, as the values
are.

*The work* is known beforehand: pairs of boxes times components. Beyond it, what has been proved so far is the answer,
and at the very least the norm of the ranges' widths.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidArgument
from confide.expression import Expression, rounding
from confide.expression.bounding import RangeReader
from confide.expression.cells import covering, halved, middles
from confide.expression.evaluate import evaluate
from confide.expression.fold import fold
from confide.expression.interval import Interval, UndefinedError
from confide.expression.pieces import kink_hints
from confide.expression.tree import Tree, read
from confide.expression.work import SEARCH, Work, size
from confide.privacy.rounding import root_sum_of_squares_up, root_up, round_up, sum_up
from confide.statistic.columns import ColumnBounds
from confide.statistic.joint import joint_sensitivity
from confide.statistic.transform import Transform, ranges_of

#: a bound this close to a distance that is attained is not worth more work: noise is larger by that share at most
_GAP = 1e-6
#: pairs of boxes × components that one statistic may cost, and one round of its search
_MOST_WORK, _MOST_PER_ROUND = 2e7, 4e6
#: nodes of all expressions together that are read on cells, and cuts at kinks
_MOST_NODES, _MOST_HINTS = 5_000, 1_000
#: what reading one node on up to 500 cells costs beside a pair of boxes in one component
_NODE_COST = 5_000.0

Array = NDArray[np.float64]


def width(low: float, high: float) -> float:
    """high − low, rounded up."""
    return sum_up([high, -low])


@functools.lru_cache(maxsize=256)
def vector_sensitivity(
    transforms: tuple[Transform, ...], bounds: tuple[float, float] | ColumnBounds, norm: int
) -> float:
    """sup over x, x' in the bounds of ‖s(x) − s(x')‖ in L1 or L2, never below the truth; of rows by `joint`."""
    ranges = ranges_of(transforms, bounds)
    widths = [width(*ends) for ends in ranges]
    plain = sum_up(widths) if norm == 1 else root_sum_of_squares_up(widths)
    expressions = [t for t in transforms if isinstance(t, Expression)]
    if len(transforms) == 1 or len(expressions) < len(transforms) or not math.isfinite(plain):
        return plain
    trees = tuple(fold(expression.tree) for expression in expressions)
    if sum(map(size, trees)) > _MOST_NODES:
        return plain
    if isinstance(bounds, ColumnBounds):
        return joint_sensitivity(trees, ranges, bounds.by_name, norm)
    try:
        with np.errstate(all="ignore"):  # what overflows is bounded by infinity
            return min(plain, _JointSearch(trees, ranges, bounds, norm).bound())
    except UndefinedError:
        return plain


@functools.lru_cache(maxsize=256)
def vector_size(transforms: tuple[Transform, ...], bounds: tuple[float, float] | ColumnBounds, norm: int) -> float:
    """sup over x in the bounds of ‖s(x)‖ in L1 or L2, never below the truth.

    For several expressions it is the end of a certified range, that of Σ|s_j| or of Σs_j², which is an expression too.
    That range holds what any engine computes, and so the exact sum of computed s_j, once the rounding of k absolute
    values or squares and as many sums is added.
    """
    largest = [max(map(abs, ends)) for ends in ranges_of(transforms, bounds)]
    plain = sum_up(largest) if norm == 1 else root_sum_of_squares_up(largest)
    expressions = [t for t in transforms if isinstance(t, Expression)]
    if len(transforms) == 1 or len(expressions) < len(transforms) or not math.isfinite(plain):
        return plain
    if sum(size(expression.tree) for expression in expressions) > _MOST_NODES:
        return plain
    terms = [f"abs({part.text})" if norm == 1 else f"({part.text})**2" for part in expressions]
    names = bounds.names if isinstance(bounds, ColumnBounds) else ("x",)
    try:
        with np.errstate(all="ignore"):  # what overflows is bounded by infinity
            together = Expression(" + ".join(terms), names)
            top = together.range_on(bounds.by_name) if isinstance(bounds, ColumnBounds) else together.range(*bounds)
    except InvalidArgument:  # too long or too deep together, or not bounded in double precision
        return plain
    exact = Fraction(top[1]) * (1 + Fraction(4 * len(terms) + 4, 2**53)) + Fraction(len(terms), 2**1070)
    found = round_up(exact) if norm == 1 else root_up(exact)
    return min(plain, found)


class _JointSearch:
    """Branch and bound on cells. Every cell is active, or was settled: no pair that it takes part in is larger."""

    def __init__(
        self, trees: tuple[Tree, ...], ranges: Sequence[tuple[float, float]], bounds: tuple[float, float], norm: int
    ) -> None:
        self.trees, self.norm = trees, norm
        self.bottom, self.top = (np.asarray(ends)[:, None] for ends in zip(*ranges, strict=True))
        self.spent, self._nodes = 0.0, sum(map(size, trees))
        self.cells = covering(*bounds, _hints(trees, bounds))
        self.boxes = self._boxes(self.cells)

    def bound(self) -> float:
        """The smallest bound that the budget of work allows."""
        best, settled, found = math.inf, 0.0, 0.0
        while True:
            boxes, which = _distinct(self.boxes)
            work = len(self.trees) * boxes.low.shape[1] ** 2
            self.spent += work
            if work > _MOST_PER_ROUND or self.spent > _MOST_WORK:
                return min(best, max(settled, _twice_the_radius(boxes, self.norm)))
            apart, partner, largest = _farthest(boxes, self.norm)
            best = min(best, max(settled, largest))
            found = max(found, self._attained(which, partner))
            enough = found * (1 + _GAP)
            if best <= enough:
                return best
            settled = max(settled, float(apart[apart <= enough].max(initial=0.0)))
            self._keep((apart > enough)[which])
            if not self._split(apart[which][(apart > enough)[which]]):
                return best

    def _keep(self, active: NDArray[np.bool_]) -> None:
        self.cells, self.boxes = _columns(self.cells, active), _columns(self.boxes, active)

    def _split(self, apart: Array) -> bool:
        """Halve the cells in the largest pairs, as many as one round can hold; False where none can be halved."""
        divisible = (self.cells.low < self.cells.high) & np.any(self.boxes.low < self.boxes.high, axis=0)
        room = int(math.sqrt(_MOST_PER_ROUND / len(self.trees))) - self.cells.low.size
        candidates = np.flatnonzero(divisible)
        chosen = np.zeros(divisible.shape, dtype=bool)
        chosen[candidates[np.argsort(-apart[candidates], kind="stable")[: max(room, 0)]]] = True
        if not np.any(chosen):
            return False
        fresh = halved(_columns(self.cells, chosen))
        self.cells = _joined(_columns(self.cells, ~chosen), fresh)
        self.boxes = _joined(_columns(self.boxes, ~chosen), self._boxes(fresh))
        return True

    def _boxes(self, cells: Interval) -> Interval:
        """The values of each component (rows) on each cell (columns), clamped as a statistic clamps them."""
        self.spent += self._nodes * _NODE_COST * (1 + cells.low.size / 500)
        reader = RangeReader(cells)
        parts = [read(tree, reader) for tree in self.trees]
        sides = ([part.low for part in parts], [part.high for part in parts])
        whole = (np.stack([np.broadcast_to(end, cells.low.shape) for end in side]) for side in sides)
        low, high = (np.clip(side, self.bottom, self.top) for side in whole)
        known = ~(np.isnan(low) | np.isnan(high))  # nothing is known of ∞ − ∞
        return Interval(np.where(known, low, self.bottom), np.where(known, high, self.top))

    def _attained(self, which: NDArray[np.int64], partner: NDArray[np.int64]) -> float:
        """The largest distance between values in the middles of cells that are farthest apart: where to stop."""
        first = np.full(partner.size, -1)
        first[which[::-1]] = np.arange(which.size)[::-1]  # a cell for each box
        x = middles(_columns(self.cells, first))
        values = np.stack([np.broadcast_to(evaluate(tree, x), x.shape) for tree in self.trees])
        values = np.clip(values, self.bottom, self.top)
        return float(np.linalg.norm(values - values[:, partner], ord=self.norm, axis=0).max())


def _hints(trees: tuple[Tree, ...], bounds: tuple[float, float]) -> list[float]:
    """Where to cut first: the switching points of all components, or some of them where there are very many."""
    work = Work(SEARCH / 2)
    points = sorted(set().union(*(kink_hints(tree, *bounds, work) for tree in trees)))
    return points[:: -(-len(points) // _MOST_HINTS) or 1]


def _columns(a: Interval, chosen: Any) -> Interval:
    return Interval(a.low[..., chosen], a.high[..., chosen])


def _joined(a: Interval, b: Interval) -> Interval:
    return Interval(np.concatenate([a.low, b.low], axis=-1), np.concatenate([a.high, b.high], axis=-1))


def _distinct(boxes: Interval) -> tuple[Interval, NDArray[np.int64]]:
    """Boxes without repetition, and which of them each one is."""
    rows = np.concatenate([boxes.low, boxes.high]).T + 0.0
    different, which = np.unique(rows, axis=0, return_inverse=True)
    low, high = np.split(different.T, 2)
    return Interval(low, high), which.reshape(-1)


def _farthest(boxes: Interval, norm: int) -> tuple[Array, NDArray[np.int64], float]:
    """For each box a bound of the distance to a point of any box and the box where that is; and the largest of all.

    The bounds of each are plain sums, enlarged by more than their rounding: k differences of relative error 2⁻⁵³, and
    as many sums. Only the largest is computed again, rounded up step by step, so that it is exact where it can be.
    """
    k, count = boxes.low.shape
    scale = _power_of_two(float(np.max(boxes.high) - np.min(boxes.low)))
    margin = (4 * k + 16) * 2.0**-53
    total = np.full((count, count), 0.0 if norm == 1 else k * 2.0**-1060)  # squares may vanish
    for low, high in zip(boxes.low, boxes.high, strict=True):
        above = high[:, None] - low[None, :]
        difference = np.maximum(above, above.T)
        total += difference if norm == 1 else (difference / scale) ** 2
    bound = total if norm == 1 else np.sqrt(total) * scale
    bound *= 1 + margin
    partner = np.argmax(bound, axis=1)
    each = bound[np.arange(count), partner]
    nearly = float(each.max()) * (1 - 4 * margin)
    first, second = np.nonzero(np.triu(bound >= nearly))
    if first.size * k > _MOST_PER_ROUND / 4:
        return each, partner, float(each.max())
    exact = np.zeros(first.size)
    for low, high in zip(boxes.low, boxes.high, strict=True):
        above, below = rounding.add(high[first], -low[second], 1), rounding.add(high[second], -low[first], 1)
        exact = _accumulated(exact, np.maximum(above, below), norm, scale)
    return each, partner, max(nearly, float(_length(exact, norm, scale).max()))


def _twice_the_radius(boxes: Interval, norm: int) -> float:
    """Two points lie at most twice as far apart as one lies from 0: a bound that needs no pairs."""
    sizes = np.maximum(np.abs(boxes.low), np.abs(boxes.high))
    scale = _power_of_two(float(sizes.max()))
    total = np.zeros(sizes.shape[1])
    for size_of in sizes:
        total = _accumulated(total, size_of, norm, scale)
    return 2.0 * float(_length(total, norm, scale).max())


def _accumulated(total: Array, difference: Array, norm: int, scale: float) -> Array:
    """The sum so far and |d|, or |d|² in units of the scale, rounded up."""
    if norm == 1:
        return rounding.add(total, difference, 1)
    share = rounding.multiply(difference, np.asarray(1 / scale), 1)
    return rounding.add(total, rounding.multiply(share, share, 1), 1)


def _length(total: Array, norm: int, scale: float) -> Array:
    return total if norm == 1 else rounding.multiply(rounding.sqrt(total, 1), np.asarray(scale), 1)


def _power_of_two(size_of: float) -> float:
    """A power of two near a size, so that squares of what is measured in it neither overflow nor vanish."""
    return 2.0 ** min(max(math.frexp(size_of)[1], -1000), 1000)
