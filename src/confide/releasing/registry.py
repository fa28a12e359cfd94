"""A note, for this user, of which ledger keeps the account of which source: two ledgers are two budgets.

The note is a convenience. It holds digests of paths, not the paths; it is never needed, and failing to write it is
no error.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from pathlib import Path


def _file() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "confide" / "sources.jsonl"


def note(source: str, ledger: str, place: str) -> None:
    """Remember that a source is kept in a ledger, and warn if it is kept in another one that still exists."""
    others, known = [], False
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        for line in _file().read_text().splitlines():
            entry = json.loads(line)
            if entry["source"] == source:
                known |= entry["ledger"] == ledger
                others += [entry["place"]] if entry["ledger"] != ledger and _exists(entry["place"]) else []
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


def _exists(place: str) -> bool:
    return not place.startswith("sqlite:///") or Path(place.removeprefix("sqlite:///")).exists()
