"""`Optimum`: what a search found, ranked, and why the winner wins."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from confide._call import Remembered
from confide.channel import Channel
from confide.design.criteria import CRITERIA, Criterion
from confide.design.evaluate import Evaluation
from confide.design.explain import explain
from confide.design.search.family import from_statistics
from confide.design.search.problem import SearchProblem, SearchResult
from confide.information.result import Information, efficiency
from confide.statistic.columns import ColumnBounds

#: an approximation that is off by a larger share did not see what it looked at
_FAR = 0.25


@dataclass(frozen=True, eq=False)
class Candidate:
    """A channel, its information as the search approximated it, and a better figure where that was computed.

    `reason` says why there is no exact one, though it was asked for.
    """

    family: str
    channel: Channel
    approximate: Evaluation
    exact: Evaluation | None = None
    reason: str = ""

    @classmethod
    def of(cls, problem: SearchProblem, found: SearchResult) -> Candidate:
        """What the search says of a candidate."""
        from confide.model import Model

        law = problem.law
        channel = Channel(found.statistic, found.mechanism, None if problem.private else problem.n)
        population, thetas = law.population, law.points.thetas
        unknown = population.moving or population.rows is not None
        whole = None if unknown else problem.n * np.asarray(population.fisher(thetas))
        share = efficiency(found.information, whole)
        zero = np.zeros_like(found.information)
        told = Information(thetas, found.information, zero, "approximation", share, population.names, False)
        return cls(found.family, channel, Evaluation(Model(population, channel), law.points, told))

    @property
    def evaluation(self) -> Evaluation:
        """The best figure there is."""
        return self.approximate if self.exact is None else self.exact

    @property
    def is_exact(self) -> bool:
        """Whether that figure is free of approximation."""
        return self.exact is not None and self.exact.information.exact

    def judged(self, exact: Evaluation) -> Candidate:
        """The same with its exact information."""
        return replace(self, exact=exact)

    def dropped(self, reason: str) -> Candidate:
        """The same, which has no exact figure for that reason."""
        return replace(self, reason=reason)

    def off(self, criterion: Criterion) -> float:
        """How far the approximation is from the better figure, as a share (for log_det a difference)."""
        told, found = self.approximate.score(criterion)[0], self.evaluation.score(criterion)[0]
        if told == found:
            return 0.0
        if criterion.name == "log_det":
            return abs(told - found)
        if not (np.isfinite(told) and np.isfinite(found)) or told <= 0 or found <= 0:
            return float("inf")
        return max(told / found, found / told) - 1.0

    def loss(self, criterion: Criterion) -> float:
        """The score as something to make small."""
        score = self.evaluation.score(criterion)[0]
        return score if criterion.smaller else -score


@dataclass(frozen=True, eq=False, repr=False)
class Optimum:
    """Channels ranked by what they say about θ at one guarantee and n.

    `best` is the winning channel, `channels` all of them in the order of `table`: a row per family and mechanism with
    the score that ranks, the information (averaged over θ), what the normal model and the exact route say of it, the
    efficiency against the records' own information, and the share of the best by that score. `explain()` says why the
    winner wins, `notes` what was dropped and where the search's approximation failed.

    >>> import confide as cf
    >>> population = cf.populations.normal_variance()
    >>> families = [cf.families.Power()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=families, exact=False)
    >>> print(found.best.statistic)
    the mean of abs(x)**2.24 with x clipped to [-3.09, 3.09]
    >>> list(found.table["mechanism"])
    ['Gaussian', 'Laplace']
    """

    candidates: tuple[Candidate, ...]
    problem: SearchProblem
    call: Remembered | None = field(default=None, repr=False)

    @property
    def best(self) -> Channel:
        """The winner."""
        return self.candidates[0].channel

    @property
    def channels(self) -> tuple[Channel, ...]:
        """All of them, best first."""
        return tuple(each.channel for each in self.candidates)

    @cached_property
    def table(self) -> Any:
        """A DataFrame with a row per family and mechanism, best first."""
        import pandas as pd

        criterion, average = self.problem.criterion, CRITERIA["information"]
        first = self.candidates[0].evaluation.score(criterion)[0]
        size = self.candidates[0].evaluation.matrices.shape[-1]
        rows = []
        for each in self.candidates:
            score = each.evaluation.score(criterion)[0]
            row: dict[str, Any] = {
                "family": each.family,
                "statistic": _short(each.channel),
                "mechanism": type(each.channel.mechanism).__name__,
                criterion.name: score,
                "information": each.evaluation.score(average)[0],
                "normal": self._normal(each),
                "exact": np.nan if not each.is_exact else each.evaluation.score(average)[0],
                "efficiency": each.evaluation.efficiency,
                # an approximation that cannot be trusted to rank says nothing beside the best
                "share of best": np.nan if each.reason else criterion.share(score, first, size),
                "method": each.evaluation.information.method,
            }
            rows.append(row | each.evaluation.expected())
        return pd.DataFrame(rows)

    def _normal(self, each: Candidate) -> float:
        """The information under the normal model (Sec 3.1); NaN where it does not apply."""
        statistic = each.channel.statistic
        if not statistic.averages:
            return float("nan")
        if self.problem.law.population.rows is not None:  # of which the search saw nothing else
            return each.approximate.score(CRITERIA["information"])[0]
        values = from_statistics(self.problem.law, [statistic])
        matrices = self.problem.mean_information(values, type(each.channel.mechanism), normal=True)[0]
        return replace(each.approximate, information=replace(each.approximate.information, matrix=matrices)).score(
            CRITERIA["information"]
        )[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """Sentences on candidates without an exact figure, which cannot win, and on a winner that was misjudged."""
        said = [
            f"Not ranked: {each.channel.statistic} with {each.channel.law.description} (approximate information "
            f"{each.approximate.score(CRITERIA['information'])[0]:.4g}): {each.reason}."
            for each in self.candidates
            if each.reason
        ]
        off = self.candidates[0].off(self.problem.criterion)
        if off > _FAR:
            said.append(
                f"The approximation that the search looks at is off by {off:.0%} for the winner: there may be better "
                "channels that the search did not see."
            )
        return tuple(said)

    def explain(self) -> str:
        """Why the winner wins: how much noise it needs, what clipping costs, and what is lost to privacy.

        >>> import confide as cf
        >>> from confide.design import optimize
        >>> population = cf.populations.normal_variance()
        >>> found = optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, exact=False)
        >>> print(found.explain())                                                          # doctest: +ELLIPSIS
        At variance = 2, the mean of clip(x**2, ...
        """
        return explain(self)

    def __str__(self) -> str:
        table = self.table.to_string(index=False, float_format=lambda number: f"{number:.4g}", max_colwidth=60)
        return "\n".join([f"{table}\n\nBest:\n{self.best}", *self.notes])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return str(self.table.to_html(index=False, float_format=lambda number: f"{number:.4g}"))


def _short(channel: Channel) -> str:
    """A statistic in few words."""
    statistic = channel.statistic
    s = ", ".join(str(transform) for transform in statistic.transforms)
    s = s if statistic.dimension == 1 else f"({s})"
    noun = "each" if statistic.per_record else statistic.noun.removeprefix("the ")
    if isinstance(statistic.bounds, ColumnBounds):
        return f"{noun} {s} with {statistic.bounds}"
    low, high = statistic.bounds
    return f"{noun} {s} on [{low:g}, {high:g}]"
