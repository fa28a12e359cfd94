"""What leaves the engine: exact whole numbers, and nothing else.

The records come as numbers or missing (`confide.releasing.readers.source`), and an engine's errors as words that tell
nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from fractions import Fraction
from functools import reduce
from typing import Any

from confide.channel import Channel
from confide.errors import InvalidArgument
from confide.published.errors import DataError
from confide.published.part import Grouped, Part, Rows, identifier_of_part
from confide.releasing.cells import LACKING, sorted_into_cells
from confide.releasing.clipping import clipped, engine_columns
from confide.releasing.gaps import Missing, constants_of
from confide.releasing.persons import rows_that_are_used
from confide.releasing.quantise import quantised
from confide.releasing.ranks import window_of
from confide.releasing.readers.cells import is_between, is_text
from confide.releasing.readers.engine import batches_of, rows_of
from confide.releasing.readers.memory import read_at_most
from confide.releasing.readers.source import Source
from confide.releasing.whole_numbers import Plan

#: records of an `Each` release that are read at once
BATCH = 2**16
#: engines whose sums of 64-bit integers are wider than 64 bits by themselves
_WIDE_SUMS = ("duckdb", "postgres")
#: engines that take an offset after an order
_OFFSETS = ("duckdb", "postgres")


def records_needed(channel: Channel, part: Part | str | None, missing: Missing) -> int | None:
    """How many records there must be, up to the end of a part of positions; None where n alone does not say it."""
    if isinstance(part, Rows):
        return part.stop
    return None if identifier_of_part(part) is not None or missing == "public" else channel.n


def exact_numbers(plan: Plan, source: Source, part: Part | str | None, missing: Missing) -> Any:
    """The exact whole numbers that a release (other than `Each`) publishes with noise: sums, or ranks."""
    channel = plan.channel
    if channel.statistic.tallies:
        return _counts_of_cells(plan, source, part, missing)
    if channel.n is None:
        return _private_sums(plan, source, part, missing)
    _check_size(channel, source, part, missing)
    table = _records(plan, source, part, missing)
    # one query for everything that must agree: the sums are over as many records as are counted
    found = _counts(table, plan)
    if channel.statistic.totals or channel.statistic.averages:
        found |= {f"sum{i}": _sum(plan, source, table[f"q{i}"]) for i in range(channel.statistic.dimension)}
        row = _only_row(source, table.aggregate(**found))
        _check(channel, row, missing, part)
        sums = [int(row[f"sum{i}"]) for i in range(channel.statistic.dimension)]
        # what an engine returned is believed only within what is possible
        return [
            min(max(total, channel.n * low), channel.n * high)
            for total, low, high in zip(sums, plan.grid.low, plan.grid.high, strict=True)
        ]
    _check(channel, _only_row(source, table.aggregate(**found)), missing, part)
    if channel.statistic.ranked:
        return _window(plan, source, table, channel.statistic.rank(channel.n))
    return _sum_of_ranks(plan, source, table)


def _private_sums(plan: Plan, source: Source, part: Part | str | None, missing: Missing) -> list[int]:
    """Exact sums over however many records there are: nothing that is done here depends on their number."""
    statistic = plan.channel.statistic
    # a count looks at nothing that a record holds, so that nothing can be missing
    table = _records(plan, source, part, 0.0 if statistic.counts else missing)
    sums = {f"sum{i}": _sum(plan, source, table[f"q{i}"]) for i in range(statistic.dimension)}
    lacking = table.count() > _count_of_present(table, plan)
    row = _only_row(source, table.aggregate(lacking=lacking, **sums))
    if missing != "public" and row["lacking"]:
        raise _gaps(plan.channel)
    # the sum over no records is no number to an engine
    return [int(row[f"sum{i}"] or 0) for i in range(statistic.dimension)]


def _counts_of_cells(plan: Plan, source: Source, part: Part | str | None, missing: Missing) -> list[Fraction]:
    """Exact counts in grid steps, in one pass; records that lack a value are counted beside the cells."""
    channel = plan.channel
    if channel.n is not None:
        _check_size(channel, source, part, missing)
    table = _records(plan, source, part, missing)
    rows = rows_of(source.connection, table.group_by("q0").aggregate(records=table.count()))
    found = {int(row["q0"]): int(row["records"]) for row in rows}
    lacking = found.pop(LACKING, 0)
    if channel.n is not None:
        total = sum(found.values())
        _check(channel, {"n": total + lacking, "present": total}, missing, part)
    elif lacking:
        raise _gaps(channel)
    return [Fraction(found.get(cell, 0)) / plan.grid.step for cell in range(channel.statistic.dimension)]


def record_batches(plan: Plan, source: Source, part: Part | str | None, missing: Missing) -> Iterator[Any]:
    """The exact whole number of each record, a batch at a time, for `Each`."""
    _check_size(plan.channel, source, part, missing)
    table = _records(plan, source, part, missing)
    _check(plan.channel, _only_row(source, table.aggregate(**_counts(table, plan))), missing, part)
    seen = 0
    for batch in batches_of(source.connection, table.select("q0"), BATCH):
        whole = batch.column(0).to_numpy(zero_copy_only=False).clip(plan.grid.low[0], plan.grid.high[0])
        seen += len(whole)
        yield whole
    if seen != plan.channel.n:
        raise DataError("the number of records changed while they were read; release from a table that stays as it is")


def _counts(table: Any, plan: Plan) -> dict[str, Any]:
    return {"n": table.count(), "present": _count_of_present(table, plan)}


def _records(plan: Plan, source: Source, part: Part | str | None, missing: Missing) -> Any:
    """The table of the records of a part, with their whole numbers q0, q1, …; what is missing in a column is null."""
    table, statistic = _select(source, part), plan.channel.statistic
    if statistic.persons is not None:
        columns = list(engine_columns(statistic).values())
        table = rows_that_are_used(table, columns, statistic.persons.at_most, source.engine)
    constants = constants_of(missing, statistic)
    table = clipped(statistic, table, constants)
    if missing == "public":
        table = table.filter(_is_present(table, plan))
    if statistic.tallies:
        return sorted_into_cells(statistic, table, _is_present(table, plan))
    return quantised(plan.channel, plan.grid, table, source.engine, constants)


def _is_present(table: Any, plan: Plan) -> Any:
    """Whether a record of the clipped table has a number in every column of the statistic."""
    import ibis

    given = (table[column].notnull() for column in engine_columns(plan.channel.statistic).values())
    return reduce(operator.and_, given, ibis.literal(value=True))


def _count_of_present(table: Any, plan: Plan) -> Any:
    """How many records lack nothing; of one column engines count them without a test."""
    columns = list(engine_columns(plan.channel.statistic).values())
    return table[columns[0]].count() if len(columns) == 1 else table.count(where=_is_present(table, plan))


def _select(source: Source, part: Part | str | None) -> Any:
    """The rows of a part whose membership can be computed; a part that is only a name is taken as given."""
    if part is None or isinstance(part, str):
        return source.table
    if isinstance(part, Rows):
        if not source.ordered:
            raise DataError(
                "rows of a database table have no positions; use Hashed(column, start, stop) instead of Rows"
            )
        return source.table.limit(part.stop - part.start, offset=part.start)
    if "id" not in source.table.columns:
        raise InvalidArgument("part", part.column, "was not read with the data", "open the source with this column too")
    if isinstance(part, Grouped):
        return source.table.filter(is_text(source.table["id"], part.value, source.engine))
    return source.table.filter(is_between(source.table["id"], *part.cuts, source.engine))


def _sum(plan: Plan, source: Source, column: Any) -> Any:
    """An exact sum, as text: it may be wider than any integer that the way out would carry."""
    n, widest = plan.channel.n, max(map(abs, (*plan.grid.low, *plan.grid.high)))
    if (n is None or n * widest >= 2**62) and source.engine not in _WIDE_SUMS:
        column = column.cast("decimal(38, 0)")
    return column.sum().cast("string")


def _window(plan: Plan, source: Source, table: Any, rank: int) -> Any:
    channel, grid = plan.channel, plan.grid
    cap = channel.law.window
    first, last = max(rank - cap, 1), min(rank + cap, channel.n)
    query = _ranks(source, table.select("q0"), first, last)
    values = [int(row["q0"]) for row in rows_of(source.connection, query)]
    if len(values) != last - first + 1:
        raise DataError("the number of records changed while they were read; release from a table that stays as it is")
    values = [min(max(value, grid.low[0]), grid.high[0]) for value in sorted(values)]
    return window_of(values, rank, cap, channel.n, grid.low[0], grid.high[0])


def _sum_of_ranks(plan: Plan, source: Source, table: Any) -> list[int]:
    """The sum of the values of the ranks that are averaged: of values that tie, each is as good as another."""
    ranks = plan.channel.statistic.averaged_ranks(plan.channel.n)
    assert ranks is not None  # `check_computed` has looked
    first, last = ranks
    some = _ranks(source, table.select("q0"), first, last)
    row = _only_row(source, some.aggregate(records=some.count(), total=_sum(plan, source, some["q0"])))
    if row["records"] != last - first + 1:
        raise DataError("the number of records changed while they were read; release from a table that stays as it is")
    return [min(max(int(row["total"]), row["records"] * plan.grid.low[0]), row["records"] * plan.grid.high[0])]


def _ranks(source: Source, table: Any, first: int, last: int) -> Any:
    """The values of ranks first, …, last."""
    import ibis

    if source.engine in _OFFSETS:
        return table.order_by("q0").limit(last - first + 1, offset=first - 1)
    # Spark, for one, numbers the rows for an offset without keeping their order
    ranked = table.mutate(rank=ibis.row_number().over(ibis.window(order_by="q0")))
    return ranked.filter(ranked["rank"].between(first - 1, last - 1)).select("q0")


def _check_size(channel: Channel, source: Source, part: Part | str | None, missing: object) -> None:
    """Refuse another n where it is known without reading a record: a small file may hold more than memory does."""
    if source.rows is None or identifier_of_part(part) is not None:
        return
    count = max(min(part.stop, source.rows) - part.start, 0) if isinstance(part, Rows) else source.rows
    if missing != "public" or count < channel.n:
        _check(channel, {"n": count, "present": count}, missing, part)


def _check(channel: Channel, row: dict[str, Any], missing: object, part: Part | str | None) -> None:
    """Refuse missing values and another n. How many records there are is public; how many lack a value is not."""
    if row["n"] == 0:
        raise DataError(f"there are no records{_where(part)}")
    if missing != "public" and row["present"] < row["n"]:
        raise _gaps(channel)
    if row["n"] != channel.n:
        named = (
            f"; a part that is a name, as {part!r} is, selects no records: select them with Rows or Hashed "
            "(rows:0:1000 or hashed:id:0:0.1), or give data that hold this part alone"
        )
        most = read_at_most(channel.n)
        # a source that is cut off there has one more
        found = f"more than {most:,}" if row["n"] == most + 1 else row["n"]
        raise DataError(
            f"there are {found} records{_where(part)}, but the channel is made for n = {channel.n}; n is public, "
            f"correct it{named if isinstance(part, str) else ''}"
        )


def _where(part: Part | str | None) -> str:
    return f" of which {part.column!r} is {part.value!r}" if isinstance(part, Grouped) else ""


def _of_rows(channel: Channel) -> str:
    """How public numbers are given for the columns of rows."""
    names = channel.statistic.columns
    return "" if names == ("x",) else f" for each column that may lack one, as in {{{names[0]!r}: …}},"


def _gaps(channel: Channel) -> DataError:
    """What is said where a value is missing and nothing was said about that."""
    return DataError(
        "some values are missing, not a number or infinite; give missing=<a public number within the bounds>"
        f'{_of_rows(channel)} to impute them, or missing="public" if it is no secret which records lack a value'
    )


def _only_row(source: Source, query: Any) -> dict[str, Any]:
    return rows_of(source.connection, query)[0]
