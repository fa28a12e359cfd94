"""The process that computes: it is given a name and a state, and tells how far it is, and what it found."""

from __future__ import annotations

import pickle
import time
import warnings
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

    last = [0.0]

    def tell(what: str, done: int, total: int) -> None:
        if (now := time.monotonic()) - last[0] > _QUIET:
            last[0] = now
            pipe.send_bytes(pickle.dumps(("progress", (what, done, total))))

    _progress.listen(tell)
    for name in set(TASKS.values()):
        import_module(name)
    try:
        while True:
            found = compute(*pickle.loads(pipe.recv_bytes()))
            pipe.send_bytes(pickle.dumps(found))
    except (EOFError, OSError, KeyboardInterrupt):
        return
