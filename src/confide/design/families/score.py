"""The clipped score: among bounded s the one that maximises μ'²/H at a θ, the leading term of the information.

For the leading term, s may be replaced by its projection on what it can know about θ, which is the score; bounding it
to a range is what privacy asks, and the best bounded s is the score clipped at two levels. For an exponential family
the score is affine in a statistic T that does not depend on θ, and the expression is clip(T, low, high). Otherwise it
is what the score is affine in at a middle θ, or a table of it.
"""

from __future__ import annotations

import functools
import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from confide.design.criteria import directions
from confide.design.families.clip import Clip
from confide.design.families.forms import innermost, interior, written
from confide.design.search.family import Candidates, Floats, MeanFamily, ordered, rounded
from confide.design.search.problem import SearchProblem, SearchResult
from confide.design.search.tabulated import Tabulated
from confide.expression import Expression
from confide.mechanism import Mechanism
from confide.statistic import Mean

#: bounds may change a statistic by this share of its variance
_SHARE = 1e-5


class Score(NamedTuple):
    """A function of the record that the score is affine in: as an expression, and at the tabulated points."""

    text: str
    values: Floats


class ClippedScore(MeanFamily):
    """clip(T(x), low, high), with T the score of one parameter at a middle θ, or what it is affine in.

    For several parameters the vector of them, each with a share of the budget that is chosen too.

    >>> import confide as cf
    >>> population = cf.populations.normal_variance()
    >>> families = [cf.families.ClippedScore()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=families, exact=False)
    >>> print(found.best.statistic)
    the mean of clip(x**2, 0.4, 9.85) with x clipped to [-3.14, 3.14]
    """

    name = "clipped score"

    def search(self, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
        """The best clips; where one T rises or falls throughout, x is clipped instead of T."""
        found = scores(problem.law)
        if len(found) == 1 and Clip(found[0].text).box(problem.law):
            best = Clip(found[0].text).search(problem, kind)
            return best and replace(best, family=self.name)
        return super().search(problem, kind)

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """Normal scores of the two clips of each component, and the logarithm of each further one's weight."""
        count = len(scores(law))
        return [(-6.0, 1.0), (-1.0, 6.0)] * count + [(-4.0, 4.0)] * (count - 1)

    def statistic(self, law: Tabulated, parameters: Floats) -> Mean:
        """The mean of the clipped scores, with x clipped to where they change."""
        found = scores(law)
        weights = self._weights(law, np.asarray(parameters)[None])[0]
        texts, clipped = [], []
        for i, score in enumerate(found):
            low, high = ordered(*law.levels(score.values, np.asarray(parameters[2 * i : 2 * i + 2])))
            text = f"clip({score.text}, {low:.12g}, {high:.12g})"
            texts.append(text if i == 0 else f"{rounded(float(weights[i])):g} * {text}")
            clipped.append(np.clip(score.values, low, high))
        return Mean(texts[0] if len(texts) == 1 else texts, bounds=_bounds(law, clipped))

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
    if law.population.moving:  # a support that moves has no score
        return ()
    at = law.reference
    every = np.asarray(law.population.score(law.x, law.points.thetas[at])).T
    found: list[Score] = []
    for score in every:
        known = (law.mass[at] > 1e-14) & np.isfinite(score)
        if not np.any(known) or np.ptp(score[known]) == 0:
            continue
        text = written(law, score, law.mass[at] * known)
        if all(text != other.text for other in found):
            found.append(Score(text, np.asarray(Expression(text)(interior(law)), dtype=float)))
    return tuple(found[: max(1, directions(law.population).shape[1])])


def _bounds(law: Tabulated, clipped: list[Floats]) -> tuple[float, float]:
    """Readable bounds beyond which no clipped score changes so that it would show."""
    x, last = interior(law), law.x.size - 1
    low = float(x[min(innermost(each, law.mass, _SHARE) for each in clipped)])
    high = float(x[max(last - innermost(each[::-1], law.mass[:, ::-1], _SHARE) for each in clipped)])
    outward = 0.499 * 10.0 ** (math.floor(math.log10(high - low)) - 2)
    return ordered(low if law.low >= 0 else low - outward, high + outward, sizes=law.low >= 0)
