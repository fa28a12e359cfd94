"""The information about θ where the number of records is private: n is one more unknown, at a number that is assumed.

With counts and sums jointly normal, mean n·μ(θ) and covariance n·Σ(θ) + V, the information about (θ, n) is

    F_ij = ∂_i mᵀ H⁻¹ ∂_j m + ½ tr(H⁻¹ ∂_i H H⁻¹ ∂_j H),

and what is left about θ for one who does not know n is F_θθ − F_θn F_nn⁻¹ F_nθ. V holds the variances of the noise:
Laplace noise tells more than normal noise of its variance does, so that this is not too much.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.errors import IncompatibleError
from confide.likelihood.record_law.moments import moments
from confide.likelihood.record_law.traced import moving_law
from confide.model import Model
from confide.statistic import Mean

Floats = NDArray[np.float64]


def private_information(model: Model, thetas: Floats, n: int) -> Floats:
    """F (M, d, d) at an assumed n."""
    channel = model.channel
    if channel.law.added is None:
        raise IncompatibleError(f"{channel.mechanism!r} does not add noise; use Laplace or Gaussian")
    if not any(low == high for low, high in channel.statistic.ranges):
        raise IncompatibleError(
            f"{channel.statistic} does not say how many records there are, so that it tells nothing by itself; count "
            "them too, as in Sum(['1', 'x'], …)"
        )
    variance = float(channel.law.added.variance)
    bounds: Any = getattr(channel.statistic.bounds, "by_name", channel.statistic.bounds)
    statistic = Mean(list(channel.statistic.transforms), bounds)
    return np.asarray(_information(model.population, statistic, thetas, float(n), variance))


@partial(jax.jit, static_argnums=(0, 1))
def _information(population: Any, statistic: Any, thetas: jax.Array, n: float, variance: float) -> jax.Array:
    def law(known: jax.Array) -> tuple[jax.Array, jax.Array]:
        mean, covariance = moments(*moving_law(population, statistic, known[:-1]))
        return known[-1] * mean, known[-1] * covariance + variance * jnp.eye(mean.size)

    def one(theta: jax.Array) -> jax.Array:
        known = jnp.append(theta, n)
        inverse = jnp.linalg.inv(law(known)[1])
        slope, spread = jax.jacfwd(law)(known)
        turned = jnp.einsum("ab,bci->aci", inverse, spread)
        whole = slope.T @ inverse @ slope + 0.5 * jnp.einsum("aci,caj->ij", turned, turned)
        return whole[:-1, :-1] - jnp.outer(whole[:-1, -1], whole[-1, :-1]) / whole[-1, -1]

    return jax.vmap(one)(thetas)
