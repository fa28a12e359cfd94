"""Tasks × contenders: `python -m benchmarks`.

    python -m benchmarks                      everything, about twenty minutes on two cores
    python -m benchmarks --task a --quick     one task, small sizes
    python -m benchmarks --check              two minutes: do the ratios hold against recorded.json?
    python -m benchmarks --record             everything, then recorded.json and the tables of README.md anew

Rows print as they come; at the end they are written to --output as JSON, with a Markdown table beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.plan import CHECKED, QUICK_N, Cell, cells
from benchmarks.ratios import compare, ratios
from benchmarks.running import HEADER, cold_starts, line, measured
from benchmarks.tables import markdown, refreshed

HERE = Path(__file__).resolve().parent
RECORDED = HERE / "recorded.json"


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--task", action="append", choices=list("abcdefgh"), help="only this one; may be repeated")
    parser.add_argument("--contender", action="append", help="only names that begin so, and auto, which has the truth")
    parser.add_argument("--quick", action="store_true", help=f"n ≤ {QUICK_N} and a third of the time")
    parser.add_argument("--check", action="store_true", help="compare a subset with what is recorded; exit 1 if worse")
    parser.add_argument("--record", action="store_true", help="write recorded.json and the tables of README.md")
    parser.add_argument("--budget", type=float, default=15.0, help="seconds of warm runs for each cell")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu where the machine is busy")
    parser.add_argument("--output", type=Path, default=HERE / "results" / "latest.json")
    return parser.parse_args()


def chosen(asked: argparse.Namespace) -> list[Any]:
    """The cells that are asked for."""
    names = ("auto", *(asked.contender or [""]))
    return [
        cell
        for cell in (CHECKED if asked.check else cells())
        if cell.task in (asked.task or "abcdefgh") and (not asked.quick or cell.n <= QUICK_N)
        if cell.contender.startswith(names)
    ]


def machine(clock: str) -> dict[str, Any]:
    """What the figures depend on."""
    names = ("jax", "numpyro", "numpy")
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in names},
        "cores": len(os.sched_getaffinity(0)),
        "load": os.getloadavg()[0],
        "clock": clock,
    }


def main() -> int:
    """Measure, print, write; with --check compare."""
    asked = arguments()
    recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    budget = asked.budget / 3 if asked.quick or asked.check else asked.budget
    print(machine(asked.clock), flush=True)
    begin, rows = time.perf_counter(), []
    print(HEADER, flush=True)
    # the guard starts from recorded truths: it has no time to find them again
    known = recorded.get("rows", []) if asked.check else []
    truths = {(row["problem"], row["n"]): row["truth"] for row in known if "truth" in row}
    for row in measured(chosen(asked), budget, asked.clock, truths):
        rows.append(row)
        print(line(row), flush=True)
    found = ratios(rows)
    if asked.check:
        lines, fine = compare(recorded.get("ratios", {}), found)
        print("\n".join(lines), f"\n{time.perf_counter() - begin:.0f} s", flush=True)
        return 0 if fine and lines else 1
    starts = list(cold_starts(asked.clock)) if "a" in (asked.task or "a") else []
    result = {"machine": machine(asked.clock), "rows": rows, "starts": starts, "ratios": found}
    result["seconds"] = time.perf_counter() - begin
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    asked.output.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    text = markdown(result)
    asked.output.with_suffix(".md").write_text(text)
    print(text)
    if asked.record:
        record(result, recorded)
    return 0


def record(result: dict[str, Any], before: dict[str, Any]) -> None:
    """recorded.json and the tables of README.md; what was not measured this time stays."""
    rows = {tuple(row[name] for name in Cell._fields): row for row in [*before.get("rows", []), *result["rows"]]}
    order = [tuple(cell) for cell in cells()]
    now = {
        **result,
        "rows": [rows[at] for at in order if at in rows],
        "starts": result["starts"] or before.get("starts", []),
        "ratios": {**before.get("ratios", {}), **result["ratios"]},
    }
    RECORDED.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n")
    readme = HERE / "README.md"
    readme.write_text(refreshed(readme.read_text(), markdown(now)))


if __name__ == "__main__":
    sys.exit(main())
