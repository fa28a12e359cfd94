"""What to do about cells that are missing: refuse them, put public numbers in their place, or leave records out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from confide.errors import InvalidArgument
from confide.statistic import Statistic
from confide.statistic.columns import ColumnBounds, bounds_by_name

#: None, a public number for the one column, public numbers by column, or "public"
Missing = float | dict[str, float] | str | None

_REMEDY = 'give a number within the bounds to impute, or "public" if it is no secret who is missing'


def check_missing(missing: object, statistic: Statistic) -> Missing:
    """The policy: refuse (None), impute public constants within the bounds, or drop ("public").

    >>> import confide as cf
    >>> check_missing({"cost": 10}, cf.Mean("age * cost", bounds={"age": (18, 90), "cost": (10, 50_000)}))
    {'cost': 10.0}
    """
    if missing is None or (isinstance(missing, str) and missing == "public"):
        return missing if missing is None else "public"
    bounds = bounds_by_name(statistic)
    if not isinstance(missing, Mapping):
        if len(bounds) > 1:
            named = f"{{{next(iter(bounds))!r}: {missing!r}}}"
            raise InvalidArgument("missing", missing, "does not say of which column", f"name it, as in {named}")
        value = _within("missing", missing, next(iter(bounds.values())))
        return value if set(bounds) == {"x"} else {next(iter(bounds)): value}
    lists = statistic.bounds.lists if isinstance(statistic.bounds, ColumnBounds) else {}
    found = {}
    for name, value in missing.items():
        if name not in bounds:
            listed = f"it has {', '.join(bounds)}"
            raise InvalidArgument("missing", name, "is no column of the statistic", listed)
        if name in lists:
            remedy = f"leave it out: what is not on the list has the code {len(lists[name])}"
            raise InvalidArgument("missing", name, "is a column of texts, which are never missing", remedy)
        found[name] = _within(f"missing[{name!r}]", value, bounds[name])
    if not found:
        return None
    return found["x"] if set(bounds) == {"x"} else {name: found[name] for name in bounds if name in found}


def constants_of(missing: Missing, statistic: Statistic) -> dict[str, float]:
    """The public numbers that stand in, by column."""
    if isinstance(missing, dict):
        return missing
    return {} if missing is None or isinstance(missing, str) else {statistic.columns[0]: float(missing)}


def _within(argument: str, value: Any, bounds: tuple[float, float]) -> float:
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not bounds[0] <= number <= bounds[1]:
        raise InvalidArgument(argument, value, "is no number within the bounds", _REMEDY)
    return number
