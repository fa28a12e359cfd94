"""Composition: what several releases from the same records promise together.

Composition is adaptive: each release may be chosen in view of those before. If even the guarantees are so chosen,
the sums within one kind still hold as a filter: stop before they pass a total that was fixed in advance.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence

from confide.errors import PrivacyError
from confide.privacy.group import two_records
from confide.privacy.guarantee import GDP, TOLERANCE, ZCDP, ApproxDP, Privacy, PureDP, Unlimited
from confide.privacy.rounding import read_delta, root_sum_of_squares_up, sum_up

# From the strongest unit to the weakest: the first in which all members can be stated wastes the least.
_UNITS: tuple[type[PureDP] | type[GDP] | type[ZCDP], ...] = (PureDP, GDP, ZCDP)


def moved(guarantee: Privacy) -> Privacy:
    """What is promised to a record that may move from one group to another: one removal and one addition.

    `guarantee` is that of each group's release where a record is added or removed: 2ε, 2ρ, √2·μ; (2ε, (1 + e^ε)·δ) by
    group privacy, which holds whether the releases are independent or not.

    >>> [moved(each) for each in (PureDP(0.5), ZCDP(0.25), ApproxDP(1.0, 1e-6))]
    [PureDP(epsilon=1.0), ZCDP(rho=0.5), ApproxDP(epsilon=2.0, delta=3.7182818284609047e-06)]
    """
    return two_records(guarantee) if isinstance(guarantee, ApproxDP) else compose([guarantee, guarantee])


def worst(first: Privacy, second: Privacy) -> Privacy:
    """A guarantee that both of one kind imply: the larger of each of their parameters.

    >>> worst(ApproxDP(1.0, 1e-6), ApproxDP(0.5, 1e-5))
    ApproxDP(epsilon=1.0, delta=1e-05)
    """
    if Unlimited in (type(first), type(second)):
        return Unlimited()
    assert type(first) is type(second)
    return type(first)(*map(max, vars(first).values(), vars(second).values()))


def compose(guarantees: Iterable[Privacy], *, delta: float | None = None) -> Privacy:
    """The guarantee of all releases together.

    ε adds up for `PureDP`, ρ for `ZCDP`, μ² for `GDP`, ε and δ for `ApproxDP`. Different kinds are stated in the
    strongest unit that all of them imply: GDP for pure and Gaussian, ZCDP as soon as one is ZCDP, ApproxDP for pure
    and approximate. `ApproxDP` with `GDP` or `ZCDP` needs a `delta`, the δ of the total.

    With `delta` the total is an `ApproxDP` with that δ, by the cheapest of several valid routes: for many releases
    it is far below the sum of the ε's. One `Unlimited` makes the total `Unlimited`; so does, without `delta`, a sum
    of δ's that reaches 1, which promises nothing, or a sum beyond all floats.

    >>> compose([PureDP(0.5), PureDP(0.25)]), compose([GDP(3.0), GDP(4.0)])
    (PureDP(epsilon=0.75), GDP(mu=5.0))
    >>> print(compose([GDP(1.0), ZCDP(0.5)]))
    1-zCDP
    >>> print(compose([PureDP(0.1)] * 100, delta=1e-6))
    (5.21908, 1e-06)-differential privacy
    """
    members = _members(guarantees)
    if any(isinstance(member, Unlimited) for member in members):
        return Unlimited()
    if delta is not None:
        return _at_delta(members, read_delta(delta))
    kinds = {type(member) for member in members}
    if ApproxDP not in kinds:
        return next(total for unit in _UNITS if (total := _total(members, unit)) is not None)
    if kinds <= {PureDP, ApproxDP}:
        return _sum_approximate(members)
    others = " and ".join(sorted(kind.__name__ for kind in kinds - {PureDP, ApproxDP}))
    problem = f"must be given to add ApproxDP to {others}, which share no other unit"
    raise PrivacyError("delta", delta, problem, "give the delta of the total, above the sum of those of the parts")


def _members(guarantees: Iterable[Privacy]) -> list[Privacy]:
    """The guarantees as a checked list."""
    remedy = "give a list of guarantees, such as [PureDP(0.5), PureDP(0.5)]"
    if not isinstance(guarantees, Iterable):
        raise PrivacyError("guarantees", guarantees, "is not a list", remedy)
    members = list(guarantees)
    if not members:
        raise PrivacyError("guarantees", members, "is empty", remedy)
    for index, member in enumerate(members):
        if not isinstance(member, Privacy):
            raise PrivacyError(f"guarantees[{index}]", member, "is no guarantee", remedy)
    return members


def _total(members: Sequence[Privacy], unit: type[PureDP] | type[GDP] | type[ZCDP]) -> Privacy | None:
    """The total in a unit of one parameter; None where a member cannot be stated in it."""
    parameters = [member._parameter(unit) for member in members]
    known = [parameter for parameter in parameters if parameter is not None]
    if len(known) < len(members):
        return None
    total = root_sum_of_squares_up(known) if unit is GDP else sum_up(known)
    return unit(total) if math.isfinite(total) else Unlimited()


def _sum_approximate(members: Sequence[Privacy]) -> Privacy:
    """Basic composition of pure and approximate guarantees: ε and δ add up, a pure one with δ = 0."""
    epsilon = sum_up(member.epsilon for member in members if isinstance(member, PureDP | ApproxDP))
    delta = sum_up(member.delta for member in members if isinstance(member, ApproxDP))
    return ApproxDP(epsilon, delta) if delta < 1 and math.isfinite(epsilon) else Unlimited()


def _at_delta(members: Sequence[Privacy], delta: float) -> ApproxDP:
    """The total as an `ApproxDP` at δ: the approximate members use up their δ's, the others get what is left.

    The others may be added up first even if the releases alternate. An (ε, δ) member is a mixture that fails with
    probability δ and is ε-DP otherwise. Unless one fails, these members' part of the privacy loss is at most the
    sum of their ε's; the others' part keeps its bound at each step given all that was seen before, and so in total.
    """
    approximate = [member for member in members if isinstance(member, ApproxDP)]
    others = [member for member in members if not isinstance(member, ApproxDP)]
    spent = sum_up(member.delta for member in approximate)
    if spent > delta * (1 + TOLERANCE):
        problem, remedy = f"is below the sum of the parts, {spent!r}", "give a larger delta"
        raise PrivacyError("delta", delta, problem, remedy)
    if not others:
        epsilon = _sum_approximate(approximate).epsilon_at(max(delta, spent))
    else:
        left = max(0.0, math.nextafter(delta - spent, 0)) if spent else delta
        # Each unit gives a valid ε: the plain sum wins for few strong releases, ZCDP for many weak ones.
        routes = [total for unit in _UNITS if (total := _total(others, unit)) is not None]
        epsilon = sum_up([*(m.epsilon for m in approximate), min(route.epsilon_at(left) for route in routes)])
    if math.isinf(epsilon):
        problem, remedy = "leaves no finite ε for the total", f"give a delta well above {spent!r}"
        raise PrivacyError("delta", delta, problem, remedy)
    return ApproxDP(max(epsilon, sys.float_info.min), delta)
