"""Choosing among channels by the posterior of an earlier release, for one published value or thousands.

The posterior is represented by points of equal weight: for one parameter its quantiles at the middles of ten equal
parts, for several the sigma points mean ± √d·sd along each axis. A channel's score at a point is read off a curve
through sixty values of θ that all values share.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from confide.design.criteria import Criterion
from confide.design.evaluate import Evaluation, by_moments, evaluate
from confide.design.points import Points
from confide.inference.batch import many_posteriors
from confide.information.result import Information
from confide.likelihood import Route
from confide.model import Model
from confide.prior import Prior

Floats = NDArray[np.float64]

#: central intervals whose ends are the quantiles at 0.05, 0.15, …, 0.95
_CENTRAL = (0.1, 0.3, 0.5, 0.7, 0.9)
_CURVE = 60


def posterior_points(
    models: Sequence[Model], values: Sequence[Floats], prior: Prior, route: str | Route = "auto"
) -> Floats:
    """Points of equal weight that stand for the posterior of each row of values, one array a model: (Y, Q, d)."""
    found = many_posteriors(models, values, prior, probs=_CENTRAL, route=route)
    if prior.dimension == 1:
        ends = np.concatenate([np.asarray(found.lower)[::-1], np.asarray(found.upper)])
        return np.moveaxis(ends, 0, 1)
    mean, sd = np.asarray(found.mean), np.asarray(found.sd)
    step = np.sqrt(prior.dimension) * sd[:, None, :] * np.eye(prior.dimension)
    return _inside(prior, mean, np.concatenate([mean[:, None] + step, mean[:, None] - step], axis=1))


def _inside(prior: Prior, mean: Floats, points: Floats) -> Floats:
    """Points pulled half-way to the mean until the prior allows them."""
    for _ in range(8):
        out = ~np.isfinite(np.asarray(prior.log_prob(jnp.asarray(points))))
        if not out.any():
            break
        points = np.where(out[..., None], 0.5 * (points + mean[:, None]), points)
    return points


def choose(
    model: Model, values: Floats, prior: Prior, candidates: list[Model], criterion: Criterion, route: str | Route
) -> NDArray[np.intp]:
    """The position of the best candidate for the posterior of each value (Y,)."""
    points = posterior_points([model], [values], prior, route)
    if points.shape[-1] == 1:
        scores = _along_curve(points[..., 0], prior, candidates, criterion)
    else:
        scores = np.stack([_at_points(each, candidates, criterion) for each in points], axis=1)
    total = scores.min(axis=-1) if criterion.name == "minimum" else scores.mean(axis=-1)
    return np.asarray(np.argmin(total if criterion.smaller else -total, axis=0))


def best_at(points: Points, candidates: Sequence[Model], criterion: Criterion) -> int:
    """The position of the best candidate at weighted points, with what is known already counted in."""
    scores = [_evaluated(each, points).score(criterion)[0] for each in candidates]
    return int(np.argmin(scores if criterion.smaller else np.negative(scores)))


def _along_curve(points: Floats, prior: Prior, candidates: list[Model], criterion: Criterion) -> Floats:
    """Scores (candidates, Y, Q), interpolated in the prior's free coordinate."""
    free = np.asarray(prior.unconstrain(jnp.asarray(points[..., None])))[..., 0]
    ends = free.min(), free.max() + 1e-9
    at = np.linspace(*ends, _CURVE)
    thetas = np.asarray(prior.constrain(jnp.asarray(at[:, None])))
    curves = np.stack([_scores(each, thetas, criterion) for each in candidates])
    positive = bool(np.all(curves > 0))
    curve = CubicSpline(at, np.log(curves) if positive else curves, axis=1)
    found = curve(free)
    return np.exp(found) if positive else np.asarray(found)


def _at_points(thetas: Floats, candidates: list[Model], criterion: Criterion) -> Floats:
    """Scores (candidates, Q)."""
    return np.stack([_scores(each, thetas, criterion) for each in candidates])


def _scores(model: Model, thetas: Floats, criterion: Criterion) -> Floats:
    return _evaluated(model, Points(thetas, np.full(len(thetas), 1.0 / len(thetas)))).each(criterion)[0]


def _evaluated(model: Model, points: Points) -> Evaluation:
    """By the moments of a mean, where it is one, and else by the exact information."""
    matrices = by_moments(model, points)
    if matrices is None:
        return evaluate(model, points, "auto", 0)
    thetas = points.thetas
    told = Information(thetas, matrices, np.zeros_like(matrices), "moments", None, model.population.names, False)
    return Evaluation(model, points, told)
