"""Nothing latent: p(y | θ) itself, by a route (Algorithm 4 of the paper, and its exact counterpart)."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from confide.inference.target.base import Latent, NothingLatent
from confide.prior import Prior


class MarginalTarget(NothingLatent):
    """A likelihood that can be computed; the latent is empty."""

    prior: Prior
    #: an object with log_prob(theta, values)
    likelihood: Any = eqx.field(static=True)
    values: tuple[jax.Array, ...]

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log p(y | θ)."""
        del first, second
        log_p = self.likelihood.log_prob(theta, self.values)
        return jnp.broadcast_to(log_p, (latents.shape[0], 1))
