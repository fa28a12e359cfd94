"""Fisher information under the central limit theorem (Sec 3.1 of the paper), from the derivatives of the moments.

Gaussian noise, any dimension:  F_ij = ∂_iμᵀ H⁻¹ ∂_jμ + ½ tr(H⁻¹ ∂_iH H⁻¹ ∂_jH),   H = Σ_s/n + σ²I.

Scalar with other noise: μ and v = Σ_s/n enter the density as location and spread, so F is the 2×2 information of
(μ, v), a one-dimensional integral, carried to θ by the chain rule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.likelihood.mean.normal import convolved
from confide.likelihood.mean.y_rules import panel_edges, panel_nodes
from confide.likelihood.record_law.moments import AnyRecordLaw, each_theta, law_for, moments
from confide.mechanism.noise import Noise

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]


def normal_information(model: Model, thetas: Floats) -> jax.Array:
    """F(θ) for each θ of (M, d), under the normal model: shape (M, d, d)."""
    channel = model.channel
    n = float(channel.n)
    law = law_for(model.population, channel.statistic, thetas)
    mean, variance, d_mean, d_variance = _derivatives(law, thetas)
    if channel.law.noiseless or channel.law.noise.normal:  # type: ignore[attr-defined]
        noise = 0.0 if channel.law.noiseless else channel.law.noise.scale**2  # type: ignore[attr-defined]
        return _gaussian(variance / n + noise * jnp.eye(variance.shape[-1]), d_mean, d_variance / n)
    spread = np.sqrt(np.asarray(variance)[:, 0, 0] / n)
    # where s is a constant, so are both moments near θ: of whatever information about them nothing is carried over
    spread = np.where(spread > 0, spread, float(jnp.sqrt(channel.law.noise.variance)))  # type: ignore[attr-defined]
    inner = _location_spread(channel.law.noise, np.asarray(mean)[:, 0], spread)  # type: ignore[attr-defined]
    outer = jnp.stack([d_mean[:, 0], d_variance[:, 0, 0] / n], axis=1)  # (M, 2, d)
    return jnp.einsum("mai,mab,mbj->mij", outer, inner, outer)


@jax.jit
def _derivatives(law: AnyRecordLaw, thetas: jax.Array) -> tuple[jax.Array, ...]:
    """μ, Σ and their derivatives at each θ."""

    def both(theta: jax.Array) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
        found = moments(*law.at(theta))
        return found, found

    def one(theta: jax.Array) -> tuple[jax.Array, ...]:
        (d_mean, d_variance), (mean, variance) = jax.jacfwd(both, has_aux=True)(theta)
        return mean, variance, d_mean, d_variance

    found: tuple[jax.Array, ...] = each_theta(law, one, thetas)
    return found


@jax.jit
def _gaussian(covariance: jax.Array, d_mean: jax.Array, d_covariance: jax.Array) -> jax.Array:
    def one(h: jax.Array, dm: jax.Array, dh: jax.Array) -> jax.Array:
        inverse = jnp.linalg.inv(h)
        product = jnp.einsum("ab,bci->aci", inverse, dh)
        return dm.T @ inverse @ dm + 0.5 * jnp.einsum("abi,baj->ij", product, product)

    return jax.vmap(one)(covariance, d_mean, d_covariance)


def _location_spread(noise: Noise, mean: Floats, spread: Floats) -> jax.Array:
    """The 2×2 information of (μ, v) in the density of N(μ, v) plus noise, for each θ."""
    if noise.step is not None:
        step = noise.step
        reach = int(np.ceil((12.0 * spread.max() + 45.0 * float(jnp.sqrt(noise.variance))) / step)) + 2
        y = step * (np.round(mean / step)[:, None] + np.arange(-reach, reach + 1))
        weight = np.ones_like(y)
    else:
        y, weight = panel_nodes(panel_edges(mean, spread, float(jnp.sqrt(noise.variance))))
    return _square_scores(noise, mean, spread**2, y, weight)


@jax.jit
def _square_scores(noise: Noise, mean: jax.Array, v: jax.Array, y: jax.Array, weight: jax.Array) -> jax.Array:
    def log_density(parameters: jax.Array, value: jax.Array) -> jax.Array:
        return convolved(noise, value - parameters[0], jnp.sqrt(parameters[1]))

    def one(m: jax.Array, variance: jax.Array, values: jax.Array, w: jax.Array) -> jax.Array:
        at = jnp.stack([m, variance])
        log_p, score = jax.vmap(lambda value: jax.value_and_grad(log_density)(at, value))(values)
        mass = w * jnp.exp(log_p)
        score = jnp.where(mass[:, None] > 0, score, 0.0)
        return jnp.einsum("y,yi,yj->ij", mass, score, score)

    return jax.vmap(one)(mean, v, y, weight)
