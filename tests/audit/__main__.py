"""`python -m tests.audit --models N --seed S`: what random models show, one line for each complaint.

With `--optimize` the channels that `optimize` finds, against brute force: a row for each population, guarantee and n.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

import numpy as np

from tests.audit import optimum, running, verdict


def main() -> int:
    """Exit 1 if anything is wrong or silent."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("--models", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", action="store_true", help="say how long each question took")
    parser.add_argument(
        "--only", default=None, help="one kind of question, such as mean, lattice, each, rank or smooth"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes side by side")
    parser.add_argument("--about", default="all", choices=("all", *verdict.ABOUT), help="what to ask")
    parser.add_argument(
        "--optimize", nargs="*", metavar="WORD", help="judge optimize instead, for populations whose names hold a word"
    )
    parser.add_argument("--save", type=Path, help="a table that --optimize adds to, and goes on with")
    given = parser.parse_args()
    if given.optimize is not None:
        return _optimize(given.optimize, given.save)
    start, found = time.perf_counter(), []
    for result in running.run(given.models, given.seed, given.only, given.about, given.workers):
        found.append(result)
        if given.verbose:
            told = ", ".join(f"{what} {seconds:.1f}" for what, seconds in result.seconds.items())
            print(f"{time.perf_counter() - start:7.1f} s  {result.question}  {told}", flush=True)
        if not result.right:
            print(result, flush=True)
    print(summary(found, time.perf_counter() - start))
    return int(any(v.wrong or v.silent for v in found))


def _optimize(words: list[str], save: Path | None) -> int:
    """Exit 1 if a winner says less than 98% of the best plain channel, or not what it is said to."""
    rows = list(optimum.run(optimum.grid(words), save))
    bad, least = sum(bool(row.complaint) for row in rows), min(rows, key=lambda row: row.share)
    middle = np.median([row.seconds for row in rows])
    print(
        f"{len(rows)} cases: {bad} wrong; the least share {least.share:.2%} ({least.population}), median {middle:.1f} s"
    )
    return int(bad > 0)


def summary(found, seconds: float) -> str:
    """Counts, the slowest answer and the largest memory."""
    count = {kind: sum(bool(getattr(v, kind)) for v in found) for kind in ("wrong", "silent", "refused", "slow")}
    slowest = max((t for v in found for t in v.seconds.values()), default=0.0)
    memory, cost = max((v.memory for v in found), default=0.0), np.mean([v.cost for v in found])
    told = ", ".join(f"{number} {kind}" for kind, number in count.items())
    return (
        f"{len(found)} models: {told}; slowest {slowest:.1f} s, at most {memory:.1f} GiB, "
        f"{cost:.1f} core-seconds a model, {seconds:.0f} s in all"
    )


if __name__ == "__main__":
    sys.exit(main())
