"""What an audit says, on the screen and in a file; and its verdicts on disk, so that it can be done in parts."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from tests.audit.verdict import COMPLAINTS, Verdict

#: what is asked of an audit: the largest share of refusals and of slow answers, in percent, and memory in GiB
REFUSED, SLOW, MEMORY = 2.0, 1.0, 2.0


class Printer:
    """Prints, and writes the same to a file at once."""

    def __init__(self, path: Path | None) -> None:
        self.file = None if path is None else path.open("w")

    def __call__(self, text: str) -> None:
        print(text, flush=True)
        if self.file is not None:
            self.file.write(text + "\n")
            self.file.flush()

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()


def heading(arguments: Sequence[str]) -> str:
    """The command, the commit and the versions that numbers depend on."""
    told = subprocess.run(
        ["git", "describe", "--always", "--dirty"],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        check=False,
    )
    packages = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("jax", "numpyro", "numpy", "scipy"))
    commit = told.stdout.strip() or "unknown"
    return f"python -m tests.audit {' '.join(arguments)}\ncommit {commit}, Python {platform.python_version()}, {packages}\n"


def read(path: Path | None, about: str) -> Iterator[Verdict]:
    """What a file has of verdicts on this part of the questions; a line that was cut off is asked again."""
    if path is None or not path.exists():
        return
    for line in path.read_text().splitlines():
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            continue
        if row.pop("about") == about:
            yield Verdict(**row)


def append(path: Path | None, about: str, verdict: Verdict) -> None:
    """One more line; what was not finished is not known."""
    if path is None or verdict.unfinished:
        return
    with path.open("a") as file:
        file.write(json.dumps({"about": about, **asdict(verdict)}) + "\n")


def summary(found: Sequence[Verdict], asked: int, seconds: float) -> str:
    """Counts and shares, what took longest, the largest memory, and what was not done."""
    done = [v for v in found if not v.unfinished]
    if not done:
        return f"0 of {asked} models in {seconds:.0f} s"
    count = {kind: sum(bool(getattr(v, kind)) for v in done) for kind in COMPLAINTS}
    share = {kind: 100 * count[kind] / len(done) for kind in count}
    told = ", ".join(f"{number} {kind}" for kind, number in count.items())
    lines = [
        "",
        f"{len(done)} models of {asked}: {told}; {sum(bool(v.told) for v in done)} approximate and say so",
        f"refused {share['refused']:.2f}% (below {REFUSED:g}% is asked), slow {share['slow']:.2f}% (below {SLOW:g}%)",
    ]
    if len(found) > len(done):
        lines.append(f"{len(found) - len(done)} in progress when the time was up:")
        lines += [f"    --seed {v.seed} --number {v.number}  {v.question}" for v in found if v.unfinished]
    for what in sorted({what for v in done for what in v.seconds}):
        times = np.asarray([v.seconds[what] for v in done if what in v.seconds])
        middle, high = np.quantile(times, [0.5, 0.99])
        lines.append(
            f"{what}: {times.size} answers, CPU seconds median {middle:.1f}, 99% {high:.1f}, largest {times.max():.1f}"
        )
    largest = max(done, key=lambda v: v.memory)
    cost = np.mean([v.cost for v in done])
    lines.append(f"memory of a question at most {largest.memory:.2f} GiB ({MEMORY:g} is asked): {largest.question}")
    lines.append(f"{cost:.1f} core-seconds a model, {seconds:.0f} s on the wall in all")
    return "\n".join(lines)
