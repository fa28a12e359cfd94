"""Sums over the law of a discrete record, for families that come without closed forms.

A small finite support is summed as it is. Of any other, a window of 4,096 consecutive integers is summed: from its
lowest point if that reaches past the middle of the mass, else around the median of draws from the population.
`defect` is the mass that the window misses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
from jax import lax

from confide.population import density

if TYPE_CHECKING:
    from confide.population.population import Population

#: consecutive integers that are summed; what they miss is the `defect`
_WINDOW = 4096
#: draws whose median places the window: it is off by about 1.25/√101 standard deviations of the record
_DRAWS = 101


def _window(population: Population, theta: jax.Array) -> jax.Array:
    facts = population.facts
    if not facts.moving and facts.ends[1] - facts.ends[0] < _WINDOW:
        return jnp.arange(facts.ends[0], facts.ends[1] + 1.0, dtype=jnp.float64)
    low, _ = density.support(population, theta)
    draws = density.draws(population, jax.random.key(0), theta, (_DRAWS,))
    start = jnp.maximum(low, jnp.sort(draws)[_DRAWS // 2] - _WINDOW // 2)
    return start + jnp.arange(_WINDOW, dtype=jnp.float64)


def rule(population: Population, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Consecutive points of the support and their probabilities."""
    points = _window(population, lax.stop_gradient(theta))
    log_mass = jax.vmap(lambda x: density.log_prob(population, x, theta))(points)
    return points, jnp.exp(log_mass)


def defect(population: Population, theta: jax.Array) -> jax.Array:
    """The mass outside the window."""
    return jnp.abs(rule(population, theta)[1].sum() - 1.0)


def tail_mass(population: Population, x: jax.Array, theta: jax.Array, side: int) -> jax.Array:
    """P(X ≤ x) for side −1, P(X > x) for side +1."""
    points, mass = rule(population, theta)
    return jnp.sum(mass, where=points <= x if side < 0 else points > x)


def quantile(population: Population, q: jax.Array, theta: jax.Array) -> jax.Array:
    """The smallest point x with P(X ≤ x) ≥ q, found from the upper tail where q is above one half."""
    points, mass = rule(population, theta)
    below = jnp.cumsum(mass)
    above = jnp.append(jnp.cumsum(mass[:0:-1])[::-1], 0.0)
    steps = jnp.where(q <= 0.5, jnp.sum(below < q), jnp.sum(above > 1.0 - q))
    return points[0] + jnp.minimum(steps, points.size - 1)
