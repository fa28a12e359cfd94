"""Running cells, each in a process of its own, and what one costs from its start: a cell that takes too long is cut."""

from __future__ import annotations

import functools
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.plan import Cell

ROOT = Path(__file__).resolve().parent.parent
HEADER = (
    f"{'task':28s} {'contender':28s} {'cold s':>8s} {'warm s':>9s} {'range':>17s} {'effective/s':>12s} {'to 1%, s':>9s}"
)
#: a process that neither looks for what was compiled nor keeps it
_NOTHING_KEPT = {"JAX_ENABLE_COMPILATION_CACHE": "false"}
#: processes of each kind whose start is measured
_STARTS = 5
_THEIRS, _OURS = "import jax, numpyro.distributions; ", "import confide; confide.infer"
#: task a as a command line
_INFER = [
    *("-m", "confide", "infer", "--value", "1.128379", "--population", "normal_variance"),
    *("--prior", "variance ~ InverseGamma(2, 2)", "--statistic", "mean abs(x)", "--bounds", "-10", "10"),
    *("--privacy", "pure:5", "--n", "100"),
]


def measured(
    cells: Iterable[Cell], budget: float, clock: str, truths: dict[tuple[str, int], Any] | None = None
) -> Iterator[dict[str, Any]]:
    """A row for each cell, as they come. `budget` is for warm runs; all of a process may take a few times that."""
    truths = {} if truths is None else truths
    for cell in cells:
        at = (cell.problem, cell.n)
        if cell.contender.startswith("NumPy") and at not in truths:
            yield {**cell._asdict(), "failed": "no truth to start from: auto did not finish"}
            continue
        row = {**cell._asdict(), **run(cell, budget, clock, truths.get(at))}
        if "truth" in row:
            truths[at] = row["truth"]
        yield row


def run(
    cell: Cell, budget: float, clock: str, truth: Any = None, cache: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """One cell in a fresh process. Nothing compiled is kept on disk unless `cache` says where."""
    environment = _environment(cache)
    asked = {**cell._asdict(), "budget": budget, "clock": clock, "truth": truth, "began": time.time()}
    limit = 240 + 4 * budget
    command = [sys.executable, "-m", "benchmarks.worker", json.dumps(asked)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {limit:.0f} s"}
    if done.returncode != 0:
        return {"failed": _reason(done.stderr)}
    return json.loads(done.stdout.strip().splitlines()[-1])


def _environment(cache: Mapping[str, str] | None) -> dict[str, str]:
    """Of a process: with the byte code that an installation has, and with what was compiled only if it says where."""
    found = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found | (_NOTHING_KEPT if cache is None else cache)


def _reason(trace: str) -> str:
    """The last line of a traceback that names an error."""
    named = [line for line in trace.splitlines() if line[:1].isalpha() and "Error" in line.split(":")[0]]
    return (named or ["failed"])[-1][:200]


def cold_starts(clock: str) -> Iterator[dict[str, Any]]:
    """From the start of a process to its first answer, five of each: nothing kept, and a user's first and next one.

    What is above `import jax, numpyro` is for `import confide` with its verbs; both are in a process of their own.
    """
    cell = Cell("a", "mean", 100, "auto")

    def library(cache: Mapping[str, str] | None) -> dict[str, Any]:
        return run(cell, 0.0, clock, cache=cache)

    yield _start("import jax, numpyro", [_command(clock, ["-c", _THEIRS], None) for _ in range(_STARTS)])
    yield _start("and confide's infer", [_command(clock, ["-c", _THEIRS + _OURS], None) for _ in range(_STARTS)])
    command = functools.partial(_command, clock, _INFER)
    for name, start in (("library", library), ("command line", command)):
        yield _start(f"{name}, nothing kept", [start(None) for _ in range(_STARTS)])
        first, later = [], []
        for _ in range(_STARTS):
            with tempfile.TemporaryDirectory() as folder:
                kept = {"XDG_CACHE_HOME": folder}
                first.append(start(kept))
                later.append(start(kept))
        yield _start(f"{name}, first process", first)
        yield _start(f"{name}, second process", later)


def _command(clock: str, words: Sequence[str], cache: Mapping[str, str] | None) -> dict[str, Any]:
    """What a process of Python costs from its start to its end."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    command = [sys.executable, *words]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=ROOT, env=_environment(cache), timeout=240
    )
    if done.returncode != 0:
        return {"failed": _reason(done.stderr)}
    wall, after = time.time() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"cold": wall if clock == "wall" else sum(after[:2]) - sum(before[:2])}


def _start(name: str, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    seconds = sorted(each["cold"] for each in found if "cold" in each)
    if not seconds:
        return {"start": name, "failed": found[0].get("failed")}
    return {"start": name, "seconds": seconds[len(seconds) // 2], "low": seconds[0], "high": seconds[-1]}


def line(row: Mapping[str, Any]) -> str:
    """A row for people."""
    begin = f"{row['task']} {row['problem']}, n = {row['n']:.0e}"
    begin = f"{begin:28s} {row['contender']:28s}"
    if "failed" in row:
        return f"{begin} {row['failed']}"
    times = f"{row['cold']:8.2f} {row['warm']:9.4f} {row['low']:8.4f}–{row['high']:.4f}"
    if "rate" not in row:
        return f"{begin} {times}"
    rate = f"{'≤ ' if row.get('at_most') else ''}{row['rate']:,.0f}" if row["rate"] > 10 else f"{row['rate']:.2g}"
    arrives = "–" if row["to_1pct"] is None else f"{row['to_1pct']:.3g}"
    return f"{begin} {times} {rate:>12s} {arrives:>9s}"
