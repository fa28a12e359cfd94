"""Which law of a clipped record serves a population, and its moments."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from confide._compile import IN_A_HURRY
from confide.likelihood.frames import CHANGES
from confide.likelihood.moving import moving_law
from confide.likelihood.record import Floats, RecordLaw, room_for, weights_at
from confide.likelihood.record_panels import record_law
from confide.population import Population
from confide.statistic import Statistic


class MovingLaw(eqx.Module):
    """The same for populations whose support or kinks move with θ, and whose nodes must move along."""

    population: Population = eqx.field(static=True)
    statistic: Statistic = eqx.field(static=True)
    #: s changes by at most 2^−changes of its range on a panel
    changes: int = eqx.field(static=True, default=CHANGES)

    def at(self, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        """s_j(θ) and w_j(θ)."""
        return moving_law(self.population, self.statistic, theta, self.changes)


def law_for(
    population: Population, statistic: Statistic, thetas: Any, tilt: float = 0.0, steepest: float = math.inf
) -> RecordLaw | MovingLaw:
    """Fixed nodes where they serve; moving ones where the support, or a kink of the density, moves."""
    if population.moving or population.closed.breaks is not None:
        return MovingLaw(population, statistic)
    return record_law(population, statistic, thetas, tilt, steepest=steepest)


def moments(s: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """μ_s and Σ_s of one record: (k,) and (k, k)."""
    mean = s @ weights
    centred = s - mean[:, None]
    return mean, (centred * weights) @ centred.T


def moments_at(law: RecordLaw | MovingLaw, thetas: Floats) -> tuple[Floats, Floats]:
    """μ_s and Σ_s at many θ."""
    if isinstance(law, MovingLaw):
        mean, covariance = _moving_moments(law, thetas)
        return np.asarray(mean), np.asarray(covariance)
    weights = np.asarray(weights_at(law, thetas))
    mean = weights @ law.s.T
    centred = law.s - mean[:, :, None]
    return mean, (centred * weights[:, None]) @ centred.swapaxes(1, 2)


@partial(jax.jit, compiler_options=IN_A_HURRY)
def _moving_moments(law: MovingLaw, thetas: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jax.vmap(lambda theta: moments(*law.at(theta)))(thetas)


class Nodes(eqx.Module):
    """Laws of one record at many θ as bare arrays: weights (B, J), and s (J,) shared or (B, J) moving with θ.

    Padded to a multiple of a few dozen nodes (of weight zero), so that what is compiled for one population and
    statistic serves the others.
    """

    s: jax.Array
    weights: jax.Array

    @property
    def batched(self) -> int | None:
        """The axis of s that follows θ, if any."""
        return 0 if self.s.ndim == 2 else None


def _padded(array: jax.Array, fill: str) -> jax.Array:
    size = array.shape[-1]
    widths = [(0, 0)] * (array.ndim - 1) + [(0, room_for(size) - size)]
    return jnp.pad(array, widths, mode="edge") if fill == "edge" else jnp.pad(array, widths)


def nodes_at(law: RecordLaw | MovingLaw, thetas: Floats) -> Nodes:
    """The laws of a scalar s at θ of shape (B, d)."""
    if isinstance(law, RecordLaw) and law.s.shape[1] == room_for(law.s.shape[1]):
        return Nodes(law.s[0], weights_at(law, thetas))  # which a search for nodes has compiled
    return _padded_nodes(law, thetas)


@partial(jax.jit, compiler_options=IN_A_HURRY)
def _padded_nodes(law: RecordLaw | MovingLaw, thetas: jax.Array) -> Nodes:
    s, weights = jax.vmap(law.at)(thetas)
    values = s[:, 0] if isinstance(law, MovingLaw) else jnp.asarray(law.s)[0]
    return Nodes(_padded(values, "edge"), _padded(weights, "zero"))


@partial(jax.jit, compiler_options=IN_A_HURRY)
def slopes_at(law: RecordLaw | MovingLaw, thetas: jax.Array) -> Nodes:
    """Their derivatives in θ, weights and values each (B, d, J)."""
    ds, dw = jax.vmap(jax.jacfwd(law.at))(thetas)
    return Nodes(_padded(jnp.swapaxes(ds[:, 0], 1, 2), "zero"), _padded(jnp.swapaxes(dw, 1, 2), "zero"))
