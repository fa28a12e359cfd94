"""Powers of e that are never too small."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction


def exponential(rate: float) -> Fraction:
    """e^rate, rounded up in the fiftieth digit.

    >>> float(exponential(1.0))
    2.718281828459045
    """
    with localcontext() as context:
        context.prec = 50
        return Fraction(Decimal(rate).exp().next_plus())
