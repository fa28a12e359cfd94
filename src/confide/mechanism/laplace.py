"""The Laplace mechanism (Dwork, McSherry, Nissim and Smith 2006), on the line and on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from confide.mechanism.additive import AdditiveLaw, AdditiveMechanism, layout_of
from confide.mechanism.base import positive_sensitivity
from confide.mechanism.calibration import laplace_ratio, scale_up
from confide.mechanism.discrete import discrete_laplace_rate, squared_steps
from confide.mechanism.lattice import DiscreteLaplace
from confide.mechanism.noise import LaplaceNoise
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.privacy.rounding import round_up
from confide.statistic import Statistic
from confide.statistic.statistic import check_count


@dataclass(frozen=True, repr=False)
class Laplace(AdditiveMechanism):
    """Laplace noise, with the scale that a guarantee needs (or a given one).

    Give exactly one of `privacy` and `scale` (b in exp(−|v|/b)/2b). With `step` the noise is discrete Laplace
    on the multiples of it, the statistic is first rounded to them, and the guarantee is computed from the
    discrete law.

    >>> from confide.statistic import Mean
    >>> Laplace(PureDP(1.0)).calibrate(Mean("abs(x)", bounds=(-10, 10)), n=100).noise
    LaplaceNoise(scale=0.1)
    >>> print(Laplace(PureDP(1.0), step=0.5))
    Laplace noise on multiples of 0.5, for 1-differential privacy (pure)
    >>> Laplace(scale=0.2).guarantee(Mean("abs(x)", bounds=(-10, 10)), n=100)
    PureDP(epsilon=0.5)
    """

    kinds = (PureDP, ApproxDP, ZCDP, GDP)

    def calibrate(self, statistic: Statistic, n: int) -> AdditiveLaw:
        """Noise of scale Δ/r, r the largest ratio that keeps the promise, Δ the L1 sensitivity."""
        check_count(n)
        scale = self._calibrated(statistic, n) if self.scale is None else self.scale
        noise = LaplaceNoise(scale) if self.step is None else DiscreteLaplace(scale, self.step)
        return AdditiveLaw(noise, layout_of(statistic))

    def _calibrated(self, statistic: Statistic, n: int) -> float:
        assert self.privacy is not None
        sensitivity = positive_sensitivity(self, statistic, n, norm=1)
        if self.step is None:
            return scale_up(sensitivity, laplace_ratio(self.privacy), self.privacy)
        k = math.isqrt(squared_steps(statistic, n, self.step, norm=1))
        return scale_up(self.step, discrete_laplace_rate(self.privacy, k), self.privacy)

    def guarantee(self, statistic: Statistic, n: int) -> Privacy:
        """The promised guarantee; for a given scale the pure ε = Δ/b, with Δ in whole steps on a lattice."""
        sensitivity = positive_sensitivity(self, statistic, n, norm=1)
        if self.scale is None:
            assert self.privacy is not None
            return self.privacy
        if self.step is not None:
            # in units of the very step and scale, which are floats
            k = math.isqrt(squared_steps(statistic, n, self.step, norm=1))
            return PureDP(round_up(k * Fraction(self.step) / Fraction(self.scale)))
        return PureDP(round_up(Fraction(sensitivity) / Fraction(self.scale)))
