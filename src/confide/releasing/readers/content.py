"""What was read, as a digest of all of it: two sources are the same records in the same order only if it is the same.

Positions mean something within one content only, and a stored answer belongs to one content only. A digest depends on
the records, so it is keyed with the ledger's secret before it is written, and it is written in the ledger only.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from confide.releasing.readers.cells import identifier_of, is_plain, number_of
from confide.releasing.readers.held import Held

#: bytes that are digested at once, each block in a thread of its own
BLOCK = 2**23
#: with more of them the engine, which reads the same file meanwhile, gets less of two processors than its share
_THREADS = 2
#: the type of a column of which nothing is declared
_OBJECTS = np.dtype(object)


@dataclass(frozen=True)
class Content:
    """A digest of what a source holds, or of where it is."""

    digest: bytes
    #: whether the digest is of the records themselves, so that positions mean something
    whole: bool


def content_of(data: Any, table: str | None, columns: Sequence[str], held: Held | None = None) -> Content | None:
    """The content of a source, of some columns or of all if none is named; of files, those that are held.

    None where it cannot be told apart from others: Ibis tables, and objects that may look different the next time.
    """
    if not isinstance(data, str | Path):
        digest = _in_memory(data, columns)
        return None if digest is None else Content(digest, whole=True)
    text = str(data)
    if "://" in text and not text.startswith("file://"):
        return Content(_digest(b"url", *_place(text), str(table).encode()), whole=False)
    return None if held is None else _files(held)


def _place(url: str) -> list[bytes]:
    """All of a URL but its password: another user or another query may see other records."""
    parts = urlsplit(url)
    user, _, host = parts.netloc.rpartition("@")
    return [text.encode() for text in (parts.scheme, user.partition(":")[0], host, parts.path, parts.query)]


def _files(held: Held) -> Content | None:
    names = [file.name for file in held.files]
    # the names decide in which order the files are read, and by which reader
    told = ["".join(Path(held.path).suffixes)] if len(names) == 1 else _relative(names)
    try:
        digests = [_digest_of_file(Path(file.path)) for file in held.files]
    except OSError:
        return None  # the reader will say why
    parts = [part for name, digest in zip(told, digests, strict=True) for part in (name.encode(), digest)]
    return Content(_digest(b"files", *parts), whole=True)


def _relative(names: Sequence[str]) -> list[str]:
    """The names as seen from the folder that all of them are in."""
    folder = os.path.commonpath(names)
    return [Path(os.path.relpath(name, folder)).as_posix() for name in names]


def _digest_of_file(path: Path) -> bytes:
    size = path.stat().st_size

    def block(start: int) -> bytes:
        with path.open("rb") as file:
            file.seek(start)
            return hashlib.sha256(file.read(BLOCK)).digest()

    return _digest(b"file", str(size).encode(), *_each(block, range(0, size, BLOCK)))


def _each(block: Any, starts: Sequence[int]) -> list[bytes]:
    if len(starts) < 2:
        return [block(start) for start in starts]
    with ThreadPoolExecutor(_THREADS) as pool:
        return list(pool.map(block, starts))


def _digest(*parts: bytes) -> bytes:
    """One digest of several texts; their lengths keep them apart."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest.digest()


def _in_memory(data: Any, columns: Sequence[str]) -> bytes | None:
    """A digest of an array or table; None for what may look different when it is asked again."""
    import pyarrow as pa

    try:
        if isinstance(data, np.ma.MaskedArray):
            return _digest(b"masked", _array(np.asarray(data)), _array(np.ma.getmaskarray(data)))
        if isinstance(data, np.ndarray):
            return None if data.dtype.hasobject else _digest(b"array", _array(data))
        if not all(_plain(cells) for _, cells in _columns(data, columns)):
            return _cell_by_cell(data, columns)
        arrow = _as_table(data, columns, pa)
        return None if arrow is None else _digest(b"arrow", _stream(arrow, pa))
    except Exception:  # no type holds all cells, or their own code fails; a message may quote them
        return _cell_by_cell(data, columns)


def _columns(data: Any, columns: Sequence[str]) -> list[tuple[Any, Any]]:
    """The columns of what may hold cells without a declared type: sequences and pandas objects."""
    if type(data) in (list, tuple):
        return [("x", data)]
    if type(data) is dict:
        return list(data.items()) if all(map(_stays, data.values())) else []
    if type(data).__module__.split(".")[0] != "pandas":
        return []
    if not hasattr(data, "to_frame") and data.ndim == 1:
        return [("x", data)]
    frame = data.to_frame() if data.ndim == 1 else data
    chosen = [name for name in columns if name in frame.columns]
    # without a choice of columns, the index is a column as well
    levels = [] if chosen else range(frame.index.nlevels)
    index = [(f"index {level}", frame.index.get_level_values(level)) for level in levels]
    return index + list((frame[chosen] if chosen else frame).items())


def _stays(cells: Any) -> bool:
    """Whether a column of a dict is what it will be the next time; another sequence may not be, or have no end."""
    import pyarrow as pa

    return type(cells) in (list, tuple, np.ndarray) or isinstance(cells, pa.Array | pa.ChunkedArray)


#: what Arrow keeps as it is, beside plain numbers; of a text among bytes it makes bytes, and of a sequence all that it
#: iterates over
_KEPT = (str, type(None))


def _plain(cells: Any) -> bool:
    """Whether a column has a declared type, or its cells need none."""
    kind: Any = getattr(cells, "dtype", _OBJECTS if type(cells) in (list, tuple) else None)
    if hasattr(kind, "categories"):
        kind, cells = kind.categories.dtype, kind.categories
    return kind != _OBJECTS or all(each in _KEPT or is_plain(each) for each in set(map(type, cells)))


def _cell_by_cell(data: Any, columns: Sequence[str]) -> bytes | None:
    """A digest of columns that Arrow finds no type for, of each cell and of how a reader sees it.

    Otherwise one record of another kind would decide whether parts are charged in parallel.
    """
    digest, found = hashlib.sha256(), _columns(data, columns)
    try:
        for name, cells in found:
            digest.update(_digest(str(name).encode("utf-8", "replace"), str(len(cells)).encode()))
            for cell in cells:
                seen = f"{type(cell).__qualname__} {number_of(cell)!r} {identifier_of(cell)!r}"
                digest.update(_digest(seen.encode("utf-8", "replace"), pickle.dumps(cell)))
    except Exception:  # what cannot be written down cannot be told from others
        return None
    return _digest(b"cells", digest.digest()) if found else None


def _array(array: Any) -> bytes:
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    told = f"{array.dtype.str} {array.shape}".encode()
    starts = range(0, len(flat), BLOCK)
    return _digest(told, *_each(lambda start: hashlib.sha256(flat[start : start + BLOCK].data).digest(), starts))


def _as_table(data: Any, columns: Sequence[str], pa: Any) -> Any:
    if type(data) in (list, tuple):
        return pa.table({"x": pa.array(data)})
    if type(data) is dict:
        return pa.table(data) if _columns(data, columns) else None
    if isinstance(data, pa.Array | pa.ChunkedArray):
        return pa.table({"x": data})
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    module = type(data).__module__.split(".")[0]
    if module == "polars":
        if any(kind.is_object() for kind in (getattr(data, "dtypes", None) or [data.dtype])):
            return None  # Arrow gets where the objects are, not what they are
        arrow = data.to_arrow()
        data = arrow if isinstance(arrow, pa.Table) else pa.table({"x": arrow})
    if module == "pandas":
        if data.ndim == 1:
            return pa.table({"x": pa.Array.from_pandas(data)})
        wanted = [name for name in columns if name in data.columns]
        # without a choice of columns, the index is a column as well
        return pa.Table.from_pandas(data[wanted], preserve_index=False) if wanted else pa.Table.from_pandas(data)
    if not isinstance(data, pa.Table):
        return None
    wanted = [name for name in columns if name in data.column_names]
    return data.select(wanted) if wanted else data


class _Hashing:
    """A file that keeps nothing but a digest of what is written to it."""

    closed = False

    def __init__(self) -> None:
        self.digest = hashlib.sha256()

    def write(self, content: Any) -> int:
        self.digest.update(content)
        return len(content)

    def flush(self) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing is open."""


def _stream(table: Any, pa: Any) -> bytes:
    """The table as Arrow would send it: types, names, missing values and all buffers."""
    sink = _Hashing()
    with pa.ipc.new_stream(pa.PythonFile(sink, mode="w"), table.schema.remove_metadata()) as writer:
        writer.write_table(table.combine_chunks())
    return sink.digest.digest()
