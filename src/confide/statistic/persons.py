"""Whom a sum or a count of rows is about: persons, each of whom may have several rows in a table.

Where the number of records is private at most m rows of each person are used, and noise is calibrated to m times what
one row can do: a neighbour is then a table without all rows of one person. Which rows are used is decided by a hash of
them and of the person, so that nobody's rows decide about another's.
"""

from __future__ import annotations

import copy
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from confide.errors import IncompatibleError, InvalidArgument

if TYPE_CHECKING:
    from confide.statistic.statistic import Statistic

#: rows of one person that are used at most
_MOST = 2**20


@dataclass(frozen=True)
class RowsOfPersons:
    """The column that says whose row it is, and how many rows of one person are used at most."""

    column: str
    at_most: int


def per_person(statistic: Statistic, person: Any, at_most: Any) -> Any:
    """The same statistic of at most so many rows of each person.

    >>> import confide as cf
    >>> visits = per_person(cf.Sum("cost", bounds={"cost": (0, 100)}), "patient_id", 3)
    >>> visits.sensitivity(None), visits.persons
    (300.0, RowsOfPersons(column='patient_id', at_most=3))
    """
    if not (statistic.totals or statistic.tallies):
        raise IncompatibleError(
            f"{statistic!r} has as many records as are public, and rows of a person cannot be left out of them; "
            "publish a Sum, a Count or a Histogram with n=None, or prepare a table with one row per person"
        )
    if not isinstance(person, str) or not 0 < len(person) <= 1000:
        raise InvalidArgument("person", person, "is not the name of a column", 'name it, as in person="patient_id"')
    remedy = "say how many rows of one person are used at most, as in at_most=3"
    try:
        count = 0 if isinstance(at_most, bool) else operator.index(at_most)
    except TypeError:
        raise InvalidArgument("at_most", at_most, "is not a whole number", remedy) from None
    if not 1 <= count <= _MOST:
        raise InvalidArgument("at_most", at_most, f"is not between 1 and {_MOST:,}", remedy)
    made = copy.copy(statistic)
    object.__setattr__(made, "persons", RowsOfPersons(person, count))
    return made


def per_row(statistic: Statistic) -> Any:
    """The same statistic of all rows."""
    if statistic.persons is None:
        return statistic
    made = copy.copy(statistic)
    vars(made).pop("persons")
    return made


def rows_of_one(statistic: Statistic, n: int | None) -> int:
    """How many rows one neighbour adds or removes at most: those of a person, where n is private."""
    return 1 if n is not None or statistic.persons is None else statistic.persons.at_most


def told_persons(statistic: Statistic) -> str:
    """How a program says that a person is protected."""
    known = statistic.persons
    return "" if known is None else f".per_person({known.column!r}, at_most={known.at_most})"
