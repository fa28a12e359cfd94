"""Persons with several rows: at most so many rows of each are used, so that a person's influence is bounded.

Which rows are used depends on the person's own rows alone: on what they hold in the columns that are released, and on
nothing else, neither their order nor anybody else. A hash of the person and of that decides, with a number for each of
several equal rows, so that all of a person's rows are used equally often.
"""

from __future__ import annotations

import sys
from typing import Any

from confide.channel import Channel
from confide.errors import IncompatibleError, InvalidArgument
from confide.expression.database import double
from confide.published.part import Grouped, Hashed
from confide.releasing.readers.cells import is_text, md5, sha256


def for_persons(channel: Channel, person: Any, at_most: Any, part: Any, by: Any) -> Channel:
    """The channel that protects persons, where that is asked for; parts must not divide a person's rows.

    >>> import confide as cf
    >>> visits = cf.Channel(cf.Count(), cf.Laplace(cf.PureDP(1.0)))
    >>> for_persons(visits, "patient_id", 3, None, None).law.noise.scale
    3.0
    """
    if person is None and at_most is not None:
        raise InvalidArgument("at_most", at_most, "is given without a person", 'name the column: person="patient_id"')
    if person is not None:
        if channel.n is not None:
            remedy = "leave n out of the channel, which makes the number of records private"
            raise InvalidArgument("person", person, "cannot be protected where n is public", remedy)
        channel = Channel(channel.statistic.per_person(person, at_most), channel.mechanism)
    known = channel.statistic.persons
    if known is not None and (by is not None or isinstance(part, Grouped)):
        raise IncompatibleError(
            "somebody may have rows in several groups, so that groups are not disjoint where a person is protected; "
            "count the groups as cells of a Histogram, or release each from a table of its own"
        )
    if known is not None and isinstance(part, Hashed) and part.column != known.column:
        remedy = f"use Hashed({known.column!r}, start, stop)"
        raise InvalidArgument("part", part, "may divide the rows of one person", remedy)
    return channel


def rows_that_are_used(table: Any, columns: list[str], at_most: int, engine: str) -> Any:
    """At most so many rows of each person by `id`; none of those that are nobody's, of whom there may be several."""
    import ibis

    # one text for one number: no sign of zero, and nothing that is not finite, which counts as missing everywhere
    plain = {}
    for column in columns:
        finite = table[column].abs() <= double(sys.float_info.max)
        value = (table[column] == double(0.0)).ifelse(double(0.0), table[column])
        plain[f"plain_{column}"] = finite.ifelse(value, ibis.null("float64"))
    table = table.filter(~is_text(table["id"], "", engine)).mutate(person=sha256(table["id"], engine), **plain)
    values = [table[name] for name in plain]
    text = table["person"]
    for value in values:
        text = text + ibis.literal("|") + value.cast("string").coalesce(ibis.literal("none"))
    table = table.mutate(held=text)
    values = [table[name] for name in plain]
    # rows that hold the same are numbered; which of them gets which number makes no difference
    equal = ibis.row_number().over(ibis.window(group_by=[table["person"], *values], order_by=table["held"]))
    table = table.mutate(place=equal)
    table = table.mutate(drawn=md5(table["held"] + ibis.literal("#") + table["place"].cast("string")))
    order = [table["drawn"], *(table[name] for name in plain)]
    table = table.mutate(rank=ibis.row_number().over(ibis.window(group_by=table["person"], order_by=order)))
    return table.filter(table["rank"] < at_most).drop("person", "held", "place", "drawn", "rank", *plain)
