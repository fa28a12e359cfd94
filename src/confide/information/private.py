"""The information about θ where the number of records is private: n is one more unknown, at a number that is assumed.

With counts and sums jointly normal, mean n·μ(θ) and covariance n·Σ(θ) + V, the information about (θ, n) is

    F_ij = ∂_i mᵀ H⁻¹ ∂_j m + ½ tr(H⁻¹ ∂_i H H⁻¹ ∂_j H),

and what is left about θ for one who does not know n is F_θθ − F_θn F_nn⁻¹ F_nθ. V holds the variances of the noise:
Laplace noise tells more than normal noise of its variance does, so that this is not too much. Counts of cells are not
normal where few records are expected in one: of them only the first term is taken, which is what the best linear
combination of any numbers with that mean and covariance tells, and all of it where there is no noise.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from confide.errors import IncompatibleError
from confide.likelihood.cells.probabilities import cell_law, why_no_cells
from confide.likelihood.record_law.moments import moments
from confide.likelihood.record_law.traced import moving_law
from confide.model import Model
from confide.statistic import Mean

Floats = NDArray[np.float64]


def private_information(model: Model, thetas: Float[Floats, "m d"], n: int) -> Float[Floats, "m d d"]:
    """F (M, d, d) at an assumed n."""
    channel = model.channel
    if channel.law.added is None:
        raise IncompatibleError(f"{channel.mechanism!r} does not add noise; use Laplace or Gaussian")
    variance = float(channel.law.added.variance)
    if channel.statistic.tallies:
        return _of_cells(model, thetas, n, variance)
    if not any(low == high for low, high in channel.statistic.ranges):
        raise IncompatibleError(
            f"{channel.statistic} does not say how many records there are, so that it tells nothing by itself; count "
            "them too, as in Sum(['1', 'x'], …)"
        )
    bounds: Any = getattr(channel.statistic.bounds, "by_name", channel.statistic.bounds)
    statistic = Mean(list(channel.statistic.transforms), bounds)
    return np.asarray(_information(model.population, statistic, thetas, float(n), variance))


def _of_cells(model: Model, thetas: Floats, n: int, variance: float) -> Floats:
    """By the means n·q(θ) of the counts of all cells, which add up to n, and their covariances."""
    if (reason := why_no_cells(model.population, model.channel.statistic)) is not None:
        raise IncompatibleError(reason)
    law = cell_law(model.population, model.channel.statistic)
    q, slopes = np.asarray(law.at(thetas)), np.asarray(law.slopes(thetas))
    spread = n * (np.eye(q.shape[1]) * q[:, None, :] - q[:, :, None] * q[:, None, :])
    covariance = spread + variance * np.eye(q.shape[1])
    slope = np.concatenate([n * slopes, q[:, :, None]], axis=2)
    whole = np.swapaxes(slope, 1, 2) @ np.linalg.solve(covariance, slope)
    left: Floats = whole[:, :-1, :-1] - whole[:, :-1, -1:] * whole[:, -1:, :-1] / whole[:, -1:, -1:]
    return left


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
