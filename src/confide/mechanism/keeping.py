"""How often randomized response may keep the truth, for each kind of guarantee."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, ndtri_exp

from confide.mechanism.calibration import largest, refuse_noise
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.privacy.rounding import outward, root_down, round_down

# Rényi orders on which the concentrated guarantee is computed: how many, the first less one (and over one the last, in
# units of 1/t), the t from which on a closed form serves below them, and what is lost where chords are subtracted.
_COUNT = 10_000
_FIRST = 1e-7
_SMALL = 1e-6
_CHORD_SLACK = 1e-10
# Nodes of the integral that is the Gaussian guarantee.
_POINTS = 257
# Log-ratios beyond this leave the other answers no probability that a float could hold.
_MOST = 700.0


@functools.lru_cache(maxsize=1024)
def keep_probability(privacy: Privacy, k: int) -> float:
    """The largest probability of a true answer among k that keeps the promise.

    Let t be the log-ratio of a true to a given other answer, so that q = 1/(e^t + k − 1) is the probability
    of the latter and e^t·q that of the former. Only the two true answers tell neighbours apart.

    Pure (Warner 1965; Kairouz, Oh and Viswanath 2016): t = ε. Approximate: the divergence at ε is keep − e^ε
    q, which is δ for keep = (e^ε + (k−1)δ)/(e^ε + k − 1). Gaussian: the trade-off function has the corners
    (q, 1−keep) and (1−keep, q), so that μ = Φ⁻¹(keep) − Φ⁻¹(q). Concentrated: D_α = log[(e^{αt} + e^{(1−α)t}
    + k − 2)/(e^t + k − 1)]/(α−1), and the largest D_α/α is sought over all orders: it is the limit α → 1 for
    two answers, but not for many.

    Everything is rounded against the promise: what is stored is a float, and the probability of the other answers is
    the exact rest of it.

    >>> round(keep_probability(GDP(2.0), 2), 6)                                              # Φ(μ/2)
    0.841345
    """
    match privacy:
        case PureDP(epsilon=epsilon):
            return _keep(privacy, k, epsilon, 0.0)
        case ApproxDP(epsilon=epsilon, delta=delta):
            return _keep(privacy, k, epsilon, delta)
        case GDP(mu=mu):
            return _keep(privacy, k, largest(lambda t: outward(_gaussian(t, k)) <= mu, mu, privacy, _MOST), 0.0)
        case ZCDP(rho=rho):
            guess = math.sqrt(2 * rho)
            return _keep(privacy, k, largest(lambda t: _concentrated(t, k) <= rho, guess, privacy, _MOST), 0.0)
    raise NotImplementedError(f"no randomized response for {privacy!r}")


def _keep(privacy: Privacy, k: int, epsilon: float, delta: float) -> float:
    """The largest float below (e^ε + (k−1)δ)/(e^ε + k − 1), refused where floats next to 1/k are too far apart.

    The power is rounded down by two last places, for the library's may be off by one; the rest is exact.
    """
    power = Fraction(math.nextafter(math.nextafter(math.exp(min(epsilon, _MOST)), 1.0), 1.0))
    keep = round_down((power + (k - 1) * Fraction(delta)) / (power + k - 1))
    truth, other = Fraction(keep), (1 - Fraction(keep)) / (k - 1)
    # the largest power that is not above e^ε, where that is hardly above 1
    power = max(power, 1 + Fraction(epsilon))
    if max(truth - power * other, other - power * truth) > Fraction(delta):
        refuse_noise(privacy)
    return keep


def _gaussian(t: float, k: int) -> float:
    """μ = Φ⁻¹(keep) − Φ⁻¹(q) of a log-ratio t among k answers, an upper bound where the two are close.

    It is the integral of 1/φ(Φ⁻¹(p)) from q to keep = e^t·q, and that is convex in p: the trapezoidal rule is above it.
    """
    log_q = -t - math.log1p((k - 1) * math.exp(-t))
    if t < 0.1:
        q = math.exp(log_q)
        normal = ndtri(q + q * math.expm1(t) * np.linspace(0.0, 1.0, _POINTS))
        inverse = np.exp(0.5 * normal**2) * math.sqrt(2 * math.pi)
        return q * math.expm1(t) * float(np.mean((inverse[1:] + inverse[:-1]) / 2))
    # Φ⁻¹(keep) = −Φ⁻¹(1−keep), both from the small side
    return float(-ndtri_exp(log_q + math.log(k - 1)) - ndtri_exp(log_q))


def _concentrated(t: float, k: int) -> float:
    """ρ of a log-ratio t among k answers, an upper bound: the largest D_α/α over all orders α > 1.

    With s = α − 1, K(s) = s·D_α = log(1 + x) and x = e^t(e^{st} − 1)(1 − e^{−(1+s)t})/(e^t + k − 1). K is convex and 0
    at 0: between two orders it is below its chord a + bs, with a ≤ 0, and (a + bs)/(s(1+s)) is greatest where bs² +
    2as + a = 0. D_α rises in α up to t, which bounds what is below the first order and beyond the last. Where t is
    small, the first order is a large one, and below it x ≤ e^t·s(1+s)t²·(1 + st)/(e^t + k − 1) serves.
    """
    span = max(1.0, 1 / t)
    if t < _SMALL:
        orders = np.geomspace(_FIRST * span, span / _FIRST, _COUNT)
        below = t * t * (1 + _FIRST) * math.exp(t) / (math.exp(t) + k - 1)
    else:
        orders = np.geomspace(_FIRST, span / _FIRST, _COUNT)
        below = float(_cumulant(orders[:1], t, k)[0]) / _FIRST
    values = _cumulant(orders, t, k)
    low, high = orders[:-1], orders[1:]
    slope = np.diff(values) / np.diff(orders)
    offset = np.minimum(values[:-1] - slope * low, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = -offset / slope
        worst = np.clip(ratio + np.sqrt(ratio**2 + ratio), low, high)
    # a slope that underflowed leaves nothing to bound
    chords = np.where(slope > 0, (offset / worst + slope) / (1 + worst), 0.0)
    return outward(max(below, float(np.max(chords)), t / (1 + orders[-1])), _CHORD_SLACK)


def _cumulant(s: NDArray[np.float64], t: float, k: int) -> NDArray[np.float64]:
    """K(s) = log(1 + x); x itself may be beyond floats."""
    with np.errstate(under="ignore"):
        log_x = np.log(-np.expm1(-s * t)) + s * t + np.log(-np.expm1(-(1 + s) * t)) - math.log1p((k - 1) * math.exp(-t))
        return np.asarray(np.where(log_x > 40, log_x, np.log1p(np.exp(np.minimum(log_x, 40)))))


def share_of_columns(privacy: Privacy, columns: int) -> Privacy:
    """What each of some columns may spend, so that all together keep the promise: rounded down.

    ε, ρ and δ add up, and μ² does (Dong, Roth and Su 2022, Corollary 3.3).

    >>> share_of_columns(PureDP(1.0), 2), share_of_columns(GDP(1.0), 4)
    (PureDP(epsilon=0.5), GDP(mu=0.5))
    """
    match privacy:
        case PureDP(epsilon=epsilon):
            return PureDP(round_down(Fraction(epsilon) / columns))
        case ApproxDP(epsilon=epsilon, delta=delta):
            return ApproxDP(round_down(Fraction(epsilon) / columns), round_down(Fraction(delta) / columns))
        case GDP(mu=mu):
            return GDP(root_down(Fraction(mu) ** 2 / columns))
        case ZCDP(rho=rho):
            return ZCDP(round_down(Fraction(rho) / columns))
    raise NotImplementedError(f"no randomized response for {privacy!r}")
