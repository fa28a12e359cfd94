"""Ask `optimize` for the best channel, and judge its winner by brute force over channels that people write by hand."""

from __future__ import annotations

import csv
import functools
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

import confide as cf
from tests.audit import brute_force, choices

GUARANTEES = {
    "PureDP(1)": (cf.PureDP(1.0), ("pure", 1.0)),
    "ZCDP(.5)": (cf.ZCDP(0.5), ("zcdp", 0.5)),
    "ApproxDP(1, 1e-6)": (cf.ApproxDP(1.0, 1e-6), ("approx", (1.0, 1e-6))),
}
SIZES = (20, 100, 10_000)
#: the least share of the best plain channel's information; how far a figure may be from the same computed by hand
SHARE, FIGURE = 0.98, 5e-3
EVERYTHING = choices.heavy() | choices.light()


@dataclass(frozen=True)
class Case:
    """A row of the table: the winner, its information as the library and as this package computes it, and the rival's."""

    population: str
    guarantee: str
    n: int
    winner: str
    mechanism: str
    exact: float
    by_hand: float
    rival: str
    brute: float
    seconds: float

    @property
    def share(self):
        """Of the best plain channel, by the figure of this package where there is one."""
        return (self.exact if np.isnan(self.by_hand) else self.by_hand) / self.brute

    @property
    def complaint(self):
        """What is wrong with the answer; nothing if it is right."""
        if np.isnan(self.exact):
            return "no exact figure"
        if abs(self.exact / self.by_hand - 1) > FIGURE:
            return f"information {self.exact:.6g}, should be {self.by_hand:.6g}"
        return f"{self.share:.1%} of {self.rival}" if self.share < SHARE else ""

    def __str__(self):
        said = f"{self.population}, {self.guarantee}, n = {self.n}: {self.winner}, {self.mechanism}"
        return f"{self.share:7.2%} {self.seconds:6.1f} s  {said}" + (
            f"  WRONG: {self.complaint}" if self.complaint else ""
        )


@functools.lru_cache(maxsize=2)
def candidates(name):
    """The plain channels of a population."""
    _, theta, law = EVERYTHING[name]
    return brute_force.Candidates(law, theta)


def ask(name, guarantee, n, **options):
    """What `optimize` answers, and the processor's seconds that it took."""
    population, theta, (privacy, _) = choices.population(name), EVERYTHING[name][1], GUARANTEES[guarantee]
    start = time.process_time()
    found = cf.optimize(population, privacy=privacy, n=n, theta=theta, **options)
    return found, time.process_time() - start


def by_hand(name, guarantee, channel):
    """The information of a noisy mean by this package's own computation; NaN for other channels."""
    statistic, kind = channel.statistic, type(channel.mechanism).__name__.lower()
    noises = {noise.kind: noise for noise in brute_force.noises(GUARANTEES[guarantee][1])}
    if not isinstance(statistic, cf.Mean) or kind not in noises:
        return float("nan")
    _, theta, law = EVERYTHING[name]
    text = str(statistic.transforms[0])
    return brute_force.of_mean(law, theta, text, statistic.bounds, statistic.range, channel.n, noises[kind])


def judge(name, guarantee, n):
    """One row."""
    found, seconds = ask(name, guarantee, n)
    best, exact = found.best, float(found.table["exact"].iloc[0])
    rival, brute = candidates(name).best(GUARANTEES[guarantee][1], n)
    kind = type(best.mechanism).__name__
    return Case(name, guarantee, n, _told(best), kind, exact, by_hand(name, guarantee, best), rival, brute, seconds)


def _told(channel):
    statistic = channel.statistic
    low, high = statistic.bounds
    return f"{type(statistic).__name__.lower()} of {statistic.transforms[0]} on ({low:g}, {high:g})"


def grid(names=()):
    """All cases of populations whose names hold one of these words; all populations where there are none."""
    chosen = [name for name in EVERYTHING if not names or any(word in name for word in names)]
    return [(name, guarantee, n) for name in chosen for guarantee in GUARANTEES for n in SIZES]


def run(cases, save: Path | None = None):
    """Judge all cases, printing a row for each; those that a saved table has are not judged again."""
    known = _known(save)
    for case in cases:
        row = known.get(case) or judge(*case)
        if save is not None and case not in known:
            _append(save, row)
        print(row, flush=True)
        yield row


def _known(save):
    if save is None or not save.exists():
        return {}
    with save.open(newline="") as file:
        rows = [Case(**{f.name: _read(f, row[f.name]) for f in fields(Case)}) for row in csv.DictReader(file)]
    return {(row.population, row.guarantee, row.n): row for row in rows}


def _read(field, text):
    return {"int": int, "float": float}.get(field.type, str)(text)


def _append(save, row):
    new = not save.exists()
    with save.open("a", newline="") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Case)])
        if new:
            writer.writeheader()
        writer.writerow(asdict(row))
