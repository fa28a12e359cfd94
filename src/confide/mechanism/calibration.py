"""How much noise a guarantee needs: additive Laplace and Gaussian noise.

Everything is said of the ratio of the sensitivity to the scale, r = Δ/b or μ = Δ/σ: the largest one that keeps the
promise. Trade-off functions (Dong, Roth and Su 2022) carry the proofs: T(a) is the least type II error of a test of
level a between the releases of two neighbours, and a guarantee is a lower bound on T. Laplace noise is log-concave, on
the line and on a lattice, so that one-sided tests are the best ones, for all shifts at once. Two facts follow.

* *Chains are exact.* The best test of 0 against r at level a has some power a' = 1 − T_r(a). The same test is the best
  one of r against r + r' at level a', hence 1 − T_{r+r'}(a) = 1 − T_{r'}(a'). A longer shift is never safer.
* *A vector costs no more than its L1 norm on one coordinate.* Change the coordinates one after the other. A test of
  level a before the first change has power at most a' = 1 − T_{r₁}(a) after it, at most 1 − T_{r₂}(a') after the
  second, and so on: by the first fact at most 1 − T_{Σrⱼ}(a) after the last. Hence every scalar calibration below is
  valid for vectors too, with Δ the L1 sensitivity, whatever the kind of the guarantee.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import NoReturn

from scipy.special import erf, log_ndtr

from confide.errors import PrivacyError
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.privacy.rounding import SLACK, outward, root_down, round_up

#: how near the largest ratio is found: noise is larger by no more than this share, and 43 halvings find it
_PRECISION = 1e-13


def largest(holds: Callable[[float], bool], guess: float, privacy: Privacy, most: float = sys.float_info.max) -> float:
    """The largest x up to `most` with a property that is lost for good as x grows: to 1e-13, from the side that holds.

    It ends after some 2,000 questions at most, for floats have no more powers of two. Where the property holds for no
    float above 0, the guarantee that asks for it is refused.
    """
    low = high = min(max(guess, sys.float_info.min), most)
    while not holds(low):
        low, high = low / 2, low
        if low == 0:
            refuse_noise(privacy)
    while holds(high):
        if high == most:
            return most
        low, high = high, min(2 * high, most)
    # numbers next to 0 have fewer digits than the precision asked for: then until there is nothing between
    while high - low > _PRECISION * low and low < (middle := low + (high - low) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def refuse_noise(privacy: Privacy) -> NoReturn:
    """Refuse a guarantee that would take more noise than floats can state."""
    problem = "asks for more noise than can be stated in floats"
    raise PrivacyError("privacy", privacy, problem, "ask for less privacy: a larger parameter")


def scale_up(width: float, ratio: float, privacy: Privacy) -> float:
    """The smallest float that is not below width/ratio: the scale that leaves no more than the ratio."""
    scale = round_up(Fraction(width) / Fraction(ratio)) if ratio > 0 else math.inf
    return scale if math.isfinite(scale) else refuse_noise(privacy)


def inward(value: float) -> float:
    """A ratio, lowered by more than its rounding error, and finite."""
    return min(math.nextafter(value * (1 - SLACK), 0.0), sys.float_info.max)


@functools.lru_cache(maxsize=1024)
def laplace_ratio(privacy: Privacy) -> float:
    """The largest Δ/b for which Laplace noise of scale b keeps the promise.

    Pure (Dwork et al. 2006): the densities of neighbours differ by at most e^{Δ/b}.

    Approximate: between Laplace densities a distance r scales apart the privacy loss is r to the left of both
    centres and falls with slope 2 between them, so that it exceeds ε up to x = (r−ε)/2, and δ(ε) = 1 −
    e^{(ε−r)/2}; hence r = ε − 2 log(1−δ).

    Concentrated: the Rényi divergence is D_α = log[α/(2α−1)·e^{(α−1)r} + (α−1)/(2α−1)·e^{−αr}]/(α−1), and
    D_α/α falls in α: the limit α → 1, the Kullback–Leibler divergence r + e^{−r} − 1, decides.

    Gaussian: T_r ≥ G_μ iff g(x) − g(x−r) ≤ μ for every threshold x, where g(x) = Φ̄⁻¹(F̄(x)) is the normal
    quantile of the Laplace tail. For x > 0, g' = f/φ(g) = F̄/φ(g) = Φ̄(g)/φ(g), the Mills ratio at g, which
    falls; and g is odd. So the difference is greatest at the symmetric threshold x = r/2, where it is
    2Φ̄⁻¹(e^{−r/2}/2): r = −2 log(2Φ(−μ/2)).

    >>> laplace_ratio(PureDP(1.0)), round(laplace_ratio(GDP(1.0)), 6)
    (1.0, 0.965529)
    """
    match privacy:
        case PureDP(epsilon=epsilon):
            return epsilon
        case ApproxDP(epsilon=epsilon, delta=delta):
            # two last places down, for a small δ is not much more than the rounding error of ε
            ratio = epsilon - 2 * math.log1p(-delta)
            return ratio - 2 * math.ulp(ratio)
        case ZCDP(rho=rho):
            return largest(lambda r: outward(laplace_divergence(r)) <= rho, rho + math.sqrt(2 * rho), privacy)
        case GDP(mu=mu) if mu < 1:
            # 2Φ(−μ/2) is 1 − erf(μ/√8): no digits are lost near 1
            return inward(-2 * math.log1p(-float(erf(mu / math.sqrt(8)))))
        case GDP(mu=mu):
            return inward(-2 * (math.log(2) + float(log_ndtr(-mu / 2))))
    raise NotImplementedError(f"no Laplace noise for {privacy!r}")


def laplace_divergence(r: float) -> float:
    """The Kullback–Leibler divergence r + e^{−r} − 1, by its series where the terms cancel."""
    if r > 0.01:
        return r + math.expm1(-r)
    return r * r / 2 * (1 - r / 3 * (1 - r / 4 * (1 - r / 5 * (1 - r / 6))))


@functools.lru_cache(maxsize=1024)
def gaussian_ratio(privacy: Privacy) -> float:
    """The largest Δ/σ for which Gaussian noise of standard deviation σ keeps the promise, Δ the L2 sensitivity.

    Only the length of the shift matters, for the noise is the same in all directions. Gaussian DP is μ = Δ/σ
    by definition, and ρ = μ²/2 the exact zCDP of it. Approximate: the analytic Gaussian mechanism of Balle
    and Wang (2018), δ(ε) = Φ(−ε/μ + μ/2) − e^ε Φ(−ε/μ − μ/2), solved for μ.

    >>> round(1 / gaussian_ratio(ApproxDP(1.0, 1e-6)), 4)
    4.2247
    """
    match privacy:
        case GDP(mu=mu):
            return mu
        case ZCDP(rho=rho):
            return root_down(2 * Fraction(rho))
        case ApproxDP(epsilon=epsilon, delta=delta):
            guess = epsilon / math.sqrt(2 - 2 * math.log(delta))
            return largest(lambda mu: GDP(mu).delta_at(epsilon) <= delta, guess, privacy)
    raise NotImplementedError(f"no Gaussian noise for {privacy!r}")
