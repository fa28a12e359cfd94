"""Weights whose derivative in θ comes from the distribution function, whatever the support does.

With F(x; θ) the distribution function of a record, G = ∂F/∂θ, and h a function with slope h′ and jumps at points c,

    ∂/∂θ E h(X) = −∫ h′ G dx − Σ_c [h(c+) − h(c−)] G(c).

No boundary term appears where an end of the support or a kink of the density moves, because F is continuous, and
clipping is in h′, which is zero outside of the bounds. So nothing is differentiated whose slope at a tie (an end of the
support on a bound, θ = 3 with bounds (0, 3)) is a convention: no `clip`, no `where`, no node that moves.

On a panel (a, b) that no kink of the density divides, G is the polynomial through its values at the 16 nodes, and

    −∫ₐᵇ h′ G = h(a) G(a) − h(b) G(b) + Σ_j g_j h(x_j) G′(x_j),

a sum over the nodes and the two ends of the panel: derivatives of weights, linear in G. The ends have weight zero.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from confide.errors import IncompatibleError
from confide.likelihood.record_law.panels import TO_LEGENDRE, lagrange
from confide.likelihood.record_law.record import NODES, ORDER, WEIGHTS
from confide.population import Population, density, tails

#: the nodes of a panel with its two ends, on (−1, 1)
WITH_ENDS = np.concatenate([[-1.0], NODES, [1.0]])
_END_WEIGHTS = np.concatenate([[0.0], WEIGHTS, [0.0]])
_DERIVATIVE = np.polynomial.legendre.legval(NODES, np.polynomial.legendre.legder(np.eye(ORDER))).T @ TO_LEGENDRE
#: from G at the nodes of a panel to the derivatives of the weights of its left end, its nodes and its right end
TO_SLOPES = np.concatenate([lagrange([-1.0]), WEIGHTS[:, None] * _DERIVATIVE, -lagrange([1.0])])


def moves(population: Population) -> bool:
    """Whether an end of the support, or a kink of the density, depends on θ."""
    return population.moving or density.kinked(population)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def panel_weights(population: Population, x: jax.Array, half: jax.Array, theta: jax.Array) -> jax.Array:
    """Weights of the 16 nodes and two ends (last axis of x) of panels of half a given width; x has no derivative."""
    log_density = jax.vmap(lambda point: density.log_prob(population, point, theta))(x.reshape(-1)).reshape(x.shape)
    # a density may be infinite at an end of its support, where its weight is zero
    return jnp.where(_END_WEIGHTS > 0, half[..., None] * _END_WEIGHTS * jnp.exp(log_density), 0.0)


@panel_weights.defjvp
def _panel_weights_jvp(population: Population, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    (x, half, theta), (*_, theta_dot) = primals, tangents
    inner = x[..., 1:-1]

    def below(t: jax.Array) -> jax.Array:
        return jax.vmap(lambda point: tails.cdf(population, point, t))(inner.reshape(-1)).reshape(inner.shape)

    _, slopes = jax.jvp(below, (_differentiated_once(theta),), (theta_dot,))
    # the ends of an empty panel exchange nothing but rounding, and there may be hundreds of them at one point
    exchanged = jnp.where(half[..., None] > 0, slopes @ TO_SLOPES.T, 0.0)
    return panel_weights(population, x, half, theta), exchanged


@jax.custom_jvp
def _differentiated_once(theta: jax.Array) -> jax.Array:
    """θ itself; a second derivative would miss what kinks of G contribute, and is refused."""
    return theta


@_differentiated_once.defjvp
def _refuse(primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    raise IncompatibleError(
        "second derivatives in theta are not served where the support, or a kink of the density, moves with theta; use "
        "first derivatives, or differences of them"
    )
