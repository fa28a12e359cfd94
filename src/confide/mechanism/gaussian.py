"""The Gaussian mechanism, on the line (Balle and Wang 2018) and on a lattice (Canonne, Kamath and Steinke 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from confide.mechanism.additive import AdditiveMechanism
from confide.mechanism.calibration import gaussian_ratio, refuse_noise, scale_up
from confide.mechanism.discrete import discrete_gaussian_ratio, squared_steps
from confide.mechanism.lattice import DiscreteGaussian
from confide.mechanism.noise import GaussianNoise, Noise
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy
from confide.privacy.group import scaled, two_records
from confide.privacy.rounding import root_up, round_up
from confide.statistic import Statistic


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

    norm = 2

    def _noise(self, scale: float) -> Noise:
        return GaussianNoise(scale) if self.step is None else DiscreteGaussian(scale, self.step)

    def _scale(self, privacy: Privacy, statistic: Statistic, n: int | None, sensitivity: float) -> float:
        """Δ/μ, μ the largest ratio that keeps the promise, Δ the L2 sensitivity."""
        if self.step is None:
            return scale_up(sensitivity, gaussian_ratio(privacy), privacy)
        squared = squared_steps(statistic, n, self.step, norm=2)
        ratio = discrete_gaussian_ratio(privacy, squared, statistic.dimension)
        scale = round_up(Fraction(self.step) * Fraction(ratio))
        return scale if math.isfinite(scale) else refuse_noise(privacy)

    def _kept(self, statistic: Statistic, n: int | None, sensitivity: float) -> Privacy:
        """μ = Δ/σ, or on a lattice ρ = Δ²/2σ²."""
        assert self.scale is not None
        if self.step is None:
            return GDP(round_up(Fraction(sensitivity) / Fraction(self.scale)))
        squared = squared_steps(statistic, n, self.step, norm=2)
        return ZCDP(round_up(squared * (Fraction(self.step) / Fraction(self.scale)) ** 2 / 2))

    def _stretched(self, promised: Privacy, squared: Fraction) -> Privacy:
        if isinstance(promised, ZCDP):
            return scaled(ZCDP, promised.rho, squared)
        if isinstance(promised, GDP) and self.step is None:
            return scaled(GDP, promised.mu, Fraction(root_up(squared)))
        return two_records(promised)
