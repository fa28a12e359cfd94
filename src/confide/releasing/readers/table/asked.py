"""The columns that are asked for: values, which are numbers or codes of a public list of texts, and an identifier.

One function decides for all readers which columns of a source these are, by the names alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from confide.errors import InvalidArgument
from confide.statistic.columns import ColumnBounds

#: chosen: an error that names columns stays a sentence
_MOST_TOLD, _LONGEST = 12, 40


@dataclass(frozen=True)
class Value:
    """A column of values: what it is called in the engine and in the data, and its categories if it holds texts."""

    name: str
    #: None: the only column that there is
    column: str | None = None
    categories: tuple[str, ...] | None = None


#: what readers take: the name of one column of numbers (None: the only one there is), called `x`; or several columns
Asked = str | tuple[Value, ...] | None


def values_of(asked: Asked) -> tuple[Value, ...]:
    """The columns of values."""
    return asked if isinstance(asked, tuple) else (Value("x", asked),)


def names_of(asked: Asked) -> list[str]:
    """What the columns of values are called in the data, where they are named."""
    return [value.column for value in values_of(asked) if value.column is not None]


def asked_of(statistic: Any, column: str | Mapping[str, str] | None) -> Asked:
    """The columns of a statistic: the x of one column, or x0, x1, … in the order of its bounds.

    `column` says what they are called in the data, where that is not what they are called in expressions.

    >>> import confide as cf
    >>> asked_of(cf.Mean("age * sex", bounds={"age": (18, 90)}, categories={"sex": ["f", "m"]}), {"age": "AGE"})
    (Value(name='x0', column='AGE', categories=None), Value(name='x1', column='sex', categories=('f', 'm')))
    """
    lists = statistic.bounds.lists if isinstance(statistic.bounds, ColumnBounds) else {}
    if statistic.columns == ("x",):
        assert not isinstance(column, Mapping)
        return (Value("x", column, lists["x"]),) if lists else column
    renamed = column if isinstance(column, Mapping) else {}
    return tuple(
        Value(f"x{index}", renamed.get(name, name), lists.get(name)) for index, name in enumerate(statistic.columns)
    )


def check_column(statistic: Any, column: object) -> str | dict[str, str] | None:
    """What the columns of a statistic are called in the data: one name for one column, or new names by the old ones.

    >>> import confide as cf
    >>> check_column(cf.Mean("age", bounds={"age": (18, 90)}), "AGE")
    {'age': 'AGE'}
    """
    names = statistic.columns
    if isinstance(column, str) and len(names) == 1 and names != ("x",):
        column = {names[0]: column}
    remedy = "name a column of the data by a text of 1 to 1000 characters"
    if not isinstance(column, Mapping):
        if column is None or (isinstance(column, str) and names == ("x",) and 0 < len(column) <= 1000):
            return column
        if isinstance(column, str):
            listed = ", ".join(names)
            remedy = f"leave it out if the data have columns {listed}, or say which is which, as in {{{names[0]!r}: …}}"
        raise InvalidArgument("column", column, "does not name the columns of the statistic", remedy)
    for name, found in column.items():
        if name not in names:
            raise InvalidArgument("column", name, "is no column of the statistic", f"it has {', '.join(names)}")
        if not isinstance(found, str) or not 0 < len(found) <= 1000:
            raise InvalidArgument("column", found, "is not a name", remedy)
    if names == ("x",):
        return column.get("x")
    taken = [column.get(name, name) for name in names]
    if twice := [each for each in taken if taken.count(each) > 1]:
        raise InvalidArgument("column", twice[0], "is taken for two columns", "give each column its own")
    return {name: column[name] for name in names if column.get(name, name) != name} or None


def chosen(asked: Asked, names: list[Any], identifier: str | None) -> dict[str, str]:
    """Which columns of the data are asked for, by what they are called in the engine; `id` is the identifier."""
    found = {value.name: wanted(value.column, names) for value in values_of(asked)}
    if identifier is not None:
        check_identifier(identifier, names, found.values())
        found["id"] = identifier
    return found


def wanted(column: str | None, names: list[Any]) -> str:
    """The column to release: the one that is named, or the only one."""
    name = names[0] if column is None and len(names) == 1 else column
    if name is not None and names.count(name) == 1:
        return str(name)
    problem = "must name one of several columns" if column is None else "is not a column of the data"
    if names.count(name) > 1:
        problem = "names several columns of the data"
    raise InvalidArgument("column", column, problem, f"the data have {_listed(names)}: name one (a count takes any)")


def _listed(names: list[Any]) -> str:
    """The names of columns, which are public, as far as they can be read."""
    told = [str(name)[:_LONGEST] for name in names[:_MOST_TOLD]]
    return ", ".join(told) + ("" if len(names) <= _MOST_TOLD else f" and {len(names) - _MOST_TOLD} more columns")


def check_identifier(name: str, names: list[Any], released: Collection[str]) -> None:
    """Refuse the identifier of a part that is no column, or the very values that are released."""
    remedy = "name the column of public identifiers"
    if names.count(name) != 1:
        raise InvalidArgument("part", name, "is not a column of the data", remedy)
    if name in released:
        raise InvalidArgument(
            "part", name, "is the column that is released, so that values decide who is in it", remedy
        )
