"""The exact posterior means of many releases through one channel, by quadrature of `Model.log_likelihood`.

The prior is uniform on θ, and all releases share one grid of log θ, with a step well below the narrowest posterior of
the paper's settings. Between values of y the log-likelihood is interpolated: for a mean only its difference from the
normal approximation, which is small and smooth. Some values are also computed directly, and the error that this shows
is reported.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

import confide as cf
from confide.paper.settings import ENDS

Floats = NDArray[np.float64]

#: values at which the likelihood is computed (of an order statistic, whose law is less smooth in y), and checked
_NODES, _ORDER_NODES, _CHECKS = 40, 240, 8
#: θ asked for together, and nats below the best θ from which on one has no part in a posterior
_BLOCK, _NEGLIGIBLE = 16, 35.0


class Means(NamedTuple):
    """Posterior means of all values, and the largest error that the direct computation of some has shown."""

    mean: Floats
    error: float


def exact_means(
    model: cf.Model, values: Any, *, points: int = 160, ends: tuple[float, float] = ENDS, route: str = "auto"
) -> Means:
    """E(θ | y) for each value, under a prior that is uniform on θ between `ends`.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
    >>> model = cf.Model(cf.populations.normal_variance(), channel)
    >>> exact_means(model, [1.0, 1.128379]).mean.round(3)
    array([1.64 , 2.087])
    """
    values = np.asarray(values, dtype=np.float64)
    thetas = np.geomspace(*ends, points)
    count = _NODES if model.channel.statistic.averages else _ORDER_NODES
    if values.ndim > 1 or len(values) <= 2 * count or route == "normal":
        return Means(_mean(thetas, model.log_likelihood(thetas, values, route=route)), 0.0)
    nodes = _spread(values, count)
    some = np.sort(values)[np.linspace(0, len(values) - 1, _CHECKS).astype(int)]
    at = np.concatenate([nodes, some])
    if not model.channel.statistic.averages:
        table = np.asarray(model.log_likelihood(thetas, at, route=route))
        guess = PchipInterpolator(nodes, table[:, : len(nodes)], axis=1)
        return _checked(thetas, guess(values), guess(some), table[:, len(nodes) :])
    normal = np.asarray(model.log_likelihood(thetas, at, route="normal"))
    rest = _correction(model, thetas, at, normal, route)
    guess = PchipInterpolator(nodes, rest[:, : len(nodes)], axis=1)
    found = guess(values) + model.log_likelihood(thetas, values, route="normal")
    return _checked(thetas, found, guess(some) + normal[:, len(nodes) :], (rest + normal)[:, len(nodes) :])


def _checked(thetas: Floats, found: Any, guess: Floats, truth: Floats) -> Means:
    return Means(_mean(thetas, found), float(np.abs(_mean(thetas, guess) - _mean(thetas, truth)).max()))


def _correction(model: cf.Model, thetas: Floats, values: Floats, normal: Floats, route: str) -> Floats:
    """log p − its normal approximation, (θ, values); zero where θ does not explain a value at all.

    An exact route may refuse a value far in the tails of every θ that it is asked with, so that a block of θ is asked
    about plausible values only (repeated, so that all blocks have one shape and compile once).
    """
    likely = normal > normal.max(axis=0) - _NEGLIGIBLE
    found = np.zeros_like(normal)
    for rows in np.array_split(np.arange(len(thetas)), len(thetas) // _BLOCK):
        columns = np.flatnonzero(likely[rows].any(axis=0))
        if columns.size:
            asked = np.resize(columns, len(values))
            try:
                exact = np.asarray(model.log_likelihood(thetas[rows], values[asked], route=route))
            except cf.AccuracyError:
                continue  # a spread that vanishes next to the noise: its normal law is as good
            found[np.ix_(rows, asked)] = exact - normal[np.ix_(rows, asked)]
    return np.where(likely, found, 0.0)


def _spread(values: Floats, count: int) -> Floats:
    """Nodes that span the values, half of them where the values are."""
    levels = np.quantile(values, np.linspace(0, 1, count // 2))
    # the second and the last but one are between the quantiles
    return np.unique(np.concatenate([levels, np.linspace(values.min(), values.max(), count // 2 + 2)[1:-1]]))


def _mean(thetas: Floats, log_likelihood: Any) -> Floats:
    """The trapezoidal rule on log θ, where a density flat on θ grows as θ."""
    log_weight = np.log(thetas)[:, None] + np.asarray(log_likelihood)
    share = np.exp(log_weight - log_weight.max(axis=0))
    share[[0, -1]] *= 0.5
    return np.asarray(thetas @ share / share.sum(axis=0))


class Squares(NamedTuple):
    """A mean squared error and its standard error."""

    mse: float
    error: float


def squares(means: Any, truth: float) -> Squares:
    """The mean squared error of estimates."""
    found = (np.asarray(means) - truth) ** 2
    return Squares(float(found.mean()), float(found.std(ddof=1) / np.sqrt(found.size)))
