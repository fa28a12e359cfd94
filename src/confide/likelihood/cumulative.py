"""P(Y ≤ y | θ) and P(Y ≥ y | θ) of a scalar published value: what an exact confidence set inverts.

A route that knows both says so (`Route.tails`): sums over the masses of a lattice, closed forms, simulated windows.
Of others the density is integrated: Gauss–Legendre panels in y lie around the mean as those of an information do, go
as far as there is mass, and are halved until p is the polynomial through its nodes. Both tails are sums of panels and
of a part of one, and must add up to one. Beyond the range of the statistic Laplace noise leaves a pure exponential,
whose tail is its density times the scale. On a lattice the masses are added up.

θ at which the laws of y nearly coincide, as in a scan, share their panels: a route is asked for many θ at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide._precision import float64
from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.mean.y_rules import narrowed, panel_edges, panel_nodes, reach, roughness, stretched
from confide.likelihood.record_law.moments import law_for, moments_at, nodes_at
from confide.likelihood.record_law.panels import TO_LEGENDRE
from confide.likelihood.record_law.record import ORDER
from confide.likelihood.route import Underflow

if TYPE_CHECKING:
    from confide.likelihood.route import Route
    from confide.model import Model

Floats = NDArray[np.float64]

#: what a panel may be off by, in how many rounds of halving, and how many panels there may be
_RESOLVED, _ROUNDS, _MOST_PANELS = 1e-10, 24, 4000
#: θ that share panels: how many, how far apart their means may be in spreads, and how unlike the spreads. More of them
#: ask the route less often, and halve panels for each other: the example of `estimate`, whose scan is of 289 θ, takes
#: 1.6 s of one processor once all is compiled, where 13.3 s were taken one by one
_TOGETHER, _APART, _ALIKE = 16, 1.0, 1.25
#: how far both tails may be from adding up to one
_WHOLE = 1e-7
#: how far noise goes beyond the range, in its scales: Laplace's tail is known there, a Gaussian's is 1e-23
_FURTHER = 10.0
#: records, below which the mean may come in lumps as narrow as the noise
_FEW = 400
#: points of a lattice that are added up
_MOST_POINTS = 2**16


@float64
def tails(route: Route, model: Model, thetas: Any, values: Any) -> tuple[Floats, Floats]:
    """P(Y ≤ y | θ) and P(Y ≥ y | θ) at all θ (M, d) and values (Y,): shapes (M, Y). On a lattice both hold y itself.

    >>> import confide as cf
    >>> from confide.likelihood import choose_route
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=20)
    >>> model = cf.Model(cf.populations.bernoulli(), channel)
    >>> below, above = tails(choose_route(model), model, np.asarray([[0.5]]), np.asarray([0.5, 0.6]))
    >>> round(float(below[0, 0]), 6), np.allclose(below + above, 1.0)
    (0.5, True)
    """
    thetas, values = np.asarray(thetas, dtype=float), np.asarray(values, dtype=float).reshape(-1)
    known = route.tails(model, thetas, values)
    if known is not None:
        return np.clip(known[0], 0.0, 1.0), np.clip(known[1], 0.0, 1.0)
    noise = model.channel.law.added
    if noise is None:
        raise IncompatibleError(
            f"the distribution function of a value under {model.channel.mechanism} is not known: nothing says where "
            "its tails end; give the route a method `tails`, or use method='ratio'"
        )
    if noise.step is not None:
        below, above = (
            np.stack(part) for part in zip(*(_on_lattice(route, model, theta, values) for theta in thetas), strict=True)
        )
        return below, above
    below, above = np.empty((2, len(thetas), len(values)))
    for index, edges in _groups(model, thetas):
        below[index], above[index] = _on_panels(route, model, thetas[index], values, edges)
    return below, above


def _ends(model: Model, thetas: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The mean and spread of the statistic at each θ where it averages, and how far down and up there is mass."""
    statistic, n = model.channel.statistic, float(model.channel.n)
    low, high = statistic.ranges[0]
    law = law_for(model.population, statistic, thetas)
    mean, covariance = moments_at(law, thetas)
    nodes = nodes_at(law, thetas)
    far = reach(np.asarray(nodes.s), np.asarray(nodes.weights), n)
    mean, spread = mean[:, 0], np.sqrt(covariance[:, 0, 0] / n)
    return mean, spread, np.maximum(mean - far[:, 0], low), np.minimum(mean + far[:, 1], high)


def _groups(model: Model, thetas: Floats) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Places of θ that share panels in y, and their edges; what is beyond the first and last is a tail of the noise."""
    noise, statistic = model.channel.law.added, model.channel.statistic
    assert noise is not None
    scale, (low, high) = float(noise.scale), statistic.ranges[0]
    margin = 0.0 if noise.kinked else _FURTHER * scale
    if not statistic.averages:
        pieces = 8 * math.ceil((high - low + 2 * margin) / (8 * 2.0 * scale))
        edges = np.linspace(low - margin, high + margin, pieces + 1)
        yield from ((index, edges) for index in _parts(np.arange(len(thetas))))
        return
    mean, spread, first, last = _ends(model, thetas)
    wide = np.maximum(np.sqrt(spread**2 + (0.0 if noise.kinked else scale**2)), 1e-3 * scale)
    groups = _neighbours(mean, wide)
    middle = np.asarray([0.5 * (mean[index].min() + mean[index].max()) for index in groups])
    narrow = np.asarray([wide[index].min() for index in groups])
    rows = stretched(
        panel_edges(middle, narrow, scale if noise.kinked else 0.0),
        np.asarray([first[index].min() for index in groups]) - _FURTHER * scale,
        np.asarray([last[index].max() for index in groups]) + _FURTHER * scale,
    )
    if model.channel.n < _FEW:
        rows = narrowed(rows, scale)
    # under Laplace noise p has a corner at the ends of the range, where all records are clipped, and no mass beyond; a
    # range that is far wider than the law of y is not gone through
    cuts = (low, high) if noise.kinked else (low - margin, high + margin)
    yield from ((index, np.unique(np.clip(row, *cuts))) for index, row in zip(groups, rows, strict=True))


def _neighbours(mean: Floats, wide: Floats) -> list[NDArray[np.intp]]:
    """Places of means that are near each other, of spreads that are alike."""
    order = np.argsort(mean)
    found: list[NDArray[np.intp]] = []
    start = 0
    for i in range(1, order.size + 1):
        spreads = wide[order[start : i + 1]]
        far = i < order.size and mean[order[i]] - mean[order[start]] > _APART * spreads.min()
        if i == order.size or far or spreads.max() > _ALIKE * spreads.min():
            found += _parts(order[start:i])
            start = i
    return found


def _parts(index: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    return [index[start : start + _TOGETHER] for start in range(0, index.size, _TOGETHER)]


def _density(route: Route, model: Model, thetas: Floats, y: Floats) -> Floats:
    """p(y | θ) at all θ (M, d) and y (Y,), which is 0 where it underflows."""
    try:
        return np.exp(route.log_likelihood(model, thetas, y))
    except Underflow:
        if len(thetas) > 1:
            return np.concatenate([_density(route, model, theta[None], y) for theta in thetas])
        if y.size == 1:
            return np.zeros((1, 1))
        half = y.size // 2
        return np.concatenate([_density(route, model, thetas, part) for part in (y[:half], y[half:])], axis=1)


def _on_panels(route: Route, model: Model, thetas: Floats, values: Floats, edges: Floats) -> tuple[Floats, Floats]:
    """Both tails at θ (M, d) that share panels of y, which are halved until each is resolved at all of them."""
    noise = model.channel.law.added
    assert noise is not None
    left, right = edges[:-1], edges[1:]
    p = _at_panels(route, model, thetas, left, right)
    for _ in range(_ROUNDS):
        width = (right - left)[:, None] * np.ones(ORDER) / ORDER
        rough = np.any(roughness(p, width) > _RESOLVED, axis=0)
        if not np.any(rough) or np.count_nonzero(rough) + rough.size > _MOST_PANELS:
            break
        middle = 0.5 * (left[rough] + right[rough])
        halves = np.concatenate([left[rough], middle]), np.concatenate([middle, right[rough]])
        p = np.concatenate([p[:, ~rough], _at_panels(route, model, thetas, *halves)], axis=1)
        left, right = np.concatenate([left[~rough], halves[0]]), np.concatenate([right[~rough], halves[1]])
    order = np.argsort(left)
    left, right, coefficients = left[order], right[order], p[:, order] @ TO_LEGENDRE.T
    mass = coefficients[..., 0] * (right - left)
    # beyond the panels Laplace noise is a pure exponential
    scale = float(noise.scale) if noise.kinked else 0.0
    ends = scale * _density(route, model, thetas, np.asarray([left[0], right[-1]]))
    whole = mass.sum(axis=1) + ends.sum(axis=1)
    worst = int(np.argmax(np.abs(whole - 1.0)))
    if not abs(whole[worst] - 1.0) <= _WHOLE:
        raise AccuracyError(
            f"the density of y integrates to {whole[worst]:.9g} at theta = {tuple(thetas[worst].tolist())} for "
            f"{model.channel.statistic} with n = {model.channel.n}, so that no distribution function is known; use "
            "method='ratio', or route='normal' for an approximation"
        )
    at = np.clip(np.searchsorted(right, values), 0, left.size - 1)
    inside = np.clip((values - left[at]) / (right - left)[at], 0.0, 1.0)
    share = _partial(coefficients[:, at], inside) * (right - left)[at]
    none = np.zeros((len(thetas), 1))
    below = ends[:, :1] + np.concatenate([none, np.cumsum(mass, axis=1)], axis=1)[:, at] + share
    above = ends[:, 1:] + np.concatenate([np.cumsum(mass[:, ::-1], axis=1)[:, ::-1], none], axis=1)[:, at] - share
    if scale:
        under, over = values < left[0], values > right[-1]
        tail = np.where(under | over, ends[:, np.where(over, 1, 0)], 0.0)
        tail = tail * np.exp(-np.maximum(np.maximum(left[0] - values, values - right[-1]), 0.0) / scale)
        below, above = np.where(under, tail, below), np.where(over, tail, above)
        below, above = np.where(over, 1.0 - tail, below), np.where(under, 1.0 - tail, above)
    return np.clip(below, 0.0, 1.0), np.clip(above, 0.0, 1.0)


def _at_panels(route: Route, model: Model, thetas: Floats, left: Floats, right: Floats) -> Floats:
    """p at all θ and the nodes of each panel (M, P, 16)."""
    y, _ = panel_nodes(np.stack([left, right], axis=1))
    return _density(route, model, thetas, y.ravel()).reshape(len(thetas), left.size, ORDER)


def _partial(coefficients: Floats, share: Floats) -> Floats:
    """∫ from a panel's left end to a share of it, over its width, of polynomials by coefficients (…, Y, 16)."""
    at = 2.0 * share - 1.0
    p = np.polynomial.legendre.legvander(at, ORDER)
    k = np.arange(1, ORDER)
    integrals = np.concatenate([(at + 1.0)[:, None], (p[:, 2:] - p[:, :-2]) / (2 * k + 1)], axis=1)
    return np.asarray(0.5 * np.sum(coefficients * integrals, axis=-1))


def _on_lattice(route: Route, model: Model, theta: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Both tails at one θ, by adding up the masses of all points that y may be."""
    noise, statistic = model.channel.law.added, model.channel.statistic
    assert noise is not None and noise.step is not None
    step, scale, (low, high) = float(noise.step), float(noise.scale), statistic.ranges[0]
    if statistic.averages:
        _, _, first, last = _ends(model, theta[None])
        low, high = float(first[0]), float(last[0])
    beyond = (40.0 if noise.exponential else _FURTHER) * max(scale, step)
    points = step * np.arange(math.floor((low - beyond) / step), math.ceil((high + beyond) / step) + 1)
    if points.size > _MOST_POINTS:
        raise IncompatibleError(
            f"the noise's lattice of step {step:g} has {points.size:,} points where y may be, more than "
            f"{_MOST_POINTS:,} to add up; leave so fine a step out of the channel, or use method='ratio'"
        )
    mass = _density(route, model, theta[None], np.asarray(points, dtype=np.float64))[0]
    if abs(mass.sum() - 1.0) > _WHOLE:
        raise AccuracyError(
            f"the masses of y add up to {mass.sum():.9g} at theta = {tuple(theta.tolist())} for {statistic} with "
            f"n = {model.channel.n}, so that no distribution function is known; use method='ratio'"
        )
    index = np.clip(np.floor((values - points[0]) / step + 0.5).astype(int), -1, points.size)
    below = np.concatenate([[0.0], np.cumsum(mass), [mass.sum()]])[index + 1]
    above = np.concatenate([[mass.sum()], np.cumsum(mass[::-1])[::-1], [0.0]])[index + 1]
    return np.clip(below, 0.0, 1.0), np.clip(above, 0.0, 1.0)
