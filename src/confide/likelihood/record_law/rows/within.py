"""What noisy means of rows tell about θ for many bounds of the columns at once: bounds are arguments of one program.

Of a channel bounds are constants, so that every channel compiles a program of its own. Whoever chooses bounds asks for
hundreds: here they are traced, and panels end where they lie. Few nodes do for a search, whose winner is looked at
again. The law of the means is normal (Sec 3.1), F_ij = ∂_iμᵀ H⁻¹ ∂_jμ + ½ tr(H⁻¹ ∂_iH H⁻¹ ∂_jH) with H = Σ/n + noise;
Laplace noise counts as normal noise that leaves of each mean by itself as much information about its location.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE
from confide.expression import Expression
from confide.expression.evaluate import evaluate
from confide.expression.tree import Tree
from confide.likelihood.record_law.rows.axis import Fineness
from confide.likelihood.record_law.rows.layout import layout
from confide.likelihood.record_law.rows.nodes import rows_within
from confide.population import Population
from confide.statistic import Statistic

Floats = NDArray[np.float64]

#: nodes for a search: moments of regressions are right to 1e-4 of their standard deviations, and one takes 1 ms
_SEARCH = Fineness(8, 4)
#: pairs of bounds and θ that are looked at together
_TOGETHER = 4


@partial(jax.jit, static_argnums=(0, 1, 2), compiler_options=FAST_COMPILE)
def information_within(
    population: Population,
    widest: Statistic,
    unit: tuple[str, ...],
    thetas: jax.Array,
    ends: jax.Array,
    n: jax.Array,
    scale: jax.Array,
    table: tuple[jax.Array, jax.Array] | None,
) -> jax.Array:
    """F (B, M, d, d) of the means of a statistic with columns clipped to `ends` (B, columns, 2), at θ (M, d).

    `widest` has the expressions, on bounds that hold all others; columns in `unit` are read as (x − middle)/half the
    width of their bounds. Noise has a scale (B,): it is Laplace noise where there is a `table` of v·I(μ) against
    log(√v/scale), and else Gaussian.
    """
    at = layout(population, widest)
    trees = tuple(each.tree for each in widest.transforms if isinstance(each, Expression))
    names = [name for name, _ in at.bounds]

    def moments(theta: jax.Array, pairs: jax.Array) -> tuple[jax.Array, jax.Array]:
        bounds = {name: (pairs[i, 0], pairs[i, 1]) for i, name in enumerate(names)}
        columns, weights = rows_within(population, at, bounds, theta, _SEARCH)
        s = _components(trees, columns, bounds, unit)
        mean = s @ weights
        centred = s - mean[:, None]
        return mean, (centred * weights) @ centred.T / n

    def one(pair: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        theta, pairs, b = pair

        def both(theta: jax.Array) -> tuple[tuple[jax.Array, jax.Array], jax.Array]:
            mean, covariance = moments(theta, pairs)
            return (mean, covariance), covariance

        (d_mean, d_covariance), covariance = jax.jacfwd(both, has_aux=True)(theta)
        variance = jnp.diag(covariance)
        noise = b**2 * jnp.ones_like(variance) if table is None else _as_normal(variance, b, *table)
        inverse = jnp.linalg.inv(covariance + jnp.diag(noise))
        product = jnp.einsum("ab,bci->aci", inverse, d_covariance)
        found: jax.Array = d_mean.T @ inverse @ d_mean + 0.5 * jnp.einsum("abi,baj->ij", product, product)
        return found

    many, each = ends.shape[0], thetas.shape[0]
    asked = jnp.tile(thetas, (many, 1)), jnp.repeat(ends, each, axis=0), jnp.repeat(scale, each)
    found: jax.Array = lax.map(one, asked, batch_size=_TOGETHER)
    return found.reshape(many, each, *found.shape[1:])


def _components(
    trees: tuple[Tree, ...], columns: Mapping[str, jax.Array], bounds: Mapping[str, Any], unit: tuple[str, ...]
) -> jax.Array:
    """s (k, J), with the columns in `unit` between −1 and 1."""
    read = dict(columns)
    for name in unit:
        low, high = bounds[name]
        read[name] = (read[name] - 0.5 * (low + high)) / (0.5 * (high - low))
    some = next(iter(read.values()))
    return jnp.stack([jnp.broadcast_to(evaluate(tree, read), some.shape) for tree in trees])


def _as_normal(variance: jax.Array, b: jax.Array, log_ratio: jax.Array, log_kept: jax.Array) -> jax.Array:
    """The variance of normal noise under which a mean of this variance tells as much about its location."""
    safe = jnp.maximum(variance, 1e-12 * b**2)
    kept = jnp.exp(jnp.interp(0.5 * jnp.log(safe) - jnp.log(b), log_ratio, log_kept))
    # where there is next to no spread all that is known of the location is 1/b²
    return jnp.where(0.5 * jnp.log(safe) - jnp.log(b) > log_ratio[0], safe / kept - variance, b**2)
