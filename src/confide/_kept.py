"""What was compiled is kept on disk, for the next process: its first answer comes a third sooner.

JAX itself keeps programs, under a digest of what they compute, of its version and of the options of the compiler. What
is decided here is where, and for whom. Records are no part of it: what reads them compiles nothing.

- Where the caller has told JAX a folder (`jax_compilation_cache_dir`), that one serves; where the caller has told JAX
  to keep nothing (`jax_enable_compilation_cache=False`), nothing is kept.
- Else it is a folder of the user's own, which JAX is told of while a public function runs, and no longer: programs of
  the caller's own are neither kept nor looked for, unless another thread compiles them meanwhile.
- A kept program is code that runs. It is taken from a folder alone that belongs to the user and that nobody else can
  write to, and that is for processors which can do the same, since homes are shared by machines.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import threading
import warnings
from pathlib import Path
from typing import Any

import jax
from jax.experimental.compilation_cache.compilation_cache import reset_cache

#: bytes that are kept
MOST = 256 * 2**20
#: versions before it tell standard error of each program that they read, on many processors
_QUIET = (0, 10, 2)


class Kept:
    """Where JAX keeps what it compiles: from when the first thread enters until the last has left.

    >>> with KEPT:
    ...     with KEPT:
    ...         pass
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._within = 0
        self._folder: str | None = None
        self._least = 0.0

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within == 1 and _told("jax_compilation_cache_dir") is None:
                self._folder = folder() if _told("jax_enable_compilation_cache") else None
                if self._folder is not None:
                    self._least = _told("jax_persistent_cache_min_compile_time_secs")
                    jax.config.update("jax_compilation_cache_dir", self._folder)
                    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._within -= 1
            if self._within == 0 and self._folder is not None:
                if _told("jax_compilation_cache_dir") == self._folder:
                    jax.config.update("jax_compilation_cache_dir", None)
                    jax.config.update("jax_persistent_cache_min_compile_time_secs", self._least)
                    reset_cache()  # it holds the folder that it began with
                self._folder = None


KEPT = Kept()


def _told(name: str) -> Any:
    """What JAX was told."""
    return getattr(jax.config, name)


@functools.cache
def folder() -> str | None:
    """The folder of this user's for processors like this one, made if need be; None where there can be none."""
    if jax.__version_info__ < _QUIET:
        return None
    try:
        given = Path(os.environ.get("XDG_CACHE_HOME", ""))
        ours = (given if given.is_absolute() else Path("~/.cache").expanduser()) / "confide"
        programs = ours / f"programs-{_processor()}"
        ours.parent.mkdir(parents=True, exist_ok=True)
        for each in (ours.parent, ours, programs):  # who can write to the first could put another in the place of ours
            each.mkdir(mode=0o700, exist_ok=True)
            if not _private(each):
                return None
        _tidied(programs)
    except (OSError, RuntimeError):  # a disk that cannot be written to; nobody's home
        return None
    # a program that another process writes at this moment, or could not finish, is compiled: nothing to warn of
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
    return str(programs)


def _private(path: Path) -> bool:
    """Whether it is the user's, and nobody else can write to it."""
    found = path.stat()
    own = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
    return own and os.access(path, os.R_OK | os.W_OK | os.X_OK)


def _processor() -> str:
    """A digest of what the processor can do, where that is known, and of the machine's name, where it is not."""
    known = platform.node()
    if (path := Path("/proc/cpuinfo")).exists():
        with path.open() as lines:
            known = next((line for line in lines if line.startswith(("flags", "Features"))), known)
    return hashlib.sha256(f"{platform.machine()} {known}".encode()).hexdigest()[:12]


def _tidied(programs: Path) -> None:
    """Forget what was not read or written for longest, where all together takes more than is kept."""
    facts = ((each.path, each.stat()) for each in os.scandir(programs))
    found = [(max(fact.st_atime, fact.st_mtime), fact.st_size, path) for path, fact in facts]
    left = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if left <= MOST:
            break
        Path(path).unlink(missing_ok=True)
        left -= size
