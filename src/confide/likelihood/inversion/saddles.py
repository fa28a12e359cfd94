"""Saddlepoints of a noisy mean, from a table of tilts: where contours pass, and which values can share one.

Any contour, or tilt, gives the same density, and a good one keeps the digits: the one at which the tilted mean, with
Gaussian noise moved along, is y itself. A table of some sixty tilts is enough to choose by.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: the steepest tilt worth looking for, times the range of s: beyond it all mass is at an end of the range
_STEEPEST = 60.0
#: tilts of the table, as shares of that; and powers, for those that only narrow Gaussian noise follows, of how much
#: steeper the steepest of them is
_TILTS = np.geomspace(1e-4, 1.0, 24)
_STEEPER = np.linspace(0.0, 1.0, 9)[1:]


@dataclass(frozen=True, eq=False)
class Saddles:
    """For tilts κ of a record: the mean of n of them, their spread with Gaussian noise, and the y that is reached.

    Arrays are (tilts,), or (laws, tilts) of several laws, which `each` tells apart.
    """

    n: int
    kappa: Floats
    mean: Floats
    spread: Floats
    reached: Floats

    def each(self) -> Iterator[Saddles]:
        """One table for each law."""
        for row in zip(self.kappa, self.mean, self.spread, self.reached, strict=True):
            yield Saddles(self.n, *row)

    def tau(self, y: Floats | float) -> Floats:
        """nκ at the saddlepoint of y, which is the slope of −log p there, or nearly."""
        return np.asarray(self.n * np.interp(y, self.reached, self.kappa))

    def around(self, tau: float) -> tuple[float, float]:
        """The mean of the law that is tilted by τ, and its spread."""
        kappa = tau / self.n
        return float(np.interp(kappa, self.kappa, self.mean)), float(np.interp(kappa, self.kappa, self.spread))

    def runs(self, ranked: Floats, cost: float) -> Iterator[slice]:
        """Runs of sorted values, each so short that the tilt for its middle costs its ends a factor of e^cost at most.

        With I = −log p convex, a tilt for y costs I(v) − I(y) − I′(y)(v − y) ≤ (I′(v) − I′(y))(v − y) at v.
        """
        slope, start = self.tau(ranked), 0
        while start < ranked.size:
            middle = 0.5 * (ranked[start] + ranked[start:])
            there = self.tau(middle)
            costs = (middle - ranked[start]) * np.maximum(there - slope[start], slope[start:] - there)
            stop = start + max(1, int(np.argmax(np.append(costs, np.inf) > cost)))
            yield slice(start, stop)
            start = stop


def saddles(s: Floats, mass: Floats, n: int, variance: float, furthest: float, limit: float = np.inf) -> Saddles:
    """The table for a record with values s and masses, each (…, values), of one law or of several.

    `limit` is the largest |τ|, `furthest` the largest |y|.
    """
    width = s.max(axis=-1) - s.min(axis=-1) + 1e-300
    far = furthest / (variance * n) if variance > 0 else 0.0
    steep = np.minimum(_STEEPEST / width, limit / n)[..., None]
    # beyond all records the noise alone goes on: tilts for that must not take the place of those that move the records
    steeper = np.maximum(min(2.0 * far, limit / n) / steep, 1.0) ** _STEEPER
    half = steep * np.concatenate([np.broadcast_to(_TILTS, (*steep.shape[:-1], _TILTS.size)), steeper], axis=-1)
    kappa = np.concatenate([-half[..., ::-1], np.zeros_like(steep), half], axis=-1)
    exponent = kappa[..., None] * s[..., None, :]
    tilted = mass[..., None, :] * np.exp(exponent - exponent.max(axis=-1, keepdims=True))
    tilted /= tilted.sum(axis=-1, keepdims=True)
    mean = np.einsum("...kv,...v->...k", tilted, s)
    apart = (s[..., None, :] - mean[..., None]) ** 2
    spread = np.sqrt(np.einsum("...kv,...kv->...k", tilted, apart) / n + variance) + 1e-300
    return Saddles(n, kappa, mean, spread, np.maximum.accumulate(mean + variance * n * kappa, axis=-1))
