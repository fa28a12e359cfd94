"""Where records come from: arrays, tables in memory, files and databases, all as one Ibis table.

Names of columns and tables reach an engine only through Ibis, which quotes them.
"""

from __future__ import annotations

import glob
import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from confide.errors import InvalidArgument
from confide.published.errors import DataError

#: engines whose arithmetic is checked against exact fractions by the tests, by Ibis's names for them
ENGINES = ("duckdb", "postgres", "pyspark")
_REMOTE_FILES = ("http", "https", "s3", "gs", "gcs", "abfs")
_PARQUET, _CSV = (".parquet", ".pq"), (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".csv.zst")


@dataclass(frozen=True)
class Source:
    """A table of records in an engine, and the column that is released."""

    connection: Any
    table: Any
    column: str
    #: whether rows have positions
    ordered: bool
    #: whether the connection was made for this source, and ends with it
    owned: bool

    @property
    def engine(self) -> str:
        """The engine's name, as Ibis has it."""
        return str(self.connection.name)

    def __enter__(self) -> Source:
        return self

    def __exit__(self, *_: object) -> None:
        if self.owned:
            self.connection.disconnect()


def open_source(data: Any, column: str | None, table: str | None, also: str | None = None) -> Source:
    """The source behind whatever a user gave as data; `also` is another column that is needed."""
    import ibis
    from ibis.backends import BaseBackend

    if isinstance(data, ibis.expr.types.Column):
        return _in_engine(_backend(data), data.name("x").as_table(), "x")
    if isinstance(data, ibis.expr.types.Table):
        return _in_engine(_backend(data), data, column)
    if isinstance(data, BaseBackend):
        return _in_engine(data, _table(data, table), column)
    if isinstance(data, str | Path):
        text = str(data)
        scheme = _scheme(text)
        if scheme and scheme not in (*_REMOTE_FILES, "file"):
            connection = _connect(text)
            return _in_engine(connection, _table(connection, table), column, owned=True)
        return _file(text.removeprefix("file://"), column, remote=scheme in _REMOTE_FILES)
    return _in_memory(data, column, also)


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
    try:
        return urlsplit(text).scheme if "://" in text else ""
    except ValueError:
        raise InvalidArgument("data", "a URL", "cannot be read", "write it as scheme://user@host/database") from None


def _digest(*parts: object) -> str:
    return hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()


def _backend(data: Any) -> Any:
    import ibis

    try:
        return data.get_backend()
    except ibis.common.exceptions.IbisError:
        raise DataError("the Ibis table belongs to no database; make it from a connection") from None


def _connect(url: str) -> Any:
    import ibis

    try:
        return ibis.connect(url)
    except Exception as error:
        # the URL may hold a password, and the engine's message may repeat it
        raise DataError(f"no connection to a {urlsplit(url).scheme} database ({type(error).__name__})") from None


def _table(connection: Any, table: str | None) -> Any:
    if not isinstance(table, str) or not table:
        raise InvalidArgument("table", table, "is not the name of a table", "name the table of the database to read")
    try:
        return connection.table(table)
    except Exception as error:
        raise DataError(f"the database has no table {table!r} ({type(error).__name__})") from None


def _duckdb() -> Any:
    import ibis

    connection = ibis.duckdb.connect()
    # a library does not print
    connection.con.execute("SET enable_progress_bar = false")
    # a file's statistics are of its records and know nothing of NaN: by them DuckDB would leave out tests for it
    connection.con.execute("SET disabled_optimizers = 'statistics_propagation'")
    return connection


def _file(path: str, column: str | None, *, remote: bool) -> Source:
    lower = path.lower()
    if not lower.endswith((*_PARQUET, *_CSV)):
        raise InvalidArgument(
            "data", path, "is neither a CSV nor a Parquet file", "give a path that ends in .csv or .parquet"
        )
    # a name with brackets may be a file of that very name
    if not remote and not Path(path).exists() and not glob.glob(path, recursive=True):  # noqa: PTH207
        raise DataError(f"there is no file {path!r}")
    connection = _duckdb()
    try:
        read = connection.read_parquet if lower.endswith(_PARQUET) else connection.read_csv
        table = read(glob.escape(path) if not remote and Path(path).exists() else path)
    except Exception as error:
        raise DataError(f"the file {path!r} cannot be read ({type(error).__name__})") from None
    return _in_engine(connection, table, column, ordered=True, owned=True)


def _in_memory(data: Any, column: str | None, also: str | None) -> Source:
    import pyarrow as pa

    try:
        arrow = _as_arrow(data, pa, [name for name in (column, also) if name is not None])
    except (pa.ArrowException, TypeError, ValueError, AttributeError, OverflowError):
        raise DataError("the data cannot be read as numbers: give an array, a table or a path") from None
    if isinstance(arrow, pa.Array | pa.ChunkedArray):
        # nothing but missing values has no type of its own
        arrow = arrow.cast(pa.float64()) if pa.types.is_null(arrow.type) else arrow
        arrow, column = pa.table({"x": arrow}), "x"
    connection = _duckdb()
    connection.con.register("records", arrow)
    return _in_engine(connection, connection.table("records"), column, ordered=True, owned=True)


def _as_arrow(data: Any, pa: Any, wanted: list[str]) -> Any:
    """An Arrow array or table from arrays, sequences, and pandas, Polars or Arrow objects."""
    if isinstance(data, pa.Table | pa.Array | pa.ChunkedArray):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    module = type(data).__module__.split(".")[0]
    if module == "polars":
        return (data.collect() if hasattr(data, "collect") else data).to_arrow()
    if module == "pandas":
        if data.ndim == 2 and wanted and all(name in data.columns for name in wanted):
            data = data[wanted]  # the other columns may hold anything
        return pa.Table.from_pandas(data, preserve_index=False) if data.ndim == 2 else pa.Array.from_pandas(data)
    if isinstance(data, dict):
        return pa.table(data)
    if isinstance(data, list | tuple):
        return pa.array(data)
    array = np.ma.asarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if array.ndim != 1:
        raise ValueError("not one-dimensional")
    if array.dtype in (np.float16, np.longdouble):
        array = array.astype(np.float64)
    mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    return pa.array(np.asarray(array), mask=mask)


def _in_engine(
    connection: Any, table: Any, column: str | None, *, ordered: bool = False, owned: bool = False
) -> Source:
    if connection.name not in ENGINES:
        raise DataError(
            f"exact whole numbers are not known to come out of {connection.name}; "
            f"use {', '.join(ENGINES)}, or export the column to a Parquet file"
        )
    columns = list(table.columns)
    name = columns[0] if column is None and len(columns) == 1 else column
    if name is not None and name in columns:
        return Source(connection, table, name, ordered, owned)
    if owned:
        connection.disconnect()
    problem = "must name one of several columns" if column is None else "is not a column of the data"
    raise InvalidArgument("column", column, problem, "name the column to release")
