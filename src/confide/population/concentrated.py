"""Gamma and beta densities whose shapes are large, so that all of the mass is near the mode.

The logarithm of such a density is a difference of terms as large as the shape: of a gamma law of shape 10⁶, whose terms
are 10⁷, seven digits are lost. By Stirling's formula Γ(a) = √(2π/a) (a/e)^a e^{δ(a)} they cancel on paper (Loader,
*Fast and accurate computation of binomial probabilities*, 2000), and with D(w) = w − log(1 + w)

    log p(x) = −log x + ½ log(a/2π) − δ(a) − a·D((λx − a)/a)                                    gamma with rate λ
    log p(x) = −log x(1 − x) + ½ log(ab/2πc) + δ(c) − δ(a) − δ(b) − a·D(d/m) − b·D(−d/(1 − m))   beta

where c = a + b, m = a/c and d = x − m. Within some standard deviations of the mode w is of the order of a^{−½}, and the
rounding of a·D(w) of the order of √a units.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from numpyro.distributions import Beta, Gamma

#: the shape (of a beta law the sum of both) from which Stirling's formula is used: below it few digits are lost
_LARGE = 30.0
#: where the series for δ begins to have full precision, and its coefficients B₂ₖ/2k(2k − 1)
_SERIES_FROM = 12.0
_SERIES = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_LOG_2PI = math.log(2.0 * math.pi)


def _stirling(a: jax.Array) -> jax.Array:
    """δ(a) = log Γ(a) − (a − ½) log a + a − ½ log 2π."""
    series = a >= _SERIES_FROM
    far, near = jnp.where(series, a, _SERIES_FROM), jnp.where(series, _SERIES_FROM, a)
    total = jnp.zeros_like(far)
    for coefficient in reversed(_SERIES):
        total = total / far**2 + coefficient
    return jnp.where(series, total / far, gammaln(near) - (near - 0.5) * jnp.log(near) + near - 0.5 * _LOG_2PI)


def _deviance(w: jax.Array, ratio: jax.Array) -> jax.Array:
    """D(w) = w − log(1 + w), given 1 + w too, which far from 1 is the more accurate of the two."""
    near = jnp.abs(w) < 0.5
    return w - jnp.where(near, jnp.log1p(jnp.where(near, w, 0.0)), jnp.log(jnp.where(near, 1.0, ratio)))


class ConcentratedGamma(Gamma):
    """A gamma law, whose density keeps its digits at every shape.

    >>> with jax.enable_x64(True):
    ...     print(f"{float(ConcentratedGamma(1e6, 1e5).log_prob(10.0)):.13f}")
    3.6862315694501
    """

    def log_prob(self, value: Any, intermediates: Any = None) -> jax.Array:
        """log p(x)."""
        del intermediates
        large = (self.concentration > _LARGE) & (value > 0)
        a, x = jnp.where(large, self.concentration, 2.0 * _LARGE), jnp.where(large, value, 1.0)
        mean_is_a = self.rate * x
        deviance = _deviance((mean_is_a - a) / a, mean_is_a / a)
        stable = -jnp.log(x) + 0.5 * (jnp.log(a) - _LOG_2PI) - _stirling(a) - a * deviance
        return jnp.where(large, stable, super().log_prob(value))


class ConcentratedBeta(Beta):
    """A beta law, whose density keeps its digits at every shape.

    >>> with jax.enable_x64(True):
    ...     print(f"{float(ConcentratedBeta(1e5, 1e5).log_prob(0.5)):.13f}")
    5.8772437201204
    """

    def log_prob(self, value: Any, intermediates: Any = None) -> jax.Array:
        """log p(x)."""
        del intermediates
        large = (self.concentration1 + self.concentration0 > _LARGE) & (value > 0) & (value < 1)
        a, b = (jnp.where(large, each, _LARGE) for each in (self.concentration1, self.concentration0))
        x, c = jnp.where(large, value, 0.5), a + b
        d = x - a / c
        deviance = a * _deviance(d / (a / c), x / (a / c)) + b * _deviance(-d / (b / c), (1.0 - x) / (b / c))
        first = -jnp.log(x) - jnp.log1p(-x) + 0.5 * (jnp.log(a) + jnp.log(b) - jnp.log(c) - _LOG_2PI)
        stable = first + _stirling(c) - _stirling(a) - _stirling(b) - deviance
        return jnp.where(large, stable, super().log_prob(value))
