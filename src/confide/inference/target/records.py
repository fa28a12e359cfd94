"""The records' noise z is latent: x = φ_θ(z), exact for any channel (Sec 4.3 of the paper, Algorithm 7).

The reference is μ, the law of z, which knows nothing of θ, and the weight is h(y | z, θ) = p(y | φ_θ(z)). Several
releases from the same records have one z, and their weights multiply.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from confide.channel import Channel
from confide.inference.target.base import Latent, Target, gaussian_move
from confide.population import Population
from confide.population.noise import draw, is_normal
from confide.prior import Prior


class RecordsTarget(Target):
    """z of all n records. In subset mode `subset` of its coordinates, chosen anew each time, are redrawn."""

    prior: Prior
    population: Population = eqx.field(static=True)
    channels: tuple[Channel, ...] = eqx.field(static=True)
    values: tuple[jax.Array, ...]
    subset: int | None = eqx.field(static=True, default=None)

    @property
    def n(self) -> int:
        """The number of records."""
        return self.channels[0].n

    def noise(self, key: jax.Array, count: int) -> Latent:
        """z ~ μ."""
        return draw(self.population, key, (count, self.n))

    def draw(self, key: jax.Array, theta: jax.Array, other: jax.Array, current: Latent, count: int) -> Latent:
        """z anew, or the current one with a random subset anew (the same subset for all copies)."""
        del theta, other
        if self.subset is None:
            return self.noise(key, count)
        for_subset, for_noise = jax.random.split(key)
        place = jax.random.permutation(for_subset, self.n)[: self.subset]
        fresh = draw(self.population, for_noise, (count, self.subset))
        return jnp.broadcast_to(current, (count, *current.shape[-fresh.ndim + 1 :])).at[:, place].set(fresh)

    def perturb(self, key: jax.Array, noise: Latent, correlation: jax.Array) -> Latent:
        """Autoregressive for normal noise; otherwise each number stays or is drawn anew."""
        if is_normal(self.population):
            return gaussian_move(key, noise, correlation)
        return Target.perturb(self, key, noise, correlation)

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log p(y | φ_θ(z)), over all releases."""
        del first, second
        records = self.population.transform(latents, theta)
        total = jnp.zeros(latents.shape[0])
        for channel, value in zip(self.channels, self.values, strict=True):
            summary = channel.statistic.summary(records, channel.law.window)
            each = jax.vmap(lambda s, law=channel.law, y=value: law.log_prob(y, s))(summary)
            total = total + (each.sum(axis=-1) if channel.statistic.per_record else each)
        return total[:, None]
