"""A family of candidate statistics: a shape with a few numbers to be chosen."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.design.search.tabulated import Tabulated
from confide.mechanism import Mechanism
from confide.statistic import Statistic

if TYPE_CHECKING:
    from confide.design.search.problem import SearchProblem, SearchResult

Floats = NDArray[np.float64]


class Family(ABC):
    """A family of statistics that a search may choose from. Subclass `MeanFamily` to add one of your own.

    >>> from confide.design import families
    >>> families.Power().name, families.Power().scalar
    ('power', True)
    """

    #: how the family is spoken of
    name: str
    #: whether it publishes one number only, which cannot tell several parameters apart
    scalar: bool = False

    @abstractmethod
    def search(self, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
        """The best member under a mechanism; None where the family, mechanism and guarantee do not fit."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class MeanFamily(Family):
    """A family of means of s(x); subclass it to add one of your own.

    A family says which numbers are free (`box`: their least and greatest values, given the tabulated population) and
    which `Mean` they make (`statistic`), hundreds of times in a search: let x occur once, so that its range is read
    off quickly, or say what s is at many points (`values`). Here is the mean of a
    saturating function with a scale to be chosen:

    >>> import confide as cf
    >>> from confide.design import MeanFamily, optimize
    >>> class Saturating(MeanFamily):
    ...     name = "saturating"
    ...     def box(self, law):
    ...         return [(0.1, 10.0)]
    ...     def statistic(self, law, parameters):
    ...         return cf.Mean(f"1 / (x**2 + {parameters[0]:.4g})", bounds=(-50, 50))
    >>> population = cf.populations.normal_variance()
    >>> found = optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=[Saturating()], exact=False)
    >>> print(found.best.statistic.transforms[0])                                           # doctest: +ELLIPSIS
    1 / (x**2 + ...)
    """

    @abstractmethod
    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """The least and greatest value of each free number; empty where the family does not serve the population."""

    @abstractmethod
    def statistic(self, law: Tabulated, parameters: Floats) -> Any:
        """The statistic that the numbers make, with its numbers rounded to what people read."""

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """s at the tabulated points for many candidates (B, p).

        >>> import confide as cf, jax
        >>> from confide.design.points import points
        >>> from confide.design.search.tabulated import tabulate
        >>> population = cf.populations.normal_variance()
        >>> with jax.enable_x64(True):
        ...     law = tabulate(population, points(population, 2.0, None))
        >>> cf.families.Power().values(law, np.array([[1.0, 0.0], [2.0, 1.0]])).s.shape[:2]
        (2, 1)
        """
        return from_statistics(law, [self.statistic(law, each) for each in parameters])

    def search(self, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
        """The best member with noise of one kind: a grid over the box, and simplex searches from its best points."""
        from confide.design.search.simplex import best_mean

        return best_mean(self, problem, kind)


@dataclass(frozen=True, eq=False)
class Candidates:
    """s of B candidates with k components at the tabulated points (B, k, J), and the ends of its range (B, k)."""

    s: Floats
    low: Floats
    high: Floats


def from_statistics(law: Tabulated, statistics: list[Statistic]) -> Candidates:
    """Candidates read off statistics."""
    rows, lows, highs = [], [], []
    for statistic in statistics:
        x = np.clip(law.x, *statistic.bounds)
        ranges = np.asarray(statistic.ranges)
        each = [np.broadcast_to(np.asarray(s(x), dtype=float), x.shape) for s in statistic.transforms]
        rows.append(np.clip(np.stack(each), ranges[:, :1], ranges[:, 1:]))
        lows.append(ranges[:, 0])
        highs.append(ranges[:, 1])
    return Candidates(np.stack(rows), np.stack(lows), np.stack(highs))


def rounded(value: float, digits: int = 4) -> float:
    """A number with so many significant digits."""
    return float(f"{value:.{digits}g}")


def ordered(low: float, high: float, *, sizes: bool = False) -> tuple[float, float]:
    """Two numbers in increasing order, rounded to three digits of their distance, apart even if they were not.

    With `sizes` the smaller one keeps three digits of its own: where ratios of records matter.
    """
    low, high = min(low, high), max(low, high)
    if low == high:
        gap = max(abs(low), 1e-3) * 1e-3
        return rounded(low - gap), rounded(high + gap)
    digits = 2 - math.floor(math.log10(high - low))
    fine = digits if not sizes or low == 0 else max(digits, 2 - math.floor(math.log10(abs(low))))
    return round(low, fine), round(high, digits)


def positive(law: Tabulated) -> bool:
    """Whether records are never negative."""
    return law.low >= 0
