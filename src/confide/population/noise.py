"""The record as a function of noise that knows nothing of θ: z ~ μ and x = φ_θ(z)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from numpyro.distributions import Distribution, Exponential, Laplace, Normal, Uniform

from confide._random import jax_key
from confide.population import density, tails
from confide.population.space import split

if TYPE_CHECKING:
    from confide.population.population import Population


def draw(population: Population, key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """z ~ μ: the family's noise, else uniform on (0, 1)."""
    noise = population.closed.noise
    if population.rows is not None:
        shape = (*shape, population.rows.noises)
    if noise is not None:
        distribution = noise if isinstance(noise, Distribution) else noise()
        known = isinstance(distribution, Normal | Uniform | Exponential | Laplace)
        return jnp.asarray(distribution.sample(key if known else jax_key(key), shape), dtype=jnp.float64)
    # JAX draws multiples of 2⁻⁵² from zero on; half a step further in, no draw is zero, whose quantile may be −∞.
    return jax.random.uniform(key, shape, dtype=jnp.float64) + 2.0**-53


def is_normal(population: Population) -> bool:
    """Whether z is standard normal."""
    noise = population.closed.noise
    if noise is None:
        return False
    distribution = noise if isinstance(noise, Distribution) else noise()
    return type(distribution) is Normal and (float(distribution.loc), float(distribution.scale)) == (0.0, 1.0)


def transform(population: Population, z: jax.Array, theta: jax.Array) -> jax.Array:
    """φ_θ(z) for one z: the family's, else the quantile function."""
    if population.closed.transform is not None:
        return population.closed.transform(z, **split(population.space, theta))
    return tails.quantile(population, z, theta)


def sample(population: Population, key: jax.Array, theta: jax.Array, shape: tuple[int, ...]) -> Any:
    """Independent records for every θ of a batch, of shape batch + shape; of rows each column."""

    def one(key: jax.Array, theta: jax.Array) -> Any:
        if population.rows is not None:
            return population.rows.draws(population.space, key, theta, shape)
        return density.draws(population, key, theta, shape)

    batch = theta.shape[:-1]
    if not batch:
        return one(key, theta)
    keys = jax.random.split(key, math.prod(batch))
    drawn = jax.vmap(one)(keys, theta.reshape((-1, theta.shape[-1])))
    return jax.tree.map(lambda column: column.reshape(batch + shape), drawn)
