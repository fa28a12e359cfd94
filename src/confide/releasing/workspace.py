"""Where tables of noisy records live until they are saved: a folder of this process, removed when it ends."""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path


def workspace() -> Path:
    """The folder; a forked process gets one of its own."""
    return _folder_of(os.getpid())


@functools.cache
def _folder_of(process: int) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="confide-"))
    atexit.register(_remove, process, folder)
    return folder


def _remove(process: int, folder: Path) -> None:
    # a fork inherits the note to remove its parent's folder, and must not
    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)
