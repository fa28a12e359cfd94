"""The checks: each has parts that processes compute, and a verdict on all of them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpyro.distributions as dist
from scipy import stats

import confide as cf
from tests.long.bracketing import RHO, WIDE, coinpress, information, of_known_bounds, released
from tests.long.published_algorithm import BEST_HALF, posterior_mean

Result = dict[str, Any]
Verdict = tuple[bool, list[str]]

#: the setting of Yıldırım 2023: his truth, his prior, and the information of the best answer about a standard mean
BEST = {1.0: 0.1360, 2.0: 0.3693, 5.0: 0.6197, 10.0: 0.8044}
MEAN, VARIANCE, PERSONS, RUNS = 50.0, 10.0, 1000, 400
PRIOR = {"mean": dist.Normal(0.0, 100.0), "variance": dist.InverseGamma(1.0, 1.0)}
ALPHA = 1e-6


#: a function of this module with its arguments: checks that ask for the same part share it
Part = tuple[Callable[..., Result], tuple[Any, ...]]


@dataclass(frozen=True)
class Check:
    """Parts, and what all of them say."""

    parts: Callable[[float], list[Part]]
    judge: Callable[[list[Result]], Verdict]


def plan_of(both: bool, epsilon: float, persons: int = PERSONS, **options: Any) -> Any:
    """A plan of one answer a person."""
    population = cf.populations.normal() if both else cf.populations.normal_mean(variance=VARIANCE)
    prior = PRIOR if both else {"mean": PRIOR["mean"]}
    return cf.adapt(population, prior, privacy=cf.PureDP(epsilon), batches=[1] * persons, **options)


def runs_at_his_truth(both: bool, epsilon: float, runs: int, key: int, persons: int = PERSONS) -> Result:
    """Errors, spreads and whether intervals hold the truth, of whole runs."""
    start = time.process_time()
    truth = np.tile([MEAN, VARIANCE][: 1 + both], (runs, 1))
    made = plan_of(both, epsilon, persons).simulated(truth, key=key)
    inside = [(low[:, 0] <= MEAN) & (high[:, 0] >= MEAN) for low, high in zip(made.lower, made.upper, strict=True)]
    relative = made.sd[:, -1, 1] / (2 * made.mean[:, -1, 1]) if both else np.zeros(runs)
    return {
        "both": both, "epsilon": epsilon, "error": made.mean[:, -1, 0] - MEAN, "sigma": relative,
        "inside": np.stack(inside), "seconds": time.process_time() - start,
    }  # fmt: skip


def judge_runs(results: list[Result]) -> Verdict:
    """Within 15% of the asymptotic best with σ known, 35% with both unknown and sd(σ)/σ ≤ .2; coverage."""
    good, lines = True, []
    for both, epsilon in sorted({(each["both"], each["epsilon"]) for each in results}):
        mine = [each for each in results if (each["both"], each["epsilon"]) == (both, epsilon)]
        error = np.concatenate([each["error"] for each in mine])
        ratio = math.sqrt(np.mean(error**2) / (VARIANCE / (PERSONS * BEST[epsilon])))
        sigma = float(np.mean(np.concatenate([each["sigma"] for each in mine])))
        inside = np.concatenate([each["inside"] for each in mine], axis=1)
        covers = [
            stats.binom.cdf(row.sum(), row.size, p - 0.06) for row, p in zip(inside, (0.5, 0.9, 0.95), strict=True)
        ]
        fine = ratio < (1.35 if both else 1.15) and min(covers) > ALPHA and (not both or epsilon < 2 or sigma <= 0.2)
        good &= fine
        lines.append(
            f"{'both unknown' if both else 'sigma known '} ε = {epsilon:4g}: error {ratio:.3f} of the best, sd(σ)/σ "
            f"{sigma:.3f}, 50/90/95% intervals cover {', '.join(f'{row.mean():.3f}' for row in inside)} "
            f"({error.size} runs, {sum(each['seconds'] for each in mine):.0f} s){'' if fine else '  <-- not so'}"
        )
    return bool(good), lines


def published_runs(epsilon: float, seeds: tuple[int, ...]) -> Result:
    """Errors of the published algorithm, each with the clip that is best for the mean."""
    start, errors = time.process_time(), []
    for seed in seeds:
        generator = np.random.default_rng(seed)
        records = MEAN + math.sqrt(VARIANCE) * generator.normal(size=PERSONS)
        errors.append(posterior_mean(records, epsilon, BEST_HALF[epsilon], generator) - MEAN)
    return {"epsilon": epsilon, "his": np.asarray(errors), "seconds": time.process_time() - start}


def no_worse(ours: Any, his: Any) -> tuple[bool, float, float]:
    """Whether ours is not proved worse, the ratio of root mean squared errors, and the most that chance allows.

    Errors are nearly normal around 0: the ratio of their mean squares has an F law where both are as good.
    """
    ratio = math.sqrt(np.mean(np.square(ours)) / np.mean(np.square(his)))
    allowed = math.sqrt(stats.f.isf(ALPHA, len(ours), len(his)))
    return ratio < allowed, ratio, allowed


def judge_published(results: list[Result]) -> Verdict:
    """Ours beside his at each ε."""
    good, lines = True, []
    for epsilon in sorted({each["epsilon"] for each in results}):
        mine = [each for each in results if each["epsilon"] == epsilon]
        his = np.concatenate([each["his"] for each in mine if "his" in each])
        ours = np.concatenate([each["error"] for each in mine if "error" in each])
        fine, ratio, allowed = no_worse(ours, his)
        # a typical error as well: a run of his that never finds the mean says much in a mean of squares
        typical = float(np.median(np.abs(ours)) / np.median(np.abs(his)))
        good &= fine
        lines.append(
            f"ε = {epsilon:4g}: our error is {ratio:.3f} of his ({typical:.3f} in the median; proved worse beyond "
            f"{allowed:.2f}) over {len(ours)} and {len(his)} runs, {sum(each['seconds'] for each in mine):.0f} s"
        )
    return bool(good), lines


def sbc_after_runs(both: bool, by: str, key: int, runs: int) -> Result:
    """Posterior probabilities of less than the truth, which is drawn from the prior, after whole runs."""
    start = time.process_time()
    population = cf.populations.normal() if both else cf.populations.normal_mean(variance=VARIANCE)
    prior = {"mean": dist.Normal(0.0, 20.0)} | ({"variance": dist.LogNormal(2.0, 0.7)} if both else {})
    plan = cf.adapt(population, prior, privacy=cf.PureDP(3.0), batches=[1] * 150, by=by)
    generator = np.random.default_rng(key)
    truth = np.stack([20.0 * generator.normal(size=runs), np.exp(2.0 + 0.7 * generator.normal(size=runs))], axis=1)
    below = plan.simulated(truth[:, : 1 + both], key=key).below
    return {"name": f"{'both' if both else 'mean'} by {by}", "below": below, "seconds": time.process_time() - start}


#: SBC of tables of counts: a population, its channel and its prior
EDGES = np.linspace(-2.0, 2.0, 9).tolist()
TABLES: dict[str, tuple[Any, ...]] = {
    "shares of 4 cells": (cf.populations.categorical(4), cf.Histogram("x", categories=["a", "b", "c"]), 120,
                          {"probabilities": dist.Dirichlet(np.ones(4))}),
    "shares of 12 cells": (cf.populations.categorical(12), cf.Histogram("x", categories=list("abcdefghijk")), 400,
                           {"probabilities": dist.Dirichlet(np.ones(12))}),
    "normal from 10 cells": (cf.populations.normal(), cf.Histogram("x", edges=EDGES), 200,
                             {"mean": dist.Normal(0.0, 0.7), "variance": dist.LogNormal(0.0, 0.5)}),
}  # fmt: skip


def sbc_of_tables(name: str, key: int, releases: int, noise: float = 3.0, believed: float = 3.0) -> Result:
    """The share of posterior draws below the truth, for tables simulated from the prior."""
    start = time.process_time()
    population, histogram, n, prior = TABLES[name]
    model = cf.Model(population, cf.Channel(histogram, cf.Laplace(scale=noise, step=1), n=n))
    channel = cf.Channel(histogram, cf.Laplace(scale=believed, step=1), n=n)
    generator, below = np.random.default_rng([key, n]), []
    for one in range(releases):
        theta = _from_prior(name, generator)
        value = model.simulate(100_000 * key + one, theta)
        found = cf.infer(population, cf.Release(channel, value), prior, key=one)
        draws = np.reshape(found.theta, (-1, np.shape(found.theta)[-1]))
        # the outermost share follows from the others
        kept = theta.size - ("shares" in name)
        below.append(np.mean(draws[:, :kept] < theta[:kept], axis=0))
    return {"name": name, "below": np.stack(below), "seconds": time.process_time() - start}


def _from_prior(name: str, generator: Any) -> Any:
    if name == "normal from 10 cells":
        return np.array([0.7 * generator.normal(), math.exp(0.5 * generator.normal())])
    return generator.dirichlet(np.ones(int(name.split()[2])))


def uneven(below: Any) -> list[float]:
    """p-values of χ² over ten bins, of each column."""
    bins = [np.histogram(column, bins=10, range=(0, 1))[0] for column in np.asarray(below).T]
    return [float(stats.chisquare(counts).pvalue) for counts in bins]


def judge_sbc(results: list[Result]) -> Verdict:
    """Uniform ranks."""
    good, lines = True, []
    for name in dict.fromkeys(each["name"] for each in results):
        mine = [each for each in results if each["name"] == name]
        chances = uneven(np.concatenate([each["below"] for each in mine]))
        good &= min(chances) > ALPHA
        count = sum(len(each["below"]) for each in mine)
        told = ", ".join(f"{chance:.3f}" for chance in chances)
        lines.append(f"{name}: p = {told} ({count} runs, {sum(each['seconds'] for each in mine):.0f} s)")
    return bool(good), lines


def bracketed(seed: int) -> Result:
    """What six rounds keep of the information of known bounds, and what CoinPress keeps."""
    start = time.process_time()
    plan, mean, records = released(seed)
    known = of_known_bounds()
    kept = float(information([each.channel for each in plan.releases], mean)) / known
    _, variance = coinpress(records, 4.75 * WIDE, RHO, 6, np.random.default_rng(seed))
    found = plan.posterior
    return {
        "kept": kept, "coinpress": 1 / variance / known, "seconds": time.process_time() - start,
        "z": (mean - float(found.mean)) / float(found.sd),
    }  # fmt: skip


def judge_bracket(results: list[Result]) -> Verdict:
    """85% or more, and more than CoinPress; the posterior holds the mean."""
    kept, coin = (np.asarray([each[name] for each in results]) for name in ("kept", "coinpress"))
    z = np.asarray([each["z"] for each in results])
    good = bool(kept.min() > 0.85 and np.all(coin < kept) and stats.chi2.sf(np.sum(z**2), len(z)) > ALPHA)
    line = f"keeps {kept.min():.3f} to {kept.max():.3f}, CoinPress {coin.min():.3f} to {coin.max():.3f}; z² {np.mean(z**2):.2f}"
    return good, [f"{line} ({len(z)} runs, {sum(each['seconds'] for each in results):.0f} s)"]


def _keys(total: int, parts: int, scale: float) -> list[tuple[int, int]]:
    """A key for each part, and how much it does."""
    return list(enumerate([max(round(total * scale / parts), 1)] * parts))


def _runs(scale: float) -> list[Part]:
    settings = [(both, epsilon) for both in (True, False) for epsilon in BEST]
    return [(runs_at_his_truth, (*each, runs, key)) for each in settings for key, runs in _keys(RUNS, 2, scale)]


def _published(scale: float) -> list[Part]:
    count = max(round(32 * scale), 1)
    his: list[Part] = [(published_runs, (epsilon, (seed,))) for epsilon in BEST for seed in range(count)]
    return his + [part for part in _runs(scale) if part[1][0]]


def _after_runs(scale: float) -> list[Part]:
    settings = [(both, by) for both in (True, False) for by in ("expected", "draw")]
    return [(sbc_after_runs, (*each, key, runs)) for each in settings for key, runs in _keys(RUNS, 4, scale)]


def _tables(scale: float) -> list[Part]:
    return [(sbc_of_tables, (name, key, runs)) for name in TABLES for key, runs in _keys(200, 16, scale)]


def _bracketed(scale: float) -> list[Part]:
    return [(bracketed, (seed,)) for seed in range(max(round(16 * scale), 1))]


CHECKS = {
    "runs": Check(_runs, judge_runs),
    "published": Check(_published, judge_published),
    "sbc-adaptive": Check(_after_runs, judge_sbc),
    "sbc-tables": Check(_tables, judge_sbc),
    "bracket": Check(_bracketed, judge_bracket),
}
