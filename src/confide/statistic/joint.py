"""The joint sensitivity of a vector of expressions in several columns.

*L1.* The distance Σ|s_j(x) − s_j(x')| is the largest of Σ σ_j (s_j(x) − s_j(x')) over patterns of signs, so that its
supremum is the largest range of h = Σ σ_j s_j over the 2^{k−1} patterns: a search in as many dimensions as there are
columns (`expression.ascent`), not twice as many.

*L2.* The squared distance is bounded on products of two boxes, by the differences of their components; where its slope
along an axis has one sign only an end of it is left.

Both are bounds of the exact distance, to which the rounding of either row is added.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np

from confide.expression import interval, rounding
from confide.expression.ascent import Ascent
from confide.expression.boxes import MOST_WORK, Bounds, Boxes, Components, around, first_boxes, joined, summed, widest
from confide.expression.interval import Interval, UndefinedError
from confide.expression.rounding import Array
from confide.expression.tree import Tree
from confide.privacy.rounding import root_sum_of_squares_up, sum_up

#: components of which all patterns of signs are tried: beyond, the norm of the widths is what is known
_MOST_SIGNED = 12
#: components times columns whose slopes fit in memory: beyond, the norm of the widths as well
_MOST_SLOPES = 400
#: how far a bound may lie above a distance that is attained: noise is wider by that share at most
_GAP = {1: 1e-5, 2: 1e-3}
#: pairs of boxes that are halved in one round
_ROUND = 8_192


def joint_sensitivity(
    trees: tuple[Tree, ...], ranges: Sequence[tuple[float, float]], bounds: Bounds, norm: int
) -> float:
    """sup over rows x, x' in the bounds of ‖s(x) − s(x')‖ in L1 or L2, never below the truth."""
    widths = [sum_up([high, -low]) for low, high in ranges]
    plain = sum_up(widths) if norm == 1 else root_sum_of_squares_up(widths)
    if len(trees) == 1 or not math.isfinite(plain) or (norm == 1 and len(trees) > _MOST_SIGNED):
        return plain
    if len(trees) * len(bounds) > _MOST_SLOPES:
        return plain
    try:
        with np.errstate(all="ignore"):  # what overflows is bounded by infinity
            errors = [2.0 * error for error in Components(trees, tuple(bounds)).errors(bounds)]
            exact = _signed_ranges(trees, bounds) if norm == 1 else _Pairs(trees, bounds).bound()
    except UndefinedError:
        return plain
    rounded = sum_up(errors) if norm == 1 else root_sum_of_squares_up(errors)
    found = sum_up([exact, rounded])
    return min(plain, found) if math.isfinite(found) else plain


def _signed_ranges(trees: tuple[Tree, ...], bounds: Bounds) -> float:
    """The largest range of Σ ±s_j: what each pattern of signs and its opposite reach together."""
    half = np.asarray(list(itertools.product((1.0, -1.0), repeat=len(trees) - 1)))
    half = np.concatenate([np.ones((len(half), 1)), half], axis=1)
    search = Ascent(trees, bounds, np.concatenate([half, -half]))

    def enough(found: Array, attained: Array) -> Array:
        opposite = np.roll(found, len(half))
        best = np.max(attained + np.roll(attained, len(half)))
        return best * (1 + _GAP[1]) - opposite

    found = search.run(enough)
    return max(sum_up(pair) for pair in zip(found[: len(half)], found[len(half) :], strict=True))


class _Pairs:
    """Branch and bound on pairs of boxes: the axes of one row, then those of the other."""

    def __init__(self, trees: tuple[Tree, ...], bounds: Bounds) -> None:
        self.parts, self.axes = Components(trees, tuple(bounds)), len(bounds)
        first = first_boxes(trees, bounds, math.isqrt(2 * _ROUND))
        one, two = (index.ravel() for index in np.triu_indices(first.count))
        self.boxes = Boxes(*(np.concatenate([end[:, one], end[:, two]]) for end in (first.low, first.high)))

    def bound(self) -> float:
        """The smallest bound that the budget of work allows."""
        settled, attained, spent = 0.0, 0.0, 0.0
        boxes, upper, axis = self.boxes, np.full(self.boxes.count, np.inf), np.zeros(self.boxes.count, dtype=int)
        fresh = np.arange(boxes.count)
        if 2 * self.parts.work(boxes.count) > MOST_WORK:
            return math.inf  # not even one look can be afforded: nothing is known
        while True:
            spent += 2 * self.parts.work(len(fresh))
            smaller, reached, found, along = self._look(boxes[fresh])
            attained = max(attained, found)
            upper[fresh], axis[fresh] = np.minimum(upper[fresh], reached), along
            boxes.low[:, fresh], boxes.high[:, fresh] = smaller.low, smaller.high
            open_ = (upper > attained * (1 + _GAP[2]) ** 2) & np.any(boxes.low < boxes.high, axis=0)
            settled = max(settled, float(upper[~open_].max(initial=0.0)))
            boxes, upper, axis = boxes[open_], upper[open_], axis[open_]
            if not boxes.count or spent > MOST_WORK:
                largest = max(settled, float(upper.max(initial=0.0)))
                return float(rounding.sqrt(np.asarray(largest), 1))
            chosen = np.zeros(boxes.count, dtype=bool)
            chosen[np.argsort(-upper, kind="stable")[:_ROUND]] = True
            kept, twice = int(np.sum(~chosen)), np.flatnonzero(chosen)
            boxes = joined([boxes[~chosen], boxes[chosen].halved(axis[chosen])])
            upper, axis = (np.concatenate([each[~chosen], each[twice], each[twice]]) for each in (upper, axis))
            fresh = np.arange(kept, boxes.count)

    def _look(self, boxes: Boxes) -> tuple[Boxes, Array, float, np.ndarray]:
        """Boxes shrunk to where the distance is largest, its square's bound there, the largest attained, an axis."""
        slopes = self._slopes(boxes)
        differences = self._within(boxes, slopes)
        steep = summed(interval.multiply(_twice(differences), slopes))
        smaller = boxes.towards(steep)
        plain = summed(_squares(self._within(smaller, slopes))).high
        middle = smaller.middles()
        centre = summed(_squares(self._differences(Boxes(middle, middle))))
        reached = np.minimum(plain, around(centre, steep, smaller).high)
        return smaller, np.where(np.isnan(reached), np.inf, reached), float(centre.low.max()), widest(smaller, steep)

    def _differences(self, boxes: Boxes) -> Interval:
        """s_j(x) − s_j(x') by intervals (component, pair)."""
        one, two = (self.parts.values(part) for part in self._rows(boxes))
        return interval.add(one, interval.negative(two))

    def _within(self, boxes: Boxes, slopes: Interval) -> Interval:
        """The same, by the mean value theorem where that is tighter."""
        plain, middle = self._differences(boxes), boxes.middles()
        centre = self._differences(Boxes(middle, middle))
        rows = [
            around(Interval(centre.low[j], centre.high[j]), Interval(slopes.low[j, :], slopes.high[j, :]), boxes)
            for j in range(len(self.parts.trees))
        ]
        low, high = (np.stack([getattr(row, end) for row in rows]) for end in ("low", "high"))
        return Interval(np.maximum(plain.low, low), np.minimum(plain.high, high))

    def _slopes(self, boxes: Boxes) -> Interval:
        """Of the differences, along the axes of both rows (component, axis, pair)."""
        one, two = (self.parts.slopes(part) for part in self._rows(boxes))
        return Interval(np.concatenate([one.low, -two.high], axis=1), np.concatenate([one.high, -two.low], axis=1))

    def _rows(self, boxes: Boxes) -> tuple[Boxes, Boxes]:
        low, high, d = boxes.low, boxes.high, self.axes
        return Boxes(low[:d], high[:d]), Boxes(low[d:], high[d:])


def _twice(differences: Interval) -> Interval:
    return Interval(2.0 * differences.low[:, None, :], 2.0 * differences.high[:, None, :])


def _squares(a: Interval) -> Interval:
    return interval.integer_power(a, 2)
