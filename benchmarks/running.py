"""Running cells, each in a process of its own, and what one costs from its start: a cell that takes too long is cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.plan import Cell

ROOT = Path(__file__).resolve().parent.parent
HEADER = (
    f"{'task':28s} {'contender':28s} {'cold s':>8s} {'warm s':>9s} {'range':>17s} {'effective/s':>12s} {'to 1%, s':>9s}"
)


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
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    environment |= {"JAX_ENABLE_COMPILATION_CACHE": "false"} if cache is None else cache
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


def _reason(trace: str) -> str:
    """The last line of a traceback that names an error."""
    named = [line for line in trace.splitlines() if line[:1].isalpha() and "Error" in line.split(":")[0]]
    return (named or ["failed"])[-1][:200]


def cold_starts(clock: str) -> Iterator[dict[str, Any]]:
    """From the start of a process to a saved posterior: nothing kept, and the first and second with a kept program."""
    cell = Cell("a", "mean", 100, "auto")
    with tempfile.TemporaryDirectory() as folder:
        kept = {
            "JAX_COMPILATION_CACHE_DIR": folder,
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            "XDG_CACHE_HOME": folder,
        }
        for name, cache in (("no cache", None), ("first process", kept), ("second process", kept)):
            found = [run(cell, 0.0, clock, cache=cache) for _ in range(1 if name == "first process" else 3)]
            seconds = sorted(each["cold"] for each in found if "cold" in each)
            if seconds:
                yield {"start": name, "seconds": seconds[len(seconds) // 2], "low": seconds[0], "high": seconds[-1]}
            else:
                yield {"start": name, "failed": found[0].get("failed")}


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
