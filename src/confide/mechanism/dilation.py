"""What noise scaled by a smooth sensitivity promises.

The release is y = u + (S/α)·Z. Neighbours have |u − u'| ≤ min(S, S'), for S bounds the local sensitivity of
either, and |log(S'/S)| ≤ β. In units of one scale S/α they are the laws of Z and of d + e^λ Z with |λ| ≤ β
and |d| ≤ α·min(1, e^λ); exchanging the neighbours is λ → −λ. For symmetric unimodal noise the divergence can
only grow with the shift: ∫ min(p, e^ε q) is the overlap of level sets, which are intervals around the two
centres, summed over levels. So d = α·min(1, e^λ) throughout, and what is left is the worst dilation λ.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray

from confide.errors import PrivacyError
from confide.mechanism.calibration import largest
from confide.privacy import ApproxDP, PureDP
from confide.privacy.rounding import outward

# Dilations on which the worst is sought, as shares of β. Both ends are among them, and one has always been the worst.
_SHARES = np.linspace(-1, 1, 401)

# β beyond this damps a rank to nothing that a float could hold
_MOST = 700.0
_SLACK = 2e-12

Floats = NDArray[np.float64]


def dilated_laplace_delta(epsilon: float, alpha: float, dilation: Floats) -> Floats:
    """The hockey-stick divergence at ε of Laplace(0, 1) from Laplace(d, b), b = e^λ, at the shift d = α·min(1, b).

    p(x) > e^ε q(x) where f(x) = |x−d|/b − |x| > c = ε − λ. At an end x of such a set e^ε q = p, so that every
    integral of e^ε q up to it is ±b·p(x). For λ ≤ 0 (a narrower q) f falls from ∞ to −d at x = d and rises to
    ∞ again: the set is x < x₁ or x > x₂ and

        δ = [½(1−b)e^{x₁} if x₁ ≤ 0, 1 − ½(1+b)e^{−x₁} otherwise] + ½(1−b)e^{−x₂}.

    For λ > 0 f has its peak d/b at x = 0: nothing exceeds c ≥ d/b; otherwise the set is (x₁, x₂) around 0 and

        δ = 1 + ½(b−1)e^{x₁} − ½(1+b)e^{−x₂} if x₂ ≤ d,  1 − e^ε + ½(b−1)(e^{x₁} + e^{−x₂}) otherwise.
    """
    dilation = np.asarray(dilation, dtype=float)
    b, c = np.exp(dilation), epsilon - dilation
    # 1/b − 1 is 0 at λ = 0, where x₁ = −∞ and x₂ = ∞ are right; each branch is meaningless on the other's side
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return np.where(dilation <= 0, _narrower(alpha * b, b, c, dilation), _wider(alpha, b, c, dilation, epsilon))


def _narrower(d: Floats, b: Floats, c: Floats, dilation: Floats) -> Floats:
    slope = np.expm1(-dilation)
    outside = c >= d / b
    x1 = np.where(outside, -(c - d / b) / slope, (d / b - c) / (1 + 1 / b))
    x2 = d + (c + d) / slope
    left = np.where(outside, -0.5 * np.expm1(dilation) * np.exp(np.minimum(x1, 0)), 1 - 0.5 * (1 + b) * np.exp(-x1))
    # at λ = 0 and c = d/b the quotient is 0/0; the mass beyond x₁ has the factor 1 − b = 0
    left = np.where((dilation == 0) & outside, 0.0, left)
    right = np.where(dilation == 0, 0.0, -0.5 * np.expm1(dilation) * np.exp(-x2))
    return left + right


def _wider(d: float, b: Floats, c: Floats, dilation: Floats, epsilon: float) -> Floats:
    slope = -np.expm1(-dilation)
    x1 = -(d / b - c) / slope
    between = 1 + 0.5 * (b - 1) * np.exp(x1) - 0.5 * (1 + b) * np.exp(-(d / b - c) / (1 + 1 / b))
    x2 = d - (d + c) / slope
    beyond = -np.expm1(epsilon) + 0.5 * (b - 1) * (np.exp(x1) + np.exp(-x2))
    return np.where(c >= d / b, 0.0, np.where(c >= -d, between, beyond))


def smooth_laplace_delta(epsilon: float, alpha: float, beta: float) -> float:
    """δ at ε of Laplace noise on a smooth sensitivity: the supremum over |λ| ≤ β.

    For α ≤ ε and λ < 0 both terms of the divergence grow with |λ|, so that the narrowest law is the worst of
    that side; for λ > 0 and for larger α the supremum is scanned for.

    >>> f"{smooth_laplace_delta(5.0, 2.5, 5 / (2 * math.log(2e4))):.1e}"      # the classical pair at (5, 1e-4)
    '7.7e-06'
    """
    spent = float(np.max(dilated_laplace_delta(epsilon, alpha, beta * _SHARES)))
    if not spent > 0:
        return 0.0 if spent <= 0 else math.inf
    # exponents are off by a rounding error of ε + α, divided by the slope of the loss
    exponents = (epsilon + alpha) / (-math.expm1(-beta) if beta > 0 else 1.0)
    return outward(spent, _SLACK + 1e-15 * exponents)


@functools.lru_cache(maxsize=1024)
def smooth_laplace_pair(epsilon: float, delta: float, alpha: float | None, beta: float | None) -> tuple[float, float]:
    """(α, β) for (ε, δ): what is not given is as large as the promise allows, with α = ε/2 if neither is.

    α = ε/2 < ε leaves some β > 0 for every δ > 0, as the divergence vanishes with β.

    >>> smooth_laplace_pair(1.0, 1e-4, None, None)[1] > 1 / (2 * math.log(2e4))   # above the classical β
    True
    """
    privacy = ApproxDP(epsilon, delta)
    if alpha is None and beta is None:
        alpha = epsilon / 2
    if alpha is None:
        assert beta is not None
        spent = smooth_laplace_delta(epsilon, 0.0, beta)
        if spent > delta:
            raise _refusal("beta", beta, f"spends δ = {spent:.3g} at ε = {epsilon:g} with any alpha", "a smaller beta")
        given = beta
        return largest(lambda a: smooth_laplace_delta(epsilon, a, given) <= delta, epsilon / 2, privacy), beta
    # before any dilation a shift by α scales spends 1 − e^{(ε−α)/2}
    spent = smooth_laplace_delta(epsilon, alpha, 0.0 if beta is None else beta)
    if spent > delta:
        share = "any beta" if beta is None else f"beta = {beta:g}"
        raise _refusal("alpha", alpha, f"with {share} spends δ = {spent:.3g} at ε = {epsilon:g}", "a smaller alpha")
    if beta is None:
        classical = epsilon / (2 * (math.log(2) - math.log(delta)))
        beta = largest(lambda b: smooth_laplace_delta(epsilon, alpha, b) <= delta, classical, privacy, _MOST)
    return alpha, beta


def smooth_cauchy_epsilon(alpha: float, beta: float) -> float:
    """The pure ε of Cauchy noise on a smooth sensitivity.

    The ratio of the Cauchy densities (0, 1) and (d, b) is the ratio of quadratic forms (b² +
    (x−d)²)/(b(1+x²)), of which the extremes over x are the eigenvalues of a matrix of determinant 1 and trace
    (1+b²+d²)/b. So the largest log-ratio is ε with

        cosh ε = cosh λ + d²/2b = cosh λ + ½α²e^{−|λ|},

    the same in both directions. It falls and then rises in |λ|: the worst case is λ = 0 or |λ| = β.

    >>> round(smooth_cauchy_epsilon(1 / 6, 1 / 6), 2)                    # the classical pair for ε = 1
    0.23
    """
    if beta > _MOST:
        return math.inf  # and no float could say how large
    # cosh x − 1 = 2 sinh²(x/2) loses no digits, and a hypotenuse does not underflow
    dilated = math.hypot(math.sinh(beta / 2), alpha * math.exp(-beta / 2) / 2)
    return outward(2 * math.asinh(max(alpha / 2, dilated)), _SLACK)


def smooth_cauchy_pair(epsilon: float, alpha: float | None, beta: float | None) -> tuple[float, float]:
    """(α, β) for pure ε: what is not given is as large as the promise allows, with α = ε/2 if neither is.

    >>> [round(x, 6) for x in smooth_cauchy_pair(1.0, None, None)]
    [0.5, 0.958051]
    """
    privacy = PureDP(epsilon)
    if alpha is None and beta is None:
        alpha = epsilon / 2
    if alpha is None:
        assert beta is not None
        if smooth_cauchy_epsilon(0.0, beta) > epsilon:
            raise _refusal("beta", beta, f"alone spends more than ε = {epsilon:g}", "a smaller beta")
        given = beta
        return largest(lambda a: smooth_cauchy_epsilon(a, given) <= epsilon, epsilon / 2, privacy), beta
    spent = smooth_cauchy_epsilon(alpha, 0.0 if beta is None else beta)
    if spent > epsilon:
        share = "any beta" if beta is None else f"beta = {beta:g}"
        raise _refusal("alpha", alpha, f"with {share} spends ε = {spent:.6g}, more than {epsilon:g}", "a smaller alpha")
    if beta is None:
        beta = largest(lambda b: smooth_cauchy_epsilon(alpha, b) <= epsilon, epsilon / 2, privacy, _MOST)
    return alpha, beta


def _refusal(argument: str, value: float, problem: str, remedy: str) -> PrivacyError:
    return PrivacyError(argument, value, problem, f"give {remedy}, or leave one of them out")
