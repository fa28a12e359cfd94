"""What is reported of many posteriors of one parameter: mean, sd and central intervals, from densities on a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide._cubic import Cubic
from confide.inference.quadrature import line

Floats = NDArray[np.float64]

#: densities that are smaller than e^{−24} of the largest are left out: 4e-11
NEGLIGIBLE = 24.0
#: how many steps a step is cut into for quantiles
_FINER = 6


class Summaries(NamedTuple):
    """Of each of Y posteriors: mean and sd (Y, d), and the ends of central intervals (P, Y, d).

    `notes` say where an approximation stood in for the exact likelihood.
    """

    mean: Floats
    sd: Floats
    lower: Floats
    upper: Floats
    notes: tuple[str, ...] = ()

    def columns(self) -> Floats:
        """One row for each posterior of one parameter: the ends of intervals, mean and sd."""
        return np.concatenate([*self.lower, *self.upper, self.mean, self.sd], axis=1)

    @classmethod
    def from_columns(cls, columns: Floats) -> Summaries:
        """The inverse of `columns`."""
        ends = columns[:, :-2].T[..., None]
        half = len(ends) // 2
        return cls(columns[:, -2:-1], columns[:, -1:], ends[:half], ends[half:])


def finer(free: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Points in smaller steps and the shares there, by a cubic spline of the log density: quantiles need them."""
    top = values.max(axis=0)
    held = np.maximum(values, top - 2 * NEGLIGIBLE)  # a spline has no use for −∞
    fine = line.cells(float(free[0]), float(free[-1]), _FINER * (free.size - 1) + 1)
    share = np.exp(Cubic.through(free, held)(fine) - top)
    return fine, share / share.sum(axis=0)


def quantiles(free: Floats, share: Floats, levels: Sequence[float]) -> Floats:
    """Quantiles of each column (levels, columns): the distribution function is cubic between points."""
    # the trapezoidal rule up to each point, with the first term of Euler and Maclaurin for where it is cut off
    cumulative = np.cumsum(share, axis=0) - 0.5 * share - np.gradient(share, axis=0) / 12.0
    return np.stack([_quantile(free, share, cumulative, level) for level in levels])


def _quantile(free: Floats, share: Floats, cumulative: Floats, level: float) -> Floats:
    at = np.argmax(cumulative > level, axis=0).clip(1)
    column = np.arange(share.shape[1])
    f0, f1 = cumulative[at - 1, column], cumulative[at, column]
    d0, d1 = share[at - 1, column], share[at, column]
    t = np.clip((level - f0) / np.where(f1 > f0, f1 - f0, 1.0), 0.0, 1.0)
    for _ in range(6):  # Newton on the Hermite cubic
        h = f0 * (1 + 2 * t) * (1 - t) ** 2 + d0 * t * (1 - t) ** 2 + f1 * t**2 * (3 - 2 * t) + d1 * t**2 * (t - 1)
        slope = 6 * (f1 - f0) * t * (1 - t) + d0 * (1 - 4 * t + 3 * t**2) + d1 * (3 * t**2 - 2 * t)
        t = np.clip(t - (h - level) / np.where(slope > 0, slope, 1.0), 0.0, 1.0)
    return np.asarray(free[at - 1] + t * (free[1] - free[0]))
