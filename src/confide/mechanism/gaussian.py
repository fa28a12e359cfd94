"""The Gaussian mechanism, on the line (Balle and Wang 2018) and on a lattice (Canonne, Kamath and Steinke 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from confide.mechanism.additive import AdditiveLaw, AdditiveMechanism, layout_of
from confide.mechanism.base import positive_sensitivity
from confide.mechanism.calibration import gaussian_ratio, refuse_noise, scale_up
from confide.mechanism.discrete import discrete_gaussian_ratio, squared_steps
from confide.mechanism.lattice import DiscreteGaussian
from confide.mechanism.noise import GaussianNoise
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy
from confide.privacy.rounding import round_up
from confide.statistic import Statistic
from confide.statistic.statistic import check_count


@dataclass(frozen=True, repr=False)
class Gaussian(AdditiveMechanism):
    """Gaussian noise, with the standard deviation that a guarantee needs (or a given one).

    Give exactly one of `privacy` and `scale` (the standard deviation). With `step` the noise is discrete
    Gaussian on the multiples of it, the statistic is first rounded to them, and the guarantee is computed
    from the discrete law.

    >>> from confide.statistic import Mean
    >>> Gaussian(GDP(1.0)).calibrate(Mean("x**2", bounds=(-10, 10)), n=100).noise
    GaussianNoise(scale=1.0)
    >>> print(Gaussian(scale=1.5))
    Gaussian noise of scale 1.5
    >>> Gaussian(scale=2.0, step=0.5).guarantee(Mean("x**2", bounds=(-10, 10)), n=100)
    ZCDP(rho=0.125)
    """

    kinds = (ApproxDP, ZCDP, GDP)
    remedy = "Gaussian noise has no pure guarantee: give an ApproxDP, ZCDP or GDP, or use Laplace"

    def calibrate(self, statistic: Statistic, n: int) -> AdditiveLaw:
        """Noise of standard deviation Δ/μ, μ the largest ratio that keeps the promise, Δ the L2 sensitivity."""
        check_count(n)
        scale = self._calibrated(statistic, n) if self.scale is None else self.scale
        noise = GaussianNoise(scale) if self.step is None else DiscreteGaussian(scale, self.step)
        return AdditiveLaw(noise, layout_of(statistic))

    def _calibrated(self, statistic: Statistic, n: int) -> float:
        assert self.privacy is not None
        sensitivity = positive_sensitivity(self, statistic, n, norm=2)
        if self.step is None:
            return scale_up(sensitivity, gaussian_ratio(self.privacy), self.privacy)
        squared = squared_steps(statistic, n, self.step, norm=2)
        ratio = discrete_gaussian_ratio(self.privacy, squared, statistic.dimension)
        scale = round_up(Fraction(self.step) * Fraction(ratio))
        return scale if math.isfinite(scale) else refuse_noise(self.privacy)

    def guarantee(self, statistic: Statistic, n: int) -> Privacy:
        """The promised guarantee; for a given scale μ = Δ/σ, or on a lattice ρ = Δ²/2σ²."""
        sensitivity = positive_sensitivity(self, statistic, n, norm=2)
        if self.scale is None:
            assert self.privacy is not None
            return self.privacy
        if self.step is None:
            return GDP(round_up(Fraction(sensitivity) / Fraction(self.scale)))
        squared = squared_steps(statistic, n, self.step, norm=2)
        return ZCDP(round_up(squared * (Fraction(self.step) / Fraction(self.scale)) ** 2 / 2))
