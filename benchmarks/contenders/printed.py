"""Plain NumPy transcriptions of the paper's Algorithms 4, 5 and 6: what a user would port.

One chain, started at the posterior mean, with a walk of 2.4 posterior standard deviations: both are a favour to these
contenders, who would have to find them first. The law of u is the central limit theorem's, as in the paper.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.contenders import Draws, Run, Truth
from benchmarks.problems import Problem

#: seconds that one run takes, and the least and most steps of one
SECONDS, FEWEST, MOST = 3.0, 300, 20_000
#: the paper's N in Secs 5.2 and 5.3
COPIES = 100
Chain = Callable[[np.random.Generator], Iterator[Any]]


def steps_of(chain: Chain, fewest: int = FEWEST) -> Run:
    """Runs of as many steps as fit into the seconds, by a look at the first ones."""
    count = 0

    def run(key: int) -> Draws:
        nonlocal count
        states = chain(np.random.default_rng(key))
        if count == 0:
            begin = time.perf_counter()
            looked = 0
            while looked < 50 and time.perf_counter() - begin < 0.5 * SECONDS:
                next(states)
                looked += 1
            count = int(np.clip(SECONDS * looked / (time.perf_counter() - begin), fewest, MOST))
        theta = np.asarray([next(states) for _ in range(count)]).reshape(1, count, -1)
        return Draws(theta, steps=count)

    return run


def walk_of(truth: Truth) -> float:
    """The standard deviation of a random walk that suits one parameter."""
    return 2.4 * float(truth.sd[0])


def _mean_of_abs(problem: Problem) -> Callable[[float], tuple[float, float]]:
    """Mean and standard deviation of the mean of abs(x); that x is clipped at seven deviations changes no digit."""
    return lambda theta: (math.sqrt(2 * theta / math.pi), math.sqrt(theta * (1 - 2 / math.pi) / problem.n))


def algorithm_5(problem: Problem, truth: Truth) -> Run:
    """PMMH on u, proposed from f(u | θ'), walk on log θ."""
    law, y, b = _mean_of_abs(problem), float(problem.value), problem.channel.law.noise.scale
    walk = walk_of(truth) / float(truth.mean[0])

    def chain(generator: np.random.Generator) -> Iterator[float]:
        def estimate(theta: float) -> float:
            mean, sd = law(theta)
            u = mean + sd * generator.standard_normal(COPIES)
            return float(np.mean(np.exp(-np.abs(y - u) / b)))

        theta = float(truth.mean[0])
        z = estimate(theta)
        while True:
            proposed = theta * math.exp(walk * generator.standard_normal())
            fresh = estimate(proposed)
            prior = problem.log_prior(proposed) - problem.log_prior(theta) + math.log(proposed / theta)
            if generator.random() * z < math.exp(min(prior, 50.0)) * fresh:
                theta, z = proposed, fresh
            yield theta

    return steps_of(chain)


def algorithm_6(problem: Problem, truth: Truth) -> Run:
    """MHAAR on u, proposed from f(u | (θ + θ')/2), walk on log θ."""
    law, y, b = _mean_of_abs(problem), float(problem.value), problem.channel.law.noise.scale
    walk = walk_of(truth) / float(truth.mean[0])

    def log_f(theta: float, u: np.ndarray) -> np.ndarray:
        mean, sd = law(theta)
        return -0.5 * ((u - mean) / sd) ** 2 - math.log(sd)

    def chain(generator: np.random.Generator) -> Iterator[float]:
        theta, u = float(truth.mean[0]), y
        copies = np.empty(COPIES)
        while True:
            proposed = theta * math.exp(walk * generator.standard_normal())
            middle = 0.5 * (theta + proposed)
            mean, sd = law(middle)
            copies[0] = u
            copies[1:] = mean + sd * generator.standard_normal(COPIES - 1)
            shared = -np.abs(y - copies) / b - log_f(middle, copies)
            here, there = log_f(theta, copies) + shared, log_f(proposed, copies) + shared
            top = max(here.max(), there.max())
            here, there = np.exp(here - top), np.exp(there - top)
            prior = problem.log_prior(proposed) - problem.log_prior(theta) + math.log(proposed / theta)
            weights = here
            if generator.random() * here.sum() < math.exp(min(prior, 50.0)) * there.sum():
                theta, weights = proposed, there
            reached = np.cumsum(weights)
            u = copies[min(int(np.searchsorted(reached, generator.random() * reached[-1])), COPIES - 1)]
            yield theta

    return steps_of(chain)


def algorithm_4(problem: Problem, truth: Truth) -> Run:
    """MH on (mean, variance) with the normal law of two moments and Gaussian noise added."""
    y, n, noise = problem.value, problem.n, problem.channel.law.noise.scale**2
    walk = 2.4 / math.sqrt(2) * truth.sd

    def log_density(mean: float, variance: float) -> float:
        if variance <= 0:
            return -math.inf
        first, second = y[0] - mean, y[1] - mean**2 - variance
        a, c, d = variance / n + noise, 2 * mean * variance / n, (2 * variance**2 + 4 * mean**2 * variance) / n + noise
        determinant = a * d - c * c
        square = (d * first**2 - 2 * c * first * second + a * second**2) / determinant
        log_prior = -(mean**2) / 8 - 4 * math.log(variance) - 4 / variance
        return log_prior - 0.5 * square - 0.5 * math.log(determinant)

    def chain(generator: np.random.Generator) -> Iterator[np.ndarray]:
        theta = truth.mean
        now = log_density(*theta)
        while True:
            proposed = theta + walk * generator.standard_normal(2)
            then = log_density(*proposed)
            if math.log(generator.random()) < then - now:
                theta, now = proposed, then
            yield theta

    return steps_of(chain)
