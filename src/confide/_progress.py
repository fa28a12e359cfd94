"""Signs of life during long work, on a terminal only: bars where steps can be counted, else a clock.

tqdm comes with numpyro, so it is always there.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

from tqdm import tqdm

T = TypeVar("T")

#: seconds before anything is shown, and between two looks at the clock
_QUIET, _TICK = 2.0, 1.0
_only = threading.Lock()


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Iterate, showing a bar with the time left once the work has taken two seconds."""
    yield from tqdm(items, desc=what, total=total, delay=_QUIET, leave=False, disable=not sys.stderr.isatty())


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show how long something has taken once it takes two seconds, for work whose steps nobody can count beforehand.

    A compiler says nothing until it is done, and a search for the mass of a posterior does not know how far it is.
    The clock stands still while there is a bar, and work inside of work has no clock of its own.
    """
    if not sys.stderr.isatty() or not _only.acquire(blocking=False):
        yield
        return
    done = threading.Event()
    clock = threading.Thread(target=_tell, args=(what, done, sys.stderr), daemon=True)
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()
        _only.release()


def _tell(what: str, done: threading.Event, stream: TextIO) -> None:
    began, told = time.monotonic(), False
    wait = _QUIET
    while not done.wait(wait):
        wait = _TICK
        if not getattr(tqdm, "_instances", ()):  # bars that are shown now
            told = True
            text = f"\r{what}: {time.monotonic() - began:.0f} s (a first run compiles too)"
            print(text, end="", file=stream, flush=True)
    if told:
        print("\r\x1b[K", end="", file=stream, flush=True)
