"""The moments of a statistic with one parameter, tabulated where the posterior lies.

Algorithms 5 and 6 ask for little else, and a quadrature at each of their steps would be most of their work.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from confide._compile import FAST_COMPILE
from confide.errors import ConfideError
from confide.inference.quadrature import line
from confide.inference.quadrature.fallback import by_normal
from confide.inference.quadrature.table import ChainTable, Floats, tabulated
from confide.inference.target.statistic import normal_moments
from confide.likelihood import ROUTES
from confide.likelihood.batched import filled
from confide.model import Model
from confide.prior import Prior, at_free

#: how far a moment may be off, in standard deviations of u
_TOLERANCE = 1e-7


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _entries(model: Model, thetas: jax.Array) -> jax.Array:
    """μ_s and the entries of the root, at many θ."""

    def one(theta: jax.Array) -> jax.Array:
        mean, root = normal_moments(model, theta)
        return jnp.concatenate([mean, root[np.tril_indices(mean.size)]])

    return jax.lax.map(one, thetas)


def normal_table(model: Model, value: jax.Array, prior: Prior) -> ChainTable | None:
    """A table from end to end of where the posterior of the normal model lies; None where there can be none."""
    noise = model.channel.law.added
    known = noise is not None and noise.step is None
    if prior.free_dimension > 1 or not known or ROUTES["normal"].refuses(model) is not None:
        return None
    values = np.asarray(value)[None]

    def posterior(free: Floats) -> Floats:
        theta, log_prior = (np.asarray(part) for part in at_free(prior, free[:, None]))
        return np.asarray(by_normal(model, theta, values)[:, 0] + log_prior)

    def entries(free: Floats) -> Floats:
        thetas = np.asarray(at_free(prior, free[:, None])[0])  # compiled for the search
        return np.asarray(_entries(model, filled(thetas)))[: len(thetas)]

    try:
        first, last = (float(end[0]) for end in line.reach(prior))
        low, high = line.locate(posterior, first, last, line.POINTS)
        roots = entries(line.cells(low, high, line.POINTS + 1))[:, model.channel.statistic.dimension :]
        return tabulated(entries, low, high, _TOLERANCE * float(np.min(np.max(np.abs(roots), axis=1))))
    except ConfideError:  # no mass, or not smooth enough: the chain says so, or does without
        return None
