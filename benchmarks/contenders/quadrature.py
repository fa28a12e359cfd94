"""Confide as a user calls it, `method="auto"`; information; and a study of many posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np

import confide as cf
from benchmarks.contenders import Draws, Run, Truth
from benchmarks.problems import Problem

DRAWS = 25_000  # from each of four chains
STUDY = 10_000


def stacked(problem: Problem, values: Any) -> np.ndarray:
    """Numbers or arrays by parameter in one array, the parameters last."""
    return np.stack([np.asarray(values[name]) for name in problem.prior], axis=-1)


def auto(problem: Problem, truth: Truth | None) -> Run:
    """`infer` with no method given."""
    del truth

    def run(key: int) -> Draws:
        found = cf.infer(problem.population, problem.release, problem.prior, key=key, draws=DRAWS)
        theta = stacked(problem, found.draws)
        if found.exact is None:
            # not integrated: the default warm-up of 1000 steps is part of the time
            return Draws(theta, warmup=1000 / (1000 + DRAWS), steps=1000 + DRAWS)
        return Draws(theta, mean=stacked(problem, found.mean), sd=stacked(problem, found.sd))

    return run


def information(problem: Problem, truth: Truth | None) -> Run:
    """`information` at one θ."""
    del truth
    return lambda _: cf.information(problem.model, problem.theta)


def algorithm_1(problem: Problem, truth: Truth | None) -> Run:
    """The paper's Algorithm 1 at its size, 1000 × 1000, in Confide."""
    del truth
    return lambda key: cf.information(
        problem.model, problem.theta, method="importance", outer=1000, inner=1000, key=key
    )


def study(problem: Problem, truth: Truth | None) -> Run:
    """10,000 posteriors of simulated releases."""
    del truth
    from confide.inference.batch import many_posteriors

    values = problem.model.simulate(0, problem.theta, (STUDY,))
    return lambda _: many_posteriors([problem.model], [values], problem.prior)
