"""Files of records: their kinds by the ending of the name, and the files behind a path or a pattern, in order."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.errors import InvalidArgument
from confide.published.errors import DataError

#: schemes that are fetched, and endings by which a file is read
REMOTE = ("http", "https", "s3", "gs", "gcs", "abfs")
PARQUET = (".parquet", ".pq")
DELIMITED = (".csv", ".tsv", ".txt")
_COMPRESSED = {".gz": "gzip", ".zst": "zstd"}


@dataclass(frozen=True)
class File:
    """A file by the name that says what it is, and the path by which it is opened."""

    name: str
    path: str


def is_parquet(path: str) -> bool:
    """Whether a path names Parquet files; it must name these or text files."""
    lower = path.lower()
    if lower.endswith(PARQUET):
        return True
    if not _uncompressed(lower).endswith(DELIMITED):
        raise InvalidArgument(
            "data", path, "is neither a CSV nor a Parquet file", "give a path that ends in .csv or .parquet"
        )
    return False


def files_of(path: str) -> list[File]:
    """The files behind a path or a pattern on this machine, sorted by name: their order is that of the records.

    A name with brackets may be a file of that very name.
    """
    found = [path] if Path(path).exists() else sorted(glob.glob(path, recursive=True))  # noqa: PTH207
    if not found:
        raise DataError(f"there is no file {path!r}")
    return [File(name, name) for name in found]


def open_bytes(file: File) -> Any:
    """A stream of the bytes of a file, decompressed."""
    import pyarrow as pa
    from pyarrow import fs

    path = file.path
    compression = _COMPRESSED.get(Path(file.name).suffix.lower())
    scheme = path.partition("://")[0] if "://" in path else ""
    if scheme in ("http", "https"):
        import urllib.request

        stream: Any = pa.PythonFile(urllib.request.urlopen(path), mode="r")
    elif scheme:
        system, name = fs.FileSystem.from_uri(path)
        stream = system.open_input_stream(name, compression=None)
    else:
        stream = pa.OSFile(path)
    return pa.CompressedInputStream(stream, compression) if compression else stream


def is_tab_separated(file: File) -> bool:
    """Whether the name says that tabs separate the fields."""
    return _uncompressed(file.name.lower()).endswith(".tsv")


def _uncompressed(lower: str) -> str:
    return lower[: lower.rindex(".")] if lower.endswith(tuple(_COMPRESSED)) else lower
