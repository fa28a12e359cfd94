"""CSV files, read so that no record decides how another is read: one line is one record, whatever it holds.

Public is the first line: the names of the columns and what separates them (`,`, `;`, a tab or `|`: the first of these
that it has; in a file called .tsv, tabs). Then every line, an empty one too, is a record, to the next line feed and no
further: a quotation mark that is not closed ends with its line. A line that has another number of fields than the
first, an open quotation mark or more than a mebibyte has no values: its cells are missing. Fields may be in quotation
marks, within which `""` is one mark and separators separate nothing. Nothing is sniffed, and nothing fails.

Who a record is about must not depend on its value: in a line that is not as it should be, the identifier is found by
counting fields from that end of the line on whose side of the value it stands.

Only the bytes of the fields asked for reach the engine, as texts, which it reads as numbers by the rule for texts
(`confide.releasing.readers.cells`); identifiers are bytes, of which UTF-8 is not asked.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.published.errors import DataError
from confide.releasing.readers.cells import LONGEST
from confide.releasing.readers.engine import quietly
from confide.releasing.readers.files import File, is_tab_separated, open_bytes
from confide.releasing.readers.memory import read_at_most
from confide.releasing.readers.table.asked import Asked, chosen, values_of
from confide.releasing.readers.table.broken import identifier_in, with_identifiers

#: bytes that are looked at together: few enough that memory for them is used again and again, not asked for anew
BLOCK = 2**18
#: a longer line has no values, so that memory is bounded
LONGEST_LINE = 2**20
_NEWLINE, _RETURN, _QUOTE = b'\n\r"'
#: in a number: bytes that an engine might read differently, or not at all, become one that no number has
_PLAIN = bytes(byte if byte < 128 and byte != ord("_") else ord("?") for byte in range(256))


@dataclass(frozen=True)
class Layout:
    """What the first line of a file says: where the wanted fields are, among how many."""

    start: int
    separator: int
    fields: int
    #: positions of the values, and of the identifier if one is asked for
    wanted: tuple[int, ...]
    #: whether each of them is a number; the others are texts
    numbers: tuple[bool, ...]
    #: the name of each, as the engine has it
    names: tuple[str, ...]

    @property
    def values(self) -> tuple[int, ...]:
        """The positions of the values."""
        return tuple(at for at, name in zip(self.wanted, self.names, strict=True) if name != "id")


class Delimited:
    """The wanted columns of files, as a stream of Arrow batches that DuckDB can ask for again and again."""

    def __init__(self, files: list[File], asked: Asked, identifier: str | None, stop: int | None = None) -> None:
        import pyarrow as pa

        self._stop = stop if len(files) == 1 else None
        self._most = None if stop is None else read_at_most(stop)
        lines = quietly(lambda: [_first_line(file) for file in files], "the file cannot be read as CSV")
        self._layouts = [
            (file, layout_of(line, file, asked, identifier)) for file, line in zip(files, lines, strict=True)
        ]
        fields = [(each.name, pa.large_binary() if each.categories else pa.large_string()) for each in values_of(asked)]
        self._schema = pa.schema(fields + ([] if identifier is None else [("id", pa.large_binary())]))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self._schema, self._bounded())
        return reader.__arrow_c_stream__(requested_schema)

    def _bounded(self) -> Iterator[Any]:
        """The batches of all files, or of as many records as it takes to know that there are too many."""
        left = math.inf if self._most is None else self._most + 1
        for file, layout in self._layouts:
            for batch in self._batches(file, layout):
                yield batch if batch.num_rows <= left else batch.slice(0, int(left))
                left -= batch.num_rows
                if left <= 0:
                    return

    def _batches(self, file: File, layout: Layout) -> Iterator[Any]:
        import pyarrow as pa

        for block in blocks_of(file, layout, self._stop, alone=len(self._layouts) == 1):
            columns = _only_column(block, layout) if layout.fields == 1 and layout.numbers[0] else None
            yield pa.record_batch(columns or _columns(block, layout), schema=self._schema)


def _first_line(file: File) -> bytes:
    with open_bytes(file) as stream:
        line = b""
        while b"\n" not in line and len(line) <= LONGEST_LINE and (more := stream.read(2**12)):
            line += more
    return line.partition(b"\n")[0] + b"\n" * (b"\n" in line)


def layout_of(line: bytes, file: File, asked: Asked, identifier: str | None) -> Layout:
    """The layout of a file by its first line."""
    text = line.decode("utf-8-sig", "replace").rstrip("\r\n")
    if not line.endswith(b"\n") or not {"\0", "\r", "\ufffd"}.isdisjoint(text):
        raise DataError(
            f"the first line of {file.name!r} is no line of names; write the file as UTF-8 text with the names of its "
            "columns in the first line, each line ended by a line feed"
        )
    candidates = "\t" if is_tab_separated(file) else ",;\t|"
    separator = next((each for each in candidates if len(_names(text, each)) > 1), candidates[0])
    names = _names(text, separator)
    found = chosen(asked, names, identifier)
    places = {name: names.index(column) for name, column in found.items()}
    kinds = {value.name: value.categories is None for value in values_of(asked)} | {"id": False}
    layout = Layout(
        len(line),
        ord(separator),
        len(names),
        tuple(places.values()),
        tuple(kinds[each] for each in found),
        tuple(found),
    )
    if identifier is not None and min(layout.values) < places["id"] < max(layout.values):
        raise DataError(
            f"{identifier!r} stands between the columns that are released, so that in a line with too many separators "
            "values would decide who it is about; put it before or after them, or write the table as Parquet"
        )
    return layout


def _names(text: str, separator: str) -> list[str]:
    return quietly(lambda: next(csv.reader([text], delimiter=separator), [""]), "the first line cannot be read as CSV")


def blocks_of(file: File, layout: Layout, stop: int | None = None, *, alone: bool = True) -> Iterator[bytes]:
    """The lines after the first in blocks of whole lines, each ended by a line feed.

    In a file of one column a last record that is empty and does not end is not to be seen: it is there if there must be
    as many records (`stop`) as there are with it. Whether it is there must not depend on what it holds.
    """
    seen = 0
    with open_bytes(file) as stream:
        skipped = 0
        while skipped < layout.start:
            if not (names := stream.read(layout.start - skipped)):
                raise DataError("the file changed while it was read; release from a file that stays as it is")
            skipped += len(names)
        rest = b""
        while more := stream.read(BLOCK):
            block = rest + more if rest else more
            end = block.rfind(b"\n") + 1
            rest = _shortened(block[end:])
            if end:
                seen += block.count(b"\n", 0, end) if stop is not None and layout.fields == 1 else 0
                yield block[:end]
    if rest and layout.fields == 1 and not alone:
        # in one of several files an empty one would move the records of all files after it
        raise DataError("the last line does not end; end it by a line feed, as every other line")
    if rest or (layout.fields == 1 and stop is not None and seen == stop - 1):
        yield rest + b"\n"


def _shortened(line: bytes) -> bytes:
    """The start of a line; of one that is too long both ends, by which its identifier is found, and too much still."""
    return line if len(line) <= 2 * LONGEST_LINE else line[:LONGEST_LINE] + line[-LONGEST_LINE:]


def _only_column(block: bytes, layout: Layout) -> list[Any] | None:
    """The lines themselves, where they are the cells: blanks around a number, and a line feed is one, do not matter.

    A separator, which a tab is and a blank too, makes two fields of a line: then lines are looked at one by one.
    """
    import pyarrow as pa

    if b'"' in block or layout.separator in block:
        return None
    ends = np.flatnonzero(np.frombuffer(block, np.uint8) == _NEWLINE)
    offsets = np.empty(len(ends) + 1, np.int64)
    offsets[0] = 0
    np.add(ends, 1, out=offsets[1:])
    if np.max(np.diff(offsets)) > LONGEST:
        return None
    texts = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(_sanitised(block)))
    return [texts]


def _columns(block: bytes, layout: Layout) -> list[Any]:
    """The wanted fields of every line of a block."""
    data = np.frombuffer(block, np.uint8)
    newlines = data == _NEWLINE
    ends = np.flatnonzero(newlines | (data == layout.separator))
    if _regular(block, newlines, ends, layout):
        return _regular_columns(block, data, ends, layout)
    lines = np.flatnonzero(newlines[ends])
    starts = np.concatenate(([0], ends[lines[:-1]] + 1))
    valid = ends[lines] - starts <= LONGEST_LINE
    if b'"' in block:
        marks = np.flatnonzero(data == _QUOTE)
        before = np.searchsorted(marks, starts)
        count = np.diff(np.append(before, len(marks)))
        valid &= count % 2 == 0
        # a separator after an odd number of marks of its line is within quotation marks
        line = np.searchsorted(lines, np.arange(len(ends)))
        inside = (np.searchsorted(marks, ends) - before[line]) % 2 == 1
        ends = ends[~inside | (data[ends] == _NEWLINE)]
        lines = np.flatnonzero(data[ends] == _NEWLINE)
    valid &= np.diff(lines, prepend=-1) == layout.fields
    cells = []
    for number, position in zip(layout.numbers, layout.wanted, strict=True):
        field = np.where(valid, lines - (layout.fields - 1) + position, 0)
        first = np.where(field > 0, ends[field - 1] + 1, 0)
        cells.append(_cells(block, data, first, ends[field], valid, number=number))
    if "id" in layout.names and not np.all(valid):
        spoilt = [(int(i), block[starts[i] : ends[lines[i]]]) for i in np.flatnonzero(~valid)]
        where = layout.separator, layout.fields, layout.values, layout.wanted[-1]
        cells[-1] = with_identifiers(cells[-1], [(i, identifier_in(line, *where)) for i, line in spoilt])
    return cells


def _regular(block: bytes, newlines: Any, ends: Any, layout: Layout) -> bool:
    """Whether nothing has to be asked of any line: no mark, no long line, and each has as many fields as it should."""
    last = ends[layout.fields - 1 :: layout.fields]
    whole = len(ends) == layout.fields * np.count_nonzero(newlines) and bool(np.all(newlines[last]))
    return whole and len(block) <= LONGEST_LINE and b'"' not in block


def _regular_columns(block: bytes, data: Any, ends: Any, layout: Layout) -> list[Any]:
    """The same as `_columns` finds, several times faster."""
    fields = ends.reshape(-1, layout.fields)
    valid = np.ones(len(fields), dtype=bool)
    cells = []
    for number, position in zip(layout.numbers, layout.wanted, strict=True):
        first = fields[:, position - 1] + 1 if position else np.concatenate(([0], fields[:-1, -1] + 1))
        cells.append(_cells(block, data, first, fields[:, position], valid, number=number))
    return cells


def _cells(block: bytes, data: Any, first: Any, last: Any, valid: Any, *, number: bool) -> Any:
    """An Arrow array of the bytes from first to last (excluded) of the block; null where the line is not valid."""
    import pyarrow as pa

    if b"\r" in block:
        last = last - ((last > first) & (data[last - 1] == _RETURN) & (data[last] == _NEWLINE))
    quoted = np.zeros(len(first), dtype=bool)
    if b'"' in block:
        quoted = (last - first >= 2) & (data[first] == _QUOTE) & (data[last - 1] == _QUOTE)
        first, last = first + quoted, last - quoted
    if number:
        valid = valid & (last - first <= LONGEST)
    # offsets first, last, first, last, …: every second text is a cell, the others lie between
    offsets = np.empty(2 * len(first), np.int64)
    offsets[::2], offsets[1::2] = first, last
    if not np.all(valid):
        offsets[np.repeat(~valid, 2)] = 0
        offsets = np.maximum.accumulate(offsets)
    every = np.arange(0, len(offsets), 2)
    of_type, content = (pa.large_string(), _sanitised(block)) if number else (pa.large_binary(), block)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content)]
    texts = pa.Array.from_buffers(of_type, len(offsets) - 1, buffers)
    found = texts.take(pa.array(every, mask=~valid))
    return _unescaped(found, quoted) if not number and b'""' in block else found


def _unescaped(identifiers: Any, quoted: Any) -> Any:
    import pyarrow as pa

    texts = zip(identifiers.to_pylist(), quoted.tolist(), strict=True)
    plain = [text.replace(b'""', b'"') if text is not None and marked else text for text, marked in texts]
    return pa.array(plain, pa.large_binary())


def _sanitised(block: bytes) -> bytes:
    """A block of the same length in ASCII, in which DuckDB reads the numbers of the rule for texts and no others."""
    # a single byte is found many times faster, and few files hold this one
    if b"+" in block and b"+-" in block:
        block = block.replace(b"+-", b"??")
    return block if block.isascii() and b"_" not in block else block.translate(_PLAIN)
