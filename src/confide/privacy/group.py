"""Group privacy: what a guarantee about one record promises about two.

Where neighbours differ by one record that is added or removed, replacing a record is two such steps.
"""

from __future__ import annotations

import math
from fractions import Fraction

from confide.privacy.guarantee import GDP, ZCDP, ApproxDP, Privacy, PureDP, Unlimited
from confide.privacy.rounding import outward, round_up


def two_records(guarantee: Privacy) -> Privacy:
    """What holds between data sets that are two steps apart: 2ε, 4ρ, 2μ, or (2ε, (1 + e^ε)δ).

    Pure (Dwork and Roth 2014, Theorem 2.2): ratios multiply. Approximate: P(A) ≤ e^ε Q(A) + δ twice. Concentrated (Bun
    and Steinke 2016, Proposition 27): k²ρ. Gaussian (Dong, Roth and Su 2022, Theorem 3): kμ. A δ of 1 or more promises
    nothing.

    >>> two_records(PureDP(1.0)), two_records(ZCDP(0.5)), two_records(GDP(1.0))
    (PureDP(epsilon=2.0), ZCDP(rho=2.0), GDP(mu=2.0))
    """
    match guarantee:
        case PureDP(epsilon=epsilon):
            return scaled(PureDP, epsilon, Fraction(2))
        case ZCDP(rho=rho):
            return scaled(ZCDP, rho, Fraction(4))
        case GDP(mu=mu):
            return scaled(GDP, mu, Fraction(2))
        case ApproxDP(epsilon=epsilon, delta=delta):
            # beyond this ε the factor is above all floats, and δ is not small enough to make up for it
            failure = outward((1 + math.exp(epsilon)) * delta) if epsilon < 700 else math.inf
            return ApproxDP(2 * epsilon, failure) if failure < 1 else Unlimited()
    return Unlimited()


def scaled(kind: type[PureDP] | type[ZCDP] | type[GDP], parameter: float, factor: Fraction) -> Privacy:
    """A guarantee of one parameter, multiplied and rounded up; none at all where that is beyond all floats.

    >>> scaled(PureDP, 1.0, Fraction(3, 2))
    PureDP(epsilon=1.5)
    """
    found = round_up(Fraction(parameter) * factor)
    return kind(found) if math.isfinite(found) else Unlimited()
