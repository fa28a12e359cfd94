"""The certified range of an expression: an interval that holds whatever any engine computes on the bounds.

Interval arithmetic on cells that cover the bounds is a proof already, and tight where x occurs once. Where it occurs
more than once intervals overestimate (x − x² on [0, 1] would reach 1), so cells are halved: but only those on which s
may leave what it surely attains elsewhere, and not those where the slope has one sign. There the exact range is what
the two ends give, and the computed one is wider by no more than the rounding (`error`). What is left when the work is
spent is bounded by intervals: less tight, as valid.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

import numpy as np

from confide.expression import rounding
from confide.expression.bounding import RangeReader, SlopeReader
from confide.expression.cells import covering, halved, middles
from confide.expression.error import Computed, ErrorReader
from confide.expression.interval import Interval, UndefinedError
from confide.expression.pieces import kink_hints
from confide.expression.rounding import Mask
from confide.expression.tree import Tree, Variable, nodes, read
from confide.expression.work import Work, size

#: cells this narrow, as a share of the bounds, are settled as they are: 128 units in the last place of it
_RESOLUTION = 2.0**-46
#: cells that are open at once, and cuts at kinks: what they cost is budgeted (`work`), beyond them the answer is wider
_MOST_CELLS, _MOST_HINTS = 4_000, 1_000
#: a range this close to one that is attained, relative to its size, is not worth more work
_CLOSE = 2.0**-50


def certified_range(tree: Tree, low: float, high: float, work: Work | None = None) -> tuple[float, float]:
    """An interval that contains every value of the expression on [low, high], computed by any engine.

    >>> from confide.expression.parse import parse
    >>> low, high = certified_range(parse("x*(2 - x)"), 0.0, 2.0)
    >>> low, 1.0 <= high < 1.0 + 1e-12
    (0.0, True)
    """
    plain = read(tree, RangeReader(Interval.of(low, high)))
    if not (np.all(np.isfinite(plain.low)) and np.all(np.isfinite(plain.high))):
        raise UndefinedError("its values are not bounded in double precision")
    bottom, top = float(plain.low), float(plain.high)
    if sum(1 for node in nodes(tree) if isinstance(node, Variable)) > 1:
        with np.errstate(all="ignore"), contextlib.suppress(UndefinedError):
            tight = _RangeSearch(tree, low, high, work or Work()).run()
            bottom, top = max(bottom, tight[0]), min(top, tight[1])
    return bottom, top


@dataclass
class _RangeSearch:
    """What is known so far: the hull of settled cells, and values that are surely attained."""

    tree: Tree
    low: float
    high: float
    work: Work
    settled: tuple[float, float] = (np.inf, -np.inf)
    attained: tuple[float, float] = (np.inf, -np.inf)

    def run(self) -> tuple[float, float]:
        """Halve the cells that matter until they are settled or the work is spent."""
        hints = kink_hints(self.tree, self.low, self.high, self.work)
        cells = covering(self.low, self.high, hints[:: -(-len(hints) // _MOST_HINTS) or 1])
        values = self._values(cells)
        try:
            while cells.low.size and cells.low.size <= _MOST_CELLS:
                self.work.spend(3 * size(self.tree) * (1 + cells.low.size / 500))
                self._attain(cells)
                open_ = self._matters(values) & self._undirected(cells, values)
                narrow = cells.high - cells.low <= (self.high - self.low) * _RESOLUTION
                self._settle(values, open_ & narrow)
                open_ &= ~narrow
                cells = halved(Interval(cells.low[open_], cells.high[open_]))
                values = self._values(cells)
        except UndefinedError:
            pass  # `values` bounds all that is not settled
        self._settle(values, np.ones(values.low.shape, dtype=bool))
        return self.settled

    def _values(self, cells: Interval) -> Interval:
        value = read(self.tree, RangeReader(cells))
        known = ~(np.isnan(value.low) | np.isnan(value.high))  # nothing is known of ∞ − ∞
        ends = np.where(known, value.low, -np.inf), np.where(known, value.high, np.inf)
        return Interval(*(np.broadcast_to(end, cells.low.shape) for end in ends))

    def _attain(self, cells: Interval) -> None:
        """At a double the computed value lies in the interval at it: nothing smaller can be the largest value."""
        points = np.concatenate([cells.low, middles(cells), cells.high])
        at = self._values(Interval(points, points))
        self.attained = (
            min(self.attained[0], float(np.min(at.high, initial=np.inf))),
            max(self.attained[1], float(np.max(at.low, initial=-np.inf))),
        )

    def _matters(self, values: Interval) -> Mask:
        """Cells on which s may leave what is attained; the others are settled as they are."""
        slack = _CLOSE * max(map(abs, self.attained))
        matters = (values.low < self.attained[0] - slack) | (values.high > self.attained[1] + slack)
        self._settle(values, ~matters)
        return matters

    def _undirected(self, cells: Interval, values: Interval) -> Mask:
        """Cells on which the slope may have either sign; the others are settled by their ends and the rounding."""
        slope = read(self.tree, SlopeReader(cells)).slope
        directed = np.broadcast_to((slope.low >= 0) | (slope.high <= 0), cells.low.shape)
        if np.any(directed):
            chosen = Interval(cells.low[directed], cells.high[directed])
            computed: Computed = read(self.tree, ErrorReader(chosen))
            ends = self._values(Interval(chosen.low, chosen.low)).hull(self._values(Interval(chosen.high, chosen.high)))
            low = rounding.add(ends.low, -computed.error, -1)
            high = rounding.add(ends.high, computed.error, 1)
            inner = Interval(np.maximum(low, values.low[directed]), np.minimum(high, values.high[directed]))
            self._settle(inner, np.ones(inner.low.shape, dtype=bool))
        return ~directed

    def _settle(self, values: Interval, which: Mask) -> None:
        self.settled = (
            min(self.settled[0], float(np.min(values.low[which], initial=np.inf))),
            max(self.settled[1], float(np.max(values.high[which], initial=-np.inf))),
        )
