"""Mistakes of the paper and of its published code, kept to show what they did; only `confide.paper` uses them.

Errata are numbered as in the reproduction's page. Every name here says what is wrong with it.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import confide as cf
from confide.paper.moments import clipped_moments
from confide.paper.settings import BOUND, TRUTH, N


def example_4_information(theta: float, epsilon: float, n: int) -> float:
    """Erratum 4: F2 of Example 4 as printed, without the factor ½ on the variance term."""
    spread = theta * (1 - theta) + 1 / epsilon**2
    return (n * spread + (1 - 2 * theta) ** 2) / spread**2


class FlatOnLog(eqx.Module):
    """Erratum 2: the improper prior 1/θ, which the published Algorithms 4 to 6 use. It has no posterior."""

    def log_prob(self, theta: jax.Array) -> jax.Array:
        """−log θ, within what numbers can hold."""
        log_theta = jnp.log(theta[..., 0])
        return jnp.where(jnp.abs(log_theta) < 80.0, -log_theta, -jnp.inf)


def too_little_noise(model: cf.Model) -> cf.Model:
    """Erratum 1: Laplace noise of scale b/√2, which the published code draws where it means b."""
    law = model.channel.law
    assert law.added is not None
    less = cf.Laplace(scale=float(law.added.scale) / math.sqrt(2))
    return cf.Model(model.population, cf.Channel(model.channel.statistic, less, model.channel.n))


def algorithm_1_with_the_wrong_score(power: int, level: float, *, outer: int, inner: int, key: int) -> float:
    """Erratum 5: Algorithm 1 with −½(2πΣ)^{−3/2}Σ' for the first term of the normal score, which is −½Σ'/Σ."""
    mean, variance, d_mean, d_variance = _moments_and_slopes(power)
    random = np.random.default_rng(key)
    b = BOUND**power / (N * level)
    y = mean + np.sqrt(variance) * random.standard_normal(outer) + random.laplace(0.0, b, outer)
    total = 0.0
    for each in y:
        u = mean + math.sqrt(variance) * random.standard_normal(inner)
        weight = np.exp(-(np.abs(each - u) - np.abs(each - u).min()) / b)
        first = -0.5 * (2 * math.pi * variance) ** -1.5 * d_variance
        score = first + 0.5 * (u - mean) ** 2 / variance**2 * d_variance + (u - mean) / variance * d_mean
        total += (score @ weight / weight.sum()) ** 2
    return float(total / outer)


def _moments_and_slopes(power: int) -> tuple[float, float, float, float]:
    """Mean and variance of the statistic at θ* = 2, and their slopes in θ."""
    with jax.enable_x64(True):

        def both(theta: jax.Array) -> jax.Array:
            mean, variance = clipped_moments(theta, power, BOUND)
            return jnp.stack([mean, variance / N])

        at = jnp.asarray(TRUTH)
        value, slope = both(at), jax.jacfwd(both)(at)
        return float(value[0]), float(value[1]), float(slope[0]), float(slope[1])
