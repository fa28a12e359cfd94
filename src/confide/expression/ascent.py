"""Branch and bound: the largest values of Σ ±s_j on a box, for many patterns of signs at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from confide.expression.bounding import RangeReader
from confide.expression.boxes import MOST_WORK, Bounds, Boxes, Components, around, first_boxes, joined, summed, widest
from confide.expression.interval import Interval, UndefinedError
from confide.expression.rounding import Array, add
from confide.expression.tree import Tree, Variable, nodes, read

#: boxes that are looked at in one round
_ROUND = 8_192
#: an expression's range this close to one that is attained, relative to its size, is not worth more work
_CLOSE = 2.0**-40


class Ascent:
    """Upper bounds of Σ_j σ_j s_j over a box, for each pattern of signs σ.

    Every open box belongs to one pattern. `run` is told how far a pattern's bound matters and stops where none does.
    """

    def __init__(self, trees: Sequence[Tree], bounds: Bounds, signs: Array, work: float = MOST_WORK) -> None:
        self.parts, self.signs, self._left = Components(trees, tuple(bounds)), signs, work
        patterns = len(signs)
        first = first_boxes(trees, bounds, max(_ROUND // patterns, 1))
        self.boxes = first[np.tile(np.arange(first.count), patterns)]
        self.pattern = np.repeat(np.arange(patterns), first.count)
        #: what a closed box of each pattern may reach, and what is surely attained
        self.settled, self.attained = np.full(patterns, -np.inf), np.full(patterns, -np.inf)
        self.upper = np.full(self.boxes.count, np.inf)
        #: along which axis each box is halved
        self.axis = np.zeros(self.boxes.count, dtype=int)

    def bounds(self) -> Array:
        """The bound of each pattern that is proved so far."""
        found = self.settled.copy()
        np.maximum.at(found, self.pattern, self.upper)
        return found

    def run(self, enough: Callable[[Array, Array], Array]) -> Array:
        """The bounds, once no box is above what is `enough` (of bounds and attained values), or the work is spent."""
        fresh = np.ones(self.boxes.count, dtype=bool)
        if self.parts.work(self.boxes.count) > self._left:
            return self.bounds()  # not even one look can be afforded: nothing is known
        while True:
            if np.any(fresh):
                self._left -= self.parts.work(int(fresh.sum()))
                self._look(np.flatnonzero(fresh))
            limit = enough(self.bounds(), self.attained)
            open_ = self.upper > limit[self.pattern]
            open_ &= np.any(self.boxes.low < self.boxes.high, axis=0)
            np.maximum.at(self.settled, self.pattern[~open_], self.upper[~open_])
            self._keep(open_)
            if not self.boxes.count or self._left < 0:
                return self.bounds()
            fresh = self._split(limit)

    def _keep(self, which: np.ndarray) -> None:
        self.boxes, self.axis = self.boxes[which], self.axis[which]
        self.pattern, self.upper = self.pattern[which], self.upper[which]

    def _look(self, which: np.ndarray) -> None:
        """Bound the boxes of these numbers, and shrink them to where their largest value lies."""
        boxes, sign = self.boxes[which], self.signs[self.pattern[which]].T
        slopes = summed(_signed(self.parts.slopes(boxes), sign[:, None, :]))
        smaller = boxes.towards(slopes)
        plain = summed(_signed(self.parts.values(smaller), sign)).high
        middle = smaller.middles()
        centre = summed(_signed(self.parts.values(Boxes(middle, middle)), sign))
        np.maximum.at(self.attained, self.pattern[which], centre.low)
        reached = np.minimum(plain, around(centre, slopes, smaller).high)
        self.upper[which] = np.minimum(self.upper[which], np.where(np.isnan(reached), np.inf, reached))
        self.boxes.low[:, which], self.boxes.high[:, which] = smaller.low, smaller.high
        self.axis[which] = widest(smaller, slopes)

    def _split(self, limit: Array) -> np.ndarray:
        """Halve the boxes that are farthest above what is enough; which boxes are new."""
        chosen = np.zeros(self.boxes.count, dtype=bool)
        chosen[np.argsort(limit[self.pattern] - self.upper, kind="stable")[:_ROUND]] = True
        halves = self.boxes[chosen].halved(self.axis[chosen])
        twice = np.flatnonzero(chosen)
        self.boxes = joined([self.boxes[~chosen], halves])
        self.pattern, self.upper, self.axis = (
            np.concatenate([array[~chosen], array[twice], array[twice]])
            for array in (self.pattern, self.upper, self.axis)
        )
        return np.arange(self.boxes.count) >= np.sum(~chosen)


def _signed(parts: Interval, sign: Array) -> Interval:
    """Components times ±1, the first axis of both."""
    return Interval(
        np.where(sign > 0, parts.low, -parts.high),
        np.where(sign > 0, parts.high, -parts.low),
    )


def range_on(tree: Tree, bounds: Bounds, shared: int = 1) -> tuple[float, float]:
    """An interval that holds every value of an expression in several variables, as any engine computes it.

    The work to make it tight is limited, and `shared` by as many expressions.

    >>> from confide.expression.parse import parse
    >>> range_on(parse("a * b", ("a", "b")), {"a": (-1.0, 2.0), "b": (0.0, 3.0)})
    (-3.0, 6.0)
    """
    plain = read(tree, RangeReader({name: Interval.of(*ends) for name, ends in bounds.items()}))
    bottom, top = float(np.min(plain.low)), float(np.max(plain.high))
    if not (np.isfinite(bottom) and np.isfinite(top)):
        raise UndefinedError("its values are not bounded in double precision")
    named = [node.name for node in nodes(tree) if isinstance(node, Variable)]
    if len(named) == len(set(named)):  # intervals are tight where each variable occurs once
        return bottom, top
    search = Ascent([tree], bounds, np.asarray([[1.0], [-1.0]]), MOST_WORK / shared)
    error = search.parts.errors(bounds)[0]

    def enough(found: Array, attained: Array) -> Array:
        del found
        return attained + _CLOSE * np.max(np.abs(attained))

    with np.errstate(all="ignore"):
        above, below = search.run(enough)
    reach = add(np.asarray([above, below]), np.asarray(error), 1)
    return max(bottom, -float(reach[1])), min(top, float(reach[0]))
