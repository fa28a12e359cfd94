"""How often intervals cover θ and a private n, and how long they are: drawn from proper priors, and at fixed values.

    python -m tests.statistical.private_numbers --workers 16 --releases 2000

prints a line for each case; it needs no more than the library itself does. The tests of `test_private_numbers.py` run the
same cases at a small size.
"""

from __future__ import annotations

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
from scipy import stats

import confide as cf
from confide.design.studies.numbers import Numbers, published
from confide.prior import Prior

#: releases that are a task of a process
CHUNK = 25
BIT, RATE = {"probability": dist.Beta(1.0, 1.0)}, {"rate": dist.LogNormal(0.0, 0.3)}


@dataclass(frozen=True)
class Case:
    """A population behind a channel of a private number of records; θ and n are fixed, or drawn from the prior."""

    population: Any
    channel: cf.Channel
    prior: dict[str, Any]
    theta: float | None = None
    n: int | None = None
    #: whether people would divide the sum by the count
    ratio: bool = True
    said: str = field(default="", compare=False)


def bits(scale: float) -> cf.Channel:
    return cf.Channel(cf.Sum(["1", "x"], (0, 1)), cf.Laplace(scale=scale, step=1.0))


BERNOULLI, EXPONENTIAL = cf.populations.bernoulli(), cf.populations.exponential()
CASES = {
    "drawn, a count and a sum": Case(BERNOULLI, bits(5.0), BIT | {"n": dist.Poisson(60.0)}),
    "drawn, a vector": Case(
        EXPONENTIAL, cf.Channel(cf.Sum(["1", "x", "x**2"], (0, 3)), cf.Gaussian(scale=6.0)),
        RATE | {"n": dist.Poisson(400.0)}, ratio=False,
    ),
    "fixed, a flat prior of n": Case(BERNOULLI, bits(20.0), BIT, 0.02, 50),
    "fixed, a proper prior of n": Case(BERNOULLI, bits(20.0), BIT | {"n": dist.Poisson(50.0)}, 0.02, 50),
    "drawn, a wide noise": Case(BERNOULLI, bits(20.0), BIT | {"n": dist.Poisson(50.0)}),
    "Awan and Wang": Case(
        BERNOULLI, cf.Channel(cf.Sum(["x", "1 - x"], (0, 1)), cf.Gaussian(scale=1.0)), BIT, 0.2, 100, ratio=False
    ),
}  # fmt: skip


def drawn(case: Case, first: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """θ, n and values of some releases, which are the same however they are shared out."""
    with jax.enable_x64(True):
        numbers, alone = Numbers.of(case.prior, case.n)
        prior = Prior.of(case.population, alone)
        thetas, ns, values = [], [], []
        for chunk in range(first, first + count, CHUNK):
            a, b, c = jax.random.split(jax.random.key(chunk), 3)
            some = np.asarray(prior.sample(a, (CHUNK,))) if case.theta is None else np.full((CHUNK, 1), case.theta)
            many = numbers.drawn(b, CHUNK)
            thetas.append(some)
            ns.append(many)
            values.append(published(cf.Model(case.population, case.channel), c, some, many))
    return np.concatenate(thetas), np.concatenate(ns), np.concatenate(values)


def examined(name: str, first: int, count: int) -> np.ndarray:
    """For each release: ranks of θ and n, and for 50, 90 and 95% whether θ and n are covered, and the width for θ."""
    case, rng, rows = CASES[name], np.random.default_rng(first), []
    for i, (theta, n, value) in enumerate(zip(*drawn(case, first, count), strict=True)):
        found = cf.infer(case.population, cf.Release(case.channel, value), case.prior, key=first + i, draws=250)
        of_theta, of_n = (found.draws[each].ravel() for each in found.names)
        ties = rng.uniform() * np.sum(of_n == n)
        row = [np.mean(of_theta < theta[0]), (np.sum(of_n < n) + ties) / of_n.size]
        for prob in (0.5, 0.9, 0.95):
            ends = found.interval(prob)
            (low, high), (least, most) = ends[found.names[0]], ends["n"]
            row += [low <= theta[0] <= high, least <= n <= most, high - low]
        rows.append(row)
    return np.asarray(rows, dtype=float)


def by_ratio(name: str, releases: int) -> tuple[float, float]:
    """The 95% coverage of θ by the classical ratio, and how often it has no answer."""
    case = CASES[name]
    theta, _, values = drawn(case, 0, releases)
    with jax.enable_x64(True):
        prior = Prior.of(case.population, Numbers.of(case.prior, case.n)[1])
        found = cf.ClassicalRatio(case.channel).summaries(case.population, prior, values, (0.95,))
    covered = (found.lower[0, :, 0] <= theta[:, 0]) & (theta[:, 0] <= found.upper[0, :, 0])
    return float(np.mean(covered)), float(np.mean(np.isnan(found.mean[:, 0])))


def told(name: str, rows: np.ndarray) -> str:
    """A line."""
    mean = rows.mean(axis=0)
    coverage = ", ".join(
        f"{prob}%: {mean[2 + 3 * j]:.3f} / {mean[3 + 3 * j]:.3f}" for j, prob in enumerate((50, 90, 95))
    )
    text = f"{name} ({len(rows)}): coverage of theta / n {coverage}; width 95% {mean[10]:.4f}"
    if CASES[name].theta is None:
        p = [stats.kstest(column, "uniform").pvalue for column in rows[:, :2].T]
        text += f"; ranks uniform p = {p[0]:.2g}, {p[1]:.2g}"
    if CASES[name].ratio:
        covered, none = by_ratio(name, 4000)
        text += f"; the ratio's 95% interval covers {covered:.3f}, and {none:.1%} have none"
    return text


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--releases", type=int, default=500)
    parser.add_argument("--case", choices=CASES, action="append")
    asked = parser.parse_args()
    with ProcessPoolExecutor(asked.workers, multiprocessing.get_context("spawn")) as pool:
        tasks = {
            name: [pool.submit(examined, name, first, CHUNK) for first in range(0, asked.releases, CHUNK)]
            for name in asked.case or CASES
        }
        for name, parts in tasks.items():
            print(told(name, np.concatenate([part.result() for part in parts])), flush=True)


if __name__ == "__main__":
    main()
