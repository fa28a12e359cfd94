"""Algorithm 3: the score of one noisy value of one record (Sec 3.4 of the paper)."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from confide.errors import IncompatibleError
from confide.information.weights import weighted_score
from confide.model import Model
from confide.population import density


@functools.lru_cache(maxsize=32)
def sequential_scores(model: Model, inner: int, *, proposal: Callable[..., Any] | None = None) -> Any:
    """(key, θ) → two independent score estimates for one y.

    `proposal(theta)` may return a numpyro distribution over x.
    """
    population, channel = model.population, model.channel
    if not channel.statistic.per_record:
        raise IncompatibleError("Algorithm 3 (method 'sequential') serves Each; use 'replicates' or 'importance'")
    require_density(model)

    def log_g(y: jax.Array, x: jax.Array) -> jax.Array:
        return channel.law.log_prob(y, channel.statistic.values(x))

    def estimate(key: jax.Array, theta: jax.Array, y: jax.Array) -> jax.Array:
        if proposal is None:
            x = population.sample(key, theta, (inner,))
            log_weight = log_g(y, x)
        else:
            q = proposal(theta)
            x = jnp.asarray(q.sample(key, (inner,)), dtype=jnp.float64)
            log_weight = jax.vmap(lambda v: density.log_prob(population, v, theta))(x) + log_g(y, x) - q.log_prob(x)
        score = jax.vmap(lambda v: density.score(population, v, theta))(x)
        return weighted_score(log_weight, score)

    def scores(key: jax.Array, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        for_x, for_noise, first, second = jax.random.split(key, 4)
        y = channel.law.sample(for_noise, channel.statistic.values(population.sample(for_x, theta, ())))
        return estimate(first, theta, y), estimate(second, theta, y)

    return scores


def require_density(model: Model) -> None:
    """Fisher's identity needs the score of a record, which a moving support does not have."""
    if model.population.moving:
        raise IncompatibleError(
            f"the support of {model.population.name} depends on theta, so a record has no score and Algorithms 2 and 3 "
            "do not apply; use an exact method (method='auto'), or Algorithm 1 (method='importance') for a Mean"
        )
