"""Fisher information in one record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp

from confide.population import counts, density, quadrature
from confide.population.quadrature import PanelCuts
from confide.population.space import split

if TYPE_CHECKING:
    from confide.population.population import Population


def fisher(population: Population, theta: jax.Array) -> jax.Array:
    """I(θ) = E[score scoreᵀ], of shape (d, d): in closed form where there is one, else by a sum over the support."""
    if population.closed.information is not None:
        information = population.closed.information(**split(population.space, theta))
        return jnp.asarray(information).reshape((population.dimension, population.dimension))
    return fisher_by_rule(population, theta)[0]


def fisher_by_rule(
    population: Population, theta: jax.Array, at: PanelCuts | None = None
) -> tuple[jax.Array, jax.Array]:
    """The same by a sum over the support, whatever closed form there is, and how far its total mass is from one."""
    discrete = population.discrete
    records, mass = counts.rule(population, theta) if discrete else quadrature.rule(population, theta, at)
    scores = jax.vmap(lambda x: density.score(population, x, theta))(records)
    scores = jnp.where((mass > 0)[:, None] & jnp.isfinite(scores), scores, 0.0)
    return (scores * mass[:, None]).T @ scores, jnp.abs(mass.sum() - 1.0)


def defect(population: Population, theta: jax.Array) -> jax.Array:
    """How far the sums over the support are from a total mass of one."""
    return counts.defect(population, theta) if population.discrete else quadrature.defect(population, theta)
