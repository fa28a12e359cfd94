"""Parts of checks: what a process computes, and what was computed before."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any


def computed(part: Any) -> tuple[str, Any]:
    """One part of a check, in a process of its own, with its name."""
    function, given = part
    return name_of(part), function(*given)


def name_of(part: Any) -> str:
    """What a part is told from the others by."""
    function, given = part
    return f"{function.__name__}{given}"


def saved(path: Path | None) -> dict[str, Any]:
    """What was computed before."""
    found: dict[str, Any] = {}
    if path is not None and path.exists():
        with path.open("rb") as file:
            while True:
                try:
                    name, result = pickle.load(file)
                except EOFError:
                    break
                found[name] = result
    return found
