"""Bounds of a row: what each of its columns is clipped to, by name."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidArgument
from confide.expression.parse import FUNCTIONS, MAX_LENGTH

Pair = tuple[float, float]

#: a name in a text, not the exponent of a number
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@dataclass(frozen=True, repr=False)
class ColumnBounds:
    """The ends that each column of a row is clipped to. Columns are clipped one by one, before s is computed."""

    names: tuple[str, ...]
    ends: tuple[Pair, ...]

    @property
    def by_name(self) -> dict[str, Pair]:
        """As a mapping."""
        return dict(zip(self.names, self.ends, strict=True))

    def clipped(self, namespace: Any, rows: Any) -> dict[str, Any]:
        """The columns that are bounded, of rows that have these columns by name, clipped."""
        found = {}
        for name, (low, high) in self.by_name.items():
            found[name] = namespace.clip(namespace.asarray(column(rows, name), dtype=np.float64), low, high)
        return dict(zip(found, namespace.broadcast_arrays(*found.values()), strict=True))

    def __str__(self) -> str:
        listed = [f"{name} clipped to [{low:g}, {high:g}]" for name, (low, high) in self.by_name.items()]
        return ", ".join(listed[:-1]) + (" and " if len(listed) > 1 else "") + listed[-1]

    def __repr__(self) -> str:
        return repr(self.by_name)


def column(rows: Any, name: str) -> Any:
    """A column of rows that are given as columns by name."""
    try:
        return rows[name]
    except (KeyError, IndexError, TypeError, ValueError):
        remedy = f"give the columns by name, as in {{{name!r}: […], …}}"
        raise InvalidArgument("records", type(rows).__name__, f"has no column {name!r}", remedy) from None


def as_bounds(given: object) -> Pair | ColumnBounds:
    """A pair for the one column x, or bounds of columns by name; `{"x": pair}` is that pair."""
    if not isinstance(given, Mapping):
        return as_pair("bounds", given)
    if not given:
        raise InvalidArgument("bounds", given, "names no column", 'give {"age": (18, 90)} or a pair of numbers')
    for name in given:
        check_column("bounds", name)
    ends = {name: as_pair(f"bounds[{name!r}]", pair) for name, pair in given.items()}
    return ends["x"] if set(ends) == {"x"} else ColumnBounds(tuple(ends), tuple(ends.values()))


def check_column(argument: str, name: object) -> None:
    """Refuse a name that an expression could not use for a column."""
    usable = isinstance(name, str) and name.isidentifier() and not keyword.iskeyword(name)
    if not usable or name in FUNCTIONS or name == "interp":
        remedy = "name columns by letters, digits and _, and not as a function of the language"
        raise InvalidArgument(argument, name, "is not a name for a column", remedy)


def named_in(expression: object, bounds: Pair | ColumnBounds) -> tuple[str, ...]:
    """What variables may be called where expressions are read: `x`, or any column, so that errors can speak of it."""
    if not isinstance(bounds, ColumnBounds):
        return ("x",)
    texts = [expression] if isinstance(expression, str) else expression if isinstance(expression, Iterable) else []
    words = [word for text in texts if isinstance(text, str) for word in _WORD.findall(text[:MAX_LENGTH])]
    return tuple(dict.fromkeys([*bounds.names, *(word for word in words if word not in FUNCTIONS)]))


def check_use(used: set[str], bounds: ColumnBounds) -> None:
    """Refuse a column that is used without bounds, or bounded without being used."""
    if without := sorted(used - set(bounds.names)):
        remedy = f'add {without[0]!r} to bounds, as in {{"{without[0]}": (low, high)}}, or correct the name'
        raise InvalidArgument("bounds", bounds, f"has none for the column {without[0]!r} of the expression", remedy)
    if unused := [name for name in bounds.names if name not in used]:
        remedy = "leave it out, or use the column"
        raise InvalidArgument("bounds", bounds, f"bounds the column {unused[0]!r}, which is not used", remedy)


def as_pair(argument: str, value: object) -> tuple[float, float]:
    """Two finite numbers in increasing order."""
    remedy = "give two finite numbers (low, high) with low < high"
    try:
        low, high = (float(end) for end in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise InvalidArgument(argument, value, "is not a pair of numbers", remedy) from error
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidArgument(argument, value, "is not finite", remedy)
    if low >= high:
        raise InvalidArgument(argument, value, "is empty or reversed", remedy)
    return low, high
