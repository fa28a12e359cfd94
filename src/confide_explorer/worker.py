"""The process that computes: it is given a name and a state, and tells how far it is, and what it found."""

from __future__ import annotations

import pickle
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from multiprocessing.connection import Connection
from typing import Any

from confide_explorer.answer import Answer
from confide_explorer.state import PageState

#: the functions that can be asked for
TASKS = {
    "know": "confide_explorer.screens.know",
    "rank": "confide_explorer.screens.statistic",
    "expect": "confide_explorer.screens.statistic",
    "worth": "confide_explorer.screens.worth",
    "number": "confide_explorer.screens.number",
    "take": "confide_explorer.screens.take",
}
#: seconds between two words on how far it is
_QUIET = 0.1
#: steps of which fewer say nothing of how far it is: they come again and again
_FEWEST = 3


def compute(name: str, state: PageState, text: str) -> tuple[str, Any]:
    """What a task found, or what is wrong, in words: an error that is not ours says no more than its kind."""
    from confide.errors import ConfideError
    from confide_cli.speech import spoken

    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            task: Callable[[PageState, str], Answer] = getattr(import_module(TASKS[name]), name)
            answer = task(state, text)
        from dataclasses import replace

        from confide.errors import ConfideWarning

        told = [str(each.message) for each in said if issubclass(each.category, ConfideWarning)]
        return "done", replace(answer, warnings=tuple(dict.fromkeys((*answer.warnings, *told))))
    except ConfideError as error:
        return "failed", spoken(str(error)).replace("--", "")
    except Exception as error:
        return "failed", f"this could not be computed ({type(error).__name__})"


def work(pipe: Connection) -> None:
    """Compute until the pipe is closed."""
    from confide import _progress

    teller = Teller(pipe)
    threading.Thread(target=teller.tell, daemon=True).start()
    _progress.listen(teller.hear)
    for name in set(TASKS.values()):
        import_module(name)
    try:
        while True:
            teller.found(compute(*pickle.loads(pipe.recv_bytes())))
    except (EOFError, OSError, KeyboardInterrupt):
        return


class Teller:
    """Says how far a computation is: the last word always, for what comes after it may take long, but not every one."""

    def __init__(self, pipe: Connection) -> None:
        self._pipe, self._lock, self._news = pipe, threading.Lock(), threading.Event()
        self._words: tuple[str, int, int] | None = None

    def hear(self, steps: tuple[Any, ...], counts: Counter[str]) -> None:
        """What `confide._progress` tells."""
        self._words = in_words(steps, counts)
        self._news.set()

    def tell(self) -> None:
        """Hand on what was heard, for as long as somebody listens."""
        while self._news.wait():
            self._news.clear()
            with self._lock:
                if self._words is not None:
                    try:
                        self._pipe.send_bytes(pickle.dumps(("progress", self._words)))
                    except OSError:
                        return
            time.sleep(_QUIET)

    def found(self, found: tuple[str, Any]) -> None:
        """Hand on what was found; nothing is said of this computation afterwards."""
        with self._lock:
            self._words = None
            self._pipe.send_bytes(pickle.dumps(found))


def in_words(steps: tuple[Any, ...], counts: Counter[str]) -> tuple[str, int, int]:
    """How far work is: in words, how much is done, and of how much (0 if nobody knows).

    >>> from confide._progress import Step
    >>> in_words((Step("compare"), Step("channels", 9, 2), Step("likelihood", 2, 1)), Counter(likelihoods=1200))
    ('channels, 3 of 9, likelihood; 1,200 likelihoods so far', 2, 9)
    """
    first = next((step for step in steps if step.total), steps[0])
    known = first.total >= _FEWEST
    told = f"{first.what}, {first.done + 1} of {first.total}" if known else first.what
    inside = steps[-1].what
    told += f", {inside}" if inside not in (first.what, steps[0].what) else ""
    told += "".join(f"; {number:,} {each} so far" for each, number in sorted(counts.items()))
    return told, first.done if known else 0, first.total if known else 0
