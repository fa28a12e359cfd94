"""A truncated normal law whose location may be far outside of its support.

numpyro divides by a difference of distribution functions, Φ(b) − Φ(a), which for a location five standard deviations
below the support has lost half of its digits and at nine is 0: a density that is infinite, a distribution function that
is none. A posterior asks for such locations. Here the difference is that of the smaller tails, in logarithms.
"""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr, ndtri
from numpyro.distributions import Beta, Chi2, Distribution, Gamma, Normal
from numpyro.distributions.truncated import (
    LeftTruncatedDistribution,
    RightTruncatedDistribution,
    TwoSidedTruncatedDistribution,
)

from confide.population.concentrated import ConcentratedBeta, ConcentratedGamma
from confide.population.mills import log_mills

_TRUNCATED = LeftTruncatedDistribution | RightTruncatedDistribution | TwoSidedTruncatedDistribution
#: log √(2π)
_LOG_ROOT = 0.5 * math.log(2.0 * math.pi)
#: log probabilities below which a quantile is found by Newton's method, and its steps
_FAR, _STEPS = -2.0, 6
_FAR_OUT = -10.0


def steady(distribution: Any) -> Any:
    """The same distribution; a truncated normal one, a gamma or a beta one by formulas that hold for every parameter.

    >>> import numpyro.distributions as dist
    >>> with jax.enable_x64(True):
    ...     print(f"{steady(dist.TruncatedNormal(-20.0, 1.0, low=0.0, high=2.0)).cdf(0.05):.6f}")
    0.633492
    """
    if type(distribution) in (Gamma, Chi2):  # not what somebody has derived from them
        return ConcentratedGamma(distribution.concentration, distribution.rate, validate_args=False)
    if type(distribution) is Beta:
        return ConcentratedBeta(distribution.concentration1, distribution.concentration0, validate_args=False)
    known = isinstance(distribution, _TRUNCATED) and isinstance(distribution.base_dist, Normal)
    return NormalBetween(distribution) if known else distribution


class NormalBetween(Distribution):
    """A normal law between two ends, of which one may be infinite."""

    def __init__(self, given: Any) -> None:
        """From numpyro's own."""
        self.normal, self.given = given.base_dist, given
        low, high = getattr(given, "low", -jnp.inf), getattr(given, "high", jnp.inf)
        self.low, self.high = jnp.asarray(low, dtype=float), jnp.asarray(high, dtype=float)
        super().__init__(given.batch_shape)

    @property
    def support(self) -> Any:
        """Between the ends."""
        return self.given.support

    @property
    def _ends(self) -> tuple[jax.Array, jax.Array]:
        return self._standard(self.low), self._standard(self.high)

    @property
    def _mirrored(self) -> jax.Array:
        """Whether the support is above the location: its mirror image then lies in the lower tail."""
        return self._ends[0] > 0

    def _standard(self, x: Any) -> jax.Array:
        return (x - self.normal.loc) / self.normal.scale

    def _mass(self, first: jax.Array, last: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The standard normal mass between two points, from the smaller tails: the log of a factor, and the other."""
        low, high = jnp.where(self._mirrored, -last, first), jnp.where(self._mirrored, -first, last)
        below, all_below = _log_below(low), _log_below(high)
        return all_below, -jnp.expm1(below - all_below)  # a derivative where the points meet, which a log has not

    @property
    def _log_total(self) -> jax.Array:
        log_factor, other = self._mass(*self._ends)
        return log_factor + jnp.log(other)

    def log_prob(self, value: Any, intermediates: Any = None) -> jax.Array:
        """log p(x), inside the support."""
        del intermediates
        return jnp.asarray(self.normal.log_prob(value) - self._log_total)

    def cdf(self, value: Any) -> jax.Array:
        """P(X ≤ x)."""
        first, last = self._ends
        log_factor, other = self._mass(first, jnp.clip(self._standard(value), first, last))
        return jnp.exp(log_factor - self._log_total) * other

    def icdf(self, q: Any) -> jax.Array:
        """The quantile."""
        first, last = self._ends
        side = jnp.where(self._mirrored, -1.0, 1.0)
        shares = jnp.log1p(-q) + _log_below(side * first), jnp.log(q) + _log_below(side * last)
        found = self.normal.loc + self.normal.scale * side * _quantile(jnp.logaddexp(*shares))
        return jnp.clip(found, self.low, self.high)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Draws, by the quantile."""
        return self.icdf(jax.random.uniform(key, sample_shape + self.batch_shape, minval=jnp.finfo(float).tiny))


def _log_below(z: jax.Array) -> jax.Array:
    """log Φ(z), without a derivative at ±∞; jax's own keeps eight digits beyond −20."""
    far, finite = z < _FAR_OUT, jnp.isfinite(z)
    out = jnp.where(far & finite, z, _FAR_OUT)
    tail = log_mills(-out) - 0.5 * out**2 - _LOG_ROOT
    near = jnp.where(far, tail, log_ndtr(jnp.where(far | ~finite, 0.0, z)))
    return jnp.where(finite, near, jnp.where(z > 0, 0.0, -jnp.inf))


def _quantile(log_p: jax.Array) -> jax.Array:
    """z with log Φ(z) = log_p."""
    square = -2.0 * jnp.minimum(log_p, _FAR)
    z = -jnp.sqrt(jnp.maximum(square - 2.0 * _LOG_ROOT - jnp.log(square), 1.0))
    for _ in range(_STEPS):  # log Φ is concave: no step overshoots twice
        value = _log_below(z)
        z = z - (value + 0.5 * square) * jnp.exp(value + 0.5 * z**2 + _LOG_ROOT)
    return jnp.where(log_p < _FAR, z, ndtri(jnp.exp(jnp.maximum(log_p, _FAR))))
