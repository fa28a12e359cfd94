"""`python -m tests.audit --models N --seed S`: what random models show, with each complaint and how to see it again.

Seconds of answers are of the processor, compilation included, so that it does not matter what else the machine does; those
of `--seconds` are on the wall. With `--optimize` the channels that `optimize` finds are judged, against brute force: a row
for each population, guarantee and n. What `--save` holds is not asked again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from tests.audit import optimum, report, running, verdict


def main() -> int:
    """Exit 1 if anything is wrong or silent, or was lost with its process."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.audit", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=int, default=60, help="of each seed")
    parser.add_argument("--seed", type=int, nargs="+", default=[0])
    parser.add_argument("--number", type=int, nargs="+", help="these questions of the seeds, and no others")
    parser.add_argument("--verbose", action="store_true", help="say how long each question took")
    parser.add_argument(
        "--only", default=None, help="one kind of question, such as mean, lattice, each, rank or smooth"
    )
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes side by side")
    parser.add_argument("--about", default="all", choices=("all", *verdict.ABOUT), help="what to ask")
    parser.add_argument(
        "--seconds", type=float, help="hand out nothing after so many; what is in progress then has a minute"
    )
    parser.add_argument(
        "--optimize", nargs="*", metavar="WORD", help="judge optimize instead, for populations whose names hold a word"
    )
    parser.add_argument("--cases", type=int, help="so many cases of --optimize, drawn by the seed")
    parser.add_argument("--save", type=Path, help="verdicts (JSON lines) or rows (CSV) to add to, and to go on with")
    parser.add_argument("--report", type=Path, help="a file for what is printed")
    given = parser.parse_args()
    with report.Printer(given.report) as say:
        say(report.heading(sys.argv[1:]))
        return _optimize(given, say) if given.optimize is not None else _models(given, say)


def _models(given: argparse.Namespace, say: report.Printer) -> int:
    start = time.perf_counter()
    if given.number:
        groups = [[(seed, number)] for seed in given.seed for number in given.number]
    else:
        groups = running.groups(given.models, given.seed, given.only)
    asked = {task for group in groups for task in group}
    known = {(v.seed, v.number): v for v in report.read(given.save, given.about)}
    found = [known[task] for task in sorted(asked & known.keys())]
    left = [[task for task in group if task not in known] for group in groups]
    for result in found:
        if not result.right:
            say(str(result))
    for result in running.run(left, given.about, given.workers, given.seconds):
        found.append(result)
        report.append(given.save, given.about, result)
        if given.verbose:
            told = ", ".join(f"{what} {seconds:.1f}" for what, seconds in result.seconds.items())
            say(f"{time.perf_counter() - start:7.1f} s  {result.question}  {told}")
        if not result.right:
            say(str(result))
    say(report.summary(found, len(asked), time.perf_counter() - start))
    return int(any(v.wrong or v.silent or v.crashed for v in found))


def _optimize(given: argparse.Namespace, say: report.Printer) -> int:
    """Exit 1 if a winner says less than 98% of the best plain channel, or not what it is said to."""
    start, rows = time.perf_counter(), []
    cases = optimum.grid(given.optimize, given.cases, given.seed[0])
    for row in optimum.run(cases, given.save, given.workers, given.seconds):
        rows.append(row)
        say(str(row))
    say(optimum.summary(rows, len(cases), time.perf_counter() - start))
    return int(any(row.complaint for row in rows))


if __name__ == "__main__":
    sys.exit(main())
