"""Reading and writing release files: JSON that is parsed strictly, checked completely and never executed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from confide.errors import ConfideError
from confide.published.errors import FileError
from confide.published.release import Release

#: no release needs more: a million values take some 30 MB, and more than that go to a table
LARGEST_FILE = 32 * 2**20
#: lists and objects in a file, brackets within expressions included: each takes a hundred times its two bytes to read
MOST_BRACKETS = 200_000


def save(release: Release, path: Path) -> None:
    """Write a release, whole or not at all; the table of an `Each` release is copied beside it."""
    from pydantic import ValidationError

    from confide.published.codec import encode_sealed

    table = None
    try:
        if release.records is not None:
            release.records.check()
            table = f"{path.stem}.{release.records.digest[:16]}.parquet"
            write_whole(path.with_name(table), release.records.path)
        write_whole(
            path, json.dumps(encode_sealed(release, table), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        raise FileError(f"{path.name} cannot be written, for nobody could read it: {first['msg'][:200]}") from None
    except OSError as error:
        raise FileError(f"{path.name} cannot be written: {error.strerror or error}") from error


def write_whole(path: Path, content: str | Path) -> None:
    """Write under another name, flush to the disk, rename: a reader never sees half a file."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:100]}.")
    try:
        with os.fdopen(handle, "wb") as file:
            if isinstance(content, Path):
                with content.open("rb") as source:
                    shutil.copyfileobj(source, file, 2**20)
            else:
                file.write(content.encode())
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def load(path: Path) -> Release:
    """Read a release. Everything is checked; nothing is run."""
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise FileError(f"{path.name} is larger than {LARGEST_FILE >> 20} MB, so it is no release")
        # a device or a pipe has no size and may have no end
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        if len(content) > LARGEST_FILE:
            raise FileError(f"{path.name} does not end within {LARGEST_FILE >> 20} MB, so it is no release")
    except OSError as error:
        raise FileError(f"{path.name} cannot be read: {error.strerror or error}") from error
    release = parse(content, path.parent)
    if release.records is not None:
        release.records.check()
    return release


def parse(content: bytes | str, folder: Path = Path(), *, stored: bool = False) -> Release:
    """The release in the text of a file, or of an entry that is `stored` in a ledger.

    >>> parse('{"format": "confide-release", "version": 7}')
    Traceback (most recent call last):
    ...
    confide.published.errors.FileError: the file has version 7, and this is written for 3; use a newer Confide
    """
    from pydantic import ValidationError

    from confide.published.codec import decode
    from confide.published.schema import ReleaseForm
    from confide.published.texts import STORED, visible

    form = read_json(content)
    _check_version(form)
    try:
        # numbers of a hostile file may overflow; what comes of that, the constructors refuse
        with np.errstate(all="ignore"):
            return decode(ReleaseForm.model_validate(form, context=STORED if stored else None), folder)
    except FileError:
        raise
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        where = visible(".".join(str(part) for part in first["loc"])[:200]) or "the file"
        raise FileError(f"{where} is not as a release file has it: {visible(first['msg'][:200])}") from None
    except ConfideError as error:
        raise FileError(f"the file describes no possible release: {visible(str(error)[:500])}") from error
    except ImportError:
        raise
    except Exception as error:
        # whatever the constructors were not made for: a hostile file finds it, and its reader gets one kind of error
        raise FileError(f"the file describes no possible release ({type(error).__name__})") from error


def _check_version(form: object) -> None:
    from confide.published.codec import FORMAT, VERSION

    if not isinstance(form, dict) or form.get("format") != FORMAT:
        raise FileError(f'the file is no release: its "format" is not "{FORMAT}"')
    version = form.get("version")
    if type(version) is not int:  # not a bool either, which is an int and equal to 1
        raise FileError("the file's version is not a whole number")
    if version > VERSION:
        shown = version if version < 10**9 else "far above"
        raise FileError(f"the file has version {shown}, and this is written for {VERSION}; use a newer Confide")


def read_json(content: bytes | str) -> Any:
    """What a JSON text holds; no constants that are no numbers, no field twice."""
    try:
        text = content.decode("utf-8") if isinstance(content, bytes) else content
        if text.count("[") + text.count("{") > MOST_BRACKETS:
            raise FileError(f"the file has more than {MOST_BRACKETS:,} brackets, so it is no release")
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_duplicates)
    except FileError:
        raise
    except (ValueError, RecursionError) as error:
        # UnicodeDecodeError, JSONDecodeError and whole numbers of too many digits are all ValueErrors
        raise FileError(f"the file is not JSON: {str(error)[:200]}") from None


def _no_constant(name: str) -> NoReturn:
    raise FileError(f"the file holds {name}, which is no number")


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise FileError("the file names a field twice")
    return result
