"""Checks of arguments that many verbs share."""

from __future__ import annotations

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
