"""Posteriors of many releases through the same channels at once: what studies need.

All published values share one line of θ, so that a likelihood is computed once for each θ and all values together. The
line must resolve the narrowest posterior: where it does not, the values are split by where their posteriors lie, and
each group has a line of its own.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide._precision import float64
from confide.errors import ApproximationWarning, IncompatibleError, InvalidArgument
from confide.inference.quadrature import fallback, line
from confide.inference.quadrature.grid import constrained, distinct
from confide.inference.quadrature.interpolate_in_y import (
    across_values,
    points_for,
    smooth_in_value,
    summaries_across,
    within_range,
)
from confide.inference.summaries import NEGLIGIBLE, Summaries, finer, quantiles
from confide.likelihood import Route, as_route, choose_route
from confide.model import Model
from confide.prior import Prior, at_free

Floats = NDArray[np.float64]

#: points on a line to begin with, and at most: a group that needs more is split
_POINTS, _MOST_POINTS = 112, 448
#: points to begin with where a line costs more to prepare than to compute
_READILY = 224
#: the widest step, in posterior standard deviations: the trapezoidal rule is then right to 1e-8 for a normal density
_STEP = 0.7
#: the narrowest posterior whose width a line can tell, in steps
_SEEN = 0.4
#: how far interpolation in y may be off, in posterior standard deviations: ends of intervals; mean and sd
_QUANTILE, _MOMENT = 2e-4, 1e-7
#: points on the line and releases looked at while the mass is located
_LOCATING, _SOME = 64, 17


@float64
def many_posteriors(
    models: Sequence[Model],
    values: Sequence[Any],
    prior: Any,
    *,
    probs: Sequence[float] = (0.5, 0.9, 0.95),
    route: str | Route = "auto",
) -> Summaries:
    """The posterior of each row of `values`, by quadrature.

    `models` are disjoint releases of one population, and `values` has one array for each, of shape (Y, …).

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=100)
    >>> model = cf.Model(cf.populations.normal_variance(), channel)
    >>> found = many_posteriors([model], [[1.0, 1.128379]], {"variance": dist.InverseGamma(2.0, 2.0)})
    >>> print(found.mean[:, 0].round(3))
    [1.567 1.983]
    """
    models = tuple(models)
    if any(model.channel.n is None for model in models):
        raise IncompatibleError("many posteriors at once need a public number of records; use infer for each release")
    population = models[0].population
    checked = Prior.of(population, prior)
    routes = tuple(choose_route(model, route) for model in models)
    checked_values = (model.channel.check_value(value) for model, value in zip(models, values, strict=True))
    arrays = tuple(within_range(model, value) for model, value in zip(models, checked_values, strict=True))
    if len({array.shape[0] for array in arrays}) != 1:
        raise InvalidArgument("values", [a.shape for a in arrays], "differ in number", "give one row per study")
    if checked.free_dimension > 1:
        return _warned(_one_by_one(models, arrays, checked, probs, route))
    low, high = line.reach(checked)
    pairs = zip(routes, models, strict=True)
    problem = _Problem(tuple(fallback.OneRelease(*pair) for pair in pairs), checked, [])
    ends = problem.narrowed(arrays, float(low[0]), float(high[0]))

    def solved(*arrays: Floats) -> Summaries:
        return problem.summaries(arrays, ends, tuple(probs))

    found = None
    if len(models) == 1 and smooth_in_value(models[0]):
        each, where = np.unique(arrays[0], return_inverse=True)
        tolerance = np.asarray([_QUANTILE] * (2 * len(probs)) + [_MOMENT] * 2)
        sizes = points_for(models[0], each)
        table = summaries_across(each, lambda y: solved(y).columns(), tolerance, sizes)
        found = None if table is None else Summaries.from_columns(table[where])
    found = solved(*arrays) if found is None else found
    chosen = _approximations(models, routes) if as_route(route) is None else []
    return _warned(found._replace(notes=(*chosen, *problem.notes())))


def _approximations(models: Sequence[Model], routes: Sequence[Route]) -> list[str]:
    """What to say of models that nothing exact serves."""
    pairs = zip(models, routes, strict=True)
    return [
        f"no exact likelihood serves {m.channel.statistic}: {fallback.STANDS_IN}" for m, r in pairs if r.approximate
    ]


def _warned(found: Summaries) -> Summaries:
    for note in found.notes:
        warnings.warn(note, ApproximationWarning, stacklevel=4)
    return found


_AXES = {"mean": 0, "sd": 0, "lower": 1, "upper": 1}


class _Problem(NamedTuple):
    releases: tuple[fallback.OneRelease, ...]
    prior: Prior
    #: θ that carry weight in a posterior where the normal approximation stood in
    approximate: list[Floats]

    def notes(self) -> list[str]:
        """What to say of the likelihoods that were used."""
        return fallback.stood_in(self.prior.names, self.approximate)

    def summaries(self, arrays: tuple[Floats, ...], ends: tuple[float, float], probs: tuple) -> Summaries:
        """Of the posterior of each row of values, in their order."""
        parts = self.solve(arrays, *ends, np.arange(arrays[0].shape[0]), probs, 0)
        order = np.argsort(np.concatenate([index for index, _ in parts]))
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for _, part in parts], axis).take(order, axis)
            for name, axis in _AXES.items()
        }
        return Summaries(**joined)

    @property
    def rough(self) -> bool:
        """Whether the normal approximation can say roughly where posteriors lie."""
        return any(release.has_normal for release in self.releases)

    def narrowed(self, arrays: tuple[Floats, ...], low: float, high: float) -> tuple[float, float]:
        """The ends of a line for all values, brought nearer by the normal approximation where there is one."""
        if not self.rough:
            return low, high
        somewhere = self._somewhere(_spread_out(arrays), rough=True)
        return line.locate_roughly(somewhere, low, high, line.POINTS, NEGLIGIBLE)

    def log_density(self, free: Floats, arrays: tuple[Floats, ...], *, rough: bool = False) -> Floats:
        """log p(θ, y) for all points and values: (M, Y)."""
        theta, log_prior = (np.asarray(part) for part in at_free(self.prior, free[:, None]))
        usable = np.isfinite(log_prior) & np.all(np.isfinite(theta), axis=-1)
        asked, where = distinct(np.where(usable[:, None], theta, theta[np.argmax(usable)]))
        total = np.zeros((len(asked), arrays[0].shape[0]))
        replaced = np.zeros(len(asked), dtype=bool)
        for release, values in zip(self.releases, arrays, strict=True):
            if rough:
                total += release.roughly(asked, values)
            else:
                found, gave_up = release.log_likelihood(asked, values, across_values)
                total += found
                replaced |= gave_up
        density = line.clean(np.where(usable[:, None], total[where] + log_prior[:, None], -np.inf))
        if np.any(replaced):
            share = np.exp(density - density.max(axis=0))
            weighty = replaced[where] & np.any(share > fallback.WEIGHTY * share.sum(axis=0), axis=1)
            self.approximate.append(theta[weighty])
        return density

    def solve(
        self, arrays: tuple[Floats, ...], low: float, high: float, index: NDArray[np.int64], probs: tuple, depth: int
    ) -> list[tuple[NDArray[np.int64], Summaries]]:
        """Narrow the line onto the group's mass; summarise if it resolves all of them, else split."""
        points = _READILY if self.rough else _POINTS
        if depth == 0 and not self.rough:
            low, high = self._locate(_spread_out(arrays), low, high)
        free = line.cells(low, high, points)
        values = self.log_density(free, arrays)
        top = values.max(axis=0)
        if np.any(values[[0, -1]] > top - NEGLIGIBLE):
            low, high = self._locate(_spread_out(arrays), low, high)
            free = line.cells(low, high, points)
            values = self.log_density(free, arrays)
            top = values.max(axis=0)
        step = free[1] - free[0]
        if np.any(top == -np.inf):
            raise line.no_mass()
        share = np.exp(values - top)
        share /= share.sum(axis=0)
        spread = np.sqrt(np.maximum(share.T @ free**2 - (share.T @ free) ** 2, 0.0))
        mode = free[np.argmax(values, axis=0)]
        fine = spread > step / _STEP
        if np.all(fine) or depth > 30 or (index.size == 1 and np.all(spread > step)):
            return [(index, self._summaries(free, values, probs))]
        # a prior that ends leaves long tails on the free line: there more points serve, and splitting would not
        wanted = _POINTS * math.ceil((high - low) / (_STEP * float(spread.min())) / _POINTS) if spread.min() > 0 else 0
        if spread.min() > _SEEN * step and wanted <= _MOST_POINTS:
            free = line.cells(low, high, wanted)
            return [(index, self._summaries(free, self.log_density(free, arrays), probs))]
        groups = [fine, *_halves(~fine, mode)]
        found: list[tuple[NDArray[np.int64], Summaries]] = []
        for group in groups:
            if not np.any(group):
                continue
            if group is fine:
                found.append((index[group], self._summaries(free, values[:, group], probs)))
                continue
            inside = np.flatnonzero(np.any(values[:, group] > top[group] - NEGLIGIBLE, axis=1))
            ends = free[inside[0]] - 3 * step, free[inside[-1]] + 3 * step
            part = tuple(array[group] for array in arrays)
            found += self.solve(part, *ends, index[group], probs, depth + 1)
        return found

    def _somewhere(self, arrays: tuple[Floats, ...], *, rough: bool = False) -> line.LogDensity:
        """The largest density of some values, each relative to its own mode."""

        def somewhere(free: Floats) -> Floats:
            found = self.log_density(free, arrays, rough=rough)
            top = found.max(axis=0)
            if np.any(top == -np.inf):
                raise line.no_mass()
            return np.asarray(np.max(found - top, axis=1))

        return somewhere

    def _locate(self, arrays: tuple[Floats, ...], low: float, high: float) -> tuple[float, float]:
        """Where the posteriors of some values lie, and a little more."""
        return line.search(self._somewhere(arrays), low, high, _LOCATING - 1, NEGLIGIBLE, 1 / 2)[:2]

    def _summaries(self, free: Floats, values: Floats, probs: tuple) -> Summaries:
        theta = constrained(self.prior, free[:, None])
        share = np.exp(values - values.max(axis=0))
        share /= share.sum(axis=0)
        mean = share.T @ theta
        sd = np.sqrt(np.maximum(share.T @ theta**2 - mean**2, 0.0))
        levels = [0.5 + sign * prob / 2 for sign in (-1, 1) for prob in probs]
        ends = quantiles(*finer(free, values), levels)
        on_theta = constrained(self.prior, ends[..., None])
        return Summaries(mean, sd, on_theta[: len(probs)], on_theta[len(probs) :])


def _spread_out(arrays: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """A few of the releases that span all of them, the outermost included."""
    rows = arrays[0].shape[0]
    if rows <= _SOME:
        return arrays
    chosen: list[int] = []
    for array in arrays:
        order = np.argsort(array.reshape(rows, -1).mean(axis=1))
        chosen += order[np.linspace(0, rows - 1, _SOME).astype(int)].tolist()
    return tuple(array[np.unique(chosen)] for array in arrays)


def _halves(group: NDArray[np.bool_], mode: Floats) -> list[NDArray[np.bool_]]:
    """A group cut at its middle mode, or as it is if all modes coincide."""
    cut = np.median(mode[group])
    left = group & (mode <= cut)
    return [left, group & ~left] if np.any(group & ~left) else [group]


def _one_by_one(
    models: tuple[Model, ...], arrays: tuple[Floats, ...], prior: Prior, probs: Sequence[float], route: str | Route
) -> Summaries:
    """Two parameters and more: a posterior at a time."""
    from confide.inference.verb import infer
    from confide.published import Release

    means, sds, lowers, uppers = [], [], [], []
    notes: set[str] = set()
    for row in range(arrays[0].shape[0]):
        releases = [Release(model.channel, array[row]) for model, array in zip(models, arrays, strict=True)]
        found = infer(models[0].population, releases, prior, same_records=False, route=route, key=row)
        means.append(_flat(found.mean))
        sds.append(_flat(found.sd))
        notes.update(note for note in found.diagnostics.warnings if fallback.STANDS_IN in note)
        each = [found.quantile([0.5 - prob / 2, 0.5 + prob / 2]) for prob in probs]
        lowers.append([np.concatenate([np.ravel(part[0]) for part in end.values()]) for end in each])
        uppers.append([np.concatenate([np.ravel(part[1]) for part in end.values()]) for end in each])
    swap = (1, 0, 2)
    ends = np.transpose(lowers, swap), np.transpose(uppers, swap)
    return Summaries(np.asarray(means), np.asarray(sds), *ends, tuple(sorted(notes)))


def _flat(values: Any) -> Floats:
    return np.concatenate([np.ravel(part) for part in values.values()])
