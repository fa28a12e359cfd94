"""The number of records: a public whole number, or none where it is private."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

from confide.errors import InvalidArgument

if TYPE_CHECKING:
    from confide.statistic.statistic import Statistic


def check_count(n: object) -> int:
    """A number of records: a whole number, at least 1."""
    remedy = "give the number of records as a whole number, such as n=100"
    try:
        count = operator.index(n)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgument("n", n, "is not a whole number", remedy) from None
    if isinstance(n, bool) or count < 1:
        raise InvalidArgument("n", n, "is not a positive number of records", remedy)
    return count


def check_size(statistic: Statistic, n: object) -> int | None:
    """A number of records, or None for one that is private, which only sums allow."""
    if n is not None:
        return check_count(n)
    if statistic.totals or statistic.tallies:
        return None
    problem = "is left out, which says that the number of records is private"
    if statistic.averages:
        why = "a mean divides by n: publish Sum and Count instead, or Sum(['1', …]), with n=None; or give a public n"
    elif statistic.ranked:
        why = "the rank of an order statistic needs n: give a public n, or publish Sum or Count with n=None"
    elif statistic.per_record:
        why = "a value for each record tells n: give a public n, or publish Sum or Count with n=None"
    else:
        why = "give the number of records, such as n=100; only Sum, Count and Histogram need none"
    raise InvalidArgument("n", n, f"{problem}, but {statistic!r} needs it", why)
