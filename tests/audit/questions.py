"""Random questions at round numbers: a population, θ, a statistic with bounds, a mechanism and n."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import confide as cf
from tests.audit.laws import value_range
from tests.audit.means import Noise
from tests.audit.populations import FAMILIES, Family
from tests.audit.statistics import FORMULAS, WHOLE, Formula

BOUNDS = (
    (-1, 1), (0, 1), (0, 3), (-3, 3), (-10, 10), (0, 10), (1, 2), (0, 20), (0.5, 20), (-1, 2), (0.231, 1.308), (-50, 50),
)  # fmt: skip
COUNTS = (1, 2, 3, 5, 7, 10, 30, 40, 100, 100, 400, 1000, 20_000)
EPSILONS = (0.1, 0.5, 1.0, 1.0, 2.0, 5.0, 10.0)
KINDS = ("mean",) * 12 + ("each",) * 3 + ("rank",) * 3 + ("lattice",) * 3 + ("response", "smooth", "exponential")


@dataclass(frozen=True)
class Question:
    """A model as a user writes it, and what an independent computation needs to know of it."""

    kind: str
    family: Family
    theta: tuple[float, ...]
    formula: Formula
    bounds: tuple[float, float]
    n: int
    statistic: Any
    mechanism: Any
    noise: Noise | None = None

    @property
    def model(self):
        return cf.Model(self.family.population, cf.Channel(self.statistic, self.mechanism, self.n))

    @property
    def law(self):
        return self.family.scipy(*self.theta)

    @property
    def ends(self):
        return value_range(self.formula, self.bounds)

    def __str__(self):
        theta = ", ".join(f"{t:g}" for t in self.theta)
        return f"{self.family.name}({theta}), {self.statistic!r}, {self.mechanism!r}, n={self.n}"


def draw(rng: np.random.Generator) -> Question:
    """A question; those that make no sense (a constant statistic, an empty range) are drawn again."""
    while True:
        question = _draw(rng)
        if question is not None:
            return question


def _pick(rng, items):
    return items[int(rng.integers(len(items)))]


def _bounds(rng, family, theta, formula):
    options = list(BOUNDS)
    t = theta[0]
    options += [(0, t), (-t, t), (t, t + 1), (t - 1, t), (min(0, t) - 1, t)] * 2  # ties
    a, b = (float(end) for end in _pick(rng, options))
    floor = max(formula.floor, family.floor if formula.floor > -np.inf else -np.inf)
    a = max(a, floor)
    return (a, b) if b - a > 0.05 else None


def _draw(rng):
    kind, family = _pick(rng, KINDS), _pick(rng, FAMILIES)
    theta = _pick(rng, family.thetas)
    formulas = WHOLE if family.discrete else FORMULAS
    formula = _pick(rng, formulas)
    bounds = _bounds(rng, family, theta, formula)
    if bounds is None:
        return None
    if family.discrete:
        bounds = (float(np.ceil(bounds[0])), float(np.floor(bounds[1])))
        if bounds[0] >= bounds[1]:
            return None
    low, high = value_range(formula, bounds)
    if not high - low > 1e-6 or high - low > 1e6:
        return None
    n = _pick(rng, COUNTS)
    build = {"mean": _mean, "lattice": _lattice, "each": _each, "rank": _rank, "response": _response,
             "smooth": _smooth, "exponential": _exponential}[kind]  # fmt: skip
    made = build(rng, family, formula, bounds, n, high - low)
    if made is None:
        return None
    statistic, mechanism, noise, n = made
    return Question(kind, family, theta, formula, bounds, n, statistic, mechanism, noise)


def _additive(rng, width, n):
    """A mechanism, and the scale that it must have for a statistic that moves by width/n."""
    epsilon = _pick(rng, EPSILONS)
    match int(rng.integers(5)):
        case 0 | 1:
            return cf.Laplace(cf.PureDP(epsilon)), Noise("Laplace", width / n / epsilon)
        case 2:
            return cf.Gaussian(cf.GDP(epsilon)), Noise("Gaussian", width / n / epsilon)
        case 3:
            return cf.Gaussian(cf.ZCDP(epsilon**2 / 2)), Noise("Gaussian", width / n / epsilon)
        case _:
            kind, scale = _pick(rng, ("Laplace", "Gaussian")), _pick(rng, (0.01, 0.1, 0.3, 1.0))
            return getattr(cf, kind)(scale=scale * width), Noise(kind, scale * width)


def _mean(rng, family, formula, bounds, n, width):
    mechanism, noise = _additive(rng, width, n)
    return cf.Mean(formula.text, bounds), mechanism, noise, n


def _lattice(rng, family, formula, bounds, n, width):
    n = min(n, 400)
    kind, scale = _pick(rng, ("Laplace", "Gaussian")), _pick(rng, (0.02, 0.1, 0.5)) * width
    whole = family.discrete or width == 1
    steps = (1 / n, 1 / (2 * n), 1 / (4 * n), 1 / (64 * n), 0.25) if whole else (0.25, 0.1, 0.01)
    step = _pick(rng, steps)
    if not 1e-3 < scale / step < 1e4:
        return None
    return cf.Mean(formula.text, bounds), getattr(cf, kind)(scale=scale, step=step), Noise(kind, scale, step), n


def _each(rng, family, formula, bounds, n, width):
    mechanism, noise = _additive(rng, width, 1)
    return cf.Each(formula.text, bounds), mechanism, noise, min(n, 30)


def _rank(rng, family, formula, bounds, n, width):
    mechanism, noise = _additive(rng, width, 1)
    return _order(rng, formula, bounds), mechanism, noise, n


def _order(rng, formula, bounds):
    kind = int(rng.integers(4))
    if kind == 3:
        return cf.Quantile(formula.text, _pick(rng, (0.1, 0.25, 0.9)), bounds)
    return (cf.Median, cf.Maximum, cf.Minimum)[kind](formula.text, bounds)


def _response(rng, family, formula, bounds, n, width):
    if formula.text not in ("x > 1", "x >= 0"):
        return None
    return cf.Each(formula.text, bounds), cf.RandomizedResponse(cf.PureDP(_pick(rng, EPSILONS))), None, min(n, 30)


def _smooth(rng, family, formula, bounds, n, width):
    n = min(max(n, 5), 100)
    epsilon = _pick(rng, (1.0, 2.0, 5.0))
    mechanism = _pick(rng, (cf.SmoothLaplace(cf.ApproxDP(epsilon, 1e-4)), cf.SmoothCauchy(cf.PureDP(epsilon))))
    return _order(rng, formula, bounds), mechanism, None, n


def _exponential(rng, family, formula, bounds, n, width):
    n = min(max(n, 5), 100)
    return _order(rng, formula, bounds), cf.Exponential(cf.PureDP(_pick(rng, (1.0, 2.0, 5.0)))), None, n
