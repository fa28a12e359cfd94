"""Boxes: expressions in several variables, bounded on products of intervals.

In one variable cells are cut at kinks and a slope's sign settles them (`certify`). In several the same two facts serve
one axis at a time: where the slope along an axis has one sign, the largest value lies at an end of it, and what is left
is bounded by intervals or by the mean value theorem, whichever is less. Real analysis speaks of the exact expressions;
how far a computed one may lie from them is added at the end (`error`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from confide.expression import interval, rounding
from confide.expression.bounding import RangeReader, SlopeReader
from confide.expression.cells import covering
from confide.expression.error import ErrorReader
from confide.expression.interval import ZERO, Interval
from confide.expression.rounding import Array
from confide.expression.tree import COMPARISONS, Call, Interp, Number, Tree, Variable, nodes, read
from confide.expression.work import size

#: thresholds at which an axis is cut beforehand: each triples the boxes or more
_MOST_THRESHOLDS = 6
#: operations on one interval that a search for ranges or distances may cost, a second or two, and what one reading of
#: a tree costs beside its boxes
MOST_WORK, _OVERHEAD = 8_000_000, 200
#: stands for a slope that is infinite, and its inverse for one that vanishes: axes are compared, nothing is proved
_STEEP = 1e100

Bounds = Mapping[str, tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Boxes:
    """Products of closed intervals of doubles: ends of shape (axes, boxes)."""

    low: Array
    high: Array

    def __getitem__(self, which: object) -> Boxes:
        return Boxes(self.low[:, which], self.high[:, which])  # type: ignore[index]

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.low.shape[1])

    def middles(self) -> Array:
        """A point of doubles in each."""
        return np.clip(0.5 * self.low + 0.5 * self.high, self.low, self.high)

    def towards(self, slope: Interval) -> Boxes:
        """The part that holds the largest value: along an axis on which the slope has one sign, an end of it."""
        up, down = slope.low >= 0, slope.high <= 0
        return Boxes(np.where(up, self.high, self.low), np.where(down & ~up, self.low, self.high))

    def halved(self, axis: np.ndarray) -> Boxes:
        """Each cut in two along an axis of its own, the lower halves first; none may be a point there."""
        at = axis, np.arange(self.count)
        low, high = self.low[at], self.high[at]
        start = np.clip(0.5 * low + 0.5 * high, rounding.nudge(low, 1), high)
        lows, highs = (np.concatenate([end, end], axis=1) for end in (self.low, self.high))
        lows[axis, self.count + at[1]], highs[at] = start, rounding.nudge(start, -1)
        return Boxes(lows, highs)


def joined(parts: Sequence[Boxes]) -> Boxes:
    """All of them, one after the other."""
    return Boxes(*(np.concatenate([getattr(part, end) for part in parts], axis=1) for end in ("low", "high")))


def first_boxes(trees: Sequence[Tree], bounds: Bounds, most: int) -> Boxes:
    """The bounds, cut where a variable is compared with a constant: there a computed switch is decided exactly.

    As many constants are used as do not make more than so many boxes.
    """
    thresholds = {name: _thresholds(trees, name) for name in bounds}
    for count in range(_MOST_THRESHOLDS, -1, -1):
        every = [
            covering(*ends, thresholds[name][:count])
            if thresholds[name][:count]
            else Interval.of(*(np.asarray([end]) for end in ends))
            for name, ends in bounds.items()
        ]
        if math.prod(axis.low.size for axis in every) <= most:
            break
    sides = (_products([getattr(axis, end) for axis in every]) for end in ("low", "high"))
    return Boxes(*sides)


def _products(axes: Sequence[Array]) -> Array:
    """Every combination of one end of each axis (axis, combination); NumPy's own grids have 32 axes at most."""
    sizes = [axis.size for axis in axes]
    before = [math.prod(sizes[:place]) for place in range(len(axes))]
    after = [math.prod(sizes[place + 1 :]) for place in range(len(axes))]
    return np.stack([np.tile(np.repeat(axis, n), m) for axis, m, n in zip(axes, before, after, strict=True)])


def _thresholds(trees: Sequence[Tree], name: str) -> list[float]:
    """Constants that a variable is compared with, or that bound it: the first few."""
    found = dict.fromkeys(itertools.chain.from_iterable(_switches(node, name) for t in trees for node in nodes(t)))
    return list(found)[:_MOST_THRESHOLDS]


def _switches(node: Tree, name: str) -> Iterator[float]:
    match node:
        case Call(operation, arguments) if operation in COMPARISONS | {"minimum", "maximum", "clip"}:
            if Variable(name) in arguments:
                yield from (each.value for each in arguments if isinstance(each, Number))
        case Call("absolute" | "sign", (Variable(other),)) if other == name:
            yield 0.0
        case Interp(Variable(other), knots, _) if other == name:
            yield from knots


class Components:
    """Several expressions read together on boxes: their values and slopes (component, axis, box)."""

    def __init__(self, trees: Sequence[Tree], names: Sequence[str]) -> None:
        self.trees, self.names = tuple(trees), tuple(names)
        self._uses = [{node.name for node in nodes(tree) if isinstance(node, Variable)} for tree in trees]
        self._operations = sum(size(tree) * (1 + len(uses)) for tree, uses in zip(trees, self._uses, strict=True))

    def work(self, count: int) -> float:
        """The operations that values and slopes on so many boxes cost, once each."""
        return self._operations * (count + _OVERHEAD)

    def _named(self, boxes: Boxes) -> dict[str, Interval]:
        return {name: Interval(boxes.low[i], boxes.high[i]) for i, name in enumerate(self.names)}

    def values(self, boxes: Boxes) -> Interval:
        """What each component may be (component, box)."""
        reader = RangeReader(self._named(boxes))
        return _stacked([read(tree, reader) for tree in self.trees], boxes.count)

    def slopes(self, boxes: Boxes) -> Interval:
        """How steep each component may be along each axis."""
        readers = [SlopeReader(self._named(boxes), along=name) for name in self.names]
        rows = [
            _stacked(
                [
                    read(tree, reader).slope if name in uses else ZERO
                    for name, reader in zip(self.names, readers, strict=True)
                ],
                boxes.count,
            )
            for tree, uses in zip(self.trees, self._uses, strict=True)
        ]
        return Interval(np.stack([row.low for row in rows]), np.stack([row.high for row in rows]))

    def errors(self, bounds: Bounds) -> list[float]:
        """How far each computed component may lie from the exact one, anywhere on the bounds."""
        reader = ErrorReader({name: Interval.of(*ends) for name, ends in bounds.items()})
        return [float(np.max(read(tree, reader).error)) for tree in self.trees]


def _stacked(parts: Sequence[Interval], count: int) -> Interval:
    ends = ([np.broadcast_to(getattr(part, end), count) for part in parts] for end in ("low", "high"))
    return Interval(*(np.stack(side) for side in ends))


def summed(parts: Interval) -> Interval:
    """The sum over the first axis, rounded outward."""
    total = Interval(parts.low[0], parts.high[0])
    for low, high in zip(parts.low[1:], parts.high[1:], strict=True):
        total = interval.add(total, Interval(low, high))
    return total


def around(centre: Interval, slopes: Interval, boxes: Boxes) -> Interval:
    """By the mean value theorem: the value at the middle, and slopes (axis, box) times the way from there."""
    middle = boxes.middles()
    way = Interval(rounding.add(boxes.low, -middle, -1), rounding.add(boxes.high, -middle, 1))
    found = interval.add(centre, summed(interval.multiply(slopes, way)))
    lost = np.isnan(found.low) | np.isnan(found.high)  # ∞ − ∞: nothing is known
    return Interval(np.where(lost, -np.inf, found.low), np.where(lost, np.inf, found.high))


def widest(boxes: Boxes, slopes: Interval) -> np.ndarray:
    """The axis along which each box matters most: its width times how steep the expression may be there."""
    width = boxes.high - boxes.low
    steep = np.maximum(np.abs(slopes.low), np.abs(slopes.high))
    steep = np.where(np.isfinite(steep), steep, _STEEP) + 1.0 / _STEEP
    return np.argmax(np.where(width > 0, width * steep, -1.0), axis=0)
