"""Many questions, in groups that share compiled programs, on the processes of a `crew`.

What an answer costs is mostly compilation, and programs belong to a population: those who ask about it one after another
pay for them once. What they would have cost is not forgotten: `Clock` adds it to the time of an answer, which is then
what somebody waits for who asks for the first time.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import jax
import numpy as np

from tests.audit import crew, questions

#: a process may have 65,530 maps of memory by default; a compiled program takes a few
_MOST_MAPS = 30_000
#: questions that go to a process at once, at most
_GROUP = 12
#: programs compiled in a hurry; a process dies of a flag that its XLA does not know
_HURRY = [
    "--xla_backend_optimization_level=1",
    *(["--xla_cpu_use_fusion_emitters=false"] if jax.__version_info__ < (0, 11) else []),
]
#: for the processes: one thread each, of XLA (NPROC) and BLAS, and no accelerator
ALONE = {"NPROC": "1", "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
#: and programs that are kept for the others
_SETTINGS = {
    **ALONE,
    "XLA_FLAGS": " ".join(_HURRY),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
}


class Clock:
    """CPU seconds of answers, with the compilation that each kind of answer needed when it was asked first."""

    def __init__(self) -> None:
        self.compiled, self.first = 0.0, {}
        jax.monitoring.register_event_duration_secs_listener(self._listen)

    def _listen(self, event: str, seconds: float, **_) -> None:
        # what a cache on disk has saved was spent by somebody else
        if event.endswith(("backend_compile_duration", "compile_time_saved_sec")):
            self.compiled += seconds

    def time(self, what: str, function):
        """What a function returns, and the CPU seconds of a first call."""
        before, start, began = self.compiled, time.process_time(), time.perf_counter()
        answer = function()
        seconds = time.process_time() - start
        # compilation is told in seconds of a clock on the wall, which run faster where processes share a core
        compiled = (self.compiled - before) * min(1.0, seconds / (time.perf_counter() - began))
        self.first[what] = max(compiled, self.first.get(what, 0.0))
        return answer, max(seconds, seconds - compiled + self.first[what])

    def forget(self) -> None:
        """For another population."""
        self.first.clear()


def question(seed: int, number: int) -> questions.Question:
    """A question of a seed: the k-th is the same however many are asked."""
    return questions.draw(np.random.default_rng([seed, number]))


def groups(models: int, seeds: Sequence[int], only: str | None = None) -> list[list[tuple[int, int]]]:
    """(seed, number) of so many questions of each seed, together where they are about one population in one way.

    In an order of chance, so that those which were asked when time ran out are like the others.
    """
    by_name: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for seed in seeds:
        drawn = ((number, question(seed, number)) for number in itertools.count())
        for number, one in itertools.islice(((k, one) for k, one in drawn if only in (None, one.kind)), models):
            by_name.setdefault((one.family.name, one.kind), []).append((seed, number))
    parts = [numbers[at : at + _GROUP] for numbers in by_name.values() for at in range(0, len(numbers), _GROUP)]
    return [parts[k] for k in np.random.default_rng(list(seeds)).permutation(len(parts))]


def judged(chosen: Sequence[int], seed: int, about: str = "all") -> list:
    """Verdicts on some of the questions of a seed."""
    return [judge((seed, number), k == 0, about) for k, number in enumerate(chosen)]


def judge(task: tuple[int, int], anew: bool, about: str = "all"):
    """The verdict on one question, which begins a group or shares programs with those before; words are sent, no model."""
    from tests.audit import verdict

    if anew:
        verdict.CLOCK.forget()
    seed, number = task
    one = question(seed, number)
    told = verdict.judge(one, with_posterior=number % 5 == 0, about=about)
    few_programs()
    return dataclasses.replace(told, question=str(one), seed=seed, number=number)


def few_programs() -> None:
    """Forget compiled programs when there are too many of them."""
    maps = Path("/proc/self/maps")
    if maps.exists() and maps.read_text().count("\n") > _MOST_MAPS:
        jax.clear_caches()


def prepare(settings: Mapping[str, str] = ALONE) -> None:
    """What processes find when they start, but for what somebody has set otherwise."""
    for name, value in settings.items():
        os.environ.setdefault(name, value)


def run(tasks: Sequence[Sequence[tuple[int, int]]], about: str, workers: int, seconds: float | None = None) -> Iterator:
    """Verdicts as they come, from so many processes; of a question whose process was lost, that."""
    from tests.audit import verdict

    with tempfile.TemporaryDirectory() as cache:
        prepare({**_SETTINGS, "JAX_COMPILATION_CACHE_DIR": cache})
        for task, answer in crew.run(tasks, functools.partial(judge, about=about), workers, seconds):
            if not isinstance(answer, crew.Lost):
                yield answer
                continue
            seed, number = task
            lost = verdict.Verdict(str(question(seed, number)), seed=seed, number=number)
            (lost.unfinished if answer.unfinished else lost.crashed).append(answer.why)
            yield lost
