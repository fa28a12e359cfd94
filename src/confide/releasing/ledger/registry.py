"""Notes, for this user, of which ledger keeps the account of which source, and how far each ledger was seen to be.

Two ledgers are two budgets, and so are a ledger and its copy. The notes are a convenience. They hold digests of paths
and names, and entries' seals; they are never needed, and failing to write them is no error.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from confide.published.release import Entry


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "confide"


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
        _folder().mkdir(parents=True, exist_ok=True)
        with (_folder() / "sources.jsonl").open("a") as file:
            file.write(json.dumps({"source": source, "ledger": ledger, "place": place}) + "\n")


def _entries() -> Iterator[tuple[str, str, str]]:
    """Source, ledger and its place, of each line that can be read: a damaged note is no reason to stop."""
    lines = []
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        lines = (_folder() / "sources.jsonl").read_text().splitlines()
    for line in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            entry = json.loads(line)
            yield str(entry["source"]), str(entry["ledger"]), str(entry["place"])


def _exists(place: str) -> bool:
    return not place.startswith("sqlite:///") or Path(place.removeprefix("sqlite:///")).exists()


def check_place(ledger: str, place: str) -> None:
    """Warn of a ledger that is a copy, or that is new where there was one before."""
    noted = _read(_path("ledgers", ledger))
    if noted and noted[0] != place and _exists(str(noted[0])):
        warnings.warn(
            f"this ledger is a copy of {noted[0]}, which is still there: what is released through one is not in the "
            "other, and each pays from the whole budget; use one of them, and keep the other unused",
            stacklevel=4,
        )
    known = _read(_path("places", place))
    if known and known[0] != ledger:
        warnings.warn(
            f"there was another ledger at {place}: what was released through it is not in this one and would be paid "
            "for a second time; open its data sets with what was left of their budgets",
            stacklevel=4,
        )


def seen(ledger: str, dataset: str) -> tuple[int, str] | None:
    """The latest entry of a data set that this user has seen: its position and its seal."""
    match _read(_path("ledgers", ledger, dataset)):
        case [int(position), str(seal)] if position > 0:
            return position, seal
    return None


def warn_of_copy(dataset: str) -> None:
    """Warn of a ledger that lacks what was seen in it."""
    warnings.warn(
        f"the ledger lacks releases of {dataset!r} that were seen in it: it is an older copy, or a copy that went its "
        "own way. What it lacks was released all the same and is now paid for a second time: add it up by hand, and "
        "release no more than what is really left",
        stacklevel=5,
    )


def note_entry(ledger: str, place: str, dataset: str, entry: Entry) -> None:
    """Remember how far a ledger is, and where."""
    known = seen(ledger, dataset)
    if known is None or known[0] < entry.position:
        _write(_path("ledgers", ledger, dataset), [entry.position, entry.seal])
    if _read(_path("ledgers", ledger)) != [place]:
        _write(_path("ledgers", ledger), [place])
    if _read(_path("places", place)) != [ledger]:
        _write(_path("places", place), [ledger])


def _path(kind: str, *names: str) -> Path:
    digest = hashlib.sha256(json.dumps(names).encode()).hexdigest()
    return _folder() / kind / digest


def _read(path: Path) -> list[object]:
    with contextlib.suppress(OSError, ValueError, RuntimeError):
        found = json.loads(path.read_text())
        return found if isinstance(found, list) else []
    return []


def _write(path: Path, content: list[object]) -> None:
    """Write whole or not at all; another process may write the same note."""
    with contextlib.suppress(OSError, RuntimeError):
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}")
        beside.write_text(json.dumps(content))
        beside.replace(path)
