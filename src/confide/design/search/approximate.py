"""The information that a search looks at: closed forms in the moments, for thousands of candidates at once.

Means: the normal model of Sec 3.1. With Gaussian noise F = ∂μᵀH⁻¹∂μ + ½tr(H⁻¹∂H H⁻¹∂H). With Laplace noise of scale b
on a scalar of standard deviation s the density is a location–scale family in y whose information about (μ, v) is
diagonal (the score of μ is odd, that of v even) and depends on s/b alone: two functions of one variable, tabulated
once. With L the Laplace density, b²L'' = L − δ, so the convolved density f has ∂f/∂v = ½f'' = (f − φ)/2b².

A mean is not quite normal, and its variance then tells less than the normal model says; near a constant, nothing at
all. With the third and fourth cumulants of the mean, C = [[1/I(μ), κ₃], [κ₃, 1/I(v) + κ₄]] is the covariance of the
scores' counterparts (y − μ, (y − μ)² − v), and (μ', v') C⁻¹ (μ', v')ᵀ the information in them: for Gaussian noise a
lower bound of F at any n, and closer to it than the normal model.

Vectors with Laplace noise are treated as if it were normal with the same variance.

Order statistics: y is the q + e quantile of P_θ, where e is the error of the rank: sampling q(1−q)/n, and what the
mechanism adds. Then F = (∂F_θ(x_q))²/Var e.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline
from scipy.special import log_ndtr

Floats = NDArray[np.float64]


class MeanLaw(NamedTuple):
    """What is known of a scalar mean without noise: its variance and cumulants (…), and derivatives in θ (…, d).

    Cumulants of 0 are those of the normal model.
    """

    d_mean: Floats
    variance: Floats
    d_variance: Floats
    third: Floats
    fourth: Floats

    @property
    def is_normal(self) -> bool:
        """Whether this is the normal model."""
        return not (np.any(self.third) or np.any(self.fourth))

    @property
    def normal(self) -> MeanLaw:
        """The same under the normal model."""
        return self._replace(third=np.zeros_like(self.third), fourth=np.zeros_like(self.fourth))


def gaussian_information(d_mean: Floats, covariance: Floats, d_covariance: Floats) -> Floats:
    """F from ∂μ (…, d, k), H (…, k, k) and ∂H (…, d, k, k)."""
    inverse = np.linalg.inv(covariance)
    first = np.einsum("...ia,...ab,...jb->...ij", d_mean, inverse, d_mean)
    product = np.einsum("...ab,...ibc->...iac", inverse, d_covariance)
    return first + 0.5 * np.einsum("...iab,...jba->...ij", product, product)


@np.errstate(over="ignore", invalid="ignore")
def scalar_information(mean: MeanLaw, scale: Floats, *, laplace: bool) -> Floats:
    """F (…, d, d) of a noisy scalar mean, with noise of that scale (…).

    A candidate whose moments overflow, as those of far powers and thresholds of heavy tails do, is not a number.
    """
    variance = mean.variance
    total = variance + (2.0 if laplace else 1.0) * scale**2
    location, spread = 1.0 / total, 0.5 / total**2
    if laplace:
        weights = laplace_weights(np.sqrt(variance) / scale)
        location, kept = weights[0] / variance, weights[1] / variance**2
        # A little normal blur of the Laplace density's cusp shows clearly; a mean of few values does not blur it.
        spread = kept if mean.is_normal else np.minimum(kept, spread)
    u = np.sqrt(location)[..., None] * mean.d_mean
    w = np.sqrt(spread)[..., None] * mean.d_variance
    skew, tail = (part[..., None, None] for part in (mean.third * np.sqrt(location * spread), 1 + spread * mean.fourth))
    cross = _outer(u, w) + _outer(w, u)
    return np.asarray((tail * _outer(u, u) - skew * cross + _outer(w, w)) / np.maximum(tail - skew**2, 1e-12))


def _outer(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., :, None] * b[..., None, :])


def laplace_weights(ratio: Floats) -> tuple[Floats, Floats]:
    """v·I(μ) and v²·I(v) of N(μ, v) plus Laplace noise, at ratios of √v to the noise's scale.

    They tend to 1 and ½ where there is no noise to speak of.
    """
    first, second = _laplace_table()
    log_ratio = np.clip(np.log(np.maximum(ratio, 1e-300)), -_REACH, _REACH)
    # below the table both fall with a power of the ratio: r² and r³
    below = np.minimum(np.log(np.maximum(ratio, 1e-300)) + _REACH, 0.0)
    return np.exp(first(log_ratio) + 2 * below), np.exp(second(log_ratio) + 3 * below)


#: logarithms of the ratio that are tabulated: at 7 the limits 1 and ½ are met to 3e-6, and between 113 knots the spline
#: is off by 2e-6 at most (measured at the middles)
_REACH = 7.0


@functools.cache
def _laplace_table() -> tuple[CubicSpline, CubicSpline]:
    log_ratio = np.linspace(-_REACH, _REACH, 113)
    both = np.log([_laplace_integrals(float(np.exp(each))) for each in log_ratio])
    return CubicSpline(log_ratio, both[:, 0]), CubicSpline(log_ratio, both[:, 1])


def _laplace_integrals(r: float) -> tuple[float, float]:
    """∫ f'²/f and ∫ (∂_v f)²/f for v = 1 and b = 1/r, over y > 0 and doubled."""
    nodes, weights = np.polynomial.legendre.leggauss(16)
    edges = np.concatenate([np.linspace(0, 9, 37), 9 + np.linspace(0, 1, 41)[1:] ** 2 * (6 + 60 / r)])
    width = np.diff(edges)[:, None]
    y, w = (edges[:-1, None] + 0.5 * width * (nodes + 1)).ravel(), (0.5 * width * weights).ravel()
    base = np.log(r / 2) + r * r / 2
    near, far = base - r * y + log_ndtr(y - r), base + r * y + log_ndtr(-y - r)
    log_f = np.logaddexp(near, far)
    f = np.exp(log_f)
    slope = r * np.tanh(0.5 * (far - near))  # f'/f
    heat = 0.5 * r * r * -np.expm1(-0.5 * y * y - 0.5 * np.log(2 * np.pi) - log_f)  # ∂_v f / f
    heat = np.where(np.isfinite(heat), heat, 0.0)
    return 2 * float(w @ (f * slope**2)), 2 * float(w @ (f * heat**2))


def rank_information(d_below: Floats, variance: Floats) -> Floats:
    """F (…, d, d) of an order statistic, from ∂F_θ(x) (…, d) and the variance of its rank as a share of n."""
    outer = d_below[..., :, None] * d_below[..., None, :]
    return np.asarray(outer / variance[..., None, None])
