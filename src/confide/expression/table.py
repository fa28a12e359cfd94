"""Intervals of a table's values and slopes: what `interp` can compute on a cell, by any of the formulas in use.

Between the knots x₀ and x₁ with values v₀ and v₁ NumPy and databases compute v₀ + ((v₁ − v₀)/(x₁ − x₀))·(x − x₀), and
JAX computes v₀ + ((x − x₀)/(x₁ − x₀))·(v₁ − v₀). Both are read here as interval arithmetic on the part of a segment
that a cell meets; the segments that lie inside of the cell are asked for their largest value at once, from maxima
over runs of 1, 2, 4, … segments. A table of thousands of knots so costs a cell no more than a table of two.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.expression import interval
from confide.expression.interval import Interval, choose, point
from confide.expression.rounding import Array

Indices = NDArray[np.int64]


@dataclass(frozen=True)
class _Runs:
    """The hull of any run of consecutive intervals, in constant time."""

    levels: tuple[Interval, ...]

    @staticmethod
    def over(parts: Interval) -> _Runs:
        levels = [parts]
        while (half := 2 ** (len(levels) - 1)) * 2 <= parts.low.size:
            last = levels[-1]
            levels.append(
                Interval(last.low[:-half], last.high[:-half]).hull(Interval(last.low[half:], last.high[half:]))
            )
        return _Runs(tuple(levels))

    def hull(self, first: Indices, last: Indices) -> Interval:
        """The hull of the parts first … last, both included, where first ≤ last."""
        level = np.frexp((last - first + 1).astype(np.float64))[1] - 1
        low, high = np.empty(level.shape), np.empty(level.shape)
        for k in np.unique(level):
            here, runs = level == k, self.levels[k]
            start, end = first[here], last[here] - 2 ** int(k) + 1
            low[here] = np.minimum(runs.low[start], runs.low[end])
            high[here] = np.maximum(runs.high[start], runs.high[end])
        return Interval(low, high)


@dataclass(frozen=True)
class ValueTable:
    """The segments of a table as intervals."""

    knots: Array
    values: Array
    #: v₁ − v₀, x₁ − x₀ and their quotient for each segment, rounded outward
    rise: Interval
    width: Interval
    slope: Interval

    def ranges(self, a: Interval) -> Interval:
        """What the table can be on each cell of the argument."""
        shape = a.low.shape
        low, high = np.atleast_1d(a.low), np.atleast_1d(a.high)
        first, last = self._segment(low), self._segment(high)
        inside = self._part(first, low, high).hull(self._part(last, low, high))
        between = last - first > 1
        if np.any(between):
            whole = self._whole.hull(np.where(between, first + 1, 0), np.where(between, last - 1, 0))
            inside = choose(between, inside.hull(whole), inside)
        # beyond its ends a table is constant
        before, beyond = point(float(self.values[0])), point(float(self.values[-1]))
        result = choose(high >= self.knots[-1], inside.hull(beyond), inside)
        result = choose(low <= self.knots[0], result.hull(before), result)
        result = choose(high <= self.knots[0], before, choose(low >= self.knots[-1], beyond, result))
        return Interval(result.low.reshape(shape), result.high.reshape(shape))

    def slopes(self, a: Interval) -> Interval:
        """The slopes of the segments that each cell meets; those on both sides where it is a knot."""
        shape = a.low.shape
        low, high = np.atleast_1d(a.low), np.atleast_1d(a.high)
        right, left = np.searchsorted(self.knots, low, "right"), np.searchsorted(self.knots, high, "left")
        result = self._slopes.hull(np.minimum(left, right), np.maximum(left, right))
        return Interval(result.low.reshape(shape), result.high.reshape(shape))

    def _segment(self, x: Array) -> Indices:
        return np.clip(np.searchsorted(self.knots, x, "right") - 1, 0, self.knots.size - 2)

    def _part(self, segment: Indices, low: Array, high: Array) -> Interval:
        """The values on a part of a segment; its right knot belongs to the next one."""
        start, stop = self.knots[segment], np.nextafter(self.knots[segment + 1], -np.inf)
        part = Interval(np.clip(low, start, stop), np.clip(high, start, stop))
        offset = interval.add(part, Interval(-start, -start))
        rise, width, slope = (Interval(of.low[segment], of.high[segment]) for of in (self.rise, self.width, self.slope))
        by_slope = interval.multiply(slope, offset)
        by_share = interval.multiply(interval.divide(offset, width), rise)
        base = Interval(self.values[segment], self.values[segment])
        return interval.add(by_slope.hull(by_share), base)

    @functools.cached_property
    def _whole(self) -> _Runs:
        segments = np.arange(self.knots.size - 1)
        return _Runs.over(self._part(segments, self.knots[:-1], self.knots[1:]))

    @functools.cached_property
    def _slopes(self) -> _Runs:
        flat = np.zeros(1)
        low, high = (np.concatenate([flat, end, flat]) for end in (self.slope.low, self.slope.high))
        return _Runs.over(Interval(low, high))


@functools.lru_cache(maxsize=64)
def table(knots: tuple[float, ...], values: tuple[float, ...]) -> ValueTable:
    """The table of `interp(x, knots, values)`.

    >>> table((0.0, 1.0, 3.0), (0.0, 2.0, -1.0)).ranges(Interval.of([-1.0, 0.5], [0.25, 4.0]))
    Interval(low=array([ 0., -1.]), high=array([0.5, 2. ]))
    """
    xs, vs = np.asarray(knots), np.asarray(values)
    rise = interval.add(Interval(vs[1:], vs[1:]), Interval(-vs[:-1], -vs[:-1]))
    width = interval.add(Interval(xs[1:], xs[1:]), Interval(-xs[:-1], -xs[:-1]))
    return ValueTable(xs, vs, rise, width, interval.divide(rise, width))
