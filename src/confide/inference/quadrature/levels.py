"""A posterior on a plane as a map from two independent normal scores: for draws, and to know where its mass is.

The first score is that of the outer coordinate under its marginal law, the second that of the inner one under its law
there. Quantiles of one level are a smooth function of the outer coordinate, whatever the ends of the lines are, and are
interpolated along it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline, RectBivariateSpline
from scipy.special import ndtr, ndtri

from confide.inference.quadrature import line
from confide.inference.quadrature.plane import Plane

Floats = NDArray[np.float64]

#: the scores at which quantiles of a line are tabulated
_SCORES = np.linspace(-8.0, 8.0, 401)
#: how many steps a step of a line is cut into
_FINER = 8
#: the logarithm of a density that cannot be drawn from, below the largest
_NOWHERE = -75.0


class PlaneLevels(NamedTuple):
    """The outer line's distribution, and quantiles of the inner lines at all scores (outer, scores)."""

    along: int
    outer: Floats
    marginal: tuple[Floats, Floats, Floats]
    quantiles: Floats

    @classmethod
    def of(cls, found: Plane) -> PlaneLevels:
        """Of a plane, where it has mass."""
        mass = found.share.sum(axis=1)
        kept = np.flatnonzero(mass > 0)
        rows = slice(int(kept[0]), int(kept[-1]) + 1)
        outer = found.lines.outer[rows]
        marginal = line.distribution(line.PosteriorLine(outer, mass[rows] / (outer[1] - outer[0])))
        pairs = zip(found.inner[rows], found.share[rows], strict=True)
        return cls(found.lines.along, outer, marginal, np.stack([_quantiles(*pair) for pair in pairs]))

    def free(self, first: Floats, second: Floats) -> Floats:
        """Free coordinates (…, 2) from probabilities: of the outer coordinate, and of the inner one given that."""
        outer = line.invert(first, *self.marginal)
        spline = RectBivariateSpline(self.outer, _SCORES, self.quantiles, kx=min(3, self.outer.size - 1), ky=1)
        inner = spline.ev(outer, ndtri(second).clip(_SCORES[0], _SCORES[-1]))
        return np.stack([inner, outer] if self.along else [outer, inner], axis=-1)

    def scores(self, found: Plane) -> tuple[Floats, Floats]:
        """Both scores of the points of a plane (outer, points) from which this was made."""
        fine, _, cumulative = self.marginal
        first = ndtri(np.interp(found.lines.outer, fine, cumulative))
        row = np.searchsorted(self.outer, found.lines.outer).clip(0, self.outer.size - 1)
        pairs = zip(found.inner, row, strict=True)
        second = np.stack([np.interp(inner, self.quantiles[i], _SCORES) for inner, i in pairs])
        return np.broadcast_to(first[:, None], second.shape), second


def _quantiles(inner: Floats, share: Floats) -> Floats:
    """The quantiles of one line at all scores."""
    if not np.any(share > 0):
        return np.full(_SCORES.size, inner[inner.size // 2])
    with np.errstate(divide="ignore"):
        log_share = np.maximum(np.log(share / share.max()), _NOWHERE)
    fine = np.linspace(inner[0], inner[-1], _FINER * (inner.size - 1) + 1)
    density = np.exp(CubicSpline(inner, log_share)(fine))
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    step = fine[1] - fine[0]
    return line.invert(ndtr(_SCORES), fine, density / (cumulative[-1] * step), cumulative / cumulative[-1])
