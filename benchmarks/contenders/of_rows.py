"""A regression from moments of rows: `infer`, and NumPyro's NUTS on (θ, rows)."""

from __future__ import annotations

import numpy as np

from benchmarks.contenders import Draws, Run, Truth
from benchmarks.problems import Problem
from benchmarks.rows import inferred as by_infer
from benchmarks.rows import sampler

#: steps of NUTS before draws are kept, and draws
_STEPS = 150


def inferred(problem: Problem, truth: Truth | None) -> Run:
    """`infer` with no method given, whose effective draws are those that its diagnostics tell."""
    del truth

    def run(key: int) -> Draws:
        found = by_infer(problem.release, key)
        theta = np.asarray(found.draws["intercept"]).reshape(1, -1, 1)
        return Draws(theta, effective=min(float(np.min(ess)) for ess in found.diagnostics.ess.values()))

    return run


def nuts(problem: Problem, truth: Truth | None) -> Run:
    """One chain from the truth, which favours it."""
    del truth
    chain = sampler(problem.release, _STEPS, _STEPS)

    def run(key: int) -> Draws:
        theta, effective = chain(key)
        return Draws(theta, 0.5, 2 * _STEPS, effective=effective)

    return run
