"""How much noise a guarantee needs on a lattice: the same promises, computed from the discrete laws themselves.

All is in units of the step: k is the integer sensitivity, r = step/scale for the discrete Laplace and s =
scale/step for the discrete Gaussian. A lattice is not the line: a discrete Gaussian with σ of about one step
has more than twice the δ of the continuous one. Both masses are log-concave, so that one-sided tests are
best, a longer shift is never safer, and the vector discrete Laplace costs no more than its L1 shift on one
coordinate (see `calibration`).
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from scipy.special import ndtri_exp

from confide.mechanism.calibration import gaussian_ratio, laplace_ratio, largest
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.statistic import Mean, Statistic

# Beyond these s the discrete Gaussian is compared with the continuous one instead of being summed.
_SUMMED_TO = 2000.0
_SCANNED_TO = 50.0


def steps(width: float, step: float) -> int:
    """The whole number of steps in a width, rounded up, with both read as the decimals they stand for.

    Read so, 0.9 is three times 0.3. Each number is within 2⁻⁵³ of what was meant (a quotient such as 10/7
    too), so a ratio within 2⁻⁵¹ of a whole number is that number: ten steps of 1/7 are 10/7, not 11 steps.

    >>> steps(0.9, 0.3), steps(10 / 7, 1 / 7), steps(1.0, 0.3)
    (3, 10, 4)
    """
    ratio = Fraction(repr(float(width))) / Fraction(repr(float(step)))
    whole = round(ratio)
    return whole if abs(ratio - whole) <= whole * Fraction(1, 2**51) else math.ceil(ratio)


def squared_steps(statistic: Statistic, n: int, step: float, norm: int) -> int:
    """The integer sensitivity k of a statistic rounded to the lattice, squared (so that it is whole for L2 too).

    Rounding half up keeps k_j ≤ ⌈Δ_j/step⌉ for a coordinate that moves by Δ_j. A scalar needs no more. For a
    vector ⌈x⌉ < x + 1 in each of d coordinates, so that ‖k‖₁ < Δ₁/step + d and ‖k‖₂ < Δ₂/step + √d, and whole
    numbers below a bound are at most its ceiling less one; or, where the range of every coordinate is known,
    ‖k‖ ≤ ‖(⌈Δ_j/step⌉)_j‖. The smaller is taken.
    """
    width = float(statistic.sensitivity(n, norm=norm))
    if statistic.dimension == 1:
        return steps(width, step) ** 2
    d, ratio = statistic.dimension, Fraction(repr(width)) / Fraction(repr(float(step)))
    if norm == 1:
        bound = (math.ceil(ratio + d) - 1) ** 2
    else:
        # (x + √d)² = x² + d + 2x√d, rounded up a little for the root
        bound = math.ceil(ratio**2 + d + 2 * ratio * Fraction(math.nextafter(math.sqrt(d), math.inf))) - 1
    if isinstance(statistic, Mean):
        parts = [steps((high - low) / n, step) for low, high in statistic.ranges]
        bound = min(bound, sum(parts) ** 2 if norm == 1 else sum(part**2 for part in parts))
    return bound


def discrete_laplace_delta(k: int, r: float, epsilon: float) -> float:
    """The hockey-stick divergence at ε of discrete Laplace noise under a shift by k ≥ 1 steps.

    The privacy loss is kr up to the point 0, then falls by 2r a point. It exceeds ε up to the point J = ⌈(k −
    ε/r)/2⌉ − 1, so δ = P(V ≤ J) − e^ε P(V ≤ J−k) = 1 − (e^{−r(J+1)} + e^{ε−r(k−J)})/(1+e^{−r}).
    """
    if k * r <= epsilon:
        return 0.0
    last = math.ceil((k - epsilon / r) / 2) - 1
    left = -math.expm1(epsilon - k * r) / (1 + math.exp(-r))
    # the part up to 0 alone for a small δ, so that nothing cancels; the points 1, …, J are two geometric sums
    falling = -math.expm1(-r * last) * math.exp(-r) / (1 + math.exp(-r))
    rising = -math.expm1(-r * last) * math.exp(epsilon - r * (k - last)) / (1 + math.exp(-r))
    return left + falling - rising if last > 0 else left


@functools.lru_cache(maxsize=1024)
def discrete_laplace_rate(privacy: Privacy, k: int) -> float:
    """The largest step/scale for which discrete Laplace noise keeps the promise under a shift by k steps.

    Pure: ε = kr. Concentrated: the Kullback–Leibler divergence r(E|V−k| − E|V|) = r(k − (1−e^{−kr})/sinh r),
    the limit α → 1 of D_α/α, which falls in α. Gaussian: as on the line, the normal quantiles g(j) = Φ̄⁻¹(P(V
    ≥ j)) have increments that fall away from the centre (the Mills ratio again), so that k consecutive ones
    are greatest when they are centred.
    """
    guess = laplace_ratio(privacy) / k
    match privacy:
        case PureDP(epsilon=epsilon):
            return epsilon / k
        case ApproxDP(epsilon=epsilon, delta=delta):
            return largest(lambda r: discrete_laplace_delta(k, r, epsilon) <= delta, guess)
        case ZCDP(rho=rho):
            return largest(lambda r: _kullback_leibler(k, r) <= rho, guess)
        case GDP(mu=mu):
            return largest(lambda r: _centred_laplace(k, r) <= mu, guess)
    raise NotImplementedError(f"no discrete Laplace noise for {privacy!r}")


def _kullback_leibler(k: int, r: float) -> float:
    """r(k − (1−e^{−kr})/sinh r), with 1/sinh r = 2e^{−r}/(1−e^{−2r}), which cannot overflow."""
    return r * (k + math.expm1(-k * r) * 2 * math.exp(-r) / -math.expm1(-2 * r))


def _centred_laplace(k: int, r: float) -> float:
    """g(j) − g(j−k) = g(j) + g(k+1−j) at the centre j = ⌈(k+1)/2⌉, where P(V ≥ j) = e^{−rj}/(1+e^{−r})."""
    j = (k + 2) // 2
    tails = np.array([-r * j, -r * (k + 1 - j)]) - math.log1p(math.exp(-r))
    return float(-np.sum(ndtri_exp(tails)))


def discrete_gaussian_delta(k: int, s: float, epsilon: float) -> float:
    """The hockey-stick divergence at ε of discrete Gaussian noise under a shift by k ≥ 1 steps.

    The loss at the point j is ((j+k)² − j²)/2s² > ε for j > m = εs²/k − k/2 (Canonne, Kamath and Steinke
    2020, Theorem 7), so that δ = Σ_{j>m} P(j)·(1 − e^{ε − (2jk+k²)/2s²}): a sum of positive terms. Past ten
    standard deviations nothing is left to add.
    """
    first = max(math.floor(epsilon * s * s / k - k / 2) + 1, -math.ceil(10 * s))
    j = first + np.arange(max(math.ceil(10 * s) + max(-first, 0), 0) + 2, dtype=float)
    share = -np.expm1(np.minimum(epsilon - k * (2 * j + k) / (2 * s * s), 0.0))
    return float(np.sum(share * np.exp(-0.5 * (j / s) ** 2 - _log_normaliser(s))))


def _log_normaliser(s: float) -> float:
    """log Σ_k exp(−k²/2s²), directly or Poisson-summed, as in `lattice`."""
    few = np.arange(1, 6)
    if s < 0.4:
        return float(np.log1p(2 * np.sum(np.exp(-0.5 * (few / s) ** 2))))
    dual = float(np.log1p(2 * np.sum(np.exp(-2 * (math.pi * few * s) ** 2))))
    return dual + math.log(s) + 0.5 * math.log(2 * math.pi)


def discrete_gaussian_mu(k: int, s: float) -> float:
    """The smallest μ such that discrete Gaussian noise under a shift by k steps is μ-Gaussian DP.

    A trade-off function that is linear between its corners dominates the convex G_μ iff it does at the
    corners, which are the thresholds j: μ = max_j g(j) − g(j−k), g(j) = Φ̄⁻¹(P(V ≥ j)), and g(1−j) = −g(j).
    Far out, at j = ys², the tail is that of a geometric series and g(j) = (j − h(y))/s with h =
    log(y/(1−e^{−y}))/y falling from ½ at a rate of at most 1/24: the increments of g tend to 1/s, and
    scanning up to y = 12 loses nothing. For s > 50 the same expansion bounds every increment by (1 +
    1/12s²)/s, twice the excess that it has.
    """
    if s > _SCANNED_TO:
        return k / s * (1 + 1 / (12 * s * s))
    j = np.arange(1, k + math.ceil(12 * s * s) + 60)
    log_mass = -0.5 * (j / s) ** 2 - _log_normaliser(s)
    tails = np.logaddexp.accumulate(log_mass[::-1])[::-1]
    upper = -ndtri_exp(tails[: len(j) - 20])
    g = np.concatenate([-upper[k - 1 :: -1], upper])
    return float(np.max(g[k:] - g[:-k]))


@functools.lru_cache(maxsize=1024)
def discrete_gaussian_ratio(privacy: Privacy, squared: int, dimension: int) -> float:
    """The smallest scale/step for which discrete Gaussian noise keeps the promise; `squared` is ‖k‖₂².

    Concentrated: exactly ρ = k²/2s², also for vectors (Canonne, Kamath and Steinke 2020, Theorem 4). For a
    vector the other promises follow from μ: a shift by one step on a coordinate is μ₁-Gaussian DP and one by
    k_j at most k_j·μ₁ (each of k_j increments of g is at most μ₁), so that all coordinates together are
    ‖k‖₂·μ₁-Gaussian DP.

    On a coarse lattice δ does not fall steadily with s: a wider law puts more mass on the few points where the loss
    exceeds ε, so that it can be several times above or below the continuous δ. The ratio returned keeps the promise, a
    slightly smaller one does not, and a smaller one still might.
    """
    if isinstance(privacy, ZCDP):
        return math.sqrt(squared / (2 * privacy.rho))
    mu, k = gaussian_ratio(privacy), math.isqrt(squared)
    guess = mu / math.sqrt(squared)
    if dimension > 1:
        inverse = largest(lambda x: math.sqrt(squared) * discrete_gaussian_mu(1, 1 / x) <= mu, guess)
    elif isinstance(privacy, ApproxDP) and k / mu <= _SUMMED_TO:
        epsilon, delta = privacy.epsilon, privacy.delta
        inverse = largest(lambda x: discrete_gaussian_delta(k, 1 / x, epsilon) <= delta, guess)
    else:
        inverse = largest(lambda x: discrete_gaussian_mu(k, 1 / x) <= mu, guess)
    return math.nextafter(1 / inverse, math.inf)
