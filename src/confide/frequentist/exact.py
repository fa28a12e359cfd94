"""Sets of one parameter: where a p-value is not below 1 − level, by a scan of the whole space and a search at its ends.

`exact` has P(Y ≤ y | θ): {θ : α/2 ≤ F(y | θ) ≤ 1 − α/2}, which may be empty, in pieces or unbounded where F is not
monotone in θ. On a lattice P(Y ≤ y) and P(Y ≥ y) both hold y, and the set is conservative.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

from confide._precision import float64
from confide.errors import AccuracyError
from confide.likelihood import stand_in
from confide.likelihood.cumulative import tails
from confide.likelihood.route import Route
from confide.model import Model

Floats = NDArray[np.float64]
Interval = tuple[float, float]

#: standard errors from the maximum at which a p-value is looked at, beside what is looked at everywhere
_NEAR = np.concatenate([-np.geomspace(12.0, 0.25, 15), [0.0], np.geomspace(0.25, 12.0, 15)])
#: parts that a step of the scan is cut into, with a quick approximation and without: what is left out costs little
_DENSELY, _LESS = 8, 4
#: how near an end is found, in units of the free coordinate
_NARROW = 1e-9


@float64
def p_values(route: Route, model: Model, thetas: Any, values: Any) -> Floats:
    """2·min{P(Y ≤ y | θ), P(Y ≥ y | θ)}, at most 1, at all θ (M, d) and values (Y,): shape (M, Y).

    >>> import confide as cf
    >>> from confide.likelihood import choose_route
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=20)
    >>> model = cf.Model(cf.populations.bernoulli(), channel)
    >>> p_values(choose_route(model), model, np.asarray([[0.5]]), np.asarray([0.5])).round(4)
    array([[1.]])
    """
    below, above = tails(route, model, thetas, values)
    return np.minimum(1.0, 2.0 * np.minimum(below, above))


@float64
def or_normal(route: Route, model: Model, thetas: Floats, value: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    """The p-values (M,) of one value, and where the normal approximation stands in for a route that gives up."""
    try:
        return p_values(route, model, thetas, value)[:, 0], np.zeros(len(thetas), bool)
    except AccuracyError:
        other = stand_in(route, model)
        if other is None:
            raise
        if len(thetas) == 1:
            return p_values(other, model, thetas, value)[:, 0], np.ones(1, bool)
    parts = [or_normal(route, model, theta[None], value) for theta in thetas]
    return np.concatenate([p for p, _ in parts]), np.concatenate([stood for _, stood in parts])


def surely_below(alpha: float) -> float:
    """Normal p-values below this belong to values so far out that no law with their mean and variance has p ≥ α.

    Cantelli: P(Y − μ ≥ zσ) ≤ 1/(1 + z²), so that p < α from z² = 2/α − 1 on; noise with longer tails than the normal
    has a larger p-value at the same z, and is left out later.

    >>> 3e-10 < surely_below(0.05) < 5e-10
    True
    """
    return float(2.0 * stats.norm.sf(np.sqrt(2.0 / alpha - 1.0)))


def scan(line: Floats, centre: float, width: float) -> Floats:
    """Coordinates at which to look: everywhere, and near the maximum."""
    near = centre + width * _NEAR if np.isfinite(width) else np.zeros(0)
    return np.unique(np.concatenate([line, near]))


def candidates(rough: Callable[[Floats], Floats] | None, points: Floats, least: float) -> Floats:
    """Points between those given at which the p-value may not be small, by a quick approximation of it if there is one.

    A set may hide between two points that are far from it, so that points lie densely; what is surely outside of it is
    left out (p-values of at most `least`), but for the nearest such point on either side.
    """
    parts = _DENSELY if rough is not None else _LESS
    inner = points[:-1, None] + np.diff(points)[:, None] * np.arange(parts) / parts
    dense = np.append(inner.ravel(), points[-1])
    if rough is None:
        return dense
    maybe = rough(dense) > least
    maybe |= np.append(maybe[1:], False) | np.append(False, maybe[:-1])
    chosen = np.flatnonzero(maybe)
    return dense[chosen] if chosen.size > 1 else points


def level_set(excess: Callable[[Floats], Floats], points: Floats) -> list[Interval]:
    """Where a function of one coordinate is not negative: intervals, with infinite ends where it is not at the last."""
    found = excess(points)
    inside = found >= 0
    ends: list[float] = [-np.inf] if inside[0] else []
    for i in np.flatnonzero(inside[1:] != inside[:-1]):
        root = optimize.brentq(lambda v: float(excess(np.asarray([v]))[0]), points[i], points[i + 1], xtol=_NARROW)
        ends.append(float(root))
    ends += [np.inf] if inside[-1] else []
    return list(zip(ends[::2], ends[1::2], strict=True))
