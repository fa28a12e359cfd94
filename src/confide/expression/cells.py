"""Cells of doubles: closed intervals that hold every double within the bounds between them.

Records are doubles, so nothing lies between a double and the next. Cut at t, the bounds become [low, before t], {t} and
[after t, high], and intervals decide a comparison of x with t on each of them exactly. Where to cut is a hint: cells
cover the bounds wherever they are cut.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from confide.expression import rounding
from confide.expression.interval import Interval
from confide.expression.rounding import Array

#: a computed switch lies within a few units in the last place of where it is found
_NEAR = 8


def covering(low: float, high: float, hints: Iterable[float] = ()) -> Interval:
    """Cells cut at the hints: each hint alone, the doubles next to it, and the stretches between.

    >>> covering(0.0, 1.0).low.tolist(), covering(0.0, 1.0).high.tolist()
    ([0.0, 5e-324, 1.0], [0.0, 0.9999999999999999, 1.0])
    """
    points = np.asarray([low, high])
    inside = np.asarray([t for t in hints if low < t < high], dtype=np.float64)
    after = rounding.nudge(inside, 1)
    near = (rounding.nudge(inside, -1, _NEAR), inside, after, rounding.nudge(after, 1, _NEAR))
    starts = np.unique(np.concatenate([points, rounding.nudge(points[:1], 1), *near]))
    starts = starts[(low <= starts) & (starts <= high)]
    return Interval(starts, np.append(rounding.nudge(starts[1:], -1), high))


def halved(cells: Interval) -> Interval:
    """Each cell cut in two, the left halves first; every cell must hold two doubles or more."""
    start = np.clip(middles(cells), rounding.nudge(cells.low, 1), cells.high)
    return Interval(np.concatenate([cells.low, start]), np.concatenate([rounding.nudge(start, -1), cells.high]))


def middles(cells: Interval) -> Array:
    """A double in each cell."""
    return np.clip(0.5 * cells.low + 0.5 * cells.high, cells.low, cells.high)
