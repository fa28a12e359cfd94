"""The numbers of a guarantee: read strictly, and rounded only towards the weaker promise.

A number that is promised may be a little too large, never too small. Sums and squares are exact before they
are rounded, so they are rounded up by at most one unit in the last place, and not at all where they are
representable. What goes through an exponential or a normal distribution function carries a rounding error,
and is moved outward by more than that error (`SLACK` and `PARAMETER_SLACK`).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from fractions import Fraction
from numbers import Real

from confide.errors import PrivacyError

# A computed δ is exp of a number down to −745 that was rounded about three times: 745 · 3 · 2⁻⁵³ = 2.5e-13.
SLACK = 5e-13
# tanh, erfinv and the log-scale normal quantile are good to a few units in the last place (2.2e-16).
PARAMETER_SLACK = 2e-15


def read_number(argument: str, value: object, accept: Callable[[float], bool], problem: str, remedy: str) -> float:
    """`value` as a float, if it is a single real number that `accept` takes; a `PrivacyError` otherwise."""
    # bool is an int to Python, but PureDP(True) is a mistake.
    if isinstance(value, bool) or not isinstance(value, Real):
        raise PrivacyError(argument, value, problem, remedy)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not accept(number):
        raise PrivacyError(argument, value, problem, remedy)
    return number


def read_positive(argument: str, value: object) -> float:
    """A parameter of a guarantee: finite and above 0."""
    return read_number(
        argument,
        value,
        lambda number: 0 < number < math.inf,
        "must be a finite number above 0",
        "give a positive number, or Unlimited() for a release without privacy",
    )


def read_delta(value: object) -> float:
    """The δ of an (ε, δ) guarantee: strictly between 0 and 1."""
    return read_number(
        "delta",
        value,
        lambda number: 0 < number < 1,
        "must be a number strictly between 0 and 1",
        "give a probability far below one over the number of records; for delta = 0 use PureDP",
    )


def outward(value: float, slack: float = SLACK) -> float:
    """The value, enlarged by more than its rounding error; never 0, for what underflowed was not 0.

    >>> outward(0.25) > 0.25, outward(0.0)
    (True, 5e-324)
    """
    return math.nextafter(value * (1 + slack), math.inf)


def nearest(exact: Fraction) -> float:
    """The float nearest to an exact number, ±inf where there is none."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def round_up(exact: Fraction) -> float:
    """The smallest float that is not below an exact number."""
    number = nearest(exact)
    if number == -math.inf:
        return -sys.float_info.max
    understates = math.isfinite(number) and Fraction(number) < exact
    return math.nextafter(number, math.inf) if understates else number


def round_down(exact: Fraction) -> float:
    """The largest float that is not above an exact number.

    >>> round_down(Fraction(1, 10)) < 0.1 == round_up(Fraction(1, 10))
    True
    """
    return -round_up(-exact)


def root_down(exact: Fraction) -> float:
    """The largest float whose square is not above an exact number.

    >>> root_down(Fraction(4)), root_down(Fraction(2)) ** 2 <= 2
    (2.0, True)
    """
    # an integer root of at least 60 digits, so that it can be rounded once
    shift = max(0, 120 + exact.denominator.bit_length() - exact.numerator.bit_length())
    root = math.isqrt((exact.numerator << 2 * shift) // exact.denominator)
    return round_down(Fraction(root, 1 << shift))


def root_up(exact: Fraction) -> float:
    """The smallest float whose square is not below an exact number.

    >>> root_up(Fraction(4)), root_up(Fraction(2)) ** 2 >= 2
    (2.0, True)
    """
    root = root_down(exact)
    return root if Fraction(root) ** 2 == exact else math.nextafter(root, math.inf)


def sum_up(values: Iterable[float]) -> float:
    """The smallest float that is not below the exact sum of positive numbers.

    >>> sum_up([0.5, 0.25]), sum_up([0.1] * 10)
    (0.75, 1.0000000000000002)
    """
    terms = list(values)
    try:
        total = math.fsum(terms)
    except OverflowError:
        return math.inf
    if math.isinf(total):
        return total
    # fsum rounds the exact sum once, so the sign of what is left over is exact.
    understates = math.fsum([*terms, -total]) > 0
    return math.nextafter(total, math.inf) if understates else total


def root_sum_of_squares_up(values: Iterable[float]) -> float:
    """The smallest float that is not below √Σv².

    >>> root_sum_of_squares_up([3.0, 4.0]), root_sum_of_squares_up([1.0, 1.0])
    (5.0, 1.4142135623730951)
    """
    terms = list(values)
    # hypot is within one unit in the last place, on either side.
    root = math.nextafter(math.hypot(*terms), 0)
    if not all(math.isfinite(term) for term in terms):
        return math.inf
    exact = sum((Fraction(term) ** 2 for term in terms), start=Fraction(0))
    while math.isfinite(root) and Fraction(root) ** 2 < exact:
        root = math.nextafter(root, math.inf)
    return root
