"""Many published values at once: what is smooth in y is computed at few values and interpolated.

For one θ, log p(y | θ) is a smooth function of y wherever noise has a density, and so is what a posterior is summarised
by. Beyond a hundred scalar values either is computed at Chebyshev points between the least and the largest; at some of
the values it is computed as well, and as many points are taken as make the two agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from confide.inference.quadrature.panels import barycentric
from confide.likelihood.route import Route
from confide.model import Model

Floats = NDArray[np.float64]

#: Chebyshev points in y, each set among the next; values at which they are checked; and how well they must agree
_NODES, _CHECKS, _AGREE = (49, 97, 193), 15, 1e-7
#: the share of θ at which they must; at the others all values are computed
_MOST_AGREE = 0.8
#: values that are interpolated together
_AT_ONCE = 8192


def across_values(route: Route, model: Model, thetas: Floats, values: Floats) -> Floats:
    """log p(y | θ) for all θ and many values: (M, Y)."""
    if model.channel.value_shape != ():
        return np.asarray(route.log_likelihood(model, thetas, values))
    each, where = np.unique(values, return_inverse=True)

    def computed(y: Floats) -> Floats:
        return np.asarray(route.log_likelihood(model, thetas, y)).T

    if smooth_in_value(model):
        for nodes, table, checks, truth in _finer_and_finer(each, computed, points_for(model, each)):
            guess = barycentric(nodes, checks).T @ table
            # where a θ explains a value far worse than another does, it must agree as much less
            share = np.exp(truth - truth.max(axis=1, keepdims=True))
            agree = np.all(np.where(share > 0, np.abs(guess - truth), 0.0) * share < _AGREE, axis=0)
            if np.mean(agree) >= _MOST_AGREE:
                result = barycentric(nodes, each).T @ table
                if not np.all(agree):
                    result[:, ~agree] = np.asarray(route.log_likelihood(model, thetas[~agree], each)).T
                return np.asarray(result[where].T)
    return np.asarray(computed(each)[where].T)


def smooth_in_value(model: Model) -> bool:
    """Whether p(y | θ) is a smooth function of a scalar y."""
    law = model.channel.law
    return model.channel.value_shape == () and not law.selects and (law.added is None or law.added.step is None)


def points_for(model: Model, values: Floats) -> tuple[int, ...]:
    """How many Chebyshev points are tried, one number after the other.

    Where values lie at an end of the range, p has a kink, of records all clipped to one bound, and many more not far
    from it, of all but some: there the fewest points never agree.
    """
    at_an_end = np.any(np.isin(values, model.channel.statistic.ranges[0]))
    return _NODES[1:] if at_an_end else _NODES


def within_range(model: Model, values: Floats) -> Floats:
    """Values with the same posteriors, none further out than the statistic itself can be.

    Beyond the range of the statistic Laplace noise has an exponential tail: p(y | θ) there is p at the end of the range
    times a number that does not depend on θ. So nothing is to be learnt from how far beyond y lies, and the kink that
    p has there, of records all clipped to one bound, comes to lie at an end of the line of values.
    """
    noise = model.channel.law.added
    if noise is None or not noise.exponential:
        return values
    low, high = np.asarray(model.channel.statistic.ranges).T
    if noise.step is not None:
        low, high = noise.step * np.floor(low / noise.step), noise.step * np.ceil(high / noise.step)
    return np.clip(values, *((low[0], high[0]) if low.size == 1 else (low, high)))


def summaries_across(
    values: Floats, solve: Callable[[Floats], Floats], tolerance: Floats, sizes: tuple[int, ...]
) -> Floats | None:
    """What `solve` finds for each value (Y, features), interpolated; None where too few values, or points, to do so.

    The last feature is a posterior standard deviation, and each may be off by its tolerance times that.
    """
    for nodes, table, checks, truth in _finer_and_finer(values, solve, sizes):
        guess = barycentric(nodes, checks).T @ table
        if np.all(np.abs(guess - truth) <= tolerance * truth[:, -1:]):
            parts = np.array_split(values, -(-values.size // _AT_ONCE))
            return np.concatenate([barycentric(nodes, part).T @ table for part in parts])
    return None


def _finer_and_finer(
    values: Floats, computed: Callable[[Floats], Floats], sizes: tuple[int, ...]
) -> Iterator[tuple[Floats, Floats, Floats, Floats]]:
    """More and more Chebyshev points with what is computed there, rows of a table; and some values with the same.

    Each set of points holds the one before, so that nothing is computed twice.
    """
    checks, table = _some(values), np.empty((0, 0))
    for nodes in _points(values, sizes):
        if table.size == 0:
            found = computed(np.concatenate([nodes, checks]))
            table, truth = found[: nodes.size], found[nodes.size :]
        else:
            held, table = table, np.empty((nodes.size, truth.shape[1]))
            table[::2], table[1::2] = held, computed(nodes[1::2])
        yield nodes, table, checks, truth


def _some(values: Floats) -> Floats:
    """Values at which an interpolation is checked."""
    return np.sort(values)[np.linspace(0, values.size - 1, _CHECKS).astype(int)]


def _points(values: Floats, sizes: tuple[int, ...]) -> Iterator[Floats]:
    """Chebyshev points that span the values, more and more of them while that is fewer than there are values."""
    low, high = values.min(), values.max()
    for size in sizes:
        if 2 * size > values.size or low == high:
            return
        yield 0.5 * (low + high) - 0.5 * (high - low) * np.cos(np.pi * np.arange(size) / (size - 1))
