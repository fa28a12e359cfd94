"""The record itself, or what rises or falls with it, with the record clipped on one side or on both."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from confide.design.families.forms import interior
from confide.design.search.family import Candidates, Floats, MeanFamily, ordered
from confide.design.search.problem import SearchProblem, SearchResult
from confide.design.search.tabulated import Tabulated
from confide.expression import Expression
from confide.mechanism import Mechanism
from confide.statistic import Mean


@dataclass(frozen=True, repr=False)
class Clip(MeanFamily):
    """x clipped to (low, high), each chosen; a clip beyond all records is one-sided.

    `of` is an expression that rises or falls throughout, such as "log(x)" or "1/x" for positive records: these tell
    more where tails are heavy.

    >>> import confide as cf
    >>> population = cf.populations.normal_mean()
    >>> families = [cf.families.Clip()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=0.5, families=families, exact=False)
    >>> print(found.best.statistic)
    the mean of x with x clipped to [-0.99, 1.99]
    """

    of: str = "x"
    scalar = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """How the family is spoken of."""
        return "clip" if self.of == "x" else f"clip, {self.of}"

    def __repr__(self) -> str:
        return "Clip()" if self.of == "x" else f"Clip({self.of!r})"

    def search(self, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
        """The best clips; remembered, as the clipped score may ask for the same."""
        return _best(self, problem, kind)

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """Normal scores of the two clips."""
        values = _tabulated(self.of, law)
        if not np.all(np.isfinite(values)) or np.ptp(values) == 0:
            return []
        change = np.diff(values)
        return [(-6.0, 1.0), (-1.0, 6.0)] if np.all(change >= 0) or np.all(change <= 0) else []

    def statistic(self, law: Tabulated, parameters: Floats) -> Mean:
        """The mean of x, or of what is made of it."""
        ends = law.levels(interior(law), np.asarray(parameters))
        return Mean(self.of, bounds=ordered(*ends, sizes=self.of != "x"))

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """s of clip(x, low, high), which is s clipped, as it rises or falls throughout."""
        at_ends = np.sort(Expression(self.of)(law.levels(interior(law), parameters)), axis=1)
        low, high = at_ends[:, :1], at_ends[:, 1:]
        return Candidates(np.clip(_tabulated(self.of, law), low[..., None], high[..., None]), low, high)


@functools.lru_cache(maxsize=16)
def _tabulated(text: str, law: Tabulated) -> Floats:
    with np.errstate(all="ignore"):
        return np.asarray(Expression(text)(interior(law)), dtype=float)


@functools.lru_cache(maxsize=16)
def _best(family: Clip, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
    from confide.design.search.simplex import best_mean

    return best_mean(family, problem, kind)
