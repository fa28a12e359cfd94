"""Which method `auto` takes: the quickest that reaches the accuracy, by costs that are known beforehand."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import numpy as np

from confide._compile import FAST_COMPILE
from confide.channel import Channel
from confide.errors import IncompatibleError
from confide.inference.method import Method
from confide.inference.methods import MHAAR, GridOrNUTS, LongEnough, as_method
from confide.inference.problem import Problem
from confide.inference.sampling.fitted import FitOrNUTS
from confide.likelihood.joint_law import Joint
from confide.likelihood.record_law.moments import moments
from confide.likelihood.record_law.traced import moving_law
from confide.population import Population
from confide.statistic import Statistic

#: θ at which a posterior of one parameter, and of two, is computed from simulated windows
_ON_LINE, _ON_PLANE = 200, 4000
#: seconds that quadrature may take
_PATIENCE = 20.0
#: the spread of a vector of means, in scales of its noise, beyond which chains on the records do not mix
_FURTHEST = 4.0
#: θ of the prior at which that is looked at
_LOOKS = 32


def quickest(problem: Problem, joint: Joint | None, options: dict[str, Any]) -> Method:
    """Quadrature, `nuts` or `mhaar`; an error in words where none would reach the accuracy."""
    if joint is None:
        _require_mixing(problem)
        return _by_mhaar(options)
    if problem.prior.free_dimension > 2:
        chosen = as_method("nuts", options)
        return FitOrNUTS() if problem.population.rows is not None else chosen
    thetas = _ON_LINE if problem.prior.free_dimension == 1 else _ON_PLANE
    if joint.seconds(thetas) > _PATIENCE:
        return _by_mhaar(options)
    as_method("grid", options)  # which has no options, and says so
    return GridOrNUTS()


def _by_mhaar(options: dict[str, Any]) -> Method:
    chosen = as_method("mhaar", options)
    assert isinstance(chosen, MHAAR)
    return LongEnough(chosen)


def _require_mixing(problem: Problem) -> None:
    """Refuse vectors of means with Laplace noise that says more than chains on the records can follow."""
    for channel in problem.channels:
        law = channel.law
        if not (channel.statistic.averages and channel.statistic.dimension > 1):
            continue
        if not (law.added is not None and law.added.kinked):
            continue
        ratio = _spread(problem, channel) / float(law.added.scale)
        if ratio > _FURTHEST:
            raise IncompatibleError(
                f"{channel.statistic.dimension} means with Laplace noise have no likelihood in closed form, and their "
                f"own spread is {ratio:.1f} times the noise, so that chains on the records would not mix (up to "
                f"{_FURTHEST:g} they do); release them with Gaussian noise, or infer from one of them, or insist by "
                "method='mhaar' and check R-hat"
            )


def _spread(problem: Problem, channel: Channel) -> float:
    """The root of the summed variances of the means, in the middle of the prior."""
    probes = np.asarray(problem.prior.probes)[:_LOOKS]
    total = np.asarray(_variances(problem.population, channel.statistic, probes))
    return math.sqrt(float(np.median(total)) / channel.n)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=FAST_COMPILE)
def _variances(population: Population, statistic: Statistic, thetas: jax.Array) -> jax.Array:
    return jax.lax.map(lambda theta: moments(*moving_law(population, statistic, theta))[1].trace(), thetas)
