"""Many tasks on several processes that may die: each loss is told with its task, and the others go on.

A process is given one task at a time, of one group for as long as it has any: tasks of a group share what a process has
compiled. One that dies (killed for memory, a fault in native code), that does not come back, or that takes too much memory
is replaced, and its task is handed back as `Lost`. After the time that is given nothing more is handed out.
"""

from __future__ import annotations

import itertools
import multiprocessing
import os
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

#: seconds on the wall that what is in progress at the end is waited for
GRACE = 60.0
#: a process gives way to a fresh one after so many tasks, or when it holds so much between two of them
_TASKS, _HELD = 150, 2.5


@dataclass(frozen=True)
class Lost:
    """A task without an answer: why, and whether it ran out of the time of all (which is no fault of its own)."""

    why: str
    unfinished: bool = False


def serve(pipe, function) -> None:
    """A process: says that it is there, and answers tasks until there are no more."""
    pipe.send(None)
    while True:
        try:
            task, anew = pipe.recv()
        except EOFError:
            return
        try:
            answer = function(task, anew)
        except Exception:
            answer = Lost(f"the audit itself broke: {traceback.format_exc()}")
        pipe.send((answer, held(os.getpid())))


def held(process: int) -> float:
    """The memory that a process holds now, in GiB; 0 if it is gone."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 2**20 for line in lines if line.startswith("VmRSS")), 0.0)


class _Member:
    """A process, the tasks of its group that wait for it, and the one that it is at."""

    def __init__(self, function) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs, function), daemon=True)
        self.process.start()
        theirs.close()
        self.group: deque = deque()
        self.at: Any = None
        self.since, self.done, self.memory, self.anew = 0.0, 0, 0.0, True
        self.there = False

    def give(self) -> None:
        self.at, self.since = self.group.popleft(), time.monotonic()
        self.pipe.send((self.at, self.anew))
        self.anew = False

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()
        self.process.join()


def run(
    groups, function, workers: int, seconds: float | None = None, patience: float = 600.0, gib: float = 8.0
) -> Iterator[tuple[Any, Any]]:
    """(task, answer) as they come, or (task, Lost). `function` has the task, and whether it is the first of its group.

    `seconds` and `patience` are on the wall: for all of them, and for one. Tasks that were never handed out are not told.
    """
    waiting = deque(deque(group) for group in groups if group)
    start, members, stopped = time.monotonic(), [], False
    try:
        while True:
            stopped = stopped or (seconds is not None and time.monotonic() - start > seconds)
            if not stopped:
                _hand_out(waiting, members, function, workers)
            busy = [member for member in members if member.at is not None]
            if not busy:
                return
            ready = set(wait([member.pipe for member in busy], timeout=1.0))
            for member in busy:
                late = seconds is not None and time.monotonic() - start > seconds + GRACE
                answer = _answer(member, member.pipe in ready, patience, gib, late)
                if answer is None:
                    continue
                task, member.at = member.at, None
                if isinstance(answer, Lost) or member.done >= _TASKS or member.memory > _HELD:
                    members.remove(member)
                    member.end()
                    if member.group:
                        waiting.appendleft(member.group)
                yield task, answer
    finally:
        for member in members:
            member.end()


def _answer(member: _Member, ready: bool, patience: float, gib: float, late: bool):
    if ready:
        try:
            told = member.pipe.recv()
            if told is None:  # its first task begins now
                member.there, member.since = True, time.monotonic()
                return None
            answer, member.memory = told
            member.done += 1
        except (EOFError, OSError):
            member.process.join()
            return Lost(f"the process died (exit code {member.process.exitcode})")
        return answer
    took = time.monotonic() - member.since
    if late:
        return Lost(f"not done after {took:.0f} s, at the end of the time that was given", unfinished=True)
    if member.there and took > patience:
        return Lost(f"no answer after {took:.0f} s on the wall")
    if (memory := held(member.process.pid)) > gib:
        return Lost(f"the process held {memory:.1f} GiB")
    return None


def _hand_out(waiting: deque, members: list[_Member], function, workers: int) -> None:
    """A task to each idle process: of its group, of the next one, or half of what the longest still has."""
    idle = [member for member in members if member.at is None]
    new = min(workers - len(members), len(waiting) - sum(not member.group for member in idle))
    started = [_Member(function) for _ in range(max(new, 0))]
    members.extend(started)
    for member in idle + started:
        if not member.group:
            member.group, member.anew = _group(waiting, members), True
        if member.group:
            member.give()


def _group(waiting: deque, members: list[_Member]) -> deque:
    if waiting:
        return waiting.popleft()
    longest = max((member.group for member in members), key=len)
    keep = -(-len(longest) // 2)
    taken = deque(itertools.islice(longest, keep, None))
    for _ in taken:
        longest.pop()
    return taken
