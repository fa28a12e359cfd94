"""The law of a clipped record: one rule of nodes and weights, from which everything else is computed.

clip(X) has the density of X inside the bounds and an atom at each bound. The rule

    E f(s(clip X)) ≈ Σ_j w_j(θ) f(s_j)

keeps its nodes where they are and puts θ into the weights: at an interior node the weight is a Gauss–Legendre weight
times the density, so that ∂w_j/∂θ = w_j · score(x_j); an atom's weight is a value of the distribution function, and
its derivative is that function's. Nodes that do not move are what makes the likelihood of many θ one matrix product.

Which nodes serve which θ is the business of `fixed`.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.population import Population, density, tails, tiles

Floats = NDArray[np.float64]

#: Gauss nodes a panel: chosen, 16 reach rounding on panels that halving makes short, and fewer need more panels
ORDER = 16
NODES, WEIGHTS = np.polynomial.legendre.leggauss(ORDER)
#: how far the mass of a rule may be from one, and the sum of its slopes from 0 beside that of their sizes
LARGEST_DEFECT, LARGEST_LEFT = 1e-11, 1e-9
#: the fewest nodes that are made room for
_ROOM = 128


class RecordLaw(eqx.Module):
    """Nodes x_j, their values s_j (one row per component of s), and how θ weighs them.

    The last two entries are the atoms: all mass up to `low` and all mass from `high` on.
    """

    population: Population = eqx.field(static=True)
    x: Floats
    base: Floats
    s: Floats
    low: float
    high: float

    def weights(self, theta: jax.Array) -> jax.Array:
        """w_j(θ) for one θ of shape (d,); they sum to one."""
        log_density = jax.vmap(lambda x: density.log_prob(self.population, x, theta))(self.x)
        interior = self.base * jnp.exp(log_density)
        return jnp.concatenate([interior, self._atoms(theta)])

    def _atoms(self, theta: jax.Array) -> jax.Array:
        low, high = self._ends
        below = tails.cdf(self.population, jnp.asarray(low), theta)
        above = tails.survival(self.population, jnp.asarray(high), theta)
        return jnp.stack([below, above])

    def log_weights(self, theta: jax.Array) -> jax.Array:
        """log w_j(θ), but for the rule's own weights inside, which know no θ."""
        x, base = jnp.asarray(self.x), jnp.asarray(self.base)
        used = jnp.where(base == 0, x[jnp.argmax(base)], x) if x.size else x  # spare nodes lie where p may be ∞
        interior = jax.vmap(lambda x: density.log_prob(self.population, x, theta))(used)
        return jnp.concatenate([interior, log_mass(self._atoms(theta))])

    @property
    def _ends(self) -> Any:
        """Where the atoms end. Survival is P(X > x), and for integers the upper atom holds P(X ≥ high)."""
        return self.low, -(-self.high // 1.0) - 1.0 if self.population.discrete else self.high

    def masses_at(self, thetas: Any) -> Floats:
        """What each node stands for at known θ (M, d), whose sum is the rule's own error away from one: (M, nodes)."""
        below, above = tiles.tails(self.population, self._ends, thetas)
        interior = weighed(self.base, tiles.densities(self.population, self.x, thetas))
        return np.concatenate([interior, below[:, :1], above[:, 1:]], axis=1)

    def weights_at(self, thetas: Any) -> Floats:
        """w_j(θ) at known θ (M, d): shape (M, nodes).

        They sum to one: a defect δ would be nδ in log p of n records.
        """
        masses = self.masses_at(thetas)
        total = masses.sum(axis=1, keepdims=True)
        return masses / np.where(np.abs(total - 1.0) < LARGEST_DEFECT, total, 1.0)

    def slopes_at(self, thetas: Any) -> Floats:
        """∂w_j/∂θ at known θ: shape (M, nodes, d).

        They sum to nothing, as do those of a law: what rounding leaves, n times, may be more than a mean of n records
        says of a parameter that hardly moves it. A sum that is more than rounding is left, and noticed in the scores.
        """
        below, above = tiles.tail_slopes(self.population, self._ends, thetas)
        interior = weighed(self.base[:, None], tiles.density_slopes(self.population, self.x, thetas))
        slopes = np.concatenate([interior, below[:, :1], above[:, 1:]], axis=1)
        left = slopes.sum(axis=1, keepdims=True)
        rounding = np.abs(left) < LARGEST_LEFT * np.abs(slopes).sum(axis=1, keepdims=True)
        return np.asarray(slopes - self.weights_at(thetas)[:, :, None] * np.where(rounding, left, 0.0))

    def at(self, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        """s_j, which θ does not move, and w_j(θ)."""
        return jnp.asarray(self.s), self.weights(theta)


def log_mass(mass: jax.Array) -> jax.Array:
    """log of a mass, −∞ where there is none, without a derivative there."""
    some = mass > 0
    return jnp.where(some, jnp.log(jnp.where(some, mass, 1.0)), -jnp.inf)


def weighed(base: Floats, values: Floats) -> Floats:
    """Their product, 0 at nodes that weigh nothing: spare ones lie at an end of the support, where p may be ∞."""
    return np.asarray(base * np.where(base == 0, 0.0, values))


def room_for(nodes: int) -> int:
    """How many nodes to make room for: few numbers, so that a program serves many laws."""
    return max(_ROOM, 1 << (nodes - 1).bit_length())
