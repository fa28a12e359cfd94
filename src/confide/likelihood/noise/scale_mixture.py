"""A normal vector plus Laplace noise: the noise is normal too, given its variances.

A Laplace variable of scale b is normal with variance W, W exponential with mean 2b². So with η = log(W/2b²)

    p(y) = E N(y − μ; 0, S + 2b² diag e^η),        η_j of density e^{η − e^η}, independent,

an integral over as many numbers as there are components. It is a mean over scrambled Sobol points, drawn component by
component from nearly the law of η_j given y: that of the residual of y_j from the others, by its density on cells.
The points are fixed, so that log p is smooth in θ.

Its Fisher information is the mean of the squared score over scrambled Sobol points y of its law.
"""

from __future__ import annotations

import functools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtri
from numpy.typing import NDArray

#: points, a power of two: chosen, log p of nine components is right to a few thousandths, where a posterior notices 0.1
POINTS = 256
#: sets of points y for an information, whose spread is its error
SCRAMBLES = 8
#: cells of η, from where W is nothing beside anything to where it is not
_CELLS, _LOWEST, _HIGHEST = 128, -36.0, 60.0


@functools.lru_cache(maxsize=16)
def uniform(components: int, points: int = POINTS, seed: int = 0) -> NDArray[np.float64]:
    """Points (points, components) of the open unit cube."""
    from scipy.stats import qmc  # half a second that few need

    found = qmc.Sobol(components, rng=np.random.default_rng(seed)).random_base2(points.bit_length() - 1)
    return np.ascontiguousarray(found + 2.0**-33)


def log_density(residual: jax.Array, covariance: jax.Array, b: jax.Array, points: int = POINTS) -> jax.Array:
    """log p of N(0, covariance) plus independent Laplace noise of scale b, at a residual (k,)."""
    k = residual.size
    eta, log_weight = _drawn(*lax.stop_gradient((residual, covariance, b)), uniform(k, points))

    def one(each: jax.Array) -> jax.Array:
        root = jnp.linalg.cholesky(covariance + 2.0 * b**2 * jnp.diag(jnp.exp(each)))
        z = jax.scipy.linalg.solve_triangular(root, residual, lower=True)
        return -0.5 * z @ z - jnp.sum(jnp.log(jnp.diag(root)))

    found = jax.nn.logsumexp(jax.vmap(one)(eta) + log_weight) - math.log(len(eta)) - 0.5 * k * math.log(2.0 * math.pi)
    return jnp.asarray(found)


def _drawn(
    residual: jax.Array, covariance: jax.Array, b: jax.Array, u: NDArray[np.float64]
) -> tuple[jax.Array, jax.Array]:
    """η (points, k), and the logs of how much likelier each is than it was drawn."""
    precision = jnp.linalg.inv(covariance + 2.0 * b**2 * jnp.eye(residual.size))
    apart = precision @ residual / jnp.diag(precision)
    # what of the spread of y_j, given the others, is not its own noise
    rest = jnp.maximum(1.0 / jnp.diag(precision) - 2.0 * b**2, 0.0)
    top = jnp.log(_HIGHEST + 4.0 * jnp.abs(apart) / b)

    def component(apart: jax.Array, rest: jax.Array, top: jax.Array, u: jax.Array) -> tuple[jax.Array, jax.Array]:
        edges = jnp.linspace(_LOWEST, top, _CELLS + 1)
        middle, width = 0.5 * (edges[1:] + edges[:-1]), edges[1] - edges[0]
        variance = rest + 2.0 * b**2 * jnp.exp(middle)
        share = jax.nn.softmax(middle - jnp.exp(middle) - 0.5 * apart**2 / variance - 0.5 * jnp.log(variance))
        below = jnp.concatenate([jnp.zeros(1), jnp.cumsum(share)])
        cell = jnp.clip(jnp.searchsorted(below, u * below[-1], side="right") - 1, 0, _CELLS - 1)
        part = jnp.clip((u * below[-1] - below[cell]) / share[cell], 0.0, 1.0)
        eta = edges[cell] + width * part
        return eta, eta - jnp.exp(eta) - jnp.log(share[cell] / width)

    eta, log_weight = jax.vmap(component)(apart, rest, top, jnp.asarray(u.T))
    return eta.T, jnp.sum(log_weight, axis=0)


@partial(jax.jit, static_argnums=4)
def informations(
    covariances: jax.Array, d_means: jax.Array, d_covariances: jax.Array, b: jax.Array, each: int
) -> jax.Array:
    """F of N(μ, Σ) plus Laplace noise at M θ, by each of some scrambled sets of points y: (scrambles, M, d, d).

    From Σ (M, k, k), ∂μ (M, k, d) and ∂Σ (M, k, k, d). Every y = μ + r stands beside μ − r, whose score differs in the
    sign of what it says about μ alone.
    """
    k = covariances.shape[-1]
    sets = jnp.asarray(np.stack([uniform(2 * k, each, seed) for seed in range(1, SCRAMBLES + 1)]))

    def one(given: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        covariance, d_mean, d_covariance = given
        size, vectors = jnp.linalg.eigh(covariance)
        root = vectors * jnp.sqrt(jnp.maximum(size, 0.0))

        def score(u: jax.Array) -> tuple[jax.Array, jax.Array]:
            noise = jnp.where(u[k:] < 0.5, jnp.log(2.0 * u[k:]), -jnp.log(2.0 * (1.0 - u[k:])))
            residual = root @ ndtri(u[:k]) + b * noise
            return jax.grad(log_density, argnums=(0, 1))(residual, covariance, b)

        def outer(u: jax.Array) -> jax.Array:
            by_residual, by_covariance = score(u)
            location = -by_residual @ d_mean
            spread = jnp.einsum("ab,abi->i", by_covariance, d_covariance)
            return jnp.outer(location, location) + jnp.outer(spread, spread)

        def of_a_set(points: jax.Array) -> jax.Array:
            found: jax.Array = lax.map(outer, points, batch_size=16)
            return jnp.mean(found, axis=0)

        return lax.map(of_a_set, sets)

    found: jax.Array = lax.map(one, (covariances, d_means, d_covariances))
    return jnp.swapaxes(found, 0, 1)
