"""Normal and log-normal populations: x = mean + sd·z or its exponential, with z ~ N(0, 1)."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.scipy.special import erfc, ndtri
from numpyro.distributions import constraints

from confide.errors import InvalidArgument
from confide.population import Population
from confide.populations.known import Known, both_tails, called


def _standard_normal() -> dist.Distribution:
    return dist.Normal(0.0, 1.0, validate_args=False)


def _normal(mean: jax.Array, variance: jax.Array) -> dist.Distribution:
    return dist.Normal(mean, jnp.sqrt(variance), validate_args=False)


def _transform(z: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    return mean + jnp.sqrt(variance) * z


def _below(z: jax.Array) -> jax.Array:
    """P(Z ≤ z): the same digits as `ndtr`, which computes two error functions and takes one."""
    return 0.5 * erfc(-math.sqrt(0.5) * z)


def _cdf(x: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    return _below((x - mean) / jnp.sqrt(variance))


def _survival(x: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    return _below((mean - x) / jnp.sqrt(variance))


def _quantile(q: jax.Array, mean: jax.Array, variance: jax.Array) -> jax.Array:
    return mean + jnp.sqrt(variance) * ndtri(q)


def _information(mean: jax.Array, variance: jax.Array) -> jax.Array:
    return jnp.diag(jnp.stack([1.0 / variance, 0.5 / variance**2]))


def normal() -> Population:
    """A normal record with unknown mean and variance.

    >>> print(normal().fisher([0.0, 2.0]))
    [[0.5   0.   ]
     [0.    0.125]]
    """
    return Population(
        _normal,
        {"mean": constraints.real, "variance": constraints.positive},
        "normal",
        noise=_standard_normal,
        transform=_transform,
        cdf=_cdf,
        survival=_survival,
        quantile=_quantile,
        information=_information,
    )


def _mean_information(mean: jax.Array, variance: jax.Array) -> jax.Array:
    return _information(mean, variance)[:1, :1]


def _variance_information(mean: jax.Array, variance: jax.Array) -> jax.Array:
    return _information(mean, variance)[1:, 1:]


def _with_known(known: str, value: float) -> Population:
    unknown, information, constraint = {
        "variance": ("mean", _mean_information, constraints.real),
        "mean": ("variance", _variance_information, constraints.positive),
    }[known]
    return Population(
        Known(_normal, known, value),
        {unknown: constraint},
        called(f"normal_{unknown}", known, value),
        noise=_standard_normal,
        transform=Known(_transform, known, value),
        cdf=Known(_cdf, known, value),
        survival=Known(_survival, known, value),
        quantile=Known(_quantile, known, value),
        information=Known(information, known, value),
    )


def normal_mean(variance: float = 1.0) -> Population:
    """A normal record with unknown mean and known variance.

    >>> population = normal_mean(variance=4.0)
    >>> population.names
    ('mean',)
    >>> print(population.cdf(3.0, theta=3.0), population.fisher(3.0))
    0.5 [[0.25]]
    """
    if not 0 < variance < math.inf:
        raise InvalidArgument("variance", variance, "is not a variance", "give a positive number")
    return _with_known("variance", float(variance))


def normal_variance(mean: float = 0.0) -> Population:
    """A normal record with unknown variance and known mean.

    >>> population = normal_variance()
    >>> population.names
    ('variance',)
    >>> print(population.fisher([1.0, 2.0]).ravel())
    [0.5   0.125]
    """
    if not math.isfinite(mean):
        raise InvalidArgument("mean", mean, "is not finite", "give a number")
    return _with_known("mean", float(mean))


def _lognormal_transform(z: jax.Array, loc: jax.Array, scale: jax.Array) -> jax.Array:
    return jnp.exp(loc + scale * z)


def _lognormal_tails(x: jax.Array, loc: jax.Array, scale: jax.Array) -> tuple[jax.Array, jax.Array]:
    return _below((jnp.log(x) - loc) / scale), _below((loc - jnp.log(x)) / scale)


def _lognormal_quantile(q: jax.Array, loc: jax.Array, scale: jax.Array) -> jax.Array:
    return jnp.exp(loc + scale * ndtri(q))


def _lognormal_information(loc: jax.Array, scale: jax.Array) -> jax.Array:
    return jnp.diag(jnp.stack([1.0 / scale**2, 2.0 / scale**2]))


def lognormal() -> Population:
    """A positive record whose logarithm has mean `loc` and standard deviation `scale`.

    >>> print(lognormal().quantile(0.5, [0.0, 1.0]))
    1.0
    """
    return Population(
        dist.LogNormal,
        {"loc": constraints.real, "scale": constraints.positive},
        "lognormal",
        noise=_standard_normal,
        transform=_lognormal_transform,
        **both_tails(_lognormal_tails),
        quantile=_lognormal_quantile,
        information=_lognormal_information,
    )
