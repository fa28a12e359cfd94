"""A posterior as a map from probabilities: for draws, and to know where its mass is.

On a plane from two independent normal scores. The first score is that of the outer coordinate under its marginal law,
the second that of the inner one under its law there. Quantiles of one level are a smooth function of the outer
coordinate, whatever the ends of the lines are, and are interpolated along it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from confide._cubic import Cubic
from confide.inference.quadrature.line import PosteriorLine, carried
from confide.inference.quadrature.plane import Plane

Floats = NDArray[np.float64]

#: the scores at which quantiles of a line are tabulated
_SCORES = np.linspace(-8.0, 8.0, 401)
#: the table of a line from which draws are made
_TABLE = 2**13
#: how many steps a step of a plane's line is cut into
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
        marginal = distribution(PosteriorLine(outer, mass[rows] / (outer[1] - outer[0])))
        pairs = zip(found.inner[rows], found.share[rows], strict=True)
        return cls(found.lines.along, outer, marginal, np.stack([_quantiles(*pair) for pair in pairs]))

    def free(self, first: Floats, second: Floats) -> Floats:
        """Free coordinates (…, 2) from probabilities: of the outer coordinate, and of the inner one given that."""
        from scipy.interpolate import RectBivariateSpline  # takes longer to load than most posteriors

        outer = invert(first, *self.marginal)
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
    density = np.exp(Cubic.through(inner, log_share)(fine))
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    step = fine[1] - fine[0]
    return invert(ndtr(_SCORES), fine, density / (cumulative[-1] * step), cumulative / cumulative[-1])


def distribution(found: PosteriorLine) -> tuple[Floats, Floats, Floats]:
    """A fine table of free coordinates, the density and its integral, for quantiles and draws.

    The logarithm is interpolated by a cubic spline, which keeps the density positive.
    """
    kept = carried(found)
    if not np.all(found.density[kept] > 0):
        fine, density = found.free, found.density
    else:
        free = found.free[kept]
        fine = np.linspace(free[0], free[-1], _TABLE + 1)
        density = np.exp(Cubic.through(free, np.log(found.density[kept]))(fine))
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(fine))])
    return fine, density / cumulative[-1], cumulative / cumulative[-1]


def _cell(cumulative: Floats, level: Floats) -> NDArray[np.intp]:
    """The cell of a table in which each level lies: `searchsorted`, from a first guess that is mostly right.

    Levels in no order are dear to bisect for; a guide says where each of equal parts of (0, 1) begins.
    """
    parts = 2 * cumulative.size
    guide = np.searchsorted(cumulative, np.arange(parts) / parts, side="right") - 1
    index = guide[np.minimum((level * parts).astype(np.intp), parts - 1)].clip(0, cumulative.size - 2)
    while True:
        further = (index < cumulative.size - 2) & (cumulative[index + 1] <= level)
        if not np.any(further):
            return np.asarray(index)
        if np.count_nonzero(further) * 8 < level.size:  # the rest lie in long runs of small cells
            rest = np.searchsorted(cumulative, level[further], side="right") - 1
            index[further] = np.clip(rest, 0, cumulative.size - 2)
            return np.asarray(index)
        index = index + further


def invert(level: Floats, fine: Floats, density: Floats, cumulative: Floats) -> Floats:
    """Quantiles by the table of equal steps, exact for a density that is linear between its entries."""
    index = _cell(cumulative, level)
    step = fine[1] - fine[0]
    left, rise = density[index], np.diff(density)[index]
    missing = (level - cumulative[index]) / step
    # 2·missing/(left + root) is the stable form of the quadratic's solution, in steps
    total = left + np.sqrt(np.maximum(left * left + 2.0 * rise * missing, 0.0))
    offset = np.divide(2.0 * missing, total, out=np.full_like(missing, 0.5), where=total > 0)
    return np.asarray(fine[0] + step * (index + np.minimum(offset, 1.0)))
