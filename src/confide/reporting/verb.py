"""`report`: a result as a page to hand on."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from confide._redaction import redacted
from confide.errors import IncompatibleError, InvalidArgument
from confide.reporting.source import Unwritable


def report(
    result: Any,
    path: str | Path,
    *,
    command: str | None = None,
    script: str | None = None,
    notes: Sequence[str] = (),
) -> Path:
    """Write a result as one self-contained HTML page: the answer, pictures, the guarantee, and how to run it again.

    `result` is what `compare`, `optimize`, `infer` or `release` returned, a list of releases, or what
    `ledger.statement(name)` says of a data set, one or a list of them. The page shows the Python script that makes the
    result again (`script` replaces it, `command` puts a command line above it); where a part of the result is your own
    Python, it says so instead. `notes` are sentences to add. Returns the path.

    >>> import confide as cf, tempfile
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = cf.report(cf.Release(channel, 0.4172), f"{folder}/release.html").read_text()
    >>> "Published: 0.4172" in page
    True
    """
    from confide import __version__
    from confide.reporting.script import script as script_of

    target = writable(path)
    try:
        from confide.reporting import choosing, learning, publishing, several  # noqa: F401  # register their contents
        from confide.reporting.content import content
        from confide.reporting.page import page

        told = content(result)
        told = dataclasses.replace(told, notes=(*told.notes, *notes))
    except ModuleNotFoundError as error:
        raise IncompatibleError(f'a report needs {error.name}; pip install "confide[tables]"') from None
    why = ""
    if script is None:
        try:
            script = script_of(result)
        except Unwritable as error:
            why = str(error)
    # a page is handed on: what was given to be quoted may hold the password of a URL
    command, script = (None if text is None else redacted(text) for text in (command, script))
    target.write_text(page(told, version=__version__, command=command, script=script, why_none=why), encoding="utf-8")
    return target


def writable(path: str | Path, argument: str = "path") -> Path:
    """A path that a page can be written to, checked before any work is done or budget spent."""
    target = Path(path)
    remedy = "give the name of a file, such as report.html, in a folder that exists"
    if target.is_dir():
        raise InvalidArgument(argument, str(path), "is a folder", remedy)
    if not target.parent.is_dir():
        raise InvalidArgument(argument, str(path), "cannot be written: there is no such folder", remedy)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InvalidArgument(argument, str(path), "is not the name of a web page", remedy)
    if not os.access(target if target.exists() else target.parent, os.W_OK):
        raise InvalidArgument(argument, str(path), "cannot be written: permission is denied", remedy)
    return target
