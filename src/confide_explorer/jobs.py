"""Computations in processes of their own, so that pages are answered at once and cancelling really stops.

A job is known by what it computes and of what, so that asking again finds it; what was found is kept in memory, the
last of it only. A worker is started when it is needed and stays warm; one whose job is cancelled is killed.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import pickle
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from confide_explorer.answer import Answer
from confide_explorer.state import PageState

#: chosen: computations side by side, each of which takes half a gigabyte; what is kept; seconds that one may take
WORKERS, _KEPT, LONGEST = 2, 60, 900.0
#: seconds between two looks at whether a running job was cancelled
_TICK = 0.05
#: seconds after which nobody waits for a job any more (a page in the background asks once a minute), and for which one
#: whose page was closed is kept: who goes back finds it
_FORGOTTEN, _GRACE = 150.0, 2.0


@dataclass(eq=False)
class Job:
    """One computation, and how far it is."""

    name: str
    state: PageState
    text: str = field(repr=False)
    status: str = "waiting"
    #: what is done and how much of it, in words
    progress: tuple[str, int, int] = ("", 0, 0)
    answer: Answer | None = field(default=None, repr=False)
    error: str = ""
    began: float = field(default_factory=time.monotonic)
    #: when somebody last asked how far it is
    asked: float = field(default_factory=time.monotonic)
    over: threading.Event = field(default_factory=threading.Event, repr=False)
    cancelled: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def key(self) -> str:
        """What it is known by."""
        return hashlib.sha256(repr((self.name, self.state, self.text)).encode()).hexdigest()[:24]

    @property
    def seconds(self) -> int:
        """How long ago it was asked for."""
        return round(time.monotonic() - self.began)

    def end(self, status: str, answer: Answer | None = None, error: str = "") -> None:
        """What became of it."""
        self.status, self.answer, self.error = status, answer, error
        self.over.set()


class Jobs:
    """All that was asked for and is still known."""

    def __init__(self) -> None:
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queue: queue.Queue[Job | None] = queue.Queue()
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._waiting = 0
        #: whether a worker has computed anything yet; the first answer takes seconds, which no page waits for
        self.warm = False

    def start(self) -> None:
        """Start a worker beforehand, so that the first answer does not wait for it."""
        with self._lock:
            self._grow()

    def ask(self, name: str, state: PageState, text: str = "") -> Job:
        """The job that computes this, a new one if it is not known."""
        job = Job(name, state, text)
        with self._lock:
            if (known := self._jobs.get(job.key)) is not None:
                self._jobs.move_to_end(job.key)
                known.asked = job.asked
                return known
            self._jobs[job.key] = job
            finished = [key for key, each in self._jobs.items() if each.over.is_set()]
            for key in finished[: max(0, len(self._jobs) - _KEPT)]:
                del self._jobs[key]
            self._waiting += 1
            if self._waiting > len(self._threads):
                self._grow()
        self._queue.put(job)
        return job

    def find(self, key: str) -> Job | None:
        """A job by its key."""
        with self._lock:
            return self._jobs.get(key)

    def cancel(self, key: str) -> None:
        """Stop a job, whether it waits or runs."""
        if (job := self.find(key)) is not None:
            job.cancelled.set()
            if job.status == "waiting":
                job.end("cancelled")

    def forget(self, key: str) -> None:
        """Let a job that is over be computed again."""
        with self._lock:
            if (job := self._jobs.get(key)) is not None and job.over.is_set():
                del self._jobs[key]

    def leave(self, key: str) -> None:
        """Note that a page which waited for a job is closed; another one may wait for it still, and will say so."""
        if (job := self.find(key)) is not None:
            job.asked -= _FORGOTTEN - _GRACE

    def _in_the_way(self, job: Job) -> bool:
        """Whether nobody waits for a job, and somebody for what comes after it; it is then as if never asked for."""
        if time.monotonic() - job.asked < _FORGOTTEN or self._queue.empty():
            return False
        with self._lock:
            self._jobs.pop(job.key, None)
        return True

    def stop(self) -> None:
        """End every worker."""
        with self._lock:
            jobs, threads = list(self._jobs.values()), list(self._threads)
        for job in jobs:
            job.cancelled.set()
        for _ in threads:
            self._queue.put(None)
        for thread in threads:
            thread.join(5.0)

    def _grow(self) -> None:
        if len(self._threads) < WORKERS:
            thread = threading.Thread(target=self._work, daemon=True)
            self._threads.append(thread)
            thread.start()

    def _work(self) -> None:
        worker = Worker()
        while (job := self._queue.get()) is not None:
            if not job.over.is_set():
                try:
                    worker.run(job, self._in_the_way)
                    self.warm = self.warm or job.answer is not None
                except Exception as error:  # a worker that died, or an answer that cannot be read
                    worker.kill()
                    job.end("failed", error=f"the computation ended ({type(error).__name__}); try again")
            with self._lock:
                self._waiting -= 1
        worker.kill()


class Worker:
    """A process that computes one job at a time, made anew when it was killed."""

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        # a fork would copy the threads of JAX, which then wait for ever
        spawn = multiprocessing.get_context("spawn")
        self._ours, theirs = spawn.Pipe()
        from confide_explorer.worker import work

        self._process = spawn.Process(target=work, args=(theirs,), daemon=True)
        self._process.start()
        theirs.close()

    def run(self, job: Job, unwanted: Callable[[Job], bool]) -> None:
        """Compute a job, unless it is cancelled, stands in the way of others, or takes too long."""
        if not self._process.is_alive():
            self._start()
        job.status, began = "running", time.monotonic()
        self._ours.send_bytes(pickle.dumps((job.name, job.state, job.text)))
        while True:
            if job.cancelled.is_set() or unwanted(job):
                self.kill()
                return job.end("cancelled")
            if time.monotonic() - began > LONGEST:
                self.kill()
                return job.end("failed", error=f"stopped after {LONGEST / 60:.0f} minutes; ask for less, or use Python")
            if not self._ours.poll(_TICK):
                continue
            kind, told = self._received()
            if kind == "progress":
                job.progress = told
            else:
                return job.end(kind, *((told, "") if kind == "done" else (None, told)))

    def _received(self) -> tuple[str, Any]:
        found: tuple[str, Any] = pickle.loads(self._ours.recv_bytes())
        return found

    def kill(self) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.join(5.0)
        self._ours.close()
