"""Sums over the records: what can be published where the number of records is itself a secret.

A mean divides by n, an order statistic needs a rank among n. A sum needs no n: adding or removing a record moves it by
s(x), so that its sensitivity is the largest ‖s‖, and not the width of a range. So it pays to centre s: the sum of
`x - 40` on bounds (0, 80) needs half the noise of the sum of x.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np

from confide._final import final
from confide.privacy.rounding import round_up
from confide.statistic.persons import rows_of_one, told_persons
from confide.statistic.sensitivity import vector_sensitivity, vector_size
from confide.statistic.size import check_count
from confide.statistic.statistic import OWN, Statistic


@final(OWN)
class Sum(Statistic):
    """The sum of s(x) over the records: scalar for one expression, a vector for a list of them.

    With a private number of records (`Channel(…, n=None)`) neighbours differ by one record that is added or removed,
    and the sensitivity is the largest ‖s‖; with a public one it is the largest ‖s(x) − s(x')‖. The expression `1`
    counts the records, so that `Sum(["1", "x"], …)` is a count and a sum in one release. A component that is divided
    by w in the expression has w times the noise beside the others: that is how a budget is split between them.

    >>> Sum("x - 40", bounds=(0, 80)).sensitivity(None), Sum("x", bounds=(0, 80)).sensitivity(None)
    (40.0, 80.0)
    >>> Sum(["1", "(x - 40) / 40"], bounds=(0, 80)).sensitivity(None, norm=1)
    2.0
    >>> Sum("x", bounds=(20, 80)).sensitivity(n=100)
    60.0
    """

    noun = "the sum of"
    totals = True

    def summary(self, records: Any, window: int = 0) -> Any:
        """The sum over the records' axis."""
        del window
        return jnp.sum(self.values(records), axis=-1 if self.dimension == 1 else -2)

    def sensitivity(self, n: int | None, norm: int = 1) -> float:
        """sup ‖s(x)‖ where n is private (None), sup ‖s(x) − s(x')‖ where it is public, rounded up."""
        return _moved(self, n, norm)


@final(OWN)
class Count(Statistic):
    """How many records there are, whatever is in them: where the number of records is private.

    >>> Count().sensitivity(None)
    1.0
    >>> print(Count())
    the number of records
    """

    noun = "the number of"
    vector = False
    totals = True
    counts = True

    def __init__(self) -> None:
        super().__init__("1", (0.0, 1.0))

    def first_column(self, records: Any) -> Any:
        """Whatever the records have: it says how many there are."""
        return next(iter(records.values())) if isinstance(records, Mapping) else records

    def values(self, records: Any) -> Any:
        """A one for each record."""
        return jnp.ones(np.shape(self.first_column(records)))

    def summary(self, records: Any, window: int = 0) -> Any:
        """How many there are."""
        del window
        return jnp.sum(self.values(records), axis=-1)

    def sensitivity(self, n: int | None, norm: int = 1) -> float:
        """1 where n is private, and 0 where it is public already."""
        return _moved(self, n, norm)

    def __str__(self) -> str:
        return "the number of records"

    def __repr__(self) -> str:
        return f"Count(){told_persons(self)}"


def _moved(statistic: Statistic, n: int | None, norm: int) -> float:
    if n is None:
        one = vector_size(statistic.transforms, statistic.bounds, norm)
        rows = rows_of_one(statistic, n)
        return one if rows == 1 or not math.isfinite(one) else round_up(Fraction(one) * rows)
    check_count(n)
    whole = vector_sensitivity(statistic.transforms, statistic.bounds, norm)
    return whole if math.isfinite(whole) else math.inf
