"""Lines of a CSV file that are not as they should be: whose they are, though they have no values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_QUOTE = ord('"')


def identifier_in(line: bytes, separator: int, fields: int, values: Sequence[int], position: int) -> bytes | None:
    """The identifier of a line, or None: found from that end of the line on whose side of all values it stands.

    >>> identifier_in(b"p7,3,4,5", ord(","), 3, [1, 2], 0), identifier_in(b"3,4,5,p7", ord(","), 3, [0, 1], 2)
    (b'p7', b'p7')
    """
    line = line.removesuffix(b"\r")
    if position < min(values):
        found = _field(line, separator, position)
    else:
        mirrored = _field(line[::-1], separator, fields - 1 - position)
        found = None if mirrored is None else mirrored[::-1]
    if found is not None and len(found) >= 2 and found[:1] == found[-1:] == b'"':
        return found[1:-1].replace(b'""', b'"')
    return found


def _field(line: bytes, separator: int, position: int) -> bytes | None:
    """The field at a position from the left, quotation marks included."""
    start, count, inside = 0, 0, False
    for index, byte in enumerate(line):
        if byte == _QUOTE:
            inside = not inside
        elif byte == separator and not inside:
            if count == position:
                return line[start:index]
            start, count = index + 1, count + 1
    return line[start:] if count == position else None


def with_identifiers(identifiers: Any, found: list[tuple[int, bytes | None]]) -> Any:
    """The identifiers with some of them put in."""
    import pyarrow as pa
    import pyarrow.compute as pc

    mask = np.zeros(len(identifiers), dtype=bool)
    mask[[index for index, _ in found]] = True
    return pc.replace_with_mask(identifiers, pa.array(mask), pa.array([each for _, each in found], pa.large_binary()))
