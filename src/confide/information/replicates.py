"""Algorithm 2: the score under the true marginal law, by replicating the data set (Sec 3.3 of the paper).

For order statistics the replicates are windows of ranks (see `windows`), unless all records are asked for.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from confide.errors import IncompatibleError, InvalidArgument
from confide.information.sequential import require_density
from confide.information.weights import weighted_score
from confide.information.windows import has_windows, window_scores
from confide.model import Model
from confide.population import density

_LATENTS = ("auto", "windows", "records")


@functools.lru_cache(maxsize=32)
def replicate_scores(model: Model, inner: int, *, latent: str = "auto") -> tuple[Any, Any, int]:
    """(key, prepared) → two independent score estimates for one y; θ → prepared; and the numbers that one costs.

    `latent` is what is drawn: windows of ranks where the mechanism sees no more (the default), or all records.
    """
    require_density(model)
    if latent not in _LATENTS:
        raise InvalidArgument("latent", latent, "is not what can be drawn", f"use one of {', '.join(_LATENTS)}")
    if latent == "windows" and not has_windows(model):
        raise IncompatibleError(
            f"{model.channel.statistic} has no window of ranks that can be read; draw all records (latent='records')"
        )
    if latent != "records" and has_windows(model):
        return window_scores(model, inner)
    return _record_scores(model, inner)


def _record_scores(model: Model, inner: int) -> tuple[Any, Any, int]:
    population, channel = model.population, model.channel
    if population.rows is not None:
        population.rows()  # which says that there are no scores of rows
    statistic, law, n = channel.statistic, channel.law, channel.n

    def draw(key: jax.Array, theta: jax.Array, count: tuple[int, ...]) -> tuple[jax.Array, jax.Array]:
        """What the mechanism sees of replicated data sets, and the scores of their records, summed."""
        x = population.sample(key, theta, (*count, n))
        score = jnp.vectorize(lambda v: density.score(population, v, theta), signature="()->(d)")(x)
        return statistic.summary(x, law.window), jnp.sum(score, axis=-2)

    def estimate(key: jax.Array, theta: jax.Array, y: jax.Array) -> jax.Array:
        summary, score = draw(key, theta, (inner,))
        log_weight = jax.vmap(lambda part: law.log_prob(y, part))(summary)
        if statistic.per_record:
            log_weight = jnp.sum(log_weight, axis=-1)
        return weighted_score(log_weight, score)

    def scores(key: jax.Array, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        for_records, for_noise, first, second = jax.random.split(key, 4)
        y = law.sample(for_noise, draw(for_records, theta, ())[0])
        return estimate(first, theta, y), estimate(second, theta, y)

    return scores, jnp.asarray, inner * n * population.dimension
