"""Columns of doubles within their bounds, before anything is computed of them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from confide.expression.database import double
from confide.expression.tree import Call, Number, Tree, Variable, integer_exponent, nodes
from confide.statistic import Statistic
from confide.statistic.columns import bounds_by_name

#: operations of which a null makes a null, as every engine's reader writes them
_ARITHMETIC = ("add", "subtract", "multiply", "divide", "negative", "absolute")
_LARGEST = sys.float_info.max


def engine_columns(statistic: Statistic) -> dict[str, str]:
    """What the columns of a statistic are called in the engine.

    >>> import confide as cf
    >>> engine_columns(cf.Mean("age * cost", bounds={"age": (18, 90), "cost": (10, 50_000)}))
    {'age': 'x0', 'cost': 'x1'}
    """
    names = statistic.columns
    return {"x": "x"} if names == ("x",) else {name: f"x{index}" for index, name in enumerate(names)}


def clipped(statistic: Statistic, table: Any, constants: Mapping[str, float]) -> Any:
    """The table with its columns of doubles clipped to their bounds, each on its own, as the model does.

    A cell that is missing, infinite or not a number becomes the public constant of its column, or null without one. The
    cells of a histogram are told by edges, and their columns need no bounds.
    """
    columns, found = engine_columns(statistic), {}
    for name, bounds in bounds_by_name(statistic).items():
        low, high = (-_LARGEST, _LARGEST) if statistic.tallies else bounds
        found[columns[name]] = _clip(table[columns[name]], low, high, constants.get(name))
    return table.mutate(**found) if found else table


def _clip(column: Any, low: float, high: float, otherwise: float | None) -> Any:
    """One test decides for almost all records. NaN is above all numbers to an engine, or compares with none."""
    import ibis

    branches = [(column.between(double(low), double(high)), column)]
    if low > -_LARGEST:
        branches.append(((column < double(low)) & (column >= double(-_LARGEST)), double(low)))
    if high < _LARGEST:
        branches.append(((column > double(high)) & (column <= double(_LARGEST)), double(high)))
    return ibis.cases(*branches, else_=ibis.null("float64") if otherwise is None else double(otherwise))


def filled(
    statistic: Statistic, table: Any, constants: Mapping[str, float], trees: Iterable[Tree]
) -> tuple[Any, dict[str, str]]:
    """The clipped columns with an end of their bounds for what is missing, and what these columns are called.

    A record that lacks a value is counted as such, but before it is refused an engine computes s of it. A null is no
    number within the bounds: `max(a, null)` is a, and `null > 0` is false, where intervals know what a number gives. So
    s might be undefined, or too large for an integer, by what the record's other columns hold, and an error would tell.
    Arithmetic alone makes null of null in every engine, and a column with a public constant has none.
    """
    columns, found = engine_columns(statistic), {}
    if not all(map(_is_arithmetic, trees)):
        for name, (low, _) in bounds_by_name(statistic).items():
            if name not in constants:
                found[f"whole_{columns[name]}"] = table[columns[name]].coalesce(double(low))
    names = {name: whole if (whole := f"whole_{column}") in found else column for name, column in columns.items()}
    return (table.mutate(**found) if found else table), names


def _is_arithmetic(tree: Tree) -> bool:
    """Whether nothing else than sums, products, quotients and sizes is computed."""
    for node in nodes(tree):
        match node:
            case Number() | Variable():
                continue
            case Call("power", (_, Number(exponent))) if integer_exponent(exponent) is not None:
                continue
            case Call(operation, _) if operation in _ARITHMETIC:
                continue
        return False
    return True
