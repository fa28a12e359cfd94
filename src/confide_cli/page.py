"""`--report`: where the page goes, and the command line that it quotes."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Page:
    """A page to write, or none."""

    path: Path | None
    #: the command line as it was typed
    arguments: Sequence[str]

    def check(self) -> None:
        """Refuse a page that cannot be written, before any work is done or budget spent."""
        if self.path is not None:
            from confide.reporting import writable

            writable(self.path, "--report")

    def write(self, result: Any, script: str | None = None, notes: Sequence[str] = ()) -> None:
        """The report."""
        if self.path is not None:
            from confide._redaction import redacted
            from confide.reporting import report

            # a page is handed on, and a URL may hold a password
            command = shlex.join(["confide", *map(redacted, self.arguments)])
            report(result, self.path, command=command, script=script, notes=notes)

    def say(self) -> None:
        """Where it is."""
        if self.path is not None:
            print(f"Report written to {self.path}")
