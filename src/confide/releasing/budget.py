"""Whether a budget can pay: composition as a filter, valid when each release is chosen in view of all before.

Everything is stated in the budget's unit and added up there: ε for PureDP, ρ for ZCDP, μ² for GDP, ε and δ for
ApproxDP. A total fixed in advance and never passed is then a valid guarantee for releases that were chosen
adaptively, their parameters included (privacy filters). Sums are rounded up.

Releases from disjoint parts of one scheme (`Rows` of one file, or `Hashed` by one column) have no record in common, so
a record pays only for those it is in. The worst record is in every release from the whole data set and, in each
scheme, at the worst place. Positions in two files are two schemes: the files may be sorted differently.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from confide.errors import PrivacyError
from confide.privacy import GDP, ZCDP, ApproxDP, Privacy, PureDP, Unlimited, compose
from confide.privacy.guarantee import TOLERANCE
from confide.published.part import Hashed, Part, Rows, extent


@dataclass(frozen=True)
class Spending:
    """One release, as the budget sees it."""

    guarantee: Privacy
    part: Part | str | None
    #: what the records were read from; None in memory
    source: str | None = None


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


def spent(budget: Privacy, spendings: Iterable[Spending]) -> Privacy | None:
    """What the worst record has been promised in all; None before the first release."""
    everywhere: list[Privacy] = []
    schemes: defaultdict[tuple[str, ...], list[tuple[int, int, Privacy]]] = defaultdict(list)
    for spending in spendings:
        stated = in_unit(spending.guarantee, budget)
        assert stated is not None, "only what converts is ever spent"
        if spending.part is None or isinstance(spending.part, str):
            everywhere.append(stated)
        else:
            schemes[_scheme(spending)].append((*extent(spending.part), stated))
    worst = [_worst_place(budget, parts) for parts in schemes.values()]
    members = [*everywhere, *(guarantee for place in worst for guarantee in place)]
    return compose(members) if members else None


def _scheme(spending: Spending) -> tuple[str, ...]:
    """What decides who is in a part: a position is one in a certain file, an identifier is everywhere the same."""
    assert isinstance(spending.part, Rows | Hashed)
    return (*spending.part.scheme, spending.source or "") if isinstance(spending.part, Rows) else spending.part.scheme


def _worst_place(budget: Privacy, parts: Sequence[tuple[int, int, Privacy]]) -> list[Privacy]:
    """The releases that cover the place where they add up to the most, or more: a list that dominates every place."""
    places = [[g for start, stop, g in parts if start <= at < stop] for at in {start for start, _, _ in parts}]
    if not isinstance(budget, ApproxDP):
        return max(places, key=lambda place: _size(compose(place)))
    # ε and δ may be worst at different places; both maxima together are a bound
    epsilon = max(math.fsum(_pair(g)[0] for g in place) for place in places)
    delta = max(math.fsum(_pair(g)[1] for g in place) for place in places)
    epsilon, delta = (math.nextafter(x, math.inf) if x else x for x in (epsilon, delta))
    if delta >= 1:
        return [Unlimited()]
    return [ApproxDP(epsilon, delta) if delta else PureDP(epsilon)]


def _pair(guarantee: Privacy) -> tuple[float, float]:
    assert isinstance(guarantee, PureDP | ApproxDP)
    return guarantee.epsilon, guarantee.delta if isinstance(guarantee, ApproxDP) else 0.0


def _size(guarantee: Privacy) -> float:
    return float(next(iter(vars(guarantee).values()), math.inf))


def refusal(budget: Privacy, spendings: Sequence[Spending], asked: Spending, dataset: str) -> str | None:
    """Why a release cannot be paid for; None when it can."""
    stated = in_unit(asked.guarantee, budget)
    if stated is None:
        return (
            f"the release promises {asked.guarantee}, which does not convert to the unit of the budget of {dataset!r}, "
            f"{budget}; calibrate its mechanism to that unit"
        )
    total = spent(budget, [*spendings, asked])
    assert total is not None
    if _within(total, budget):
        return None
    rest = left(budget, spendings)
    return (
        f"the release promises {asked.guarantee}, but of the budget of {dataset!r}, {budget}, "
        f"{'nothing' if rest is None else rest} is left"
    )


def _within(total: Privacy, budget: Privacy) -> bool:
    """Whether a sum does not pass the budget, up to the rounding that `implies` allows.

    ε and δ are compared one by one. A total of (1.05, 0) also implies (1, 0.04), but a filter with such exceptions is
    not the one that is proved.
    """
    if isinstance(budget, ApproxDP) and isinstance(total, PureDP | ApproxDP):
        epsilon, delta = _pair(total)
        return PureDP(epsilon).implies(PureDP(budget.epsilon)) and delta <= budget.delta * (1 + TOLERANCE)
    return total.implies(budget)


def left(budget: Privacy, spendings: Iterable[Spending]) -> Privacy | None:
    """What a release from the whole data set may still promise, rounded down; None when nothing is left.

    >>> left(PureDP(1.0), [Spending(PureDP(0.25), None)]), left(GDP(5.0), [Spending(GDP(3.0), None)])
    (PureDP(epsilon=0.75), GDP(mu=4.0))
    """
    total = spent(budget, spendings)
    if total is None:
        return budget
    match budget, total:
        case (PureDP(epsilon=whole), PureDP(epsilon=used)):
            return PureDP(whole - used) if whole > used else None
        case (ZCDP(rho=whole), ZCDP(rho=used)):
            return ZCDP(whole - used) if whole > used else None
        case (GDP(mu=whole), GDP(mu=used)):
            return GDP(math.sqrt((whole - used) * (whole + used))) if whole > used else None
        case (ApproxDP(), PureDP() | ApproxDP()):
            epsilon, delta = budget.epsilon - _pair(total)[0], budget.delta - _pair(total)[1]
            if epsilon <= 0:
                return None
            return ApproxDP(epsilon, delta) if delta > sys.float_info.min else PureDP(epsilon)
    return None
