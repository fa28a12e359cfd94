"""log p(y | θ) of many published values at once, interpolated between few of them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from confide.likelihood.route import Route
from confide.mechanism.exponential import ExponentialLaw
from confide.mechanism.lattice import LatticeNoise
from confide.model import Model

Floats = NDArray[np.float64]

#: Chebyshev points in y, values at which they are checked, and how well they must agree
_NODES, _CHECKS, _AGREE = (48, 112, 240), 16, 1e-7
#: the share of θ at which they must; at the others all values are computed
_MOST_AGREE = 0.8


def across_values(route: Route, model: Model, thetas: Floats, values: Floats) -> Floats:
    """log p(y | θ) for all θ and many values: (M, Y).

    For one θ it is a smooth function of y wherever noise has a density, so that beyond a few hundred scalar values it
    is computed at Chebyshev points between the least and the largest and interpolated; at some of the values it is
    computed as well, and as many points are taken as make the two agree.
    """
    if model.channel.value_shape != ():
        return np.asarray(route.log_likelihood(model, thetas, values))
    each, where = np.unique(values, return_inverse=True)
    smooth = not isinstance(getattr(model.channel.law, "noise", None), LatticeNoise)
    if smooth and not isinstance(model.channel.law, ExponentialLaw):
        checks = each[np.linspace(0, each.size - 1, _CHECKS).astype(int)]
        for size in _NODES:
            if 2 * size > each.size:
                break
            nodes = 0.5 * (each[0] + each[-1]) - 0.5 * (each[-1] - each[0]) * np.cos(
                np.pi * np.arange(size) / (size - 1)
            )
            found = np.asarray(route.log_likelihood(model, thetas, np.concatenate([nodes, checks])))
            table, truth = found[:, :size], found[:, size:]
            guess = table @ _barycentric(nodes, checks)
            # where a θ explains a value far worse than another does, it must agree as much less
            share = np.exp(truth - truth.max(axis=0))
            agree = np.all(np.where(share > 0, np.abs(guess - truth), 0.0) * share < _AGREE, axis=1)
            if np.mean(agree) >= _MOST_AGREE:
                result = table @ _barycentric(nodes, each)
                if not np.all(agree):
                    result[~agree] = np.asarray(route.log_likelihood(model, thetas[~agree], each))
                return np.asarray(result[:, where])
    return np.asarray(route.log_likelihood(model, thetas, each))[:, where]


def _barycentric(nodes: Floats, at: Floats) -> Floats:
    """The matrix (nodes, points) that interpolates from Chebyshev points of the second kind."""
    weights = np.where(np.arange(nodes.size) % 2, -1.0, 1.0)
    weights[[0, -1]] *= 0.5
    gap = at[None, :] - nodes[:, None]
    exact = gap == 0
    terms = weights[:, None] / np.where(exact, 1.0, gap)
    terms = np.where(exact.any(axis=0), exact.astype(float), terms)
    return np.asarray(terms / terms.sum(axis=0))
