"""Order statistics: the value of a given rank among s(x₁), …, s(xₙ)."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp

from confide._checks import share
from confide._final import final
from confide.errors import IncompatibleError
from confide.statistic.size import check_count
from confide.statistic.statistic import OWN, Statistic, scalar_width, told_bounds
from confide.statistic.transform import Transform


class OrderStatistic(Statistic):
    """The m-th smallest of s(x₁), …, s(xₙ). A mechanism may look at a window of ranks around m, fixed in advance.

    A subclass says which rank m is, and nothing else: the law of the m-th smallest value is known.
    """

    vector = False
    ranked = True

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        known = ("summary", "window", "values", "sensitivity", "averaged_ranks")
        changed = [name for name in known if name in vars(cls)]
        if changed:
            raise IncompatibleError(
                f"{cls.__name__} changes {', '.join(changed)} of an order statistic, whose exact law would be "
                f"taken for its own; {OWN}"
            )

    @abstractmethod
    def rank(self, n: int) -> int:
        """The rank m, from 1 (smallest) to n (largest)."""

    def averaged_ranks(self, n: int) -> tuple[int, int]:
        """The one."""
        return self.rank(n), self.rank(n)

    def summary(self, records: Any, window: int = 0) -> Any:
        """The sorted values of ranks m−K … m+K (K = window) on the last axis.

        Ranks below 1 hold the lower end of the range and ranks above n the upper one: what a replaced record can
        become.
        """
        return self.window(self.values(records), window)

    def window(self, values: Any, window: int) -> Any:
        """The same from values of s that are already computed, in any order.

        >>> print(Median("x", bounds=(0, 1)).window(jnp.asarray([0.2, 0.9, 0.4]), 2))
        [0.  0.2 0.4 0.9 1. ]
        """
        low, high = self.ranges[0]
        n = values.shape[-1]
        middle = self.rank(n)
        ordered = jnp.sort(values, axis=-1)[..., max(middle - window, 1) - 1 : min(middle + window, n)]
        padding = [(0, 0)] * (ordered.ndim - 1)
        before, after = max(window - middle + 1, 0), max(middle + window - n, 0)
        ordered = jnp.pad(ordered, [*padding, (before, 0)], constant_values=low)
        return jnp.pad(ordered, [*padding, (0, after)], constant_values=high)

    def sensitivity(self, n: int, norm: int = 1) -> float:
        """The whole width of the range: at worst one record moves an order statistic from end to end."""
        del norm
        check_count(n)
        return scalar_width(self)


@final(OWN)
class Median(OrderStatistic):
    """The median, defined as the value of rank ⌈n/2⌉ so that it is an order statistic for every n.

    >>> Median("abs(x)", bounds=(-10, 10)).rank(100)
    50
    """

    noun = "the median of"

    def rank(self, n: int) -> int:
        """⌈n/2⌉."""
        return (check_count(n) + 1) // 2


@final(OWN)
class Maximum(OrderStatistic):
    """The largest value.

    >>> Maximum("x", bounds=(0, 1)).rank(7)
    7
    """

    noun = "the maximum of"

    def rank(self, n: int) -> int:
        """Rank n."""
        return check_count(n)


@final(OWN)
class Minimum(OrderStatistic):
    """The smallest value.

    >>> Minimum("x", bounds=(0, 1)).rank(7)
    1
    """

    noun = "the minimum of"

    def rank(self, n: int) -> int:
        """Rank 1."""
        check_count(n)
        return 1


@final(OWN)
@dataclass(frozen=True, eq=False, repr=False, init=False)
class Quantile(OrderStatistic):
    """The value of rank ⌈qn⌉.

    >>> Quantile("x", 0.07, bounds=(0, 1)).rank(100)
    7
    """

    transforms: tuple[Transform, ...]
    bounds: Any
    q: float

    def __init__(
        self, expression: Any, q: float, bounds: Any = None, *, range: Any = None, categories: Any = None
    ) -> None:
        object.__setattr__(self, "q", share("q", q, 1.0, "is not in (0, 1]", "give a level such as 0.9"))
        super().__init__(expression, bounds, range=range, categories=categories)

    @property
    def noun(self) -> str:
        """How it is spoken of."""
        return f"the {self.q:g}-quantile of"

    @property
    def options(self) -> dict[str, Any]:
        """The level."""
        return {"q": self.q}

    def rank(self, n: int) -> int:
        """⌈qn⌉, with q read as the decimal that was written: 0.07 · 100 is 7, not 7.000000000000001."""
        return math.ceil(Fraction(repr(self.q)) * check_count(n))

    def __repr__(self) -> str:
        return f"Quantile({self.transforms[0]}, {self.q:g}, {', '.join(told_bounds(self.bounds))})"
