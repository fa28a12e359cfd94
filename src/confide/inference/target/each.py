"""One noisy value per record: a block of z for each (Sec 4.4 of the paper, Algorithm 8)."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from confide.inference.target.base import Anew, Latent, Target, gaussian_move
from confide.model import Model
from confide.population.noise import draw, is_normal
from confide.prior import Prior


class EachTarget(Anew):
    """z_t of each record, with weight h(y_t | z_t, θ)."""

    prior: Prior
    model: Model = eqx.field(static=True)
    value: jax.Array

    def noise(self, key: jax.Array, count: int) -> Latent:
        """z ~ μ."""
        return draw(self.model.population, key, (count, self.model.channel.n))

    def perturb(self, key: jax.Array, noise: Latent, correlation: jax.Array) -> Latent:
        """Autoregressive for normal noise; otherwise each number stays or is drawn anew."""
        if is_normal(self.model.population):
            return gaussian_move(key, noise, correlation)
        return Target.perturb(self, key, noise, correlation)

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log g(y_t | s(φ_θ(z_t))) of each record."""
        del first, second
        channel = self.model.channel
        summary = channel.statistic.summary(self.model.population.transform(latents, theta), channel.law.window)
        return jax.vmap(lambda s: channel.law.log_prob(self.value, s))(summary)

    def pick(self, latents: Latent, index: jax.Array) -> Latent:
        """Each record's own copy."""
        rows = latents.ndim == 3  # several numbers for each record
        return jnp.take_along_axis(latents, index[None, :, None] if rows else index[None], axis=0)[0]
