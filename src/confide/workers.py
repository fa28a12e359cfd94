"""Work on several processes: whatever has `submit`, and processes of our own.

A process is spawned, never forked: a fork takes over the locks that JAX's threads hold, and not the threads. Each
computes on one thread, so that as many of them as there are cores do not stand in one another's way. What is computed
does not depend on where it is: a task's randomness comes with it.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import pickle
import queue
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from confide._progress import progress
from confide.errors import ConfideError, InvalidArgument

#: what libraries read, as they are loaded, to learn how many threads to start: NPROC is XLA's, the others are BLAS's
_ONE_THREAD = dict.fromkeys(("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
#: how often a task may lose its worker with nothing finished in between: more than that is no accident
_LOSSES = 3
_LOST = (
    "the workers end before anything is done; a script that starts workers must do so below "
    'if __name__ == "__main__":, and each worker needs memory for a task'
)


class Workers:
    """Processes that compute for `study` and `sbc`: spawned, of one thread each, and replaced when they are killed.

    They start when they are first needed, and end with the `with` block, or with the process that started them. A
    script must start them below `if __name__ == "__main__":`, since each of them imports it.

    >>> import confide as cf
    >>> with cf.Workers(8) as workers:  # cf.study(..., executor=workers)
    ...     workers
    Workers(8)
    """

    def __init__(self, count: int) -> None:
        if isinstance(count, bool) or not isinstance(count, int) or count < 1:
            raise InvalidArgument("count", count, "is no number of workers", "use for example Workers(4)")
        self.count = count
        self._pool: ProcessPoolExecutor | None = None
        self._life: Connection | None = None

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **options: Any) -> Future[Any]:
        """As in `concurrent.futures`; if workers were killed, others are started.

        >>> import confide as cf
        >>> with cf.Workers(1) as workers:
        ...     workers.submit(abs, -3).result()
        3
        """
        if self._pool is not None:
            try:
                return self._pool.submit(function, *arguments, **options)
            except BrokenExecutor:
                self._end(at_once=True)
        self._pool = self._started()
        return self._pool.submit(function, *arguments, **options)

    def _started(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("spawn")
        theirs, self._life = context.Pipe(duplex=False)
        pool = ProcessPoolExecutor(self.count, context, _begin, (theirs,))
        with _environment(_ONE_THREAD):
            pool.submit(int)  # all of them are spawned with the first task
        return pool

    def _end(self, at_once: bool) -> None:
        if self._pool is None or self._life is None:
            return
        if at_once:
            self._life.close()
        self._pool.shutdown(cancel_futures=at_once)
        self._life.close()
        self._pool = self._life = None

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        self._end(at_once=kind is not None)

    def __repr__(self) -> str:
        return f"Workers({self.count})"


def _begin(life: Connection) -> None:
    """A worker begins: an interrupt is for the process that started it, and it ends when that one does."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            life.recv_bytes()
        except (EOFError, OSError):  # nothing is ever sent: the other end is gone, however that process was killed
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _environment(changed: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def check_executor(executor: object) -> None:
    """Refuse what cannot be asked to compute."""
    if executor is not None and not callable(getattr(executor, "submit", None)):
        remedy = "give cf.Workers(4), a concurrent.futures executor, or Client.get_executor() of Dask"
        raise InvalidArgument("executor", executor, "has no submit", remedy)


def computed(
    function: Callable[..., Any], shared: tuple[Any, ...], tasks: Sequence[tuple[Any, ...]], executor: Any, what: str
) -> Iterator[tuple[int, Any]]:
    """(place, function(*shared, *tasks[place])), one after another here, or as they come from an executor.

    What is shared is unpacked once in each process, so that programs compiled for one task serve the next. A task whose
    worker was lost is given to another. Whoever stops iterating cancels what has not begun.
    """
    if executor is None:
        for place, task in enumerate(progress(tasks, what, total=len(tasks))):
            yield place, function(*shared, *task)
        return
    packed = _packed((function, shared))
    finished: queue.SimpleQueue[tuple[int, Future[Any]]] = queue.SimpleQueue()
    pending: dict[int, Future[Any]] = {}

    def submit(place: int) -> None:
        future = pending[place] = executor.submit(_run, os.getpid(), packed, _packed(tasks[place]))
        future.add_done_callback(lambda done: finished.put((place, done)))

    losses: Counter[int] = Counter()
    try:
        for place in range(len(tasks)):
            submit(place)
        bar = progress(range(len(tasks)), what, total=len(tasks))
        while pending:
            place, future = finished.get()
            del pending[place]
            try:
                result = future.result()
            except BrokenExecutor:
                losses[place] += 1
                if losses[place] > _LOSSES:
                    raise ConfideError(_LOST) from None
                submit(place)
                continue
            losses.clear()
            next(bar)
            yield place, result
    except BrokenExecutor:
        raise ConfideError(
            f"{executor!r} lost a worker and takes no more work; with executor=cf.Workers(…) lost workers are replaced"
        ) from None
    finally:
        for future in pending.values():
            future.cancel()


def _packed(content: object) -> bytes:
    """As pickle has it; what it cannot name, such as a function of a notebook, by cloudpickle, which Dask brings."""
    try:
        return pickle.dumps(content)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        try:
            import cloudpickle
        except ModuleNotFoundError:
            remedy = "define its functions in a module, or install cloudpickle"
            raise InvalidArgument("executor", str(error), "cannot be sent to another process", remedy) from None
        packed: bytes = cloudpickle.dumps(content)
        return packed


@functools.lru_cache(maxsize=16)
def _unpacked(packed: bytes) -> Any:
    return pickle.loads(packed)


def _run(caller: int, packed: bytes, task: bytes) -> Any:
    """One task, in whatever process; where that is not the caller's, what is computed there has one thread too."""
    if os.getpid() != caller:
        os.environ.setdefault("NPROC", "1")  # XLA reads it when it first computes
    import jax

    with jax.enable_x64(True):  # outside of it JAX would read its own arrays in single precision
        function, shared = _unpacked(packed)
        return function(*shared, *pickle.loads(task))
