"""The engine at work: a DuckDB of our own, queries that keep their stages apart, and errors that tell nothing.

An engine's messages may quote records, and Python keeps the exception that was being handled in the `__context__` of
the next one. So what may fail runs inside `quietly`, and the refusal is raised where no exception is being handled.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from confide.expression.database import compiling, staged_sql
from confide.published.errors import DataError
from confide.releasing.readers.workspace import workspace

Result = TypeVar("Result")

#: nothing is installed or loaded by itself, what does not fit in memory is written to the private folder of this
#: process alone, nothing of a file is kept for the next reading, positions in a file stay positions, and a library does
#: not print. A Parquet file's statistics are of its records and know nothing of NaN: by them DuckDB would leave out
#: tests for it, because of another record's value
_SETTINGS = {
    "enable_progress_bar": "false",
    "preserve_insertion_order": "true",
    "enable_external_file_cache": "false",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "disabled_optimizers": "'statistics_propagation'",
}
#: the database in memory whose connections all releases of this process are: it holds nothing, and takes long to make
_shared: list[Any] = []
_SHARING = threading.Lock()


def duckdb() -> Any:
    """A connection to a DuckDB in memory; what one connection is told to see, no other does."""
    import ibis

    with _SHARING:
        cursor = None
        if _shared:
            # an engine that has failed for good is none: later releases must not feel what an earlier one met with
            with contextlib.suppress(Exception):
                cursor = _prepared(_shared[0])
        if cursor is None:
            _shared[:] = [_engine()]
            cursor = _prepared(_shared[0])
    return ibis.duckdb.from_connection(cursor)


def _engine() -> Any:
    import duckdb as library

    engine = library.connect()
    engine.execute("SET temp_directory = ?", [str(workspace() / "spill")])
    return engine


def _prepared(engine: Any) -> Any:
    cursor = engine.cursor()
    for name, value in _SETTINGS.items():
        cursor.execute(f"SET {name} = {value}")
    return cursor


def _before_fork() -> None:
    """A fork has none of the engine's threads, and would wait for them: it makes an engine of its own."""
    _SHARING.acquire()
    _shared.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_SHARING.release, after_in_child=_SHARING.release)


def check_functions(connection: Any) -> None:
    """Refuse a DuckDB with functions in the place of its own: a macro may be called sum, or +, and lies in the file.

    What it would compute for one record, or for all of them, nobody has proved anything about.
    """
    taken = _functions(connection, "NOT internal")
    # most databases have none, and DuckDB has thousands
    taken &= _functions(connection, "internal") if taken else taken
    if taken:
        raise DataError(
            f"the database has a function {min(taken)!r} of its own, which would be computed instead of DuckDB's; "
            "drop it, or export the column to a Parquet file"
        )


def check_texts(connection: Any) -> None:
    """Refuse a PostgreSQL that reads marks within texts: other patterns than ours would say which cells are numbers."""
    query = "SELECT current_setting('standard_conforming_strings')"

    def asked() -> str:
        with connection._safe_raw_sql(query) as cursor:
            return str(cursor.fetchall()[0][0])

    if quietly(asked, "the database does not say how it reads texts") != "on":
        raise DataError(
            "the database has standard_conforming_strings off, by which a text in a query is another text; set it on, "
            "or export the table to a Parquet file"
        )


#: functions that DuckDB reads tables with whose types are declared: by a table, or by the schema of a Parquet file. Not
#: Arrow's: what lies behind its name may be a CSV file, or objects of Python, whose types Arrow found in some records
_TYPED = ("SEQ_SCAN", "PARQUET_SCAN", "READ_PARQUET")


def check_types(connection: Any, table: Any) -> bool:
    """Refuse a DuckDB table, or a view, whose types are found by looking at records: one decides how others are read.

    What is behind a name only the engine's plan tells; making it reads nothing but what DuckDB guesses by. Returns
    whether all of it lies in tables of DuckDB's own.
    """
    query = f"EXPLAIN (FORMAT JSON) {staged_sql(connection, table)}"
    problem = "the database does not say where the table is read from"
    plan = quietly(lambda: json.loads(connection.con.execute(query).fetchall()[0][1]), problem)
    own = True
    while plan:
        node = plan.pop()
        function = dict(node.get("extra_info") or {}).get("Function", _TYPED[0])
        if function not in _TYPED:
            raise DataError(
                f"DuckDB reads the table by {function.lower()}, which may find types by looking at records; give the "
                "data or the path of the file itself, which are read with declared types, or a table of the database"
            )
        own &= function == _TYPED[0]
        plan += node.get("children", [])
    return own


def _functions(connection: Any, which: str) -> set[str]:
    """Names of functions, asked for without computing any: a macro may be called `lower`, `=` or `duckdb_functions`."""
    query = f"SELECT function_name FROM system.main.duckdb_functions() WHERE {which}"
    problem = "the functions of the database cannot be listed"
    return {name.lower() for (name,) in quietly(lambda: connection.con.execute(query).fetchall(), problem)}


def quietly(action: Callable[[], Result], problem: str) -> Result:
    """What `action` returns; if it fails, a `DataError` that names the kind of failure and holds nothing else of it."""
    try:
        return action()
    except DataError as error:
        refusal = DataError(str(error))
    except Exception as error:
        refusal = DataError(f"{problem} ({type(error).__name__})")
    raise refusal


_WITHHELD = "the engine could not compute the statistic; its message is withheld, for it may quote records"


def rows_of(connection: Any, query: Any) -> list[dict[str, Any]]:
    """The rows of a query that returns few."""
    return quietly(lambda: _rows(connection, query), _WITHHELD)


def _rows(connection: Any, query: Any) -> list[dict[str, Any]]:
    if connection.name == "postgres":
        with connection._safe_raw_sql(staged_sql(connection, query)) as cursor:
            names = [column.name for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return [row for batch in _stream(connection, query, 2**16) for row in batch.to_pylist()]


def batches_of(connection: Any, query: Any, size: int) -> Iterator[Any]:
    """The rows of a query, an Arrow batch at a time."""
    batches = iter(quietly(lambda: _stream(connection, query, size), _WITHHELD))
    while (batch := quietly(lambda: next(batches, None), _WITHHELD)) is not None:
        yield batch


def _stream(connection: Any, query: Any, size: int) -> Any:
    if connection.name == "duckdb":
        return connection.con.sql(staged_sql(connection, query)).to_arrow_reader(size)
    with compiling():
        return connection.to_pyarrow_batches(query, chunk_size=size)
