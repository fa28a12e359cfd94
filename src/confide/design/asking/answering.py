"""What is asked of one person, and the density of the answer: a clip with noise, or a bit with randomized response.

A question is three numbers, so that one compiled program serves all: whether it is a bit, and the two ends of the clip
(of a bit, the threshold and anything above it). The density of an answer y to a clip is

    p(y | θ) = F(low) g(y − low) + ∫ f(x) g(y − x) dx + (1 − F(high)) g(y − high),

integrated by Gauss–Legendre panels that end at quantiles of the record's law, cut to the clip, and at y, where the
density of Laplace noise has its kink. Panels thus follow the law however narrow it is beside the clip. All is relative
to the noise at the nearest point of the clip, so that a far answer underflows nowhere.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from confide.errors import IncompatibleError, PrivacyError
from confide.mechanism.calibration import gaussian_ratio, laplace_ratio
from confide.mechanism.keeping import keep_probability
from confide.population import Population, density, tails
from confide.privacy import Privacy, PureDP

Floats = NDArray[np.float64]

#: normal scores of the quantiles at which panels end: between them a normal density is resolved to 1e-10 by eight
#: nodes, and what lies beyond is 2e-12
_SCORES = np.asarray([-7.0, -4.0, -2.0, 0.0, 2.0, 4.0, 7.0])
NODES = 8


class Answerer(NamedTuple):
    """How a person answers at a guarantee: static for a compiled program, but for `ratio` and `keep`."""

    population: Population
    laplace: bool
    #: the width of the range over the noise's scale
    ratio: float
    #: the probability that a bit is told truly; a half where bits cannot have this guarantee
    keep: float


def answerer(population: Population, privacy: Privacy) -> Answerer:
    """The noise and the randomized response of a guarantee."""
    try:
        keep = keep_probability(privacy, 2)
    except (NotImplementedError, PrivacyError):
        keep = 0.5
    laplace = isinstance(privacy, PureDP)
    return Answerer(population, laplace, laplace_ratio(privacy) if laplace else gaussian_ratio(privacy), keep)


def check(population: Population) -> None:
    """Refuse what the panels do not serve."""
    if population.rows is not None or population.discrete or population.moving:
        what = "rows" if population.rows is not None else "counts" if population.discrete else "a support that moves"
        raise IncompatibleError(
            f"questions to one person at a time are chosen for numbers with a smooth density, and "
            f"{population.name} has {what}; give batches of more records, which are published together"
        )


def knots(population: Population, thetas: jax.Array) -> jax.Array:
    """Where panels end for each θ (M, d): (M, 7)."""
    levels = jnp.asarray(ndtr(_SCORES))
    return jax.vmap(lambda theta: jax.vmap(lambda q: tails.quantile(population, q, theta))(levels))(thetas)


def log_answer(
    how: Answerer, thetas: jax.Array, ends: jax.Array, answer: jax.Array, question: jax.Array, nodes: int = NODES
) -> jax.Array:
    """log p(answer | θ) at all θ (M, d), where panels end at `ends` (M, 7): (M,)."""
    bit, low, high = question
    at_low = jax.vmap(lambda theta: tails.survival(how.population, low, theta))(thetas)
    yes = 1.0 - how.keep + (2.0 * how.keep - 1.0) * at_low
    of_bit = jnp.log(jnp.where(answer > 0.5, yes, 1.0 - yes))
    return jnp.where(bit > 0, of_bit, _log_noisy(how, thetas, ends, answer, low, high, nodes))


def _log_noisy(
    how: Answerer, thetas: jax.Array, ends: jax.Array, y: jax.Array, low: jax.Array, high: jax.Array, nodes: int
) -> jax.Array:
    scale = (high - low) / how.ratio
    nearest = jnp.clip(y, low, high)

    def kernel(x: jax.Array) -> jax.Array:
        """The noise's density relative to that at the nearest point."""
        if how.laplace:
            return jnp.exp((jnp.abs(y - nearest) - jnp.abs(y - x)) / scale)
        return jnp.exp(0.5 * ((y - nearest) ** 2 - (y - x) ** 2) / scale**2)

    cuts = jnp.sort(jnp.concatenate([jnp.clip(ends, low, high), jnp.full_like(ends[:, :1], nearest)], axis=1), axis=1)
    at, weight = np.polynomial.legendre.leggauss(nodes)
    half = 0.5 * jnp.diff(cuts, axis=1)[..., None]
    x = 0.5 * (cuts[:, 1:] + cuts[:, :-1])[..., None] + half * at
    inside = jnp.exp(_log_density(how.population, x.reshape(len(thetas), -1), thetas)).reshape(x.shape)
    total = jnp.sum(jnp.where(half > 0, half * weight * inside * kernel(x), 0.0), axis=(1, 2))
    below = jax.vmap(lambda theta: tails.cdf(how.population, low, theta))(thetas)
    above = jax.vmap(lambda theta: tails.survival(how.population, high, theta))(thetas)
    total = total + below * kernel(low) + above * kernel(high)
    away = jnp.abs(y - nearest) / scale
    peak = -away - jnp.log(2.0 * scale) if how.laplace else -0.5 * away**2 - jnp.log(scale * np.sqrt(2 * np.pi))
    return jnp.log(total) + peak


def _log_density(population: Population, x: jax.Array, thetas: jax.Array) -> jax.Array:
    """log f(x | θ), x (M, K) at θ (M, d)."""
    return jax.vmap(lambda row, theta: jax.vmap(lambda one: density.log_prob(population, one, theta))(row))(x, thetas)


def drawn_answer(how: Answerer, question: jax.Array, x: jax.Array, uniform: jax.Array) -> jax.Array:
    """A simulated person's answer, from the record and a uniform number."""
    bit, low, high = question
    truth = x > low
    told = jnp.where(uniform < how.keep, truth, ~truth)
    if how.laplace:
        noise = -jnp.sign(uniform - 0.5) * jnp.log1p(-2.0 * jnp.abs(uniform - 0.5))
    else:
        noise = jax.scipy.special.ndtri(uniform)
    return jnp.where(bit > 0, told.astype(x.dtype), jnp.clip(x, low, high) + (high - low) / how.ratio * noise)
