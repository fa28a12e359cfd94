"""Confidence sets of the difference, or ratio, of a parameter in two groups, each with its own release.

Where both have a likelihood ratio, the deviance of a contrast c is min_b {D₁(a) + D₂(b)}, with a = b + c or bc: two
groups are one model with twice the parameters, of which all but c are maximised out. D is tabulated for each group.

Otherwise sets of level √(1 − α) hold both parameters at once with probability 1 − α, as the groups are independent, and
so the contrasts of what they hold cover at least as often.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import interpolate, optimize, stats

from confide.errors import IncompatibleError, ParameterError
from confide.frequentist.exact import level_set
from confide.frequentist.result import Estimate, Interval
from confide.frequentist.verb import estimate

Floats = NDArray[np.float64]

#: the p-value at the ends of a table of deviances, and its points: a cubic spline is then right to 1e-5
_FAR, _POINTS = 1e-7, 129


@dataclass(frozen=True, repr=False, eq=False)
class EstimateContrast:
    """A confidence set of a contrast between two groups: made by `contrast` of two estimates.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Gaussian(cf.GDP(1.0)), n=500)
    >>> share = cf.populations.bernoulli()
    >>> women, men = (cf.estimate(share, cf.Release(channel, y)) for y in (0.31, 0.24))
    >>> print(cf.contrast(women, men))
    difference of probability = 0.07 (exact, at least 95%): -0.01974 to 0.1587
    """

    #: the parameter, and "difference" or "ratio"
    name: str
    kind: str
    #: the contrast of the two maxima
    value: float
    set: list[Interval]
    level: float
    method: str
    #: whether it covers at least as often as stated, instead of as often
    conservative: bool
    _test: Callable[[float], float] = field(default=lambda value: math.nan)

    @property
    def interval(self) -> Interval:
        """The hull of the set; not numbers where it is empty."""
        return (self.set[0][0], self.set[-1][1]) if self.set else (math.nan, math.nan)

    def p_value(self, value: float | None = None) -> float:
        """The two-sided p-value of the hypothesis that the contrast is `value`: by default that the groups are equal.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Gaussian(cf.GDP(1.0)), n=500)
        >>> share = cf.populations.bernoulli()
        >>> women, men = (cf.estimate(share, cf.Release(channel, y), method="ratio") for y in (0.31, 0.24))
        >>> round(cf.contrast(women, men).p_value(), 3)
        0.014
        """
        return self._test(float(self.kind == "ratio") if value is None else float(value))

    def __str__(self) -> str:
        parts = " or ".join(f"{low:.4g} to {high:.4g}" for low, high in self.set) or "no value at all"
        level = f"{'at least ' * self.conservative}{100 * self.level:g}%"
        return f"{self.kind} of {self.name} = {self.value:.4g} ({self.method}, {level}): {parts}"

    __repr__ = __str__


def apart(first: Estimate, second: Estimate, name: str, kind: str) -> EstimateContrast:
    """The set and the test of a contrast of two estimates of one level."""
    if first.level != second.level:
        raise IncompatibleError(f"the levels {first.level:g} and {second.level:g} differ; estimate both at one")
    if kind == "ratio" and not all(end > 0 for each in (first, second) for end in each.interval[name]):
        raise IncompatibleError(f"{name} may be 0 or less in one of the groups, so that a ratio says little")
    one, two = first.entries[name], second.entries[name]
    value = one / two if kind == "ratio" else one - two
    tables = [_table(each, name) if each.method == "ratio" else None for each in (first, second)]
    if tables[0] is not None and tables[1] is not None:
        profile = Profile(*tables[0], *tables[1], kind)
        largest = float(stats.chi2.ppf(first.level, 1))
        found = level_set(lambda at: largest - np.asarray([profile(float(c)) for c in at]), profile.points(value))
        return EstimateContrast(
            name, kind, value, found, first.level, "ratio", False, lambda c: float(stats.chi2.sf(profile(c), 1))
        )
    sets = [_wider(each, math.sqrt(first.level)).set[name] for each in (first, second)]
    method = " and ".join(dict.fromkeys([first.method, second.method]))

    def test(c: float) -> float:
        """1 − (1 − m)², m the largest of all min{p₁, p₂} of pairs that are so far apart."""

        def least(b: float) -> float:
            a = b + c if kind == "difference" else b * c
            try:
                return min(first.p_value({name: a}), second.p_value({name: b}))
            except ParameterError:  # outside of the space, where nothing is held to be possible
                return 0.0

        most = max(least(two), least(one - c if kind == "difference" else one / c))
        low, high = sorted([two, one - c if kind == "difference" else one / c])
        if low < high:
            most = max(most, -_smallest(lambda b: -least(b), low, high))
        return 1.0 - (1.0 - most) ** 2

    return EstimateContrast(name, kind, value, _all_pairs(sets[0], sets[1], kind), first.level, method, True, test)


def _smallest(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value between two points."""
    found = optimize.minimize_scalar(function, bounds=(low, high), method="bounded", options={"xatol": 1e-8})
    return float(found.fun)


def _wider(found: Estimate, level: float) -> Estimate:
    """The same estimate at another level."""
    assert found.call is not None
    again: Estimate = estimate(**{**found.call.arguments, "level": level})
    return again


def _all_pairs(one: Sequence[Interval], two: Sequence[Interval], kind: str) -> list[Interval]:
    """The contrasts of all pairs, overlapping intervals joined."""
    found = []
    for (a, b), (c, d) in itertools.product(one, two):
        ends = (a - d, b - c) if kind == "difference" else (a / d if d else math.inf, b / c if c else math.inf)
        found.append(ends)
    joined: list[Interval] = []
    for low, high in sorted(found):
        if joined and low <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(high, joined[-1][1]))
        else:
            joined.append((low, high))
    return joined


def _table(found: Estimate, name: str) -> tuple[Floats, Floats] | None:
    """Values of a parameter and the deviance there, as far out as a p-value of 1e-7; None where it has no such ends."""
    low, high = _wider(found, 1.0 - _FAR).interval[name]
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    # dense towards the ends, which may be edges of the space and are not touched
    values = low + (high - low) * 0.5 * (1.0 - np.cos(np.pi * (np.arange(_POINTS) + 0.5) / _POINTS))
    return values, found.deviance(name, values)


@dataclass(frozen=True, eq=False)
class Profile:
    """min_b {D₁(a) + D₂(b)} with a and b as far apart as asked."""

    one: Floats
    first: Floats
    two: Floats
    second: Floats
    kind: str

    def points(self, value: float) -> Floats:
        """Contrasts at which to look."""
        low, high = _all_pairs([(self.one[0], self.one[-1])], [(self.two[0], self.two[-1])], self.kind)[0]
        return np.unique(np.append(np.linspace(low, high, 202)[1:-1], value))

    def __call__(self, c: float) -> float:
        """The deviance of a contrast; infinite beyond the tables."""
        low, high = self.two[0], self.two[-1]
        ends = self.one[[0, -1]] - c if self.kind == "difference" else self.one[[0, -1]] / c
        low, high = max(low, float(np.min(ends))), min(high, float(np.max(ends)))
        if not low < high:
            return math.inf
        b = np.linspace(low, high, 4 * _POINTS)
        total = self._sum(c, b)
        at = int(np.argmin(total))
        bracket = b[max(at - 1, 0)], b[min(at + 1, b.size - 1)]
        return max(0.0, min(_smallest(lambda x: float(self._sum(c, np.asarray([x]))[0]), *bracket), float(total[at])))

    def _sum(self, c: float, b: Floats) -> Floats:
        a = b + c if self.kind == "difference" else b * c
        return np.asarray(self._splines[0](a) + self._splines[1](b))

    @cached_property
    def _splines(self) -> tuple[Any, Any]:
        return interpolate.CubicSpline(self.one, self.first), interpolate.CubicSpline(self.two, self.second)
