"""Ask `optimize` for the best channel, and judge its winner by brute force over channels that people write by hand."""

from __future__ import annotations

import csv
import functools
import time
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np

import confide as cf
from tests.audit import brute_force, choices, crew, running

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


def grid(names=(), count=None, seed=0):
    """All cases of populations whose names hold one of these words, or of all; or so many of them, by chance."""
    chosen = [name for name in EVERYTHING if not names or any(word in name for word in names)]
    cases = [(name, guarantee, n) for name in chosen for guarantee in GUARANTEES for n in SIZES]
    return cases if count is None else [cases[k] for k in np.random.default_rng(seed).permutation(len(cases))[:count]]


def run(cases, save: Path | None = None, workers=1, seconds=None):
    """Judge all cases; those that a saved table has are not judged again, and those lost with a process say so."""
    known = _known(save)
    yield from (known[case] for case in cases if case in known)
    running.prepare()
    groups: dict = {}
    for case in cases:
        if case not in known:
            groups.setdefault(case[0], []).append(case)
    for case, row in crew.run(list(groups.values()), _judged, workers, seconds):
        if isinstance(row, crew.Lost):
            nothing = float("nan")
            yield Case(*case, row.why, "lost", nothing, nothing, "", nothing, nothing)
            continue
        if save is not None:
            _append(save, row)
        yield row


def _judged(case, anew):
    del anew
    return judge(*case)


def summary(rows, asked, seconds):
    """How many, how many of them wrong, and the least share."""
    done = [row for row in rows if row.mechanism != "lost"]
    if not done:
        return f"0 of {asked} cases in {seconds:.0f} s"
    bad, least = sum(bool(row.complaint) for row in done), min(done, key=lambda row: row.share)
    middle, longest = np.median([row.seconds for row in done]), max(done, key=lambda row: row.seconds)
    return (
        f"{len(done)} cases of {asked}: {bad} wrong, {len(rows) - len(done)} lost; the least share {least.share:.2%}"
        f" ({least.population}, {least.guarantee}, n = {least.n}); CPU seconds median {middle:.1f}, largest"
        f" {longest.seconds:.1f} ({longest.population}); {seconds:.0f} s on the wall"
    )


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
