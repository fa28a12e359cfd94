"""Where tables of noisy records live until they are saved: a folder of this process, removed when it ends.

A process that is killed cannot remove its folder, and a table in it may be one that was never paid for. So beside every
folder is a file that its process has locked. The system frees the lock of a process that dies, and the next process
removes the folders whose lock is free.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import shutil
import tempfile
from pathlib import Path

#: by which folders of ours are known, and the file that says that one is in use
_PREFIX, _LOCK = "confide-", ".lock"


def workspace() -> Path:
    """The folder; a forked process gets one of its own."""
    return _folder_of(os.getpid())


@functools.cache
def _folder_of(process: int) -> Path:
    lock = _new_lock()
    folder = lock.with_suffix("")
    folder.mkdir(mode=0o700)
    atexit.register(_remove, process, lock)
    _sweep(folder.parent)
    return folder


def _new_lock() -> Path:
    """A new file, locked until this process ends, unless another process swept it away before it was locked."""
    while True:
        handle, name = tempfile.mkstemp(prefix=_PREFIX, suffix=_LOCK)
        if _take(handle) and Path(name).exists():
            return Path(name)  # the handle stays open, and with it the lock
        os.close(handle)


def _take(handle: int) -> bool:
    """Whether the lock of a file was free, and is now ours."""
    try:
        import fcntl
    except ImportError:  # Windows has no such locks; nothing is swept there
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _sweep(place: Path) -> None:
    """Remove what processes left that died."""
    if os.name != "posix":
        return
    for lock in place.glob(f"{_PREFIX}*{_LOCK}"):
        with contextlib.suppress(OSError):
            handle = os.open(lock, os.O_RDWR | os.O_NOFOLLOW)
            try:
                if os.fstat(handle).st_uid == os.getuid() and _take(handle):
                    _delete(lock)
            finally:
                os.close(handle)


def _delete(lock: Path) -> None:
    shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
    lock.unlink(missing_ok=True)


def _remove(process: int, lock: Path) -> None:
    # a fork inherits the note to remove its parent's folder, and must not
    if os.getpid() == process:
        _delete(lock)
