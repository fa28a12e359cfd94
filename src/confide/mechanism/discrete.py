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
from scipy.special import erfinv, ndtri_exp

from confide.mechanism.calibration import gaussian_ratio, laplace_divergence, laplace_ratio, largest, refuse_noise
from confide.mechanism.counts import squared_counts, squared_moves
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.privacy.rounding import nearest, outward, root_down, round_down, round_up
from confide.statistic import Statistic
from confide.statistic.persons import rows_of_one

# Beyond these s the discrete Gaussian is compared with the continuous one instead of being summed, and beyond this
# shift its increments are counted as if each were the largest.
_SUMMED_TO = 2000.0
_SCANNED_TO = 50.0
_LONGEST_SHIFT = 10_000
# What a sum of 30,000 logarithms, and the normal quantiles of it, may be off by, relatively.
_SCAN_SLACK = 1e-10
# A shift of more steps than this is no number that noise is measured by.
_MOST_STEPS = 2**500


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


def squared_steps(statistic: Statistic, n: int | None, step: float, norm: int) -> int:
    """The integer sensitivity k of a statistic rounded to the lattice, squared (so that it is whole for L2 too).

    Rounding half up keeps k_j ≤ ⌈Δ_j/step⌉ for a coordinate that moves by Δ_j. A scalar needs no more. For a
    vector ⌈x⌉ < x + 1 in each of d coordinates, so that ‖k‖₁ < Δ₁/step + d and ‖k‖₂ < Δ₂/step + √d, and whole
    numbers below a bound are at most its ceiling less one; or, where the range of every coordinate is known,
    ‖k‖ ≤ ‖(⌈Δ_j/step⌉)_j‖. The smaller is taken. Counts on their own lattice are not rounded at all (`counts`).
    """
    if statistic.tallies:
        return squared_moves(n, step, norm) * rows_of_one(statistic, n) ** 2
    width = float(statistic.sensitivity(n, norm=norm))
    if statistic.dimension == 1:
        return steps(width, step) ** 2
    d, ratio = statistic.dimension, Fraction(repr(width)) / Fraction(repr(float(step)))
    if norm == 1:
        bound = (math.ceil(ratio + d) - 1) ** 2
    else:
        # (x + √d)² = x² + d + 2x√d, rounded up a little for the root
        bound = math.ceil(ratio**2 + d + 2 * ratio * Fraction(math.nextafter(math.sqrt(d), math.inf))) - 1
    if statistic.averages or statistic.totals:
        parts = [steps(size, step) for size in _moves(statistic, n)]
        bound = min(bound, sum(parts) ** 2 if norm == 1 else sum(part**2 for part in parts))
    exact = squared_counts(statistic, n, step, norm)
    return bound if exact is None else min(bound, exact)


def _moves(statistic: Statistic, n: int | None) -> list[float]:
    """How far each coordinate of a mean or a sum can move."""
    if n is None:
        rows = rows_of_one(statistic, n)
        return [rows * max(abs(low), abs(high)) for low, high in statistic.ranges]
    return [(high - low) / (n if statistic.averages else 1) for low, high in statistic.ranges]


def discrete_laplace_delta(k: int, r: float, epsilon: float) -> float:
    """The hockey-stick divergence at ε of discrete Laplace noise under a shift by k ≥ 1 steps, rounded outward.

    The privacy loss is kr up to the point 0, then falls by 2r a point. It exceeds ε up to the point J = ⌈(k −
    ε/r)/2⌉ − 1, so δ = P(V ≤ J) − e^ε P(V ≤ J−k). The part up to 0 is (1 − e^{ε−kr})/(1+e^{−r}), and the points
    1, …, J add (1 − e^{−rJ})(e^{−r} − e^{ε−r(k−J)})/(1+e^{−r}): both are 0 or more. What exceeds ε is exact before
    it is rounded, for a small δ leaves little of it.
    """
    rate = Fraction(r)
    excess = k * rate - Fraction(epsilon)
    if excess <= 0:
        return 0.0
    last = math.ceil(excess / rate / 2) - 1
    left = -math.expm1(-nearest(excess))
    if last == 0:
        return min(1.0, outward(left / (1 + math.exp(-r))))
    between = nearest(excess - (last + 1) * rate)  # 0 or more, as J is below half of excess/r
    right = math.expm1(-nearest(last * rate)) * math.expm1(-between) * math.exp(-r)
    return min(1.0, outward((left + right) / (1 + math.exp(-r))))


@functools.lru_cache(maxsize=1024)
def discrete_laplace_rate(privacy: Privacy, k: int) -> float:
    """The largest step/scale for which discrete Laplace noise keeps the promise under a shift by k steps.

    Pure: ε = kr. Concentrated: the Kullback–Leibler divergence r(E|V−k| − E|V|) = r(k − (1−e^{−kr})/sinh r),
    the limit α → 1 of D_α/α, which falls in α. Gaussian: as on the line, the normal quantiles g(j) = Φ̄⁻¹(P(V
    ≥ j)) have increments that fall away from the centre (the Mills ratio again), so that k consecutive ones
    are greatest when they are centred.
    """
    if k > _MOST_STEPS:
        refuse_noise(privacy)
    if isinstance(privacy, PureDP):
        return round_down(Fraction(privacy.epsilon) / k) or refuse_noise(privacy)
    guess = laplace_ratio(privacy) / k
    match privacy:
        case ApproxDP(epsilon=epsilon, delta=delta):
            return largest(lambda r: discrete_laplace_delta(k, r, epsilon) <= delta, guess, privacy)
        case ZCDP(rho=rho):
            return largest(lambda r: outward(_kullback_leibler(k, r)) <= rho, guess, privacy)
        case GDP(mu=mu):
            return largest(lambda r: outward(_centred_laplace(k, r)) <= mu, guess, privacy)
    raise NotImplementedError(f"no discrete Laplace noise for {privacy!r}")


def _kullback_leibler(k: int, r: float) -> float:
    """r(k − (1−e^{−kr})/sinh r), as the divergence kr + e^{−kr} − 1 on the line plus (1−e^{−kr})(1 − r/sinh r)."""
    shift = nearest(k * Fraction(r))
    if r < 0.1:
        rounding = r * r / 6 * (1 - r * r * (7 / 60 - r * r * (31 / 2520 - r * r * 127 / 100800)))
    else:
        rounding = 1 - 2 * r * math.exp(-r) / -math.expm1(-2 * r)
    return laplace_divergence(shift) - math.expm1(-shift) * rounding


def _centred_laplace(k: int, r: float) -> float:
    """g(j) − g(j−k) = g(j) + g(k+1−j) at the centre j = ⌈(k+1)/2⌉, where P(V ≥ j) = e^{−rj}/(1+e^{−r})."""
    j = (k + 2) // 2
    return _laplace_quantile(j, r) + _laplace_quantile(k + 1 - j, r)


def _laplace_quantile(j: int, r: float) -> float:
    """Φ̄⁻¹(P(V ≥ j)) for j ≥ 1: near ½ from 1 − 2P = (1 − e^{−rj} + e^{−r}(1 − e^{−r(j−1)}))/(1+e^{−r})."""
    central = -(math.expm1(-r * j) + math.exp(-r) * math.expm1(-r * (j - 1))) / (1 + math.exp(-r))
    if central < 0.5:
        return math.sqrt(2) * float(erfinv(central))
    return -float(ndtri_exp(-r * j - math.log1p(math.exp(-r))))


def discrete_gaussian_delta(k: int, s: float, epsilon: float) -> float:
    """The hockey-stick divergence at ε of discrete Gaussian noise under a shift by k ≥ 1 steps, rounded outward.

    The loss at the point j is ((j+k)² − j²)/2s² > ε for j > m = εs²/k − k/2 (Canonne, Kamath and Steinke
    2020, Theorem 7), so that δ = Σ_{j>m} P(j)·(1 − e^{ε − (2jk+k²)/2s²}): a sum of positive terms. It is
    summed until the mass has fallen by e^{−80}, and the geometric series that bounds the rest is added. Twelve
    standard deviations below the centre nothing is left that counts.
    """
    square = Fraction(s) ** 2
    first = max(math.floor(Fraction(epsilon) * square / k - Fraction(k, 2)) + 1, -math.ceil(12 * s))
    start = nearest(Fraction(first) / Fraction(s))
    count = math.ceil(s * (160 / (start + math.sqrt(start * start + 160)) if start > 0 else 13 - start)) + 2
    # exact before rounding: the loss at the first point is hardly more than ε
    least = nearest(Fraction(epsilon) - k * (first + Fraction(k, 2)) / square)
    steps_on = np.arange(count, dtype=float)
    # in units of the first mass: at a small δ each of many terms may be below all floats
    with np.errstate(over="ignore", under="ignore"):
        share = -np.expm1(np.minimum(least - k * steps_on / (s * s), 0.0))
        mass = np.exp(-steps_on / s * (start + steps_on / (2 * s)))
        beyond = float(mass[-1]) / -math.expm1(-max(start, 1 / s) / s)
        total = float(np.sum(share * mass)) + beyond
    return min(1.0, outward(math.exp(-0.5 * start * start - _log_normaliser(s) + math.log(total)), 2e-12))


def _log_normaliser(s: float) -> float:
    """log Σ_k exp(−k²/2s²), directly or Poisson-summed, as in `lattice`."""
    few = np.arange(1, 6)
    with np.errstate(over="ignore", under="ignore"):
        if s < 0.4:
            return float(np.log1p(2 * np.sum(np.exp(-0.5 * (few / s) ** 2))))
        dual = float(np.log1p(2 * np.sum(np.exp(-2 * (math.pi * few * s) ** 2))))
    return dual + math.log(s) + 0.5 * math.log(2 * math.pi)


def discrete_gaussian_mu(k: int, s: float) -> float:
    """The smallest μ such that discrete Gaussian noise under a shift by k steps is μ-Gaussian DP, rounded up.

    A trade-off function that is linear between its corners dominates the convex G_μ iff it does at the
    corners, which are the thresholds j: μ = max_j g(j) − g(j−k), g(j) = Φ̄⁻¹(P(V ≥ j)), and g(1−j) = −g(j).
    Far out, at j = ys², the tail is that of a geometric series and g(j) = (j − h(y))/s with h =
    log(y/(1−e^{−y}))/y falling from ½ at a rate of at most 1/24: the increments of g tend to 1/s, and
    scanning up to y = 12 loses nothing. For s > 50 the same expansion bounds every increment by (1 +
    1/12s²)/s, twice the excess that it has. A long shift is that many increments, each at most the largest.
    """
    if math.isinf(s):
        return math.inf  # a scale that cannot be stated keeps no promise
    if s > _SCANNED_TO:
        return outward(nearest(k / Fraction(s)) * (1 + 1 / (12 * s * s)), 1e-15)
    if k > _LONGEST_SHIFT:
        return outward(k * discrete_gaussian_mu(1, s), 1e-15)
    j = np.arange(1, k + math.ceil(12 * s * s) + 60)
    with np.errstate(over="ignore"):
        log_mass = -0.5 * (j / s) ** 2 - _log_normaliser(s)
    tails = np.logaddexp.accumulate(log_mass[::-1])[::-1]
    upper = -ndtri_exp(tails[: len(j) - 20])
    g = np.concatenate([-upper[k - 1 :: -1], upper])
    with np.errstate(invalid="ignore"):
        most = float(np.max(g[k:] - g[:-k]))
    # a law that hardly leaves 0 has tails beyond all floats
    return outward(most, _SCAN_SLACK) if not math.isnan(most) else math.inf


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
    if squared > _MOST_STEPS:
        refuse_noise(privacy)
    if isinstance(privacy, ZCDP):
        ratio = Fraction(squared) / (2 * Fraction(privacy.rho))
        return round_up(1 / Fraction(root_down(1 / ratio) or refuse_noise(privacy)))
    mu, k = gaussian_ratio(privacy), math.isqrt(squared)
    length = 1 / root_down(Fraction(1, squared))
    guess = mu / length
    if dimension > 1:
        inverse = largest(lambda x: outward(length * discrete_gaussian_mu(1, 1 / x)) <= mu, guess, privacy)
    elif isinstance(privacy, ApproxDP) and k / mu <= _SUMMED_TO:
        epsilon, delta = privacy.epsilon, privacy.delta
        inverse = largest(lambda x: discrete_gaussian_delta(k, 1 / x, epsilon) <= delta, guess, privacy)
    else:
        inverse = largest(lambda x: discrete_gaussian_mu(k, 1 / x) <= mu, guess, privacy)
    return round_up(1 / Fraction(inverse))
