"""Conversions between the guarantees of one parameter: the smallest parameter that is implied.

The two output laws of an ε-DP mechanism on neighbours are one randomisation of the two laws of randomised response
at ε (Kairouz, Oh and Viswanath 2015), and randomising never adds divergence: what holds for that pair holds for all
of ε-DP. Likewise what holds for N(μ, 1) and N(0, 1) holds for all of μ-Gaussian DP.
"""

from __future__ import annotations

import math
from fractions import Fraction

from confide.privacy.rounding import PARAMETER_SLACK, outward, round_up


def pure_to_concentrated(epsilon: float) -> float:
    """ρ = ε·tanh(ε/2), the Kullback–Leibler divergence of randomised response; about ε²/2 for small ε, below it always.

    The Rényi divergence of order 1+t is K(t)/t with K(t) = log[cosh(ε(t+½))/cosh(ε/2)], and ρ-zCDP asks that K(t) ≤
    ρ·t(1+t) for all t > 0. Put v = (t+½)², so that t(1+t) = v − ¼. As tanh(z)/z falls, log cosh(ε√v) is concave in
    v, so it lies below its tangent at v = ¼ (t = 0), whose slope is ε·tanh(ε/2): that ρ suffices. It is needed too,
    for K(t)/(t(1+t)) tends to it as t → 0.

    >>> round(pure_to_concentrated(1.0), 6)
    0.462117
    """
    return outward(epsilon * math.tanh(epsilon / 2), PARAMETER_SLACK)


def pure_to_gaussian(epsilon: float) -> float:
    """μ = −2Φ⁻¹(1/(1+e^ε)): the Gaussian trade-off curve through the corner of the pure one; about 1.25ε for small ε.

    The trade-off curve of ε-DP (the least type II error at each type I error) runs straight from (0, 1) to its
    corner (a, a), a = 1/(1+e^ε), and straight on to (1, 0). The Gaussian curve is convex, has the same ends and
    meets the diagonal at Φ(−μ/2). If it meets it at a, it lies below both chords, so μ suffices; if any higher, it
    is above the corner.

    >>> round(pure_to_gaussian(1.0), 6)
    1.232035
    """
    from scipy.special import erfinv, ndtri_exp  # not needed to read a budget

    if epsilon < 2:
        # Φ⁻¹(a) = √2·erfinv(2a − 1), and 2a − 1 = −tanh(ε/2): no digits are lost near a = ½.
        mu = 2 * math.sqrt(2) * float(erfinv(math.tanh(epsilon / 2)))
    else:
        mu = -2 * float(ndtri_exp(-epsilon - math.log1p(math.exp(-epsilon))))
    return outward(mu, PARAMETER_SLACK)


def gaussian_to_concentrated(mu: float) -> float:
    """ρ = μ²/2: the Rényi divergence of order α between N(μ, 1) and N(0, 1) is αμ²/2, for every α.

    >>> gaussian_to_concentrated(1.0)
    0.5
    """
    return round_up(Fraction(mu) ** 2 / 2)
