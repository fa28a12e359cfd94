"""Files held by their folders, so that those which are digested are those which are read.

A path may lead elsewhere the next time it is followed: links are exchanged, folders renamed and renamed back, a pattern
names one more. So it is followed once, and each file is then found by its name in its folder, which stays open: what
becomes of the way to it does not matter. A file that is exchanged or changed in its folder has another state.
"""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from confide.published.errors import DataError
from confide.releasing.readers.files import File, files_of

#: folders that are held open at most; files in more of them are not
MOST_FOLDERS = 200
#: a file system tells apart changes that are as far from each other, in nanoseconds
_TICK = 20_000_000


@dataclass(frozen=True)
class Held:
    """The files behind a path or a pattern, in order, and how each of them was before it was read."""

    path: str
    files: tuple[File, ...]
    states: tuple[tuple[int, ...], ...]

    def check(self) -> None:
        """Refuse files that changed since they were held."""
        if tuple(_state(file.path) for file in self.files) != self.states:
            raise DataError("the file changed while it was read; release from a file that stays as it is")


@contextlib.contextmanager
def holding(data: Any) -> Iterator[Held | None]:
    """The files that some data are, until the end of the block; None where they are none, or cannot be held."""
    with contextlib.ExitStack() as folders:
        held = None
        if isinstance(data, str | Path) and ("://" not in str(data) or str(data).startswith("file://")):
            with contextlib.suppress(OSError, DataError):  # the reader will say why
                held = _held(str(data).removeprefix("file://"), folders)
        yield held


def _held(path: str, folders: contextlib.ExitStack) -> Held | None:
    found = [(file.name, os.path.realpath(file.path)) for file in files_of(path)]
    places = {os.path.dirname(real) for _, real in found}  # noqa: PTH120
    if len(places) > MOST_FOLDERS:
        return None
    opened = {place: _open(place, folders) for place in places}
    files = tuple(File(name, f"{opened[os.path.dirname(real)]}/{os.path.basename(real)}") for name, real in found)  # noqa: PTH119, PTH120
    states = tuple(_settled(file.path) for file in files)
    return Held(path, files, states) if all(states) else None


def _open(folder: str, folders: contextlib.ExitStack) -> str:
    """A name of a folder that stays its name; elsewhere than on Linux there is none but its path."""
    if not hasattr(os, "O_PATH") or not os.path.isdir("/proc/self/fd"):  # noqa: PTH112
        return folder
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    folders.callback(os.close, descriptor)
    return f"/proc/self/fd/{descriptor}"


def _settled(path: str) -> tuple[int, ...]:
    """The state of a file from which a later change can be told: not one of this very moment."""
    found = _state(path)
    if found and 0 <= time.time_ns() - found[-1] < _TICK:
        time.sleep(2 * _TICK / 1e9)
        found = _state(path)
    return found


def _state(path: str) -> tuple[int, ...]:
    """A file, and when it last changed in any way; nothing for what is no file."""
    try:
        found = os.lstat(path)
    except OSError:
        return ()
    if not stat.S_ISREG(found.st_mode):
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
