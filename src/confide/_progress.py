"""Signs of life during long work, on a terminal only: bars where the steps are known, else a clock that counts them.

tqdm comes with numpyro, so it is always there.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TextIO, TypeVar

from tqdm import tqdm

T = TypeVar("T")

#: seconds before anything is shown, and between two looks at the clock
_QUIET, _TICK = 2.0, 1.0
_only = threading.Lock()
#: what has been done while the clock runs
_done: Counter[str] = Counter()


@dataclass(eq=False)
class Step:
    """Work that has begun and is not over: how much of it is done, and of how much (0 if nobody knows)."""

    what: str
    total: int = 0
    done: int = 0


#: who else is told how far work is, whenever it moves: all that has begun, each inside of the one before, and what was
#: counted since the first of them began
Listener = Callable[[tuple[Step, ...], Counter[str]], None]
_listener: Listener | None = None
_begun: list[Step] = []


def listen(listener: Listener | None) -> None:
    """Have somebody told of every step, for programs that show progress in their own way."""
    global _listener  # noqa: PLW0603  # a process has one place where progress is shown, as it has one terminal
    _listener = listener


@contextmanager
def _told(what: str, total: int = 0) -> Iterator[Step]:
    """Work that whoever listens is told of, for as long as it takes."""
    if not _begun:
        _done.clear()
    step = Step(what, total)
    _begun.append(step)
    _tell_listener()
    try:
        yield step
    finally:
        _begun.remove(step)


def _tell_listener() -> None:
    if _listener is not None and _begun:
        _listener(tuple(_begun), _done)


def progress(items: Iterable[T], what: str, total: int | None = None) -> Iterator[T]:
    """Iterate, showing a bar with the time left once the work has taken two seconds."""
    if _listener is not None:
        with _told(what, total or (len(items) if isinstance(items, Sized) else 0)) as step:
            for step.done, each in enumerate(items):
                _tell_listener()
                yield each
        return
    yield from tqdm(items, desc=what, total=total, delay=_QUIET, leave=False, disable=not sys.stderr.isatty())


def counted(number: int, what: str) -> None:
    """Say that so much more is done, of work whose end is not known: the clock tells it."""
    _done[what] += number
    _tell_listener()


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show how long something has taken once it takes two seconds, for work whose steps nobody can count beforehand.

    A compiler says nothing until it is done, and a search for the mass of a posterior does not know how far it is; what
    is `counted` on the way is told. The clock stands still while a bar is shown, and work inside of work has no clock
    of its own.
    """
    if _listener is not None:
        with _told(what):
            yield
        return
    if not sys.stderr.isatty() or not _only.acquire(blocking=False):
        yield
        return
    _done.clear()
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
        # a bar is there from the beginning, but shown only once it has waited for long enough
        if not any(getattr(bar, "last_print_n", 1) for bar in list(getattr(tqdm, "_instances", ()))):
            told = True
            so_far = "".join(f", {number:,} {each}" for each, number in sorted(_done.items()))
            text = f"\r{what}: {time.monotonic() - began:.0f} s{so_far} (a first run compiles too)"
            print(text, end="", file=stream, flush=True)
    if told:
        print("\r\x1b[K", end="", file=stream, flush=True)
