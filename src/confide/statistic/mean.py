"""The mean of s(x) over the records."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import jax.numpy as jnp

from confide._final import final
from confide.expression import Expression
from confide.privacy.rounding import round_up
from confide.statistic.sensitivity import vector_sensitivity
from confide.statistic.size import check_count
from confide.statistic.statistic import OWN, Statistic


@final(OWN)
class Mean(Statistic):
    """The mean of s(x) over the records: scalar for one expression, a vector for a list of them.

    >>> Mean("abs(x)", bounds=(-10, 10)).range
    (0.0, 10.0)
    >>> Mean(["x", "x**2"], bounds=(-10, 10)).range
    ((-10.0, 10.0), (0.0, 100.0))
    >>> Mean("x**2", bounds=(-10, 10)).sensitivity(n=100)
    1.0

    Bounds by name make it one of rows with several columns:

    >>> print(Mean(["age", "log(cost)"], bounds={"age": (18, 90), "cost": (10, 50_000)}))
    the mean of (age, log(cost)) with age clipped to [18, 90] and cost clipped to [10, 50000]

    A column of text has a public list of categories instead, whose codes are used in expressions; any other text, and
    none, has the code after the last:

    >>> Mean(["ward == 0", "ward == 2"], categories={"ward": ["surgery", "maternity"]}).ranges
    ((0.0, 1.0), (0.0, 1.0))
    """

    averages = True

    @property
    def noun(self) -> str:
        """The mean; of comparisons, which are 0 or 1, it is the share of the records for which they hold.

        >>> print(Mean("x > 6", bounds=(0, 20)))
        the share of x > 6 with x clipped to [0, 20]
        """
        shares = all(isinstance(each, Expression) and each.compares for each in self.transforms)
        return "the share of" if shares else "the mean of"

    def summary(self, records: Any, window: int = 0) -> Any:
        """The mean over the records' axis."""
        del window
        return jnp.mean(self.values(records), axis=-1 if self.dimension == 1 else -2)

    def averaged_ranks(self, n: int) -> tuple[int, int]:
        """All of them."""
        return 1, check_count(n)

    def sensitivity(self, n: int, norm: int = 1) -> float:
        """sup ‖s(x) − s(x')‖ / n, rounded up."""
        whole = vector_sensitivity(self.transforms, self.bounds, norm)
        return round_up(Fraction(whole) / check_count(n)) if math.isfinite(whole) else whole
