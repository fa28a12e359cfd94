"""`verify`: whether release files are as they were written."""

from __future__ import annotations

from pathlib import Path

import confide as cf
from confide_cli.budgets import existing
from confide_cli.show import emit, say


def verify(path: Path, ledger: str | None, as_json: bool) -> bool:
    """Say what is known of a file; whether nothing speaks against it."""
    found = cf.verify(path, ledger=None if ledger is None else cf.Ledger(existing(ledger)))
    entry = None if found.release is None or found.release.entry is None else dict(vars(found.release.entry))
    result = {
        "command": "verify",
        "file": str(path),
        "sound": bool(found),
        "confirmed": found.confirmed,
        "entry": entry,
        "words": str(found),
    }
    told = str(found)
    emit(as_json, result, lambda: say(told if told.startswith(f"{path} ") else f"{path}: {told}"))
    return bool(found)
