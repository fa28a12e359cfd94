"""Threshold bits: is the record above t? Counted with noise, or answered by each record with randomized response."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from confide.design.families.ranks import Side, readable, sides, wide
from confide.design.search.approximate import MeanLaw, scalar_information
from confide.design.search.family import Candidates, Family, Floats, MeanFamily
from confide.design.search.problem import MEANS, SearchProblem, SearchResult
from confide.design.search.tabulated import Tabulated
from confide.mechanism import Laplace, Mechanism, RandomizedResponse
from confide.mechanism.keeping import keep_probability
from confide.statistic import Each, Mean

#: the least expected number of records on the rarer side of a threshold
_RAREST = 0.25
#: and of all answers, where each record gives one: noise keeps the information finite there, so that any share will do
_RARE_ANSWER = 0.01


class Threshold(Family):
    """x > t or abs(x) > t, with t chosen among all tabulated points.

    >>> import confide as cf
    >>> population = cf.populations.normal_variance()
    >>> families = [cf.families.Threshold()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=families, exact=False)
    >>> print(found.best.statistic)
    the share of abs(x) > 2 with x clipped to [-4.4, 4.4]
    """

    name = "threshold bit"
    scalar = True
    mechanisms: tuple[type[Mechanism], ...] = (*MEANS, RandomizedResponse)

    def search(self, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
        """The best threshold under one mechanism."""
        mechanism = problem.mechanism(kind)
        if mechanism is None or kind not in self.mechanisms:
            return None
        if problem.private:
            found = [_Bit(side.text).search(problem, kind) for side in sides(problem.law)]
            return min((each for each in found if each is not None), key=lambda each: each.loss, default=None)
        best: SearchResult | None = None
        for side in sides(problem.law):
            information = self._information(problem, side, kind)
            at, loss = problem.best(information)
            if best is None or loss < best.loss:
                text = f"{side.text} > {readable(problem.law, side, at)}"
                reduction = Each if kind is RandomizedResponse else Mean
                statistic = reduction(text, bounds=wide(problem.law))
                parameters = side.edges[at : at + 1]
                best = SearchResult(self.name, statistic, mechanism, information[at], loss, parameters)
        return best

    def _information(self, problem: SearchProblem, side: Side, kind: type[Mechanism]) -> Floats:
        """F (K, M, d, d) at every threshold."""
        above, slope = np.clip(1.0 - side.below, 1e-300, 1.0), -side.slope
        d_above = np.moveaxis(slope, 1, 2)
        if kind is RandomizedResponse:
            keep = keep_probability(problem.privacy, 2)
            answer = 1 - keep + (2 * keep - 1) * above
            weight = problem.n * (2 * keep - 1) ** 2 / (answer * (1 - answer))
            found = d_above[..., :, None] * d_above[..., None, :] * weight[..., None, None]
        else:
            scale = np.full(above.shape, 1.0 / (problem.n * problem.ratio(kind)))
            found = scalar_information(self._law(problem.n, above, d_above), scale, laplace=kind is Laplace)
        # a bit that no record is expected to set is no use to anyone, though next to an end of the support that
        # moves it says the most at this very θ
        rarest = _RAREST / problem.n
        possible = np.max(above * side.below, axis=0) > (
            min(rarest, _RARE_ANSWER) if kind is RandomizedResponse else rarest
        )
        return np.where(possible[:, None, None, None], np.moveaxis(found, 1, 0), 0.0)

    def _law(self, n: int, above: Floats, d_above: Floats) -> MeanLaw:
        """The law of a share of bits."""
        variance = np.maximum(above * (1 - above), 1e-14)
        d_variance = (1 - 2 * above)[..., None] * d_above
        third, fourth = variance * (1 - 2 * above), variance * (1 - 6 * variance)
        return MeanLaw(d_above, variance / n, d_variance / n, third / n**2, fourth / n**3)


@dataclass(frozen=True, repr=False)
class _Bit(MeanFamily):
    """One side's bits, for sums beside a count, whose split is searched together with the threshold."""

    text: str
    name = Threshold.name
    scalar = True

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """The normal score of the threshold."""
        return [(-6.0, 6.0)]

    def statistic(self, law: Tabulated, parameters: Floats) -> Mean:
        """The mean of the bits."""
        side = next(each for each in sides(law) if each.text == self.text)
        at = int(np.argmin(np.abs(side.edges - self._threshold(law, np.asarray(parameters)[None])[0])))
        return Mean(f"{side.text} > {readable(law, side, at)}", bounds=wide(law))

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """Zeros and ones."""
        bits = self._size(law) > self._threshold(law, parameters)[:, None]
        ends = np.zeros((len(bits), 1)), np.ones((len(bits), 1))
        return Candidates(np.asarray(bits, dtype=float)[:, None], *ends)

    def _size(self, law: Tabulated) -> Floats:
        return np.abs(law.x) if self.text == "abs(x)" else law.x

    def _threshold(self, law: Tabulated, parameters: Floats) -> Floats:
        levels = law.levels(self._size(law), parameters[:, 0])
        return np.floor(levels) + 0.5 if law.population.discrete else levels
