"""One contender on one problem in a process of its own: the first result since the process began, then warm runs.

    python -m benchmarks.worker '{"contender": "auto", "problem": "mean", "n": 100, "budget": 20, …}'

prints one line of JSON. `began` is when the parent started this process, by the system's clock.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

WANTED = 5


def main() -> None:
    """Measure what the argument asks."""
    asked = json.loads(sys.argv[1])
    import numpy as np

    from benchmarks.contenders import Draws, Truth, contender
    from benchmarks.problems import PROBLEMS

    problem = PROBLEMS[asked["problem"]](asked["n"])
    truth = None if asked.get("truth") is None else Truth(*(np.asarray(part) for part in asked["truth"]))
    run = contender(asked["contender"])(problem, truth)
    with tempfile.TemporaryDirectory() as folder:
        found = run(0)
        kept = found.theta if isinstance(found, Draws) else np.asarray([0.0])
        np.save(Path(folder) / "posterior.npy", kept)
        # process time has no part in what other programs on the machine do
        cold = time.process_time() if asked["clock"] == "cpu" else time.time() - asked["began"]
    row: dict[str, Any] = {"cold": cold}
    if asked["budget"] > 0:
        runs, taken = _warm(run, asked["budget"], asked["clock"])
        row |= {"warm": statistics.median(taken), "low": min(taken), "high": max(taken), "repeats": len(taken)}
        if isinstance(found, Draws):
            from benchmarks.measure import quality

            if truth is None and asked["contender"] == "auto":
                truth = _truth(problem, runs[0])
                row["truth"] = [part.tolist() for part in truth]
            row |= quality(runs, taken, truth)
    print(json.dumps(row))


def _warm(run: Any, budget: float, clock: str) -> tuple[list[Any], list[float]]:
    """Five warm runs, fewer if the budget is spent before, one at least; and what each took."""
    seconds = time.process_time if clock == "cpu" else time.perf_counter
    runs: list[Any] = []
    taken: list[float] = []
    began = time.perf_counter()
    while len(taken) < WANTED and (not taken or (time.perf_counter() - began) * (1 + 1 / len(taken)) < budget):
        begin = seconds()
        runs.append(run(len(taken) + 1))
        taken.append(seconds() - begin)
    return runs, taken


def _truth(problem: Any, found: Any) -> Any:
    from benchmarks.truth import truth_near

    if found.mean is None:
        return truth_near(problem, found.theta.mean(axis=(0, 1)), found.theta.std(axis=(0, 1)))
    return truth_near(problem, found.mean, found.sd)


if __name__ == "__main__":
    main()
