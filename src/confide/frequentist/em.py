"""The maximum of a likelihood by EM: the noisy records are completed, then fitted as if they had been seen.

Gong (2022) fits models to privatised statistics so, with simulated records. Here the expected records are exact
(`likelihood.completed`), so that each step is one fit to weighted records and the likelihood never falls. Steps shrink
by a rate, the share of information that clipping and noise hide; two of them tell it, and the point where all further
ones would end is tried (SQUAREM: Varadhan and Roland 2008) and kept where the likelihood is not less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.errors import AccuracyError, IncompatibleError
from confide.frequentist.likelihood import Floats, FreeLikelihood, climb
from confide.likelihood.joint import Disjoint
from confide.population import Population, space

#: how near the end must be in free coordinates, and after how many steps the search gives up
_NEAR, _MOST = 1e-9, 3000


def fit(likelihood: FreeLikelihood, start: Floats) -> tuple[Floats, float]:
    """The maximum that EM reaches from a start, in free coordinates, and log p there."""
    if not isinstance(likelihood.joint, Disjoint):
        raise IncompatibleError(
            "EM needs the exact law of one record given what was published, and releases of the same records have a "
            "normal approximation only; use maximize='newton'"
        )
    at = start
    for _ in range(_MOST // 3):
        one = step(likelihood, at)
        two = step(likelihood, one)
        first, second = one - at, two - one
        moved, left = float(np.linalg.norm(first)), float(np.linalg.norm(second))
        rate = min(left / moved, 1.0 - 1e-6) if moved > 0 else 0.0
        if left * rate / (1.0 - rate) < _NEAR or left == 0:
            return two, float(likelihood(two[None])[0])
        at = _further(likelihood, at, first, second, two)
    raise AccuracyError(
        f"EM is not at its end after {_MOST:,} steps: the noise hides nearly all that records would tell; use "
        "maximize='newton'"
    )


def step(likelihood: FreeLikelihood, at: Floats) -> Floats:
    """The records that are expected at one point, fitted: the next."""
    assert isinstance(likelihood.joint, Disjoint)
    theta = likelihood.thetas(at[None])[0]
    parts = zip(likelihood.joint.routes, likelihood.joint.models, likelihood.values, strict=True)
    records = tuple(route.completed(model, theta, value) for route, model, value in parts)
    return climb(CompletedLikelihood(likelihood.population, records), at)[0]


@dataclass(frozen=True, eq=False)
class CompletedLikelihood:
    """E[log p(records | θ(v)) | y], which is climbed as a likelihood is."""

    population: Population
    records: tuple[Any, ...]

    def value_and_slope(self, free: Floats) -> tuple[float, Floats]:
        """It and its gradient at one v (k,)."""
        value, slope = _value_and_slope(self.population, jnp.asarray(free), self.records)
        return float(value), np.asarray(slope)


@partial(jax.jit, static_argnums=0)
def _value_and_slope(population: Population, free: jax.Array, records: tuple[Any, ...]) -> Any:
    def log_prob(v: jax.Array) -> jax.Array:
        theta = space.constrain(population.space, v)
        return jnp.sum(jnp.stack([each.log_prob(theta) for each in records]))

    return jax.value_and_grad(log_prob)(free)


def _further(likelihood: FreeLikelihood, at: Floats, first: Floats, second: Floats, two: Floats) -> Floats:
    """Where steps that shrink as the last two did would end, unless the likelihood is less there."""
    bend = second - first
    most = float(np.linalg.norm(bend))
    if most == 0:
        return two
    length = max(1.0, float(np.linalg.norm(first)) / most)
    tried = at + 2.0 * length * first + length**2 * bend
    try:
        better = likelihood(tried[None])[0] >= likelihood(two[None])[0]
    except AccuracyError:  # where nobody need go
        return two
    return tried if better else two
