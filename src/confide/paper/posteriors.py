"""The exact posterior means of many releases through one channel, by quadrature of `Model.log_likelihood`.

The prior is uniform on θ, and all releases share one grid of log θ, with a step well below the narrowest posterior of
the paper's settings. Between values of y the log-likelihood is interpolated: for a mean only its difference from the
normal approximation, which is small and smooth. Some values are also computed directly, and the error that this shows is
reported.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

import confide as cf
from confide.paper.settings import ENDS

Floats = NDArray[np.float64]

_NODES, _CHECKS = 40, 6


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
    array([1.653, 2.094])
    """
    values = np.asarray(values, dtype=np.float64)
    thetas = np.geomspace(*ends, points)
    scalar = values.ndim == 1
    if not scalar or len(values) <= 2 * _NODES or route == "normal":
        return Means(_mean(thetas, model.log_likelihood(thetas, values, route=route)), 0.0)
    nodes = _spread(values)
    some = values[np.linspace(0, len(values) - 1, _CHECKS).astype(int)]
    at = np.concatenate([nodes, some])
    base = isinstance(model.channel.statistic, cf.Mean)
    table = np.asarray(model.log_likelihood(thetas, at, route=route))
    rest = table - model.log_likelihood(thetas, at, route="normal") if base else table

    def interpolated(wanted: Floats) -> Floats:
        found = PchipInterpolator(nodes, rest[:, : len(nodes)], axis=1)(wanted)
        return np.asarray(found + (model.log_likelihood(thetas, wanted, route="normal") if base else 0.0))

    error = np.abs(_mean(thetas, interpolated(some)) - _mean(thetas, table[:, len(nodes) :]))
    return Means(_mean(thetas, interpolated(values)), float(error.max()))


def _spread(values: Floats) -> Floats:
    """Nodes that span the values, half of them where the values are."""
    levels = np.quantile(values, np.linspace(0, 1, _NODES // 2))
    return np.unique(np.concatenate([levels, np.linspace(values.min(), values.max(), _NODES // 2)]))


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
