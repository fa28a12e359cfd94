"""The clipped score: among bounded s the one that maximises μ'²/H at a θ, the leading term of the information.

For the leading term, s may be replaced by its projection on what it can know about θ, which is the score; bounding it
to a range is what privacy asks, and the best bounded s is the score clipped at two levels. For an exponential family
the score is affine in a statistic T that does not depend on θ, and the expression is clip(T, low, high). Otherwise it
is tabulated at a middle θ.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from confide.design.criteria import directions
from confide.design.family import Candidates, Floats, MeanFamily, ordered, rounded
from confide.design.tabulated import Tabulated
from confide.expression import Expression
from confide.statistic import Mean

#: what scores are made of, by the ends of the support that they need
_EVERYWHERE: tuple[tuple[str, ...], ...] = (("x",), ("abs(x)",), ("x**2",), ("x", "x**2"))
_POSITIVE: tuple[tuple[str, ...], ...] = (("log(x)",), ("log(x)**2",), ("x", "log(x)"), ("log(x)", "log(x)**2"))
_UNIT: tuple[tuple[str, ...], ...] = (("log1p(-x)",), ("log(x)", "log1p(-x)"))
_KNOTS = 48
_FIT = 1e-7


class Score(NamedTuple):
    """A function of the record that the score is affine in: as an expression, and at the tabulated points."""

    text: str
    values: Floats
    bounds: tuple[float, float]


class ClippedScore(MeanFamily):
    """clip(T(x), low, high), with T the score of one parameter at a middle θ, or what it is affine in.

    For several parameters the vector of them, each with a share of the budget that is chosen too.

    >>> import confide as cf
    >>> population = cf.populations.normal_variance()
    >>> families = [cf.families.ClippedScore()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=families, exact=False)
    >>> print(found.best.statistic)
    the mean of clip(x**2, 0.3995, 9.857) with x clipped to [-3.14, 3.14]
    """

    name = "clipped score"

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """Normal scores of the two clips of each component, and the logarithm of each further one's weight."""
        if law.population.moving:  # a support that moves has no score
            return []
        count = len(scores(law))
        return [(-6.0, 1.0), (-1.0, 6.0)] * count + [(-4.0, 4.0)] * (count - 1)

    def statistic(self, law: Tabulated, parameters: Floats) -> Mean:
        """The mean of the clipped scores."""
        found = scores(law)
        weights = self._weights(law, np.asarray(parameters)[None])[0]
        texts, lows, highs = [], [], []
        for i, score in enumerate(found):
            low, high = ordered(*law.levels(score.values, np.asarray(parameters[2 * i : 2 * i + 2])))
            clipped = f"clip({score.text}, {low:g}, {high:g})"
            texts.append(clipped if i == 0 else f"{rounded(float(weights[i])):g} * {clipped}")
            lows.append(score.bounds[0])
            highs.append(score.bounds[1])
        if len(found) == 1 and found[0].text == "x":
            return Mean("x", bounds=(low, high))
        if len(found) == 1:
            return Mean(texts[0], bounds=_tight(found[0], low, high))
        return Mean(texts, bounds=(max(lows), min(highs)))

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """The weighted clipped scores."""
        found, weights = scores(law), self._weights(law, parameters)
        rows, lows, highs = [], [], []
        for i, score in enumerate(found):
            ends = np.sort(law.levels(score.values, parameters[:, 2 * i : 2 * i + 2]), axis=1) * weights[:, i : i + 1]
            rows.append(np.clip(weights[:, i : i + 1] * score.values, ends[:, :1], ends[:, 1:]))
            lows.append(ends[:, 0])
            highs.append(ends[:, 1])
        return Candidates(np.stack(rows, axis=1), np.stack(lows, axis=1), np.stack(highs, axis=1))

    def _weights(self, law: Tabulated, parameters: Floats) -> Floats:
        """How much each component is magnified: relative to its spread, so that 0 weighs all alike."""
        found = scores(law)
        spread = [float(np.diff(law.levels(score.values, np.asarray([-1.0, 1.0])))[0]) or 1.0 for score in found]
        logs = np.concatenate([np.zeros((len(parameters), 1)), parameters[:, 2 * len(found) :]], axis=1)
        return np.exp(logs) * (spread[0] / np.asarray(spread))


@functools.lru_cache(maxsize=8)
def scores(law: Tabulated) -> tuple[Score, ...]:
    """What the score's components are affine in, at a middle θ; a component that repeats another is left out."""
    at = law.reference
    mass = law.mass[at]
    usable = mass > 1e-14
    every = np.asarray(law.population.score(law.x, law.points.thetas[at])).T
    found: list[Score] = []
    for score in every:
        known = usable & np.isfinite(score)
        if not np.any(known) or np.ptp(score[known]) == 0:
            continue
        for each in _exact(law, np.where(known, score, 0.0), mass * known) or (_table(law, score, known),):
            if all(each.text != other.text for other in found):
                found.append(each)
    return tuple(found[: max(1, directions(law.population).shape[1])])


def _exact(law: Tabulated, score: Floats, mass: Floats) -> tuple[Score, ...]:
    """An expression that the score is affine in, if one of a few is."""
    choices = _EVERYWHERE
    if law.low >= 0 and not law.population.discrete:
        choices += _POSITIVE + (_UNIT if law.high <= 1 else ())
    bounds = _bounds(law, inside=any(part in "log(x)log1p(-x)" for choice in choices[4:] for part in choice))
    x = np.clip(law.x, *bounds)
    for choice in choices:
        columns = np.stack([np.asarray(Expression(text)(x), dtype=float) for text in choice] + [np.ones_like(x)])
        root = np.sqrt(mass)
        size = np.linalg.norm(columns * root, axis=1) + 1e-300
        solution, *_ = np.linalg.lstsq((columns * root / size[:, None]).T, score * root, rcond=None)
        solution = solution / size
        residual = np.sqrt(mass @ (score - solution @ columns) ** 2)
        if residual > _FIT * np.sqrt(mass @ score**2):
            continue
        text = choice[0] if len(choice) == 1 else _sum(solution[0] / solution[1], *choice)
        whole = np.asarray(Expression(text)(x), dtype=float)
        wide = bounds if "log" in text else _bounds(law)
        return (Score(text, whole, wide),)
    return ()


def _sum(ratio: float, first: str, second: str) -> str:
    """second + ratio · first, as a text."""
    return f"{second} {'-' if ratio < 0 else '+'} {rounded(abs(ratio), 6):g} * {first}"


def _bounds(law: Tabulated, inside: bool = False) -> tuple[float, float]:
    """Readable bounds that hold all tabulated points; strictly inside the support where logarithms need it."""
    reach = law.high - law.low
    low, high = law.low, law.high
    if inside:
        positives = law.x[law.x > 0]
        low = max(low, float(positives[0])) if positives.size else low
        if law.high <= 1:
            high = min(high, float(np.max(law.x[law.x < 1])))
        return low, high
    return float(f"{low - 0.05 * reach:.2g}") if low < 0 else min(low, 0.0), float(f"{high + 0.05 * reach:.2g}")


def _tight(score: Score, low: float, high: float) -> tuple[float, float]:
    """Bounds beyond which the clipped score no longer changes, where that is simple to say."""
    if score.text == "x":
        return low, high
    if score.text in ("x**2", "abs(x)") and high > 0:
        reach = rounded(float(np.sqrt(high)) if score.text == "x**2" else high, 5)
        reach = reach * (1 + 1e-4)
        return (0.0 if score.bounds[0] >= 0 else -rounded(reach, 4)), rounded(reach, 4)
    return score.bounds


def _table(law: Tabulated, score: Floats, usable: Floats) -> Score:
    """The score as a table with knots at equally spaced normal scores of the record's law."""
    at = law.levels(law.x, np.linspace(-4.5, 4.5, _KNOTS))
    knots = np.unique([float(f"{each:.4g}") for each in at])
    values = np.interp(knots, law.x[usable], score[usable])
    listed = [", ".join(f"{each:.4g}" for each in part) for part in (knots, values)]
    text = f"interp(x, [{listed[0]}], [{listed[1]}])"
    return Score(text, np.asarray(Expression(text)(law.x), dtype=float), _bounds(law))
