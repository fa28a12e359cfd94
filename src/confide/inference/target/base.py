"""A target: a prior, a latent variable, and how much each of its values weighs.

The joint law of θ, the latent v and the published value is η(θ) p(v, y | θ). A kernel never sees it whole: it sees a
*reference* law for the latent, symmetric in a pair (θ, θ'), from which it draws, and the *weight*

    w(θ, v) = p(v, y | θ) / reference_{θ,θ'}(v),

one value for each independent block of the latent. E_reference w(θ, ·) = p(y | θ), a product over blocks. With the
sums over copies inside a block and products across blocks, the same kernels are the paper's Algorithms 4 to 8.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from confide.prior import Prior

Latent = Any


class Target(eqx.Module):
    """What a kernel sees. θ is (d,); a latent is a pytree of arrays, with copies on a leading axis."""

    prior: eqx.AbstractVar[Prior]
    #: whether the latent is one block whose reference is the same for every pair: a state's weight then stays known
    fixed_reference: ClassVar[bool] = False

    @abstractmethod
    def draw(self, key: jax.Array, theta: jax.Array, other: jax.Array, current: Latent, count: int) -> Latent:
        """`count` copies from the reference of the pair, given the current latent.

        The current one and the copies must be exchangeable under the reference (in subset mode they share coordinates).
        """

    @abstractmethod
    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log w(θ, v) of copies with respect to the reference of (first, second): shape (copies, blocks)."""

    @abstractmethod
    def noise(self, key: jax.Array, count: int) -> Latent:
        """Copies of the noise behind the latent, whose law is free of θ."""

    def perturb(self, key: jax.Array, noise: Latent, correlation: jax.Array) -> Latent:
        """A move of the noise that leaves its law invariant and reversible; each number stays or is drawn anew."""
        fresh = self.noise(key, jax.tree.leaves(noise)[0].shape[0])
        keys = jax.random.split(jax.random.fold_in(key, 1), len(jax.tree.leaves(noise)))
        kept = [
            jnp.where(jax.random.uniform(k, old.shape) < correlation, old, new)
            for k, old, new in zip(keys, jax.tree.leaves(noise), jax.tree.leaves(fresh), strict=True)
        ]
        return jax.tree.unflatten(jax.tree.structure(noise), kept)

    def place(self, noise: Latent, theta: jax.Array) -> Latent:
        """The latents that the noise makes at θ, drawn from the reference of (θ, θ)."""
        del theta
        return noise

    def pick(self, latents: Latent, index: jax.Array) -> Latent:
        """One copy, chosen by block: `index` has shape (blocks,)."""
        return jax.tree.map(lambda leaf: leaf[index[0]], latents)

    def log_density(self, theta: jax.Array, latent: Latent) -> jax.Array:
        """The log weight of one latent at θ, all blocks together, with respect to the reference of (θ, θ)."""
        one = jax.tree.map(lambda leaf: leaf[None], latent)
        return jnp.sum(self.log_weight(theta, one, theta, theta))


class Anew(Target):
    """A target whose latents are the noise itself, drawn anew whatever θ and the current one are."""

    def draw(self, key: jax.Array, theta: jax.Array, other: jax.Array, current: Latent, count: int) -> Latent:
        """Copies that have nothing to do with the current one."""
        del theta, other, current
        return self.noise(key, count)


class NothingLatent(Anew):
    """A target whose latent is empty."""

    def noise(self, key: jax.Array, count: int) -> Latent:
        """Nothing."""
        del key
        return jnp.zeros((count, 0))


def gaussian_move(key: jax.Array, noise: jax.Array, correlation: jax.Array) -> jax.Array:
    """An autoregressive step that keeps standard normal numbers standard normal (Deligiannidis et al. 2018)."""
    return correlation * noise + jnp.sqrt(1 - correlation**2) * jax.random.normal(key, noise.shape)
