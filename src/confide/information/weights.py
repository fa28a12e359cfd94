"""Self-normalised averages of a score, shared by the Monte Carlo algorithms."""

from __future__ import annotations

import jax
import jax.numpy as jnp


def weighted_score(log_weights: jax.Array, scores: jax.Array) -> jax.Array:
    """Σ_j s_j w_j / Σ_j w_j in log space; zero where every weight is zero, for then y tells nothing."""
    top = jnp.max(log_weights)
    possible = jnp.isfinite(top)
    weights = jnp.exp(log_weights - jnp.where(possible, top, 0.0))
    total = jnp.sum(weights)
    return jnp.where(
        possible, weights @ jnp.where(weights[:, None] > 0, scores, 0.0) / jnp.where(possible, total, 1.0), 0.0
    )
