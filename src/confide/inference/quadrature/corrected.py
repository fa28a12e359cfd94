"""A posterior on a plane from an approximate one: what the exact density differs by is computed at few points.

log p(y | θ) and its normal approximation differ by little, and smoothly: a few hundred points, spread over the mass of
the approximate posterior, tell the difference everywhere. The exact likelihood is what takes the time. A release with
much noise says so little that even the prior is an approximation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from confide.inference.quadrature.levels import PlaneLevels
from confide.inference.quadrature.plane import LogDensity, Plane, errors, moments

Floats = NDArray[np.float64]

#: points each way, one after the other; each holds the one before
_POINTS = (17, 33, 65)
#: what a cubic spline gains by twice the points: if that is not enough in the end, no more are computed
_GAIN = 16.0
#: how far out they are, as normal scores; beyond, the difference is held. Further where a heavy tail is
_REACHES = (4.5, 6.0, 7.5)
#: the probability, and the share of the second moments, that may lie in the last half score and beyond
_LAST, _LEFT, _MOMENTS = 0.5, 1e-3, 5e-3
#: differences beyond which a log density is no approximation of another
_MOST = 30.0


def corrected(found: Plane, rough: LogDensity, exact: LogDensity, tolerance: float, theta: LogDensity) -> Plane | None:
    """The exact posterior on the points of an approximate one, given θ of these; None where that is too far off.

    Checked against half of the points each way: of those of the difference, and of those of the plane.
    """
    levels = PlaneLevels.of(found)
    scores = levels.scores(found)
    reach = _reach(theta(found.free), found.share.ravel(), np.maximum(*np.abs(scores)).ravel())
    known = np.full((_POINTS[0], _POINTS[0]), np.nan)
    for more, points in enumerate(_POINTS, start=1 - len(_POINTS)):
        at = np.linspace(-reach, reach, points)
        if points > len(known):
            finer = np.full((points, points), np.nan)
            finer[::2, ::2] = known
            known = finer
        known = _difference(levels, rough, exact, at, known)
        fine, half = (_with(found, scores, at[some], known[some, some]) for some in (slice(None), slice(None, None, 2)))
        wanted, other = moments(fine), moments(half)
        error = np.max(np.abs(wanted - other) / np.concatenate([wanted[2:], wanted[2:]]))
        if error < tolerance:
            far = np.maximum(np.abs(scores[0]), np.abs(scores[1])) > reach - _LAST
            resolved = fine.share[far].sum() < _LEFT and np.all(errors(fine) < tolerance)
            return fine if resolved else None
        if not error < tolerance * _GAIN**-more:
            return None
    return None


def _reach(theta: Floats, share: Floats, score: Floats) -> float:
    """How far out the difference must be known for the second moments of θ (M, d)."""
    away = (theta - share @ theta) ** 2
    moment = share[:, None] * away / (share @ away)
    for reach in _REACHES:
        if np.all(moment[score > reach - _LAST].sum(axis=0) < _MOMENTS):
            break
    return reach


def _difference(levels: PlaneLevels, rough: LogDensity, exact: LogDensity, at: Floats, known: Floats) -> Floats:
    """By how much the exact log density differs at all pairs of scores, where that is not known yet."""
    missing = np.isnan(known)
    first, second = (ndtr(part[missing]) for part in np.meshgrid(at, at, indexing="ij"))
    free = levels.free(first, second)
    known = known.copy()
    with np.errstate(invalid="ignore"):
        found = exact(free) - rough(free)
    known[missing] = np.clip(np.nan_to_num(found, nan=-_MOST), -_MOST, _MOST)
    return known


def _with(found: Plane, scores: tuple[Floats, Floats], at: Floats, difference: Floats) -> Plane:
    """The posterior with a difference, known at pairs of scores, added to its log density."""
    from scipy.interpolate import RectBivariateSpline  # takes longer to load than most posteriors

    held = (part.clip(at[0], at[-1]) for part in scores)
    more = RectBivariateSpline(at, at, difference - difference[at.size // 2, at.size // 2])(*held, grid=False)
    share = found.share * np.exp(more)
    return found._replace(share=share / share.sum())
