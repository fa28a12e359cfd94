"""The shape of a source: which reader it goes through and what its column is declared to hold. Never a record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.errors import InvalidArgument
from confide.published.errors import DataError
from confide.releasing.readers.delimited import Delimited
from confide.releasing.readers.files import File

#: files whose cells are text
TEXT_FILES = ("csv", "tsv", "csv.gz")
#: types whose cells may hold what is no number
STRANGE = ("text", "inferred", "objects")
_TYPES = ("float64", "float32", "int64", "int32", "uint64", "bool", "decimal", "text")
#: which types of columns are tried through which reader; a type that is `inferred` follows from the records themselves
KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(TEXT_FILES, ("text",)),
    "parquet": _TYPES,
    "parquet glob": ("float64", "inferred"),
    "arrow": ("float64", "int64", "decimal", "text"),
    "pandas": ("float64", "int64", "bool", "inferred", "objects"),
    "polars": ("float64", "int64", "decimal", "text"),
    "list": ("inferred", "objects"),
    "numpy": ("float64", "float32", "int64", "objects"),
    "duckdb table": _TYPES,
    "duckdb view": ("float64", "decimal"),
    "postgres": ("float64", "float32", "int64", "int32", "bool", "decimal", "text"),
}
#: the type that is tried instead of one that a reader is not tried with
_WIDER = {
    "float32": "float64",
    "int32": "int64",
    "uint64": "int64",
    "bool": "int64",
    "decimal": "float64",
    "text": "objects",
}
#: what the file of each shape is called
_SUFFIXES = {
    ".csv": "csv", ".txt": "csv", ".tsv": "tsv", ".csv.gz": "csv.gz", ".tsv.gz": "csv.gz", ".csv.zst": "csv",
    ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip


@dataclass(frozen=True)
class Shape:
    """A reader, and the type of the column.

    >>> print(Shape("parquet", "float64"))
    parquet (float64)
    """

    reader: str
    kind: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS.get(self.reader, ()):
            known = ", ".join(f"{reader} ({'|'.join(kinds)})" for reader, kinds in KINDS.items())
            raise InvalidArgument("like", (self.reader, self.kind), "is no shape", f"use one of {known}")

    @property
    def ordered(self) -> bool:
        """Whether rows have positions, so that there are parts by `Rows`."""
        return not self.reader.startswith(("duckdb", "postgres"))

    @property
    def identified(self) -> bool:
        """Whether there is room for a column of identifiers, so that there are parts by `Hashed`."""
        return self.reader not in ("list", "numpy")

    def __str__(self) -> str:
        return f"{self.reader} ({self.kind})"


def every_shape() -> list[Shape]:
    """All that can be tried on this machine without a server; Polars where it is installed."""
    from importlib.util import find_spec

    missing = {"postgres"} | (set() if find_spec("polars") else {"polars"})
    return [Shape(reader, kind) for reader, kinds in KINDS.items() if reader not in missing for kind in kinds]


def shape_of(like: Any, column: str | None, table: str | None) -> Shape:
    """The shape of a source, from a header, a schema or a type: no record is read.

    >>> import numpy as np
    >>> print(shape_of(np.zeros(3), None, None))
    numpy (float64)
    """
    if isinstance(like, Shape):
        return like
    if isinstance(like, str | Path) and "://" in str(like).replace("file://", ""):
        return _of_database(str(like), column, table)
    if isinstance(like, str | Path):
        return _of_file(str(like).removeprefix("file://"), column)
    return _of_memory(like, column)


def _of_file(path: str, column: str | None) -> Shape:
    suffix = max((suffix for suffix in _SUFFIXES if path.lower().endswith(suffix)), key=len, default=None)
    if suffix is None:
        raise InvalidArgument(
            "like", path, "is neither a CSV nor a Parquet file", "give a path that ends in .csv or .parquet"
        )
    reader = _SUFFIXES[suffix]
    if reader == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not Path(path).exists():
            return Shape("parquet glob", "inferred")
        try:
            schema = pq.read_schema(path)
        except (OSError, pa.ArrowException) as error:
            raise DataError(f"the file {path!r} cannot be read ({type(error).__name__})") from None
        return Shape("parquet", _kind(schema.field(_one(column, schema.names)).type))
    if Path(path).exists():
        Delimited([File(path, path)], column, None)  # looks at the first line alone
    return Shape(reader, "text")


def _of_database(url: str, column: str | None, table: str | None) -> Shape:
    from confide.releasing.readers.source import _connect, _table

    connection = _connect(url)
    try:
        schema = _table(connection, table).schema()
        kind, engine = schema[_one(column, list(schema.names))].to_pyarrow(), connection.name
    finally:
        connection.disconnect()
    reader = {"duckdb": "duckdb table", "postgres": "postgres"}.get(engine)
    if reader is None:
        raise DataError(f"tables cannot be made in {engine} for an audit; audit the shape of a file instead")
    return Shape(reader, _kind(kind))


def _of_memory(like: Any, column: str | None) -> Shape:
    """The shape of an object in memory, by its declared types alone."""
    import pyarrow as pa

    module = type(like).__module__.split(".")[0]
    if isinstance(like, list | tuple):
        return Shape("list", "objects")
    if isinstance(like, dict):
        return _of_memory(like[_one(column, list(like))], None)
    if module == "pandas" and like.ndim == 2:
        like = like[[_one(column, list(like.columns))]].iloc[:, 0]
    if module == "polars" and hasattr(like, "collect_schema"):
        like = like.select(_one(column, like.collect_schema().names()))
    if module == "polars":
        empty = like.head(0).collect() if hasattr(like, "collect") else like.head(0)
        arrow = empty.to_arrow()
        return _nearest("polars", _kind(arrow[0].type if isinstance(arrow, pa.Table) else arrow.type))
    if module == "pyarrow":
        kind = like.type if hasattr(like, "type") else like.schema.field(_one(column, like.schema.names)).type
        return _nearest("arrow", _kind(kind))
    dtype = getattr(like, "dtype", None)
    if dtype is None:
        raise InvalidArgument("like", type(like).__name__, "has no shape", "give a path, a URL, a table or an array")
    return _nearest("pandas" if module == "pandas" else "numpy", _kind_of_dtype(dtype))


def _kind_of_dtype(dtype: Any) -> str:
    """Our name of the type of an array or series. How a type writes itself is not repeated: categories are records."""
    import numpy as np
    import pyarrow as pa

    kind = getattr(dtype, "kind", "O")
    if kind in "OUT" or dtype.name.startswith(("string", "category")):
        return "objects"
    try:
        # a type of pandas that knows missing values has the kind, and the size, of NumPy's without
        return _kind(pa.from_numpy_dtype(getattr(dtype, "numpy_dtype", dtype) if kind in "fiub" else np.dtype(dtype)))
    except (TypeError, pa.ArrowException):
        problem = f"the column holds {type(dtype).__name__}, not numbers; convert it before the release"
        raise DataError(problem) from None


def _nearest(reader: str, kind: str) -> Shape:
    """The shape of a type, or of the next one that is tried through the reader."""
    while kind not in KINDS[reader] and kind in _WIDER:
        kind = _WIDER[kind]
    return Shape(reader, kind)


def _one(column: str | None, names: list[str]) -> str:
    name = names[0] if column is None and len(names) == 1 else column
    if name is None or name not in names:
        raise InvalidArgument("column", column, "is not a column of the source", "name the column to release")
    return name


def _kind(kind: Any) -> str:
    """Our name of an Arrow type, of those that are tried; a narrower one is tried as the next wider."""
    from pyarrow import types

    if types.is_decimal(kind):
        return "decimal"
    if types.is_boolean(kind):
        return "bool"
    if types.is_floating(kind):
        return "float64" if types.is_float64(kind) else "float32"
    if types.is_integer(kind):
        wide = {"int64": "int64", "uint64": "uint64", "uint32": "int64"}
        return wide.get(str(kind), "int32")
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view":
        return "text"
    raise DataError(f"the column holds {kind}, not numbers; convert it before the release")
