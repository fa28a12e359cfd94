"""A note, for this user, of which ledger keeps the account of which source: two ledgers are two budgets.

The note is a convenience. It holds digests of paths, not the paths; it is never needed, and failing to write it is
no error.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "confide" / "sources.jsonl"


def note(source: str, ledger: str, place: str) -> None:
    """Remember that a source is kept in a ledger, and warn if it is kept in another one that still exists."""
    entries = [(found, place) for noted, found, place in _entries() if noted == source]
    known = any(found == ledger for found, _ in entries)
    others = [place for found, place in entries if found != ledger and _exists(place)]
    if others:
        warnings.warn(
            f"the same source was released before through another ledger, {others[0]}: two ledgers have two budgets, "
            "and what the records are promised is their sum; use one ledger for one data set",
            stacklevel=4,
        )
    if known:
        return
    with contextlib.suppress(OSError, RuntimeError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        with _file().open("a") as file:
            file.write(json.dumps({"source": source, "ledger": ledger, "place": place}) + "\n")


def _entries() -> Iterator[tuple[str, str, str]]:
    """Source, ledger and its place, of each line that can be read: a damaged note is no reason to stop."""
    lines = []
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        lines = _file().read_text().splitlines()
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            yield str(entry["source"]), str(entry["ledger"]), str(entry["place"])


def _exists(place: str) -> bool:
    return not place.startswith("sqlite:///") or Path(place.removeprefix("sqlite:///")).exists()
