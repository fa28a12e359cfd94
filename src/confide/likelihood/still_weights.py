"""The weights of a law of one record and their derivatives, at many θ in blocks of one size: compiled once."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from confide.likelihood.record import Floats, RecordLaw
from confide.likelihood.response import Cells

_ROWS, _COLUMNS = 32, 1024


@jax.jit
def weights_of(law: RecordLaw | Cells, thetas: jax.Array) -> jax.Array:
    """w_j(θ), shape (θ, nodes)."""
    return jnp.asarray(jax.vmap(law.weights)(thetas))


@jax.jit
def slopes_of(law: RecordLaw | Cells, thetas: jax.Array) -> jax.Array:
    """∂w_j/∂θ, shape (θ, nodes, d)."""
    return jnp.asarray(jax.vmap(jax.jacfwd(law.weights))(thetas))


def tabulated(compute: Callable[..., jax.Array], law: RecordLaw | Cells, thetas: Floats) -> Floats:
    """Weights or their slopes at all θ."""
    parts, size = _parts(law), len(thetas)
    padded = np.concatenate([thetas, np.repeat(thetas[-1:], -size % _ROWS, axis=0)]).reshape(-1, _ROWS, thetas.shape[1])
    # all are asked for before the first is waited for
    asked = [[compute(part, block) for part in parts] for block in padded]
    return np.concatenate([_joined(law, [np.asarray(part) for part in row]) for row in asked])[:size]


def _parts(law: RecordLaw | Cells) -> list[RecordLaw | Cells]:
    """The law on so many nodes at a time, the last of them repeated."""
    if isinstance(law, Cells):
        return [law]
    size = max(law.x.size, 1)
    x = np.concatenate([law.x, np.full(-size % _COLUMNS + size - law.x.size, law.x[-1] if law.x.size else law.low)])
    one, none = np.ones(_COLUMNS), np.zeros(0)
    return [RecordLaw(law.population, some, one, none, law.low, law.high) for some in x.reshape(-1, _COLUMNS)]


def _joined(law: RecordLaw | Cells, parts: list[Floats]) -> Floats:
    if isinstance(law, Cells):
        return parts[0]
    interior = np.concatenate([part[:, :_COLUMNS] for part in parts], axis=1)[:, : law.x.size]
    return np.concatenate([interior, parts[0][:, _COLUMNS:]], axis=1)  # the atoms are the same in every part


def densities_at(law: RecordLaw, x: Floats, thetas: Floats) -> Floats:
    """p(x | θ) of the law's population at points of any shape, after an axis of θ."""
    at = RecordLaw(law.population, x.ravel(), np.ones(x.size), np.zeros(0), law.low, law.high)
    return tabulated(weights_of, at, thetas)[:, :-2].reshape(len(thetas), *x.shape)
