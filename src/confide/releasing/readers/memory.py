"""Records in memory: arrays, sequences, pandas, Polars and Arrow objects, as an Arrow table of the columns asked for.

A typed column keeps its declared type. A column of Python objects has none, and must not get one from what it happens
to hold: each cell is read by itself (`confide.releasing.readers.cells`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from confide.errors import InvalidArgument
from confide.published.errors import DataError
from confide.releasing.readers.cells import identifier_of, is_plain, label_of, number_of
from confide.releasing.readers.engine import quietly
from confide.releasing.readers.table.asked import Asked, Value, chosen, values_of

UNREADABLE = "the data cannot be read as numbers: give an array, a table or a path"


def read_at_most(stop: int) -> int:
    """How many records are looked at where there must be `stop`: enough to say how many there are, were it a slip.

    What has no end, or is far too much, is refused as soon as it is known to be too much.
    """
    return 2 * stop + 1_000_000


def arrow_table(data: Any, asked: Asked, identifier: str | None, stop: int | None = None) -> Any:
    """An Arrow table of the columns of values and, if an identifier is asked for, a column `id`."""
    import pyarrow as pa

    columns, values = _columns(data), values_of(asked)
    if columns is not None and is_lazy(data):
        wanted = list(dict.fromkeys(chosen(asked, list(columns), identifier).values()))
        columns = _columns(settled(data.select(wanted)))
    if columns is None:
        if len(values) > 1:
            remedy = "give a table, or a dict of columns, with the columns of the statistic"
            raise InvalidArgument("data", type(data).__name__, "has no columns by name", remedy)
        return pa.table({values[0].name: quietly(lambda: _arrow(data, _cells_of(values[0]), stop), UNREADABLE)})
    cells_of = {value.name: _cells_of(value) for value in values} | {"id": _texts}
    found = {}
    for name, column in chosen(asked, list(columns), identifier).items():
        found[name] = quietly(partial(_read, columns, column, cells_of[name], stop), UNREADABLE)
    if len({len(each) for each in found.values()}) > 1:
        raise DataError("the columns of the data are not equally long")
    return pa.table(found)


def _cells_of(value: Value) -> Callable[[Any], Any]:
    """What reads cells that have no declared type."""
    return _numbers if value.categories is None else partial(_texts, text_of=label_of)


def _read(columns: _Columns, name: str, objects: Callable[[Any], Any], stop: int | None) -> Any:
    return _arrow(columns[name](), objects, stop)


#: what a lazy table may be read from: what Polars calls a scan of files whose own schema has the types
_TYPED = re.compile(r"(?<!Parquet)(?<!Ipc) SCAN\b")


def is_lazy(data: Any) -> bool:
    """Whether data are a lazy table of Polars."""
    return type(data).__module__.split(".")[0] == "polars" and hasattr(data, "collect")


def settled(data: Any) -> Any:
    """The data, computed all at once if they are lazy.

    Column by column the rows may come in another order each time, and a row would be made of several. What a lazy table
    reads from a text file has types that Polars guesses from some records: one would decide how others are read.
    """
    if not is_lazy(data):
        return data
    if _TYPED.search(quietly(lambda: str(data.explain(optimized=False)), UNREADABLE)):
        raise DataError(
            "the lazy table is not read from Parquet or IPC files alone, and Polars may find types by looking at "
            "records; give the path of the file itself, which is read with declared types"
        )
    return quietly(data.collect, UNREADABLE)


def with_name(data: Any, column: str | None) -> tuple[Any, str | None]:
    """A pandas or Polars series that has a name as a table of one column, which is the one that it names.

    The same records are the same release then, whether they come as a series or in their table.
    """
    name = getattr(data, "name", None)
    module = type(data).__module__.split(".")[0]
    if module not in ("pandas", "polars") or not isinstance(name, str) or not name or not hasattr(data, "to_frame"):
        return data, column
    return data.to_frame(), name if column is None else column


class _Columns:
    """The columns of a table by name, each read when it is asked for: the others may hold anything."""

    def __init__(self, names: list[Any], read: Callable[[Any], Any]) -> None:
        self._names, self._read = names, read

    def __iter__(self) -> Any:
        return iter(self._names)

    def __getitem__(self, name: str) -> Callable[[], Any]:
        return lambda: self._read(name)


def _columns(data: Any) -> _Columns | None:
    """The columns of a table; None for what is one column."""
    import pyarrow as pa

    module = type(data).__module__.split(".")[0]
    if isinstance(data, pa.Table | pa.RecordBatch):
        return _Columns(data.schema.names, data.column)
    if module == "polars" and hasattr(data, "collect_schema"):
        return _Columns(data.collect_schema().names(), lambda name: data[name])
    if module == "pandas" and getattr(data, "ndim", 1) == 2:
        return _Columns(list(data.columns), lambda name: data[name])
    if isinstance(data, dict):
        return _Columns(list(data), data.__getitem__)
    return None


def _arrow(data: Any, objects: Callable[[Any], Any], stop: int | None) -> Any:
    """One column as an Arrow array; `objects` reads cells that have no declared type."""
    import pyarrow as pa

    module = type(data).__module__.split(".")[0]
    if module == "pandas":
        return _from_pandas(data, objects)
    if module == "polars":
        return objects(data.to_list()) if data.dtype.is_object() else _plain(data.to_arrow())
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return _plain(data)
    if _is_sequence(data):
        # a class of one's own may go on for longer than it says, and say more than memory holds
        most = len(data) if stop is None else min(len(data), read_at_most(stop) + 1)
        return objects(data if type(data) in (list, tuple) else list(islice(data, most)))
    array = np.ma.asarray(data) if isinstance(data, np.ma.MaskedArray) else np.asarray(data)
    if array.ndim != 1:
        raise DataError(UNREADABLE)
    if array.dtype.kind in "OU":
        # texts too: one with half of a pair of surrogates is none for Arrow, which would refuse it with all the others
        plain = array.astype(object)
        return objects(plain.filled(None) if isinstance(plain, np.ma.MaskedArray) else plain)
    return _from_numpy(array)


def _is_sequence(data: Any) -> bool:
    """Whether data are read cell by cell: also a sequence that does not say so, of which NumPy would find a type."""
    if isinstance(data, str | bytes | range | memoryview):
        return False
    kind = type(data)
    typed = hasattr(kind, "__array__") or hasattr(data, "__array_interface__")
    return isinstance(data, Sequence) or (hasattr(kind, "__len__") and hasattr(kind, "__getitem__") and not typed)


def declares(data: Any) -> bool:
    """Whether an array of pandas says what its cells are: of a sparse one, or a foreign one, Arrow would find it."""
    return hasattr(getattr(data, "array", data), "__arrow_array__")


def _from_pandas(data: Any, objects: Callable[[Any], Any]) -> Any:
    import pandas as pd
    import pyarrow as pa

    dtype = data.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        # the categories are read cell by cell, and each record has one of them; −1 has none
        values = pd.Categorical(data)
        codes = np.asarray(values.codes)
        return objects(np.asarray(values.categories, dtype=object)).take(pa.array(codes, mask=codes < 0))
    if isinstance(dtype, np.dtype) and dtype.kind in "OU":
        return objects(data.to_numpy(dtype=object))
    if isinstance(dtype, pd.StringDtype) and dtype.storage == "python":
        return objects(data.to_numpy(dtype=object))
    if isinstance(dtype, np.dtype):
        return _from_numpy(data.to_numpy())
    return _plain(pa.Array.from_pandas(data)) if declares(data) else objects(np.asarray(data, dtype=object))


def _from_numpy(array: Any) -> Any:
    import pyarrow as pa

    mask = np.ma.getmaskarray(array) if isinstance(array, np.ma.MaskedArray) else None
    array = np.asarray(array)
    if array.dtype.kind == "f" and array.dtype != np.float32:
        with np.errstate(all="ignore"):
            array = array.astype(np.float64, copy=False)  # half precision, extended precision, another order of bytes
    elif array.dtype.kind in "fiu":
        array = array.astype(array.dtype.newbyteorder("="), copy=False)
    elif array.dtype.kind not in "bMm":
        raise DataError(UNREADABLE)
    return pa.array(array, mask=mask)


def _plain(array: Any) -> Any:
    """An Arrow array of a type that DuckDB reads."""
    import pyarrow as pa

    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) and array.num_chunks == 0 else array
    kind = array.type
    if pa.types.is_dictionary(kind):
        return _plain(array.cast(kind.value_type))
    if pa.types.is_null(kind) or pa.types.is_float16(kind):
        return array.cast(pa.float64())
    wide = pa.types.is_decimal256(kind) or (pa.types.is_decimal(kind) and kind.scale < 0)
    return array.cast(pa.string()) if wide else array


def _numbers(cells: Any) -> Any:
    """Objects of Python as doubles, each by itself."""
    import pyarrow as pa

    # of numbers alone NumPy makes what `float` makes of each; whatever else there is, it would look into
    if not isinstance(cells, np.ndarray) and all(map(is_plain, set(map(type, cells)))):
        array = np.asarray(cells)
        if array.dtype.kind in "fiub":
            return _from_numpy(array)
    return pa.array(np.fromiter((number_of(cell) for cell in cells), np.float64, len(cells)))


def _texts(cells: Any, text_of: Callable[[Any], str | None] = identifier_of) -> Any:
    """Objects of Python as texts, each by itself."""
    import pyarrow as pa

    return pa.array([text_of(cell) for cell in cells], pa.large_string())
