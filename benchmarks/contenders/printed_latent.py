"""Plain NumPy transcriptions of the paper's Algorithms 7 and 8, vectorised over copies and records.

As in `printed.py`, chains start at the posterior mean with a walk that suits; N is the paper's, and a smaller one that
does better beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np

from benchmarks.contenders import Run, Truth
from benchmarks.contenders.printed import steps_of, walk_of
from benchmarks.problems import BOUND, Problem


def smooth_sensitivity(ordered: np.ndarray, m: int, beta: float, cap: int) -> np.ndarray:
    """Sec 5.4's formula for the m-th smallest (m from 1) of values sorted along the last axis, capped at `cap`.

    b_k is the largest gap between two values k + 1 ranks apart that enclose the m-th; beyond the ends lie 0 and A.
    """
    shape = (*ordered.shape[:-1], cap)
    padded = np.concatenate([np.zeros(shape), ordered, np.full(shape, BOUND)], axis=-1)
    at = m - 1 + cap
    found = np.full(ordered.shape[:-1], math.exp(-cap * beta) * BOUND)
    for k in range(cap):
        gaps = padded[..., at : at + k + 2] - padded[..., at - k - 1 : at + 1]
        found = np.maximum(found, math.exp(-k * beta) * gaps.max(axis=-1))
    return found


def _log_h(problem: Problem, ordered: np.ndarray, theta: float) -> np.ndarray:
    """log p(y | z, θ) from the sorted abs(z), (copies, n). Ranks beyond the cap cannot matter and are left out."""
    law, m = problem.channel.law, problem.channel.statistic.rank(problem.n)
    first = max(m - 1 - law.cap, 0)
    s = np.minimum(math.sqrt(theta) * ordered[:, first : m + law.cap], BOUND)
    scale = smooth_sensitivity(s, m - first, law.beta, law.cap) / law.alpha
    return -np.abs(float(problem.value) - s[:, m - 1 - first]) / scale - np.log(scale)


def algorithm_7(problem: Problem, truth: Truth, copies: int = 50) -> Run:
    """MHAAR on z in full mode: all records of all copies are drawn and sorted at every step."""
    walk = walk_of(truth)

    def fresh(generator: np.random.Generator, count: int) -> np.ndarray:
        return np.sort(np.abs(generator.standard_normal((count, problem.n))), axis=-1)

    def chain(generator: np.random.Generator) -> Iterator[float]:
        theta, z = float(truth.mean[0]), fresh(generator, 1)
        while True:
            proposed = theta + walk * generator.standard_normal()
            if math.isinf(problem.log_prior(proposed)) if proposed > 0 else True:
                yield theta
                continue
            both = np.concatenate([z, fresh(generator, copies - 1)])
            here, there = _log_h(problem, both, theta), _log_h(problem, both, proposed)
            top = max(here.max(), there.max())
            here, there = np.exp(here - top), np.exp(there - top)
            if generator.random() * here.sum() < there.sum():
                reached = np.cumsum(there)
                k = min(int(np.searchsorted(reached, generator.random() * reached[-1])), copies - 1)
                theta, z = proposed, both[k : k + 1]
            yield theta

    return steps_of(chain, 300 if problem.n <= 10**4 else 2)


def algorithm_8(problem: Problem, truth: Truth, copies: int = 100) -> Run:
    """MHAAR for one noisy value per record: N copies of each record's z, an index drawn for each record."""
    walk, y, b = walk_of(truth), problem.value, problem.channel.law.noise.scale
    records = np.arange(problem.n)

    def h(z: np.ndarray, theta: float) -> np.ndarray:
        return np.exp(-np.abs(y - np.minimum(math.sqrt(theta) * np.abs(z), BOUND)) / b)

    def chain(generator: np.random.Generator) -> Iterator[float]:
        # any start of z is forgotten at the first step but one: each record has N − 1 fresh copies to choose from
        theta, z = float(truth.mean[0]), generator.standard_normal(problem.n)
        while True:
            proposed = theta + walk * generator.standard_normal()
            if math.isinf(problem.log_prior(proposed)) if proposed > 0 else True:
                yield theta
                continue
            both = np.concatenate([z[None], generator.standard_normal((copies - 1, problem.n))])
            here, there = h(both, theta), h(both, proposed)
            ratio = float(np.sum(np.log(there.sum(axis=0) / here.sum(axis=0))))
            weights = here
            if math.log(generator.random()) < ratio:
                theta, weights = proposed, there
            reached = np.cumsum(weights, axis=0)
            index = np.sum(reached < generator.random(problem.n) * reached[-1], axis=0)
            z = both[np.minimum(index, copies - 1), records]
            yield theta

    return steps_of(chain, 300 if problem.n <= 10**4 else 2)


algorithm_7_few = partial(algorithm_7, copies=5)
algorithm_8_few = partial(algorithm_8, copies=10)
