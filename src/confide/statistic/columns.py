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
from confide.registry import MOST_CATEGORIES

Pair = tuple[float, float]

#: how many categories of a column of text a sentence lists
_MOST_TOLD = 6
#: a name in a text, not the exponent of a number
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")


@dataclass(frozen=True, repr=False)
class ColumnBounds:
    """The ends that each column of a row is clipped to. Columns are clipped one by one, before s is computed."""

    names: tuple[str, ...]
    ends: tuple[Pair, ...]
    #: the public list of each column of text, whose codes 0, 1, … are places in it; any other text is one code more
    categories: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def lists(self) -> dict[str, tuple[str, ...]]:
        """The categories of the columns of text, as a mapping."""
        return dict(self.categories)

    @property
    def numbers(self) -> dict[str, Pair]:
        """The ends of the columns of numbers, which were given as bounds."""
        return {name: pair for name, pair in self.by_name.items() if name not in self.lists}

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
        listed = [f"{name} clipped to [{low:g}, {high:g}]" for name, (low, high) in self.numbers.items()]
        for name, texts in self.categories:
            told = ", ".join(f"{code} for {text!r}" for code, text in enumerate(texts[:_MOST_TOLD]))
            more = "" if len(texts) <= _MOST_TOLD else ", …"
            listed.append(f"{name} coded ({told}{more}, {len(texts)} for any other)")
        return ", ".join(listed[:-1]) + (" and " if len(listed) > 1 else "") + listed[-1]

    def __repr__(self) -> str:
        return repr(self.numbers)


def bounds_by_name(statistic: Any) -> dict[str, Pair]:
    """The ends of every column that a statistic is computed from.

    >>> from confide.statistic import Mean
    >>> bounds_by_name(Mean("x", bounds=(0, 1)))
    {'x': (0.0, 1.0)}
    """
    bounds = statistic.bounds
    return bounds.by_name if isinstance(bounds, ColumnBounds) else {"x": bounds}


def column(rows: Any, name: str) -> Any:
    """A column of rows that are given as columns by name."""
    try:
        return rows[name]
    except (KeyError, IndexError, TypeError, ValueError):
        remedy = f"give the columns by name, as in {{{name!r}: […], …}}"
        raise InvalidArgument("records", type(rows).__name__, f"has no column {name!r}", remedy) from None


def as_bounds(given: object, categories: object = None) -> Pair | ColumnBounds:
    """A pair for the one column x, or bounds of columns by name; `{"x": pair}` is that pair.

    Columns of text have a public list of categories instead: code 0 for the first, …, and one more for any other text.
    """
    lists = {} if categories is None else as_lists(categories)
    if lists and (given is None or isinstance(given, Mapping)):
        ends = {} if not given else _named_pairs(given)
        if both := [name for name in lists if name in ends]:
            remedy = "give the bounds of a column of numbers, or the categories of a column of text"
            raise InvalidArgument("categories", both[0], "names a column that has bounds", remedy)
        ends |= {name: (0.0, float(len(texts))) for name, texts in lists.items()}
        return ColumnBounds(tuple(ends), tuple(ends.values()), tuple(lists.items()))
    if lists:
        remedy = 'give bounds by name beside categories, as in {"age": (18, 90)}, or none'
        raise InvalidArgument("bounds", given, "is about the one column x", remedy)
    if not isinstance(given, Mapping):
        return as_pair("bounds", given)
    if not given:
        raise InvalidArgument("bounds", given, "names no column", 'give {"age": (18, 90)} or a pair of numbers')
    ends = _named_pairs(given)
    return ends["x"] if set(ends) == {"x"} else ColumnBounds(tuple(ends), tuple(ends.values()))


def _named_pairs(given: Mapping[Any, object]) -> dict[str, Pair]:
    for name in given:
        check_column("bounds", name)
    return {name: as_pair(f"bounds[{name!r}]", pair) for name, pair in given.items()}


def as_lists(categories: object) -> dict[str, tuple[str, ...]]:
    """The public lists of columns of text.

    >>> as_lists({"ward": ["surgery", "maternity"]})
    {'ward': ('surgery', 'maternity')}
    """
    remedy = 'give the texts of each column of text, as in {"ward": ["surgery", "maternity"]}'
    if not isinstance(categories, Mapping):
        raise InvalidArgument("categories", categories, "is no mapping from columns to lists", remedy)
    found = {}
    for name, texts in categories.items():
        check_column("categories", name)
        if name == "x":
            raise InvalidArgument("categories", name, "is what a column of numbers is called", "call it by its name")
        found[name] = as_list(f"categories[{name!r}]", texts)
    return found


def as_list(argument: str, texts: object) -> tuple[str, ...]:
    """A public list of different texts, which no record decides."""
    remedy = 'list different texts of 1 to 1000 characters, as in ["surgery", "maternity"]'
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise InvalidArgument(argument, texts, "is no list", remedy)
    found = tuple(texts)
    for text in found:
        if not isinstance(text, str) or not 0 < len(text) <= 1000 or "\0" in text or not _whole(text):
            raise InvalidArgument(argument, text, "is no text that can be looked for", remedy)
        if found.count(text) > 1:
            raise InvalidArgument(argument, text, "is listed more than once", remedy)
    if not 0 < len(found) <= MOST_CATEGORIES:
        raise InvalidArgument(argument, f"{len(found)} texts", f"are none, or over {MOST_CATEGORIES}", remedy)
    return found


def _whole(text: str) -> bool:
    """Whether a text can be written down: half of a pair of surrogates cannot."""
    return text.encode("utf-8", "replace").decode() == text


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
