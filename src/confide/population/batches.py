"""The functions of a population, compiled, over any broadcastable batches of records and θ.

Everything else in this package is written for one scalar record and one θ of shape (d,). `jax.numpy.vectorize` maps
over an axis only those arguments that have it, so what depends on θ alone is computed once per θ, however many
records there are.
A population is a static argument: equal populations share compiled code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from confide.population import density, information, noise, tails

if TYPE_CHECKING:
    from confide.population.population import Population

Compiled = Callable[..., jax.Array]


def _over_batches(core: Callable[..., Any], signature: str) -> Compiled:
    @partial(jax.jit, static_argnums=0)
    def run(population: Population, *arrays: ArrayLike) -> Any:
        return jnp.vectorize(partial(core, population), signature=signature)(*arrays)

    return run


log_prob = _over_batches(density.log_prob, "(),(d)->()")
score = _over_batches(density.score, "(),(d)->(d)")
support = _over_batches(density.support, "(d)->(),()")
breaks = _over_batches(density.breaks, "(d)->(m)")
cdf = _over_batches(tails.cdf, "(),(d)->()")
survival = _over_batches(tails.survival, "(),(d)->()")
quantile = _over_batches(tails.quantile, "(),(d)->()")
_transform = _over_batches(noise.transform, "(),(d)->()")
fisher = _over_batches(information.fisher, "(d)->(d,d)")
defect = _over_batches(information.defect, "(d)->()")


@partial(jax.jit, static_argnums=0)
def log_prob_of_rows(population: Population, columns: tuple[ArrayLike, ...], theta: ArrayLike) -> jax.Array:
    """log p of rows, given as columns, at θ."""
    assert population.rows is not None
    law, names = population.rows, population.columns

    def one(*arrays: jax.Array) -> jax.Array:
        return law.log_prob(population.space, dict(zip(names, arrays[:-1], strict=True)), arrays[-1])

    return jnp.vectorize(one, signature=f"{'(),' * len(names)}(d)->()")(*columns, theta)


def transform(population: Population, z: ArrayLike, theta: ArrayLike) -> Any:
    """Records of noise at θ; of rows the columns by name, of as many numbers each as there are on the last axis."""
    return _transform(population, z, theta) if population.rows is None else _rows_made(population, z, theta)


@partial(jax.jit, static_argnums=0)
def _rows_made(population: Population, z: ArrayLike, theta: ArrayLike) -> dict[str, jax.Array]:
    """Rows, as columns by name, of uniform numbers (…, w) at θ."""
    assert population.rows is not None
    made = partial(population.rows.made, population.space)
    signature = f"(w),(d)->{','.join('()' for _ in population.columns)}"
    found = jnp.vectorize(made, signature=signature)(z, theta)
    return dict(zip(population.columns, found if isinstance(found, tuple) else (found,), strict=True))


sample: Compiled = jax.jit(noise.sample, static_argnums=(0, 3))
draw_noise: Compiled = jax.jit(noise.draw, static_argnums=(0, 2))
