"""The density of one record, one scalar record and one θ of shape (d,) at a time.

The family is only ever called with scalar parameters, and `jax.numpy.vectorize` supplies the batches, so that
a user's family may build, say, mixture weights with `jnp.array([w, 1 - w])` and needs no thought for batch
shapes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float
from numpyro.distributions import TransformedDistribution, constraints
from numpyro.distributions.transforms import AffineTransform

from confide._random import jax_key
from confide.errors import IncompatibleError
from confide.population.space import split
from confide.population.truncated import steady

if TYPE_CHECKING:
    from confide.population.population import Population


def at(population: Population, theta: jax.Array) -> Any:
    """The numpyro distribution of a record at θ."""
    return steady(population.family(**split(population.space, theta)))


def draws(population: Population, key: jax.Array, theta: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Records drawn at θ, of the given shape."""
    if not population.facts.sample:
        raise IncompatibleError(
            f"{population.name} cannot be sampled; give a family whose distribution can, as draws also show where the "
            "mass is to be found when a cdf, a quantile or an information is not supplied"
        )
    return jnp.asarray(at(population, theta).sample(jax_key(key), shape), dtype=jnp.float64)


def ends(support: Any) -> tuple[Any, Any]:
    """The lowest and highest point of a numpyro support of scalars."""
    if support is constraints.boolean:
        return 0.0, 1.0
    low, high = getattr(support, "lower_bound", None), getattr(support, "upper_bound", None)
    if low is None and high is None and support is not constraints.real:
        raise IncompatibleError(
            f"records with support {support!r} are not numbers in an interval; "
            "give a family whose distribution has an interval as its support"
        )
    return -jnp.inf if low is None else low, jnp.inf if high is None else high


def support(population: Population, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The ends of the support at θ, as scalars."""
    distribution = at(population, theta)
    low, high = _carried(distribution) or ends(distribution.support)
    return jnp.asarray(low, dtype=jnp.float64), jnp.asarray(high, dtype=jnp.float64)


def _carried(distribution: Any) -> tuple[Any, Any] | None:
    """The support of a shifted and scaled distribution; numpyro takes it for the whole line if not told otherwise."""
    shifted = isinstance(distribution, TransformedDistribution) and distribution.support is constraints.real
    if not shifted or not all(isinstance(part, AffineTransform) for part in distribution.transforms):
        return None
    low, high = ends(distribution.base_dist.support)
    for part in distribution.transforms:
        first, last = part(low), part(high)
        low, high = jnp.minimum(first, last), jnp.maximum(first, last)
    return low, high


def inner_point(population: Population, low: jax.Array, high: jax.Array) -> jax.Array:
    """Some point of the support, put in place of points outside it so that no NaN can reach a derivative."""
    below, above = population.facts.bounded
    if below and above:
        return low if population.discrete else 0.5 * (low + high)
    if below:
        return low + 1.0
    return high - 1.0 if above else jnp.zeros_like(low)


def log_prob(population: Population, x: jax.Array, theta: jax.Array) -> jax.Array:
    """log p(x | θ), −∞ outside the support (which numpyro's own does not promise)."""
    low, high = support(population, theta)
    inside = (x >= low) & (x <= high) & jnp.isfinite(x)
    if population.discrete:
        inside &= x == jnp.floor(x)
    x_in = jnp.where(inside, x, inner_point(population, low, high))
    value = at(population, theta).log_prob(x_in.astype(jnp.int64) if population.discrete else x_in)
    return jnp.where(inside, value, -jnp.inf)


def score(population: Population, x: Float[Array, ""], theta: Float[Array, " d"]) -> Float[Array, " d"]:
    """∂ log p(x | θ) / ∂θ, of shape (d,)."""
    gradient: jax.Array = jax.grad(log_prob, argnums=2)(population, x, theta)
    return gradient


def kinked(population: Population) -> bool:
    """Whether there are points at which the density is known not to be smooth, beside the ends of its support."""
    return population.closed.breaks is not None or population.facts.kinked


def breaks(population: Population, theta: jax.Array) -> jax.Array:
    """The points at which the density is not smooth in x, of shape (m,), beside the ends of the support."""
    if not kinked(population):
        return jnp.zeros((0,), dtype=jnp.float64)
    if population.closed.breaks is None:
        points = at(population, theta).loc
    else:
        points = population.closed.breaks(**split(population.space, theta))
    return jnp.atleast_1d(jnp.asarray(points, dtype=jnp.float64))
