"""Bernoulli, Poisson and categorical populations: x = Q_θ(z), the quantile function of a uniform z."""

from __future__ import annotations

import operator

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax import lax
from jax.scipy.special import ndtri
from numpyro.distributions import constraints

from confide.errors import InvalidArgument
from confide.population import Population
from confide.population.special import gamma_tails
from confide.populations.known import both_tails


def _bernoulli(probability: jax.Array) -> dist.Distribution:
    return dist.Bernoulli(probs=probability, validate_args=False)


def _bernoulli_cdf(x: jax.Array, probability: jax.Array) -> jax.Array:
    return jnp.where(x < 1.0, 1.0 - probability, 1.0)


def _bernoulli_survival(x: jax.Array, probability: jax.Array) -> jax.Array:
    return jnp.where(x < 1.0, probability, 0.0)


def _bernoulli_quantile(q: jax.Array, probability: jax.Array) -> jax.Array:
    return jnp.where(q > 1.0 - probability, 1.0, 0.0)


def _bernoulli_information(probability: jax.Array) -> jax.Array:
    return (1.0 / (probability * (1.0 - probability)))[None, None]


def bernoulli() -> Population:
    """A record that is 1 with the given probability, strictly between 0 and 1, and else 0.

    >>> print(bernoulli().fisher(0.5))
    [[4.]]
    """
    return Population(
        _bernoulli,
        {"probability": constraints.open_interval(0.0, 1.0)},
        "bernoulli",
        cdf=_bernoulli_cdf,
        survival=_bernoulli_survival,
        quantile=_bernoulli_quantile,
        information=_bernoulli_information,
    )


def _poisson_tails(x: jax.Array, rate: jax.Array) -> tuple[jax.Array, jax.Array]:
    return gamma_tails(x + 1.0, rate)[::-1]


def _poisson_quantile(q: jax.Array, rate: jax.Array) -> jax.Array:
    """Search by doubling steps from a normal approximation until the quantile is bracketed, then by halving.

    The search ends before a count that lies beyond the quantile of the largest double below one.
    """
    end = jnp.ceil(rate + 9.0 * jnp.sqrt(rate) + 40.0)
    z = ndtri(q)
    guess = jnp.clip(jnp.ceil(rate + z * jnp.sqrt(rate) + (z**2 - 4.0) / 6.0), 0.0, end - 1.0)

    def unfinished(state: tuple[jax.Array, ...]) -> jax.Array:
        low, high, *_ = state
        return high - low > 1.0

    def probe(state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        low, high, count, step = state
        above, below = gamma_tails(count + 1.0, rate)
        reached = jnp.where(q <= 0.5, below >= q, above <= 1.0 - q)
        low, high = jnp.where(reached, low, count), jnp.where(reached, count, high)
        onward = jnp.where(reached, jnp.maximum(count - step, 0.0), jnp.minimum(count + step, end - 1.0))
        bracketed = (low >= 0.0) & (high < end)
        return low, high, jnp.where(bracketed, jnp.floor(0.5 * (low + high)), onward), 2.0 * step

    first: tuple[jax.Array, ...] = (-jnp.ones_like(end), end, guess, jnp.ones_like(end))
    return lax.while_loop(unfinished, probe, first)[1]


def _poisson_information(rate: jax.Array) -> jax.Array:
    return (1.0 / rate)[None, None]


def poisson() -> Population:
    """A count with mean `rate`.

    >>> print(poisson().cdf([0.0, 1.0], 2.0).round(6))
    [0.135335 0.406006]
    """
    return Population(
        dist.Poisson,
        {"rate": constraints.positive},
        "poisson",
        **both_tails(_poisson_tails),
        quantile=_poisson_quantile,
        information=_poisson_information,
    )


def _categorical(probabilities: jax.Array) -> dist.Distribution:
    return dist.Categorical(logits=jnp.log(probabilities), validate_args=False)


def _categorical_cdf(x: jax.Array, probabilities: jax.Array) -> jax.Array:
    below = jnp.arange(probabilities.shape[-1]) <= x
    return jnp.sum(probabilities, where=below) / jnp.sum(probabilities)


def _categorical_survival(x: jax.Array, probabilities: jax.Array) -> jax.Array:
    above = jnp.arange(probabilities.shape[-1]) > x
    return jnp.sum(probabilities, where=above) / jnp.sum(probabilities)


def _categorical_quantile(q: jax.Array, probabilities: jax.Array) -> jax.Array:
    total = jnp.cumsum(probabilities) / jnp.sum(probabilities)
    return jnp.sum(total[:-1] < q).astype(jnp.float64)


def _categorical_information(probabilities: jax.Array) -> jax.Array:
    total = jnp.sum(probabilities)
    return jnp.diag(1.0 / (probabilities * total)) - 1.0 / total**2


def categorical(k: int) -> Population:
    """A code 0, …, k − 1 with the given probabilities; θ is the full vector of k, which sums to one.

    The density is p_x / Σp, so that it is defined off the simplex too: the score is e_x/p_x − 1 and the
    information diag(1/p) − 11ᵀ, which is singular along θ, as the length of the vector is not a parameter.
    Project onto k − 1 of them before inverting.

    >>> print(categorical(3).fisher([0.5, 0.25, 0.25]))
    [[ 1. -1. -1.]
     [-1.  3. -1.]
     [-1. -1.  3.]]
    """
    try:
        size = operator.index(k)
    except TypeError:
        size = 0
    if size < 2:
        raise InvalidArgument("k", k, "is not a number of categories", "give an integer of at least 2")
    return Population(
        _categorical,
        {"probabilities": constraints.simplex},
        f"categorical({size})",
        sizes={"probabilities": size},
        cdf=_categorical_cdf,
        survival=_categorical_survival,
        quantile=_categorical_quantile,
        information=_categorical_information,
    )
