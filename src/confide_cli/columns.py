"""`--bounds` takes two numbers for the one column x, and one word for each column of a row: `--bounds age=18:90`.

The latter is told apart before options are read, for an option has one number of words.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

#: commands whose `--bounds` may be about columns, and the option that it then is
_COMMANDS = ("release", "information", "compare", "optimize", "infer", "estimate", "require")
COLUMN_BOUNDS = "--column-bounds"


def separated(arguments: Sequence[str]) -> list[str]:
    """The command line with `--bounds NAME=LOW:HIGH` as an option of its own.

    >>> separated(["release", "--bounds", "age=18:90", "--bounds=cost=1:9", "--n", "3"])
    ['release', '--column-bounds', 'age=18:90', '--column-bounds', 'cost=1:9', '--n', '3']
    """
    if not arguments or arguments[0] not in _COMMANDS:
        return list(arguments)
    found = []
    for index, word in enumerate(arguments):
        following = arguments[index + 1] if index + 1 < len(arguments) else ""
        if word == "--bounds" and "=" in following and not following.startswith("-"):
            found.append(COLUMN_BOUNDS)
        elif word.startswith("--bounds=") and "=" in word.removeprefix("--bounds="):
            found += [COLUMN_BOUNDS, word.removeprefix("--bounds=")]
        else:
            found.append(word)
    return found


def by_column(
    bounds: tuple[float, float] | None, named: Sequence[str] | None, lists: Sequence[str] | None
) -> dict[str, Any]:
    """What a study says of bounds and of columns of text, from the options.

    >>> by_column(None, ["age=18:90"], None)
    {'bounds': {'age': (18.0, 90.0)}, 'categories': None}
    """
    if not (named or lists):  # help loads nothing of the library
        return {"bounds": bounds, "categories": None}
    from confide_cli.rows import read_bounds, read_categories

    ends = bounds or (read_bounds(named) if named else None)
    return {"bounds": ends, "categories": read_categories(lists) if lists else None}
