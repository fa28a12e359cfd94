"""Where sums with twice as many terms each are going."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: ratios of successive changes, on doubling the frequencies, that are taken for those of a power
_SLOWEST, _FASTEST = 1.5, 40.0
#: how near two such ratios are if there is a power
_ALIKE = 0.05
#: the least error of that, as a share of what was extrapolated, should two extrapolations agree by chance
_LEFT = 2e-3


def extrapolated(sums: Floats) -> tuple[Floats, Floats]:
    """The limit of sums (4, …), each with twice as many terms as the one before, and its error.

    Where a kink of p is met the sum converges like a power of the number of terms, and what is left is a geometric
    series, whose error is what half of the terms would have said. Where the power is seen twice, what it gets wrong
    falls faster than itself, and is less than that by the same ratio. Elsewhere a sum converges much faster, and is
    left alone.
    """
    steps = np.diff(sums, axis=0)
    known = steps[1:] != 0
    ratio = np.where(known, steps[:-1] / np.where(known, steps[1:], 1.0), 0.0)
    steady = (ratio > _SLOWEST) & (ratio < _FASTEST)
    left = np.where(steady, steps[1:] / (np.where(steady, ratio, 2.0) - 1.0), 0.0)
    limit = sums[2:] + left
    power = steady[1] & (np.abs(ratio[0] - ratio[1]) < _ALIKE * ratio[1])
    apart = np.abs(limit[1] - limit[0]) / np.where(power, np.maximum(ratio[1] - 1.0, 1.0), 1.0)
    return limit[1], np.where(steady[1], apart + _LEFT * np.abs(left[1]), np.abs(steps[2]))
