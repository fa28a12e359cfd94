"""Several releases from disjoint records: independent latents, whose blocks stand side by side."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from confide.inference.target.base import Latent, Target
from confide.prior import Prior


class ProductTarget(Target):
    """The product of targets that share θ and its prior."""

    prior: Prior
    parts: tuple[Target, ...]
    #: the number of blocks of each part
    blocks: tuple[int, ...] = eqx.field(static=True)

    def _keys(self, key: jax.Array) -> jax.Array:
        return jax.random.split(key, len(self.parts))

    def draw(self, key: jax.Array, theta: jax.Array, other: jax.Array, current: Latent, count: int) -> Latent:
        """Each part's own."""
        drawn = zip(self.parts, self._keys(key), current, strict=True)
        return tuple(part.draw(k, theta, other, now, count) for part, k, now in drawn)

    def noise(self, key: jax.Array, count: int) -> Latent:
        """Each part's own."""
        return tuple(part.noise(k, count) for part, k in zip(self.parts, self._keys(key), strict=True))

    def perturb(self, key: jax.Array, noise: Latent, correlation: jax.Array) -> Latent:
        """Each part's own."""
        each = zip(self.parts, self._keys(key), noise, strict=True)
        return tuple(part.perturb(k, now, correlation) for part, k, now in each)

    def place(self, noise: Latent, theta: jax.Array) -> Latent:
        """Each part's own."""
        return tuple(part.place(now, theta) for part, now in zip(self.parts, noise, strict=True))

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """The blocks of all parts."""
        each = [part.log_weight(theta, v, first, second) for part, v in zip(self.parts, latents, strict=True)]
        return jnp.concatenate(each, axis=-1)

    def pick(self, latents: Latent, index: jax.Array) -> Latent:
        """Each part's own."""
        chosen, start = [], 0
        for part, v, size in zip(self.parts, latents, self.blocks, strict=True):
            chosen.append(part.pick(v, index[start : start + size]))
            start += size
        return tuple(chosen)
