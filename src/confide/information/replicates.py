"""Algorithm 2: the score under the true marginal law, by replicating the data set (Sec 3.3 of the paper)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from confide.information.sequential import require_density
from confide.information.weights import weighted_score
from confide.model import Model
from confide.population import density
from confide.statistic import Each


def replicate_scores(model: Model, inner: int) -> tuple[Any, int]:
    """(key, θ) → two independent score estimates for one y; and the number of records that one costs."""
    require_density(model)
    population, channel = model.population, model.channel
    statistic, law, n = channel.statistic, channel.law, channel.n

    def draw(key: jax.Array, theta: jax.Array, count: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
        """What the mechanism sees of replicated data sets, and the scores of their records, summed."""
        x = population.sample(key, theta, (*count, n))
        score = jnp.vectorize(lambda v: density.score(population, v, theta), signature="()->(d)")(x)
        return statistic.summary(x, law.window), jnp.sum(score, axis=-2)

    def estimate(key: jax.Array, theta: jax.Array, y: jax.Array) -> jax.Array:
        summary, score = draw(key, theta, (inner,))
        log_weight = jax.vmap(lambda part: law.log_prob(y, part))(summary)
        if isinstance(statistic, Each):
            log_weight = jnp.sum(log_weight, axis=-1)
        return weighted_score(log_weight, score)

    def scores(key: jax.Array, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        for_records, for_noise, first, second = jax.random.split(key, 4)
        y = law.sample(for_noise, draw(for_records, theta, ())[0])
        return estimate(first, theta, y), estimate(second, theta, y)

    return scores, inner * n
