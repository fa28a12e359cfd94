"""The Laplace mechanism (Dwork, McSherry, Nissim and Smith 2006), on the line and on a lattice."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from confide.mechanism.additive import AdditiveMechanism
from confide.mechanism.calibration import laplace_ratio, scale_up
from confide.mechanism.discrete import discrete_laplace_rate, squared_steps
from confide.mechanism.lattice import DiscreteLaplace
from confide.mechanism.noise import LaplaceNoise, Noise
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.privacy.group import scaled, two_records
from confide.privacy.rounding import root_up, round_up
from confide.statistic import Statistic


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

    norm = 1

    def _noise(self, scale: float) -> Noise:
        return LaplaceNoise(scale) if self.step is None else DiscreteLaplace(scale, self.step)

    def _scale(self, privacy: Privacy, statistic: Statistic, n: int | None, sensitivity: float) -> float:
        """Δ/r, r the largest ratio that keeps the promise, Δ the L1 sensitivity."""
        if self.step is None:
            return scale_up(sensitivity, laplace_ratio(privacy), privacy)
        k = math.isqrt(squared_steps(statistic, n, self.step, norm=1))
        return scale_up(self.step, discrete_laplace_rate(privacy, k), privacy)

    def _kept(self, statistic: Statistic, n: int | None, sensitivity: float) -> Privacy:
        """The pure ε = Δ/b, with Δ in whole steps on a lattice, of the very floats that step and scale are."""
        assert self.scale is not None
        moved = Fraction(sensitivity)
        if self.step is not None:
            moved = math.isqrt(squared_steps(statistic, n, self.step, norm=1)) * Fraction(self.step)
        return PureDP(round_up(moved / Fraction(self.scale)))

    def _stretched(self, promised: Privacy, squared: Fraction) -> Privacy:
        if isinstance(promised, PureDP):
            return scaled(PureDP, promised.epsilon, Fraction(root_up(squared)))
        return two_records(promised)
