"""`estimate`: what frequentists say about a population, given what was published."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from scipy import stats

from confide._call import remembered
from confide._checks import whole
from confide._precision import float64
from confide._random import as_key
from confide.errors import ApproximationWarning, IncompatibleError, InvalidArgument
from confide.frequentist.em import fit
from confide.frequentist.entries import OneNumber, entries
from confide.frequentist.exact import (
    Floats,
    Interval,
    candidates,
    level_set,
    or_normal,
    p_values,
    scan,
    surely_below,
)
from confide.frequentist.likelihood import Climb, FreeLikelihood, Peak, maximum
from confide.frequentist.ratio import Ratio, cutoff
from confide.frequentist.result import Estimate, OnDemand
from confide.inference.problem import read_models, read_releases
from confide.likelihood import Route, as_route, stand_in
from confide.likelihood.joint import Disjoint, joint_route
from confide.likelihood.record_law.rows.points import why_not_exact
from confide.population import Population, space
from confide.published import Release

METHODS = ("exact", "ratio", "wald", "bootstrap")
#: standard errors from the maximum at which a ratio is looked at
_AROUND = np.asarray([-8.0, -5.0, -3.5, -2.5, -1.5, 0.0, 1.5, 2.5, 3.5, 5.0, 8.0])
#: the standard error of a free coordinate from which all magnitudes are looked at instead, each so many-th
_WIDE, _APART = 4.0, 4
#: how the maximum is found
CLIMBS: dict[str, Climb | None] = {"newton": None, "em": fit}


@remembered
@float64
def estimate(
    population: Population,
    releases: Release | Sequence[Release],
    *,
    level: float = 0.95,
    method: str = "exact",
    same_records: bool | None = None,
    same_quantity: bool | None = None,
    maximize: str = "newton",
    route: str | Route = "auto",
    replicates: int = 199,
    key: Any = 0,
) -> Estimate:
    """The maximum of the likelihood, a confidence set of each parameter, and p-values.

    - `exact` inverts the distribution function of one scalar value in one scalar parameter: all θ with
      α/2 ≤ P(Y ≤ y | θ) ≤ 1 − α/2. It covers with the stated probability whatever n is (at least with it where values
      lie on a lattice), and may be empty, in pieces or unbounded where that function is not monotone in θ.
    - `ratio` compares the likelihood with its maximum, with other parameters where it is then largest, by a χ² law.
    - `bootstrap` does the same by what the ratio is in `replicates` data sets simulated at the estimate.
    - `wald` takes the curvature at the maximum for that of a normal law, in free coordinates (log of a scale).

    The maximum is found by Newton's method or, with `maximize="em"`, by EM: the noisy records are completed, exactly,
    and fitted, which never lowers the likelihood. EM serves noisy means, shares and one value per record, of
    populations whose support does not move.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 50)), cf.Laplace(cf.PureDP(1.0)), n=200)
    >>> found = cf.estimate(cf.populations.exponential(), cf.Release(channel, 9.2))
    >>> round(found.theta["rate"], 4), [round(end, 4) for end in found.interval["rate"]]
    (0.1083, [0.092, 0.1266])
    """
    if method not in METHODS:
        raise InvalidArgument("method", method, "is not a method", f"use one of {', '.join(METHODS)}")
    if maximize not in CLIMBS:
        raise InvalidArgument("maximize", maximize, "is no way to a maximum", f"use one of {', '.join(CLIMBS)}")
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
        raise InvalidArgument("level", level, "is not between 0 and 1", "give a confidence level such as 0.95")
    count = whole("replicates", replicates, 19, "give the number of simulated data sets, at least 19")
    releases = read_releases(population, releases, same_quantity)
    if any(release.processed for release in releases):
        raise IncompatibleError("confidence sets of clamped, rounded or left out numbers are not known here; use infer")
    models, values, shared = read_models(population, releases, same_records)
    if any(model.channel.n is None for model in models):
        raise IncompatibleError("confidence sets need a public number of records; use infer, which sums over n")
    if any(model.channel.law.noiseless for model in models):
        raise IncompatibleError("a statistic without noise has no likelihood here; use a mechanism with noise")
    joint = joint_route(models, route, shared)
    if joint.approximate and as_route(route) is None:
        warnings.warn(
            f"no exact route serves {models[0].channel.statistic} under {models[0].channel.mechanism}: estimates are "
            "by the normal approximation, whose error is not known; say route='normal' if that is meant",
            ApproximationWarning,
            stacklevel=4,
        )
    likelihood = FreeLikelihood(population, joint, joint.check(values))
    if method == "exact":
        _require_scalar(likelihood)
    peak = maximum(likelihood, CLIMBS[maximize])
    sets: Mapping[str, list[Interval]]
    if method == "exact":
        sets, test, stood = _exactly(likelihood, peak, level)
    else:
        deviance = _deviance(likelihood, peak)
        sets, test = _by_ratio(likelihood, peak, level, method, count, as_key(key))
    asked = entries(population.space)
    notes = [f"{joint.name}: error {joint.error}"] if joint.simulated or joint.approximate else []
    notes += stood if method == "exact" else ()
    each = () if joint.approximate else (why_not_exact(model.population, model.channel.statistic) for model in models)
    notes += dict.fromkeys(told for told in each if told is not None)
    theta = likelihood.thetas(peak.free[None])[0]
    if peak.edge:
        theta[asked[0].place] = asked[0].value(likelihood, peak.edge * np.inf)
        theta[asked[-1].place] = 1.0 - theta[asked[0].place] if theta.size > 1 else theta[0]
        notes.append(f"the likelihood grows to the edge of the space: {population.names[0]} has no maximum inside")
    parts = space.split(population.space, theta)
    return Estimate(
        {name: np.asarray(part) if np.ndim(part) else float(part) for name, part in parts.items()},
        {entry.label: float(theta[entry.place]) for entry in asked},
        sets,
        float(level),
        method,
        joint.name,
        tuple(notes),
        test,
        None if method == "exact" else deviance,
    )


def _deviance(likelihood: FreeLikelihood, peak: Peak) -> Callable[[str, Any], Floats]:
    by_label = {entry.label: entry for entry in entries(likelihood.population.space)}

    def deviance(label: str, values: Any) -> Floats:
        with jax.enable_x64(True):
            entry, held = by_label[label], np.asarray(values, dtype=float).reshape(-1)
            own, top = entry.among(likelihood, peak)
            free = np.asarray([entry.coordinate(own, float(each)) for each in held])
            if peak.free.size == 1:
                found = 2.0 * (top.log_prob - own(free[:, None]))
                return np.asarray(np.maximum(0.0, found))
            ratio = Ratio(own, top)
            return np.asarray([ratio.deviance(entry.free, float(each)) for each in free])

    return deviance


def _require_scalar(likelihood: FreeLikelihood) -> None:
    model = likelihood.joint.models[0]
    several = likelihood.population.dimension > 1
    if several or len(likelihood.values) > 1 or model.channel.value_shape not in ((), (1,)):
        what = (
            f"{likelihood.population.dimension} parameters" if several
            else f"{len(likelihood.values)} releases" if len(likelihood.values) > 1
            else f"a value of shape {model.channel.value_shape}"
        )  # fmt: skip
        raise IncompatibleError(
            f"method='exact' inverts the distribution function of one number in one parameter, and these are {what}; "
            "use method='bootstrap', or 'ratio' for large samples"
        )


def _exactly(
    likelihood: FreeLikelihood, peak: Peak, level: float
) -> tuple[dict[str, list[Interval]], Callable[[str, float], float], tuple[str, ...]]:
    joint = likelihood.joint
    assert isinstance(joint, Disjoint)
    route, model, value = joint.routes[0], joint.models[0], np.reshape(likelihood.values[0], (1,))

    stood: list[float] = []

    def excess(free: Floats) -> Floats:
        thetas = likelihood.thetas(free[:, None])
        found, normal = or_normal(route, model, thetas, value)
        stood.extend(thetas[normal & (found > least), 0].tolist())
        return found - (1.0 - level)

    def test(name: str, theta0: float) -> float:
        del name
        with jax.enable_x64(True):
            return float(
                p_values(route, model, np.asarray(likelihood.population.theta(theta0)).reshape(1, 1), value)[0, 0]
            )

    least = surely_below(1.0 - level)
    width = float(1.0 / np.sqrt(peak.curvature[0, 0])) if peak.curvature[0, 0] > 0 else np.inf
    points = scan(likelihood.starts()[:, 0], float(peak.free[0]), width)
    other = stand_in(route, model)

    def roughly(free: Floats) -> Floats:
        assert other is not None
        return p_values(other, model, likelihood.thetas(free[:, None]), value)[:, 0]

    points = candidates(None if other is None else roughly, points, least)
    found = level_set(excess, points)
    (entry,) = entries(likelihood.population.space)
    notes: tuple[str, ...] = ()
    if stood:
        told = f"{min(stood):.4g} to {max(stood):.4g}" if len(stood) > 1 else f"{stood[0]:.4g}"
        notes = (f"not exact at {entry.label} = {told}: the normal approximation stands in there",)
    ends = [(entry.value(likelihood, low), entry.value(likelihood, high)) for low, high in found]
    return {entry.label: ends}, test, notes


def _by_ratio(
    likelihood: FreeLikelihood, peak: Peak, level: float, method: str, count: int, key: jax.Array
) -> tuple[Mapping[str, list[Interval]], Callable[[str, float], float]]:
    if method in ("wald", "bootstrap") and not np.all(np.isfinite(Ratio(likelihood, peak).errors)):
        raise IncompatibleError(
            f"the likelihood has no maximum with a curvature inside the parameter space, as method={method!r} needs; "
            "use method='exact' (one parameter, one value) or 'ratio', whose sets may be unbounded"
        )
    by_label = {entry.label: entry for entry in entries(likelihood.population.space)}

    def asked(label: str) -> tuple[int, OneNumber, Ratio]:
        entry = by_label[label]
        return list(by_label).index(label), entry, Ratio(*entry.among(likelihood, peak))

    @float64
    def found(label: str) -> list[Interval]:
        index, entry, ratio = asked(label)
        if method == "wald":
            half = float(stats.norm.ppf(0.5 + level / 2)) * ratio.errors[entry.free]
            pieces = [(ratio.peak.free[entry.free] - half, ratio.peak.free[entry.free] + half)]
        else:
            largest = cutoff(level)
            if method == "bootstrap":
                drawn = ratio.simulated(entry.free, ratio.peak.free, count, jax.random.fold_in(key, index))
                largest = float(np.quantile(drawn, level, method="higher"))
            pieces = _pieces(ratio, entry.free, largest)
        ends = [[entry.value(ratio.likelihood, end) for end in piece] for piece in pieces]
        return [(min(pair), max(pair)) for pair in ends]

    def test(label: str, theta0: float) -> float:
        with jax.enable_x64(True):
            index, entry, ratio = asked(label)
            held = entry.coordinate(ratio.likelihood, theta0)
            if method == "wald":
                return float(2 * stats.norm.sf(abs(held - ratio.peak.free[entry.free]) / ratio.errors[entry.free]))
            deviance = ratio.deviance(entry.free, held)
            if method == "ratio":
                return float(stats.chi2.sf(deviance, 1))
            null = np.asarray([held]) if peak.free.size == 1 else ratio.constrained(entry.free, held)[0]
            drawn = ratio.simulated(entry.free, null, count, jax.random.fold_in(key, 1000 + index))
            return float((1 + np.sum(drawn >= deviance)) / (1 + count))

    return OnDemand(list(by_label), found), test


def _pieces(ratio: Ratio, index: int, largest: float) -> list[Interval]:
    """Where the ratio does not exceed `largest`: everywhere for one parameter, around the estimate for several."""

    def excess(free: Floats) -> Floats:
        if ratio.peak.free.size == 1:
            return largest - 2.0 * (ratio.peak.log_prob - ratio.likelihood.screened(free[:, None]))
        return np.asarray([largest - ratio.deviance(index, float(each)) for each in free])

    centre, width = float(ratio.peak.free[index]), float(ratio.errors[index])
    if ratio.peak.free.size == 1:
        return level_set(excess, scan(ratio.likelihood.starts()[:, 0], centre, width))
    if width < _WIDE:
        return level_set(excess, centre + width * _AROUND)
    line = ratio.likelihood.lines[index][::_APART]
    return level_set(excess, np.unique(np.append(line, centre)))
