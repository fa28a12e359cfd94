"""Counts that vary more than Poisson's."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from jax.scipy.special import gammaln
from numpyro.distributions import constraints

from confide.errors import InvalidArgument
from confide.population import Population
from confide.population.special import beta_tails
from confide.populations.known import Known, both_tails, called


class _NegativeBinomial(dist.NegativeBinomial2):
    """numpyro's, with a log mass that does not go through JAX's `betaln`, which is wrong by up to 1e-6."""

    def log_prob(self, value: jax.Array, intermediates: object = None) -> jax.Array:
        """The log mass."""
        del intermediates
        mean, shape = self.concentration / self.rate, self.concentration
        choose = gammaln(value + shape) - gammaln(shape) - gammaln(value + 1.0)
        return choose - shape * jnp.log1p(mean / shape) - value * jnp.log1p(shape / mean)


def _tails(x: jax.Array, mean: jax.Array, concentration: jax.Array) -> tuple[jax.Array, jax.Array]:
    total = mean + concentration
    return beta_tails(concentration, jnp.floor(x) + 1.0, concentration / total, mean / total)


def _information(mean: jax.Array, concentration: jax.Array) -> jax.Array:
    return (1.0 / (mean + mean**2 / concentration))[None, None]


def negative_binomial(concentration: float = 1.0) -> Population:
    """A count with unknown mean and variance mean + mean²/concentration, the concentration known.

    >>> population = negative_binomial(concentration=2.0)
    >>> print(population.cdf([0.0, 1.0], 2.0).round(6), population.fisher(2.0))
    [0.25 0.5 ] [[0.25]]
    """
    if not 0 < concentration < math.inf:
        raise InvalidArgument("concentration", concentration, "is not a concentration", "give a positive number")
    known, value = "concentration", float(concentration)
    return Population(
        Known(_NegativeBinomial, known, value),
        {"mean": constraints.positive},
        called("negative_binomial", known, value),
        **both_tails(Known(_tails, known, value)),
        information=Known(_information, known, value),
    )
