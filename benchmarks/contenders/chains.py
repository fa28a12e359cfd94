"""The paper's algorithms as Confide runs them: chains side by side, the walk adapted during warm-up."""

from __future__ import annotations

from typing import Any

import confide as cf
from benchmarks.contenders import Draws, Run, Truth
from benchmarks.contenders.quadrature import stacked
from benchmarks.problems import Problem


def _chains(problem: Problem, chains: int, warmup: int, draws: int, **options: Any) -> Run:
    def run(key: int) -> Draws:
        found = cf.infer(
            problem.population,
            problem.release,
            problem.prior,
            key=key,
            chains=chains,
            warmup=warmup,
            draws=draws,
            **options,
        )
        return Draws(stacked(problem, found.draws), warmup / (warmup + draws), warmup + draws)

    return run


def pmmh_on_u(problem: Problem, truth: Truth | None) -> Run:
    """Algorithm 5 with N = 20."""
    del truth
    return _chains(problem, 64, 500, 2000, method="pmmh", latent="u", copies=20)


def mhaar_on_u(problem: Problem, truth: Truth | None) -> Run:
    """Algorithm 6 with N = 5."""
    del truth
    return _chains(problem, 64, 500, 2000, method="mhaar", latent="u", copies=5)


def mhaar_on_windows(problem: Problem, truth: Truth | None) -> Run:
    """Algorithm 7 with N = 2: on the ranks that the mechanism sees."""
    del truth
    return _chains(problem, 512, 300, 1000, method="mhaar", copies=2)


def mhaar_on_records(problem: Problem, truth: Truth | None) -> Run:
    """Algorithm 8 with N = 3. With many records a step is long, and the chains are few."""
    del truth
    chains, warmup, draws = (256, 300, 1000) if problem.n <= 1000 else (4, 150, 400)
    return _chains(problem, chains, warmup, draws, method="mhaar", copies=3)
