"""Whether a budget can pay: composition as a filter, valid when each release is chosen in view of all before.

Everything is stated in the budget's unit and added up there: ε for PureDP, ρ for ZCDP, μ² for GDP, ε and δ for
ApproxDP. A total fixed in advance and never passed is then a valid guarantee for releases that were chosen
adaptively, their parameters included (privacy filters).

Sums are exact: an *amount* is a pair of fractions, of which the second is the sum of δ's. It is rounded, up, only when
it is shown or compared. So a running total never drifts, and nothing has to be added up again for the next release.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction

from confide.errors import PrivacyError
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP
from confide.privacy.guarantee import TOLERANCE
from confide.privacy.rounding import round_up

#: what was spent, exactly: in the budget's unit, and of its δ
Amount = tuple[Fraction, Fraction]
NOTHING: Amount = (Fraction(0), Fraction(0))
#: the smallest rest that is worth a release
_SMALLEST = sys.float_info.min


def in_unit(guarantee: Privacy, budget: Privacy) -> Privacy | None:
    """A guarantee in the unit of a budget; None where it does not convert.

    >>> in_unit(PureDP(1.0), ZCDP(1.0)), in_unit(GDP(1.0), PureDP(1.0))
    (ZCDP(rho=0.46211715726...), None)
    """
    if isinstance(budget, ApproxDP):
        # a pure ε is (ε, 0); others would need a δ of their own, and how much of the budget's is nobody's to guess here
        return guarantee if isinstance(guarantee, PureDP | ApproxDP) else None
    try:
        return guarantee.convert(type(budget))
    except PrivacyError:
        return None


def amount_of(guarantee: Privacy, budget: Privacy) -> Amount | None:
    """What a guarantee costs; None where it does not convert to the unit of the budget.

    >>> amount_of(GDP(0.5), GDP(1.0))
    (Fraction(1, 4), Fraction(0, 1))
    """
    match in_unit(guarantee, budget):
        case PureDP(epsilon=size) | ZCDP(rho=size):
            return Fraction(size), Fraction(0)
        case GDP(mu=size):
            return Fraction(size) ** 2, Fraction(0)
        case ApproxDP(epsilon=size, delta=delta):
            return Fraction(size), Fraction(delta)
    return None


def plus(first: Amount, second: Amount) -> Amount:
    """The sum of two amounts."""
    return first[0] + second[0], first[1] + second[1]


def larger(first: Amount, second: Amount) -> Amount:
    """An amount that is not below either: ε and δ may be worst at different places, and both maxima are a bound."""
    return max(first[0], second[0]), max(first[1], second[1])


def grown(total: Amount, before: Amount, after: Amount) -> Amount:
    """A total of which one term went from `before` to `after`."""
    return total[0] + after[0] - before[0], total[1] + after[1] - before[1]


def write(amount: Amount) -> str:
    """An amount as a ledger keeps it.

    >>> write((Fraction(1, 4), Fraction(0)))
    '1/4 0'
    """
    return f"{amount[0]} {amount[1]}"


def read(text: str) -> Amount:
    """The amount of a text; a `ValueError` where it is none.

    >>> read("1/4 0")
    (Fraction(1, 4), Fraction(0, 1))
    """
    first, second = text.split(" ")
    amount = Fraction(first), Fraction(second)
    if min(amount) < 0:
        raise ValueError("an amount is never negative")
    return amount


def stated(budget: Privacy, amount: Amount) -> Privacy | None:
    """An amount as a guarantee of the budget's kind, rounded up; None for nothing.

    >>> stated(GDP(1.0), (Fraction(25), Fraction(0))), stated(PureDP(1.0), NOTHING)
    (GDP(mu=5.0), None)
    """
    return _of_kind(budget, amount, round_up, _root_up) if round_up(amount[0]) else None


def _of_kind(
    budget: Privacy, amount: Amount, rounded: Callable[[Fraction], float], root: Callable[[Fraction], float]
) -> Privacy:
    """An amount as a guarantee of the budget's kind."""
    match budget:
        case GDP():
            return GDP(root(amount[0]))
        case PureDP() | ZCDP():
            return type(budget)(rounded(amount[0]))
    size, delta = map(rounded, amount)
    return ApproxDP(size, delta) if delta else PureDP(size)


def _root_up(exact: Fraction) -> float:
    """The smallest float whose square is not below an exact number."""
    # near 1, where nothing overflows or vanishes
    half = (exact.numerator.bit_length() - exact.denominator.bit_length()) // 2
    near = math.sqrt(float(exact / Fraction(4) ** half)) * (1 - 2**-50)
    root = math.nextafter(math.ldexp(near, half), 0)
    while Fraction(root) ** 2 < exact:
        root = math.nextafter(root, math.inf)
    return root


def refusal(budget: Privacy, spent: Amount, after: Amount, asked: Privacy, dataset: str) -> str | None:
    """Why a release that takes a total from `spent` to `after` cannot be paid for; None when it can."""
    if _within(budget, after):
        return None
    rest, cost = left(budget, spent), in_unit(asked, budget)
    told = f"{asked}, which costs {cost}" if cost is not None and type(cost) is not type(asked) else f"{asked}"
    return (
        f"the release promises {told}, but of the budget of {dataset!r}, {budget}, "
        f"{'nothing' if rest is None else rest} is left"
    )


def no_unit(budget: Privacy, asked: Privacy, dataset: str) -> str:
    """Why a release whose guarantee does not convert cannot be paid for."""
    return (
        f"the release promises {asked}, which does not convert to the unit of the budget of {dataset!r}, "
        f"{budget}; calibrate its mechanism to that unit"
    )


def _within(budget: Privacy, total: Amount) -> bool:
    """Whether a sum does not pass the budget, up to the rounding that `implies` allows.

    ε and δ are compared one by one. A total of (1.05, 0) also implies (1, 0.04), but a filter with such exceptions is
    not the one that is proved.
    """
    whole = amount_of(budget, budget)
    assert whole is not None
    # μ is compared, not μ²: a relative room of TOLERANCE in the one is twice that in the other
    room = 1 + (2 if isinstance(budget, GDP) else 1) * Fraction(TOLERANCE)
    return all(used <= limit * room for used, limit in zip(total, whole, strict=True))


def left(budget: Privacy, spent: Amount) -> Privacy | None:
    """What a release from the whole data set may still promise, rounded down; None when nothing is left.

    >>> left(PureDP(1.0), (Fraction(1, 4), Fraction(0))), left(GDP(5.0), (Fraction(9), Fraction(0)))
    (PureDP(epsilon=0.75), GDP(mu=4.0))
    """
    whole = amount_of(budget, budget)
    assert whole is not None
    if spent == NOTHING:
        return budget
    size, delta = (limit - used for limit, used in zip(whole, spent, strict=True))
    if _round_down(size) <= 0 or (isinstance(budget, GDP) and size < _SMALLEST):
        return None
    return _of_kind(budget, (size, delta if delta > _SMALLEST else Fraction(0)), _round_down, _root_down)


def _round_down(exact: Fraction) -> float:
    number = round_up(exact)
    return number if Fraction(number) == exact else math.nextafter(number, -math.inf)


def _root_down(exact: Fraction) -> float:
    root = _root_up(exact)
    return root if Fraction(root) ** 2 == exact else math.nextafter(root, 0)
