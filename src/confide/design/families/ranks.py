"""The distribution functions of x and abs(x), tabulated: what thresholds and quantiles are searched on."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.design.search.family import Floats
from confide.design.search.tabulated import Tabulated

#: the share of records beyond readable bounds on each side: few enough not to move a quantile that is worth having
_OUTSIDE = 1e-3
#: a share of records that makes no difference
_NO_MATTER = 0.01


class Side(NamedTuple):
    """P(s ≤ t) (M, K) at points t of s = x or abs(x), and its derivative in θ (M, d, K)."""

    text: str
    edges: Floats
    below: Floats
    slope: Floats


@functools.lru_cache(maxsize=8)
def sides(law: Tabulated) -> tuple[Side, ...]:
    """x, and abs(x) where records may be negative."""
    found = [_side("x", law, law.edges[1:-1], np.arange(law.x.size))]
    if law.low < 0 < law.high:
        order = np.argsort(np.abs(law.x), kind="stable")
        size = np.abs(law.x)[order]
        found.append(_side("abs(x)", law, 0.5 * (size[1:] + size[:-1]), order))
    return tuple(found)


def _side(text: str, law: Tabulated, edges: Floats, order: NDArray[np.intp]) -> Side:
    below = np.clip(np.cumsum(law.mass[:, order], axis=1)[:, :-1], 0.0, 1.0)
    slope = np.cumsum(law.slope[:, :, order], axis=2)[:, :, :-1]
    if law.population.discrete:
        edges = np.floor(edges) + 0.5
    keep = np.isfinite(edges)
    return Side(text, edges[keep], below[:, keep], slope[:, :, keep])


def wide(law: Tabulated) -> tuple[float, float]:
    """Readable bounds that hold the records of every θ but for one in a thousand on each side."""
    below = np.cumsum(law.mass, axis=1)
    low = float(law.x[np.min(np.argmax(below >= _OUTSIDE, axis=1))])
    high = float(law.x[np.max(np.argmax(below >= 1 - _OUTSIDE, axis=1))])
    if law.population.discrete:
        return min(low, high - 1), high
    if law.low >= 0 and low < 0.1 * high:
        low = 0.0
    step = 10.0 ** (math.floor(math.log10(high - low)) - 1)
    return float(f"{math.floor(low / step) * step:.12g}"), float(f"{math.ceil(high / step) * step:.12g}")


def readable(law: Tabulated, side: Side, at: int) -> float:
    """The threshold at a position, with as few digits as leave the shares on its two sides what they are."""
    value, below = float(side.edges[at]), law.points.weights @ side.below
    share = float(below[at])
    between = side.edges[(below > 0.1) & (below < 0.9)]
    digits = 1 - math.floor(math.log10((float(np.ptp(between)) if between.size else 0.0) or 1.0))
    for more in range(digits, digits + 12):
        found = round(value, more)
        if abs(np.interp(found, side.edges, below) - share) <= _NO_MATTER * min(share, 1 - share):
            return found
    return value
