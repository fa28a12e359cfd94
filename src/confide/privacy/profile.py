"""Privacy profiles: for each ε, the δ that a guarantee implies, and the inverse.

The profile of a pair of distributions (P, Q) is their hockey-stick divergence δ(ε) = ∫ max(0, dP − e^ε dQ). A
guarantee's profile is the largest one among the pairs that it allows. Three of the four are attained by one worst
pair:

- pure DP: randomised response, P = (p, 1−p), Q = (1−p, p) with p = e^ε₀/(1+e^ε₀);
- (ε₀, δ₀)-DP: the same pair with probability 1−δ₀, and with probability δ₀ the answer gives everything away;
- Gaussian DP: N(μ, 1) and N(0, 1).

Zero-concentrated DP bounds all Rényi divergences and has no single worst pair. Its profile here is an upper bound,
that of Canonne, Kamath and Steinke (2020, Proposition 12): Markov's inequality at the best Rényi order.

Every δ is rounded outward (see `rounding`), and every ε is such that the δ at it, so rounded, is at most the δ
asked for.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from confide.privacy.rounding import nearest, outward

# SciPy is imported where it is used: a budget is read and added up without it.
# exp(±700) is representable; no privacy parameter that is a float needs a Rényi order beyond it.
_LARGEST_LOG = 700.0


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """The root of an increasing or decreasing function, to the last float: by halving, without SciPy."""
    rising = function(low) < 0
    while low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if (function(middle) < 0) == rising else (low, middle)
    return high


def _first_at_or_above(estimate: float, profile: Callable[[float], float], delta: float) -> float:
    """An ε at or just above the estimate whose δ is at most the given one; inf if floats run out."""
    if math.isinf(estimate) or profile(estimate) <= delta:
        return estimate
    step = max(math.ulp(estimate), sys.float_info.min)
    while math.isfinite(estimate + step) and profile(estimate + step) > delta:
        step *= 2
    return estimate + step


def _response_delta(bound: float, epsilon: float) -> float:
    """p − e^ε(1−p) for randomised response, which is (e^bound − e^ε)/(1 + e^bound); not yet rounded outward."""
    return -math.expm1(epsilon - bound) / (1 + math.exp(-bound))


def pure_delta(bound: float, epsilon: float) -> float:
    """δ(ε) of `bound`-DP: that of randomised response, and 0 from ε = bound on."""
    return 0.0 if epsilon >= bound else min(1.0, outward(_response_delta(bound, epsilon)))


def pure_epsilon(bound: float, delta: float) -> float:
    """The inverse of `pure_delta`: e^ε = e^bound − δ(1 + e^bound)."""
    if delta == 0:
        return bound
    removed = delta * (1 + math.exp(-bound))
    estimate = max(0.0, bound + math.log1p(-removed)) if removed < 1 else 0.0
    return min(bound, _first_at_or_above(estimate, lambda epsilon: pure_delta(bound, epsilon), delta))


def approximate_delta(bound: float, failure: float, epsilon: float) -> float:
    """δ(ε) of (bound, failure)-DP: the mixture of total failure and randomised response."""
    if epsilon >= bound:
        return failure
    return min(1.0, outward(failure + (1 - failure) * _response_delta(bound, epsilon)))


def approximate_epsilon(bound: float, failure: float, delta: float) -> float:
    """The inverse of `approximate_delta`; inf below the probability of failure, which no ε removes."""
    if delta < failure:
        return math.inf
    estimate = pure_epsilon(bound, (delta - failure) / (1 - failure))
    return min(bound, _first_at_or_above(estimate, lambda e: approximate_delta(bound, failure, e), delta))


def _mills(x: float) -> float:
    """The Mills ratio R(x) = Φ(−x)/φ(x)."""
    from scipy.special import erfcx

    return math.sqrt(math.pi / 2) * float(erfcx(x / math.sqrt(2)))


@functools.cache
def _gauss() -> tuple[Any, Any]:
    """Nodes and weights of the Gauss–Legendre rule on [−1, 1]."""
    import numpy as np

    return np.polynomial.legendre.leggauss(64)


def gaussian_delta(mu: float, epsilon: float) -> float:
    """δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2) of μ-Gaussian DP, without cancellation or overflow.

    Put x = ε/μ − μ/2. Since e^ε φ(x+μ) = φ(x), the difference is φ(x)·[R(x) − R(x+μ)] with R the Mills ratio. For μ
    ≥ 1 the two ratios differ by a fair share of themselves. For small μ they nearly agree; but R(x) = ∫₀^∞
    e^{−xs−s²/2} ds, so that R(x) − R(x+μ) = ∫₀^∞ e^{−xs−s²/2} (1 − e^{−μs}) ds, which has a positive, entire
    integrand: a Gauss rule does it.
    """
    import numpy as np
    from scipy.special import ndtr

    # Exact before rounding: for large μ the two terms of x cancel, and δ depends on x like exp(−x²/2).
    x = nearest((Fraction(epsilon) - Fraction(mu) ** 2 / 2) / Fraction(mu))
    density = math.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    if mu >= 1 and x < 0:
        return min(1.0, outward(float(ndtr(-x)) - density * _mills(x + mu)))
    if density == 0:
        return outward(0.0)
    if mu >= 1:
        return min(1.0, outward(density * (_mills(x) - _mills(x + mu))))
    # Beyond `end` the exponent is below −45: a share under 1e-16 of the integral.
    end = 90 / (x + math.sqrt(x * x + 90))
    nodes, weights = _gauss()
    s = end / 2 * (nodes + 1)
    integral = end / 2 * float(weights @ (np.exp(-s * (x + s / 2)) * -np.expm1(-mu * s)))
    return min(1.0, outward(density * integral))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The inverse of `gaussian_delta`, by a root between 0 and the ε at which its first term alone is δ."""
    if delta == 0:
        return math.inf
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    from scipy.special import ndtri

    high = mu * (mu / 2 - float(ndtri(delta)))
    if math.isinf(high):
        return math.inf

    def excess(epsilon: float) -> float:
        return math.log(gaussian_delta(mu, epsilon)) - math.log(delta)

    estimate = _root(excess, 0.0, high) if excess(high) < 0 else high
    return _first_at_or_above(estimate, lambda epsilon: gaussian_delta(mu, epsilon), delta)


def concentrated_delta(rho: float, epsilon: float) -> float:
    """δ(ε) of ρ-zCDP: the least over α > 1 of exp((α−1)(αρ−ε))/(α−1)·(1−1/α)^α.

    With t = α−1 the logarithm is l(t) = t((1+t)ρ − ε) − t·log(1+1/t) − log(1+t). Its derivative (1+2t)ρ − ε −
    log(1+1/t) rises from −∞ to ∞ (its own derivative is 2ρ + 1/(t(1+t)) > 0), so the minimum is unique. We seek it
    in u = log t. Every t gives a valid δ: an error in t costs tightness, of second order, not truth.
    """

    def slope(u: float) -> float:
        return rho * (1 + 2 * math.exp(u)) - epsilon - math.log1p(math.exp(-u))

    # slope(low) < 0, as (1+2t)ρ ≤ 2ρ < log(1 + e^{2ρ}) there; slope(high) > 0, as log(1+1/t) ≤ log 2 there.
    low = max(-_LARGEST_LOG, min(-math.log(2), -2 * rho))
    high = min(_LARGEST_LOG, math.log(max(1.0, (epsilon + math.log(2)) / (2 * rho))))
    if slope(low) >= 0:
        u = low
    elif slope(high) <= 0:
        u = high
    else:
        u = _root(slope, low, high)
    t = math.exp(u)
    # Exact before rounding: for large ρ the terms αρ and ε nearly cancel.
    moment = nearest(Fraction(t) * ((1 + Fraction(t)) * Fraction(rho) - Fraction(epsilon)))
    return min(1.0, outward(math.exp(min(0.0, moment - t * math.log1p(1 / t) - math.log1p(t)))))


def concentrated_epsilon(rho: float, delta: float) -> float:
    """The inverse of `concentrated_delta`.

    Solved for ε, the bound at order 1+t reads ε = (1+t)ρ + (log(1/δ) − log(1+t))/t − log(1+1/t), valid for every t.
    At the best t, ε = (1+2t)ρ − log(1+1/t), and l(t) = log δ becomes ρt² + log(1+t) = log(1/δ), whose left side
    increases in t.
    """
    if delta == 0:
        return math.inf
    if delta == 1:
        return 0.0
    target = -math.log(delta)

    def excess(u: float) -> float:
        t = math.exp(u)
        return rho * t * t + math.log1p(t) - target

    # At `low` each term is at most half the target; at `high` the first alone reaches it.
    high = (math.log(target) - math.log(rho)) / 2
    low = min(high - math.log(2) / 2, math.log(math.expm1(target / 2)))
    low, high = (max(-_LARGEST_LOG, min(_LARGEST_LOG, u)) for u in (low, high))
    t = math.exp(_root(excess, low, high) if excess(low) < 0 < excess(high) else low)
    epsilon = (1 + t) * rho + (target - math.log1p(t)) / t - math.log1p(1 / t)
    return _first_at_or_above(max(0.0, epsilon), lambda e: concentrated_delta(rho, e), delta)
