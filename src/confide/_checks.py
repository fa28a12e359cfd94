"""Checks of arguments that many verbs share."""

from __future__ import annotations

import math
import operator
from typing import Any

from confide.errors import InvalidArgument


def whole(name: str, value: Any, least: int, remedy: str) -> int:
    """A whole number of at least so much, or an error; True and 2.0 are none.

    >>> whole("copies", 10, 1, "give the paper's N")
    10
    """
    try:
        number = least - 1 if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = least - 1
    if number < least:
        raise InvalidArgument(name, value, f"is not a whole number of at least {least}", remedy)
    return number


def share(name: str, value: Any, most: float, problem: str, remedy: str) -> float:
    """A number above 0 and of at most so much, or an error.

    >>> share("q", 0.9, 1.0, "is not in (0, 1]", "give a level")
    0.9
    """
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not 0 < number <= most:
        raise InvalidArgument(name, value, problem, remedy)
    return number
