"""Texts of a file that people get to see: none may do anything to a terminal, or turn around what stands beside it.

A release file is read by somebody who does not know who wrote it. Printed as it is, a control character may rewrite
what a terminal has shown, its title or what is pasted from it, and a direction override may let a line read as another.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from confide.errors import InvalidArgument

if TYPE_CHECKING:
    from pydantic import ValidationInfo

#: embeddings, overrides and isolates, by which text is shown in another order than it is written
_TURNING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
#: what is allowed between lines
_LINES = frozenset("\t\n\r")
#: a context of what a ledger of one's own has stored: it was paid for, and stays readable
STORED = {"stored": True}


def hidden(text: str) -> str | None:
    r"""The first character of a text that nobody sees but a terminal, or that turns others around, if there is one.

    >>> hidden("Ålesund"), hidden("red\x1b[31m")
    (None, '\x1b')
    """
    return next((each for each in text if each in _TURNING or unicodedata.category(each) in ("Cc", "Cs")), None)


def plain(text: str, info: ValidationInfo) -> str:
    """A text without such characters, for a field of a file."""
    if info.context != STORED and (found := hidden(text)) is not None:
        raise ValueError(f"holds the invisible character U+{ord(found):04X}")
    return text


def plain_lines(text: str, info: ValidationInfo) -> str:
    """The same of several lines."""
    plain("".join(each for each in text if each not in _LINES), info)
    return text


def visible(text: Any) -> str:
    r"""A text in which such characters are written as escapes, to be quoted in an error.

    >>> visible("a\x1b[2J")
    'a\\x1b[2J'
    """
    return "".join(ascii(each)[1:-1] if hidden(each) else each for each in str(text))


def check_shown(told: Mapping[str, Any]) -> None:
    """Refuse what no file may hold, before anything is paid for: texts, parts, and names of columns by name."""
    for argument, value in told.items():
        parts = value.values() if isinstance(value, Mapping) else getattr(value, "__dict__", {"": value}).values()
        for text in parts:
            shown = "".join(each for each in str(text) if argument != "purpose" or each not in _LINES)
            if (found := hidden(shown)) is not None:
                problem = f"holds the invisible character U+{ord(found):04X}"
                raise InvalidArgument(argument, ascii(text), problem, "use characters that can be seen")
