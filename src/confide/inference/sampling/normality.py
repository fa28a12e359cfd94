"""How far the central limit theorem is off: the first correction of Edgeworth, at the middle of a posterior.

The density of a standardised sum of n differs from φ(z) by the factor 1 + κ₃(z³ − 3z)/6 + …, κ₃ its skewness, which
falls like n^{−1/2} and is diluted by noise. At two standard deviations that is κ₃/3.
"""

from __future__ import annotations

from functools import partial

import jax
import numpy as np

from confide._compile import FAST_COMPILE
from confide.inference.problem import Problem
from confide.likelihood.record_law.traced import moving_law
from confide.model import Model
from confide.posterior import Posterior


def edgeworth(problem: Problem, found: Posterior) -> float | None:
    """The largest relative change of a density two standard deviations out, over all means that were published."""
    if not all(model.channel.statistic.averages and model.channel.n for model in problem.models):
        return None
    theta = found.theta.reshape(-1, found.theta.shape[-1]).mean(axis=0)
    off = []
    for model in problem.models:
        second, third = map(np.asarray, _cumulants(model, theta))
        noise = 0.0 if model.channel.law.added is None else float(model.channel.law.added.variance)
        n = float(model.channel.n)
        variance = second / n + noise
        skewness = np.abs(third) / n**2 / np.where(variance > 0, variance, 1.0) ** 1.5
        off.append(np.max(np.where(variance > 0, skewness, 0.0)))
    return float(np.max(off)) / 3.0


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _cumulants(model: Model, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Second and third central moments of each component of s."""
    s, weights = moving_law(model.population, model.channel.statistic, theta)
    centred = s - (s @ weights)[:, None]
    return centred**2 @ weights, centred**3 @ weights
