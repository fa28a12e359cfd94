"""Where records come from: arrays, tables in memory, files and databases, all as one Ibis table of numbers.

The table has columns of doubles, `x` or `x0`, `x1`, …, missing where a cell is no number (codes of texts are never
missing), and, for a part by an identifier, a column `id`. What the columns of the source are is declared, by types or
by the first line of a CSV file; no record decides how another one is read. Names of columns and tables reach an engine
only through Ibis, which quotes them.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from confide.errors import InvalidArgument
from confide.published.errors import DataError
from confide.releasing.readers.cells import code, identifier, label, number
from confide.releasing.readers.delimited import Delimited
from confide.releasing.readers.engine import check_functions, check_texts, check_types, duckdb, quietly
from confide.releasing.readers.files import REMOTE, File, files_of, is_parquet
from confide.releasing.readers.memory import arrow_table
from confide.releasing.readers.parquet import count_of, parquet_tables
from confide.releasing.readers.table.asked import Asked, Value, chosen, values_of

#: engines whose arithmetic is checked against exact fractions by the tests, by Ibis's names for them
ENGINES = ("duckdb", "postgres", "pyspark")


@dataclass(frozen=True)
class Source:
    """A table of records in an engine: numbers `x`, and identifiers `id` where they were asked for."""

    connection: Any
    table: Any
    #: whether rows have positions
    ordered: bool = False
    #: whether the connection was made for this source, and ends with it
    owned: bool = False
    #: how many records there are, where that is known without reading them
    rows: int | None = None

    @property
    def engine(self) -> str:
        """The engine's name, as Ibis has it."""
        return str(self.connection.name)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        if self.owned:
            self.connection.disconnect()


def open_source(
    data: Any,
    asked: Asked,
    table: str | None,
    also: str | None = None,
    stop: int | None = None,
    files: Sequence[File] | None = None,
) -> Source:
    """The source behind whatever a user gave as data.

    `asked` names a column of numbers, or several of numbers and of texts with public lists; `also` is the column of an
    identifier that is needed, `stop` how many records there must be, where that is said, and `files` the files behind a
    path, where they were looked up before.
    """
    import ibis
    from ibis.backends import BaseBackend

    if isinstance(data, ibis.expr.types.Column):
        return _of_database(_backend(data), data.name("x").as_table(), _alone(asked), also)
    if isinstance(data, ibis.expr.types.Table):
        return _of_database(_backend(data), data, asked, also)
    if isinstance(data, BaseBackend):
        return _of_database(data, _table(data, table), asked, also)
    if not isinstance(data, str | Path):
        return _owned(duckdb(), lambda connection: _of_memory(connection, data, asked, also, stop))
    text = str(data)
    scheme = _scheme(text)
    if not scheme or scheme in (*REMOTE, "file"):
        return _owned(duckdb(), lambda connection: _of_files(connection, text, asked, also, stop, files))
    if not isinstance(table, str) or not table:
        raise _no_table(table)
    return _owned(_connect(text), lambda connection: _of_database(connection, _table(connection, table), asked, also))


def identity_of(data: Any, table: str | None) -> str | None:
    """A digest of what the source is, without passwords: one identity, the same records. None in memory."""
    if not isinstance(data, str | Path):
        return None
    text = str(data)
    if _scheme(text) in ("", "file"):
        return _digest(Path(text.removeprefix("file://")).resolve())
    parts = urlsplit(text)
    # the part of a URL before the last @ holds the user and the password
    return _digest(f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}", table)


def _scheme(text: str) -> str:
    """The scheme of a URL; empty for a path."""
    with contextlib.suppress(ValueError):  # it may quote the password, and would be the context of what is raised
        return urlsplit(text).scheme if "://" in text else ""
    raise InvalidArgument("data", "a URL", "cannot be read", "write it as scheme://user@host/database")


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()


def _owned(connection: Any, opened: Callable[[Any], Source]) -> Source:
    """A source whose connection ends with it, or at once if the source cannot be opened."""
    try:
        source = opened(connection)
    except BaseException:
        connection.disconnect()
        raise
    return replace(source, owned=True)


def _of_memory(connection: Any, data: Any, asked: Asked, also: str | None, stop: int | None) -> Source:
    arrow = arrow_table(data, asked, also, stop)
    problem = "the data cannot be read as numbers: DuckDB lacks their type"
    # DuckDB looks at types here, so that what it cannot read is refused whatever the records hold
    quietly(lambda: connection.con.register("records", arrow), problem)
    records = quietly(lambda: connection.table("records"), problem)
    return Source(connection, _readable(records, "duckdb", asked, also), ordered=True, rows=arrow.num_rows)


def _of_files(
    connection: Any, path: str, asked: Asked, also: str | None, stop: int | None, held: Sequence[File] | None
) -> Source:
    parquet = is_parquet(path)
    remote = _scheme(path) in REMOTE
    files = list(held or (_remote_files(connection, path) if remote else files_of(path.removeprefix("file://"))))
    if parquet:
        tables = parquet_tables(connection, files, asked, also)
        readable = [_readable(table, "duckdb", asked, also) for table in tables]
        problem = f"the files {path!r} hold identifiers of different kinds"
        table = quietly(lambda: reduce(lambda first, second: first.union(second), readable), problem)
        return Source(connection, table, ordered=True, rows=count_of(connection, files))
    connection.con.register("records", Delimited(files, asked, also, stop))
    records = connection.table("records")
    cells = {each.name: _cell(records[each.name], each) for each in values_of(asked)}
    return Source(connection, records.mutate(**cells), ordered=True)


def _cell(column: Any, value: Value) -> Any:
    """A column of texts from a file as doubles."""
    # in bytes that were made plain for it, DuckDB's numbers are those of the rule for texts
    return column.try_cast("float64") if value.categories is None else code(column, value.categories)


def _alone(asked: Asked) -> tuple[Value, ...]:
    """What is asked for, of a single column, which is called x."""
    values = values_of(asked)
    if len(values) > 1:
        raise InvalidArgument("data", "a column", "is no table", "give the Ibis table that has all columns")
    return (replace(values[0], column="x"),)


def _remote_files(connection: Any, path: str) -> list[File]:
    """The files behind a URL, which DuckDB reads by an extension; it is asked for by name, as the user asked for it."""

    def found() -> list[str]:
        connection.con.execute("INSTALL httpfs")
        connection.con.execute("LOAD httpfs")
        if "*" not in path:
            return [path]
        return [row[0] for row in connection.con.execute("SELECT file FROM glob(?) ORDER BY file", [path]).fetchall()]

    files = quietly(found, "files at a URL cannot be read")
    if not files:
        raise DataError("there is no file at the URL")
    return [File(url, url) for url in files]


def _of_database(connection: Any, table: Any, asked: Asked, also: str | None) -> Source:
    if connection.name not in ENGINES:
        raise DataError(
            f"exact whole numbers are not known to come out of {connection.name}; "
            f"use {', '.join(ENGINES)}, or export the column to a Parquet file"
        )
    found = chosen(asked, list(table.columns), also)
    columns = table.select(**{name: table[column] for name, column in found.items()})
    readable = _readable(columns, connection.name, asked, also, collated=True)
    if connection.name == "postgres":
        check_texts(connection)
    if connection.name != "duckdb":
        return Source(connection, readable)
    check_functions(connection)
    own = check_types(connection, columns)
    return Source(connection, readable if own else _without_statistics(readable, values_of(asked)))


def _without_statistics(table: Any, values: Sequence[Value]) -> Any:
    """The same numbers, of which DuckDB's optimiser knows nothing.

    A view over Parquet files has their statistics, which know nothing of NaN: by them tests for it are left out,
    because of another record's value. Our own connection does not use them (`engine`); somebody else's is not ours to
    change. Statistics of DuckDB's own tables count NaN as the largest number, as its comparisons do.
    """
    import ibis

    return table.mutate(**{each.name: table[each.name] + ibis.random() * ibis.literal(0.0) for each in values})


def _readable(table: Any, engine: str, asked: Asked, also: str | None, *, collated: bool = False) -> Any:
    """The table of doubles and identifiers from one of the columns as they are, by their declared types."""
    found = {}
    for value in values_of(asked):
        cells = table[value.name]
        read = number(cells, engine) if value.categories is None else label(cells, engine)
        if read is None:
            named = "" if value.column is None else f" {value.column!r}"
            wants = "numbers" if value.categories is None else "texts or whole numbers"
            raise DataError(f"the column{named} holds {cells.type()}, not {wants}; convert it before the release")
        found[value.name] = read if value.categories is None else code(read, value.categories, collated=collated)
    if also is not None:
        found["id"] = identifier(table["id"], engine)
        if found["id"] is None:
            raise DataError(f"the identifier {also!r} holds {table['id'].type()}; a part needs whole numbers or texts")
    return table.select(**found)


def _backend(data: Any) -> Any:
    import ibis

    try:
        return data.get_backend()
    except ibis.common.exceptions.IbisError:
        raise DataError("the Ibis table belongs to no database; make it from a connection") from None


def _connect(url: str) -> Any:
    import ibis

    # the URL may hold a password, and the engine's message may repeat it
    return quietly(lambda: ibis.connect(url), f"no connection to a {urlsplit(url).scheme} database")


def _table(connection: Any, table: str | None) -> Any:
    if not isinstance(table, str) or not table:
        raise _no_table(table)
    return quietly(lambda: connection.table(table), f"the database has no table {table!r}")


def _no_table(table: object) -> InvalidArgument:
    return InvalidArgument("table", table, "is not the name of a table", "name the table of the database to read")
