"""Sums over whole numbers, by Gauss rules for them: as many terms for a window of thousands as for one of a hundred.

The rule of 16 nodes for Σ_{i<L} f(i) is exact for polynomials up to degree 31; its nodes are the zeros of a discrete
Chebyshev polynomial (Golub and Welsch's eigenvalues; the recurrence has β_k = k²(L² − k²)/4(4k² − 1)). For L = 16 they
are the whole numbers themselves. Panels start where Laplace noise has its kink.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: nodes of a panel, which resolve a frequency φ up to φL/2 = `RESOLVED` to 1e-15: (e·8/64)^32
NODES = 16
RESOLVED = 8.0
#: lengths of a panel in the scales on which weights change; 16 nodes resolve their fall by e^−6.4 to rounding
_SCALES = 3.2


@functools.lru_cache(maxsize=64)
def panel(length: int) -> tuple[Floats, Floats]:
    """Nodes and weights of Σ_{i<L} f(i), L ≥ 16.

    >>> nodes, weights = panel(64)
    >>> round(float(weights @ nodes**3)), sum(i**3 for i in range(64))
    (4064256, 4064256)
    """
    if length == NODES:
        return np.arange(NODES, dtype=float), np.ones(NODES)
    k = np.arange(1.0, NODES)
    off = np.sqrt(k**2 * (length**2 - k**2) / (4 * (4 * k**2 - 1)))
    nodes, vectors = np.linalg.eigh(np.diag(off, 1) + np.diag(off, -1))
    return nodes + 0.5 * (length - 1), length * vectors[0] ** 2


@dataclass(frozen=True)
class CellNodes:
    """Counts of one cell, how much each stands for (in logarithms), and how far apart panels' ends are."""

    counts: Floats
    log_weights: Floats
    length: int


def nodes_of(first: float, last: float, kink: float, scale: float, *, whole: bool) -> CellNodes:
    """Nodes for a sum from first to last at least, of weights that change on a scale and have a kink.

    The scale is taken for small where the window begins at 0: there Poisson weights change from one to the next.
    """
    length = NODES
    if not whole and first > 0 and _SCALES * scale > 2 * NODES:
        length = NODES * 2 ** math.floor(math.log2(_SCALES * scale / NODES))
    start = math.ceil(min(max(kink, first), last))
    right = max(math.ceil((last + 1 - start) / length), 0)
    left = max(math.ceil((start - first) / length), 0)
    if first == 0 or start - left * length < 0:  # below 0 there is nothing: whole numbers, from 0
        length, left = NODES, 0
        start, right = int(first), math.ceil((last + 1 - first) / length)
    offsets, weights = panel(length)
    starts = start + length * np.arange(-left, right)
    counts = (starts[:, None] + offsets).reshape(-1)
    return CellNodes(counts, np.tile(np.log(weights), len(starts)), length)
