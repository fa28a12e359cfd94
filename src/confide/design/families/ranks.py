"""The distribution functions of x and abs(x), tabulated: what thresholds and quantiles are searched on."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.design.family import Floats
from confide.design.tabulated import Tabulated


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
    """Readable bounds that hold all tabulated points."""
    reach = max(law.high - law.low, 1e-12)
    low = law.low if law.low >= 0 else law.low - 0.05 * reach
    high = law.high + 0.05 * reach
    if law.population.discrete:
        return (float(np.floor(law.low)), float(np.ceil(law.high)))
    digits = 2
    while float(f"{high:.{digits}g}") <= law.high or (low < 0 and float(f"{low:.{digits}g}") >= law.low):
        digits += 1
    return (min(low, 0.0) if low >= 0 else float(f"{low:.{digits}g}")), float(f"{high:.{digits}g}")
