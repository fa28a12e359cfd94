"""The law of a uniform order statistic, on the logit scale.

The m-th of n uniform variables is Beta(m, n−m+1). Its logit ζ has the density

    w(ζ) = σ(ζ)^m σ(−ζ)^{n−m+1} / B(m, n−m+1),

log-concave, with exponential tails at both ends and its mode at σ(ζ₀) = p₀ = m/N, N = n + 1. Written around the mode
it is

    log w(ζ) = log w(ζ₀) − D(ζ − ζ₀),        D(δ) = N·[log1p(q₀·expm1(−δ)) + q₀δ],        q₀ = 1 − p₀,

and the same with p₀, −δ in place of q₀, δ; the smaller of the two shares loses no digits. Stirling's formula turns
the peak into ½ log(m(n−m+1)/2πN) and a small remainder. So nothing of the size of n is ever subtracted, and n = 10⁹
is as accurate as n = 1.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

# Panels end where D = z²/2: at the normal scores z of the law itself, down to a density of e^{−200} of the peak.
_SCORES = np.asarray([0.8, 1.6, 2.4, 3.3, 4.3, 5.4, 6.6, 7.9, 9.3, 10.8, 12.4, 14.1, 15.9, 17.9, 20.0])
_FURTHEST = 690.0


class RankLaw(eqx.Module):
    """w(ζ) for rank m of n. All numbers are leaves, so that one compiled function serves every n."""

    rank: float
    n: float
    centre: float
    log_peak: float
    #: ends of panels on which log w changes by a bounded amount
    cuts: np.ndarray

    def log_density(self, zeta: jax.Array) -> jax.Array:
        """log w(ζ)."""
        return self.log_peak - deviance(jnp, self.rank, self.n, jnp.asarray(zeta) - self.centre)


def deviance(namespace: Any, rank: float, n: float, delta: Any) -> Any:
    """D(δ), the fall of log w from its mode, in JAX or NumPy."""
    total = n + 1.0
    p, q = rank / total, (total - rank) / total
    small = namespace.minimum(p, q)
    towards = namespace.clip(namespace.where(q <= p, delta, -delta), -_FURTHEST - 15.0, _FURTHEST + 15.0)
    return total * (namespace.log1p(small * namespace.expm1(-towards)) + small * towards)


def deviance_slope(rank: float, n: float, delta: np.ndarray) -> np.ndarray:
    """D′(δ), in NumPy."""
    total = n + 1.0
    p, q = rank / total, (total - rank) / total
    small, sign = min(p, q), 1.0 if q <= p else -1.0
    lost = np.exp(-np.clip(sign * delta, -_FURTHEST - 15.0, _FURTHEST + 15.0))
    return np.asarray(sign * total * small * (1.0 - lost / (1.0 + small * (lost - 1.0))))


@functools.lru_cache(maxsize=256)
def rank_law(n: int, rank: int) -> RankLaw:
    """The law of the logit of a uniform order statistic.

    >>> law = rank_law(1, 1)                                    # one uniform variable: the logistic law
    >>> round(math.exp(law.log_peak), 12)
    0.25
    """
    m, rest, total = float(rank), float(n - rank + 1), float(n + 1)
    remainder = _stirling(total) - _stirling(m) - _stirling(rest)
    log_peak = 0.5 * (math.log(m) + math.log(rest) - math.log(2 * math.pi * total)) + remainder
    centre = math.log(m) - math.log(rest)
    reach = [_reach(m, float(n), sign) for sign in (-1.0, 1.0)]
    cuts = np.clip(np.concatenate([centre - reach[0][::-1], [centre], centre + reach[1]]), -_FURTHEST, _FURTHEST)
    return RankLaw(m, float(n), centre, log_peak, cuts)


def _stirling(x: float) -> float:
    """log Γ(x) − [(x − ½) log x − x + ½ log 2π]."""
    if x < 16:
        return math.lgamma(x) - ((x - 0.5) * math.log(x) - x + 0.5 * math.log(2 * math.pi))
    y = 1.0 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * 691 / 360360))))) / x


def _reach(rank: float, n: float, sign: float) -> np.ndarray:
    """The distances from the mode at which D = z²/2, by bisection over their logarithm."""
    low, high = np.full(_SCORES.shape, -30.0), np.full(_SCORES.shape, math.log(2 * _FURTHEST))
    for _ in range(70):
        middle = 0.5 * (low + high)
        beyond = np.asarray(deviance(np, rank, n, sign * np.exp(middle))) > 0.5 * _SCORES**2
        low, high = np.where(beyond, low, middle), np.where(beyond, middle, high)
    return np.exp(high)
