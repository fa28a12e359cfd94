"""How far two records' randomized answers may tell them apart: computed from what is kept, not from the calibration."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

from scipy.special import ndtr

from confide.privacy import GDP, ZCDP, ApproxDP, PureDP
from confide.releasing.auditing.exponential import exponential
from confide.releasing.plan import ResponsePlan

#: what floating-point arithmetic may be off by where a promise is no ratio of chances; mistakes are far larger
_SLACK = 1e-9
#: Rényi orders at which a concentrated promise is looked at
_ORDERS = (1.001, 1.5, 2.0, 4.0, 16.0, 64.0)
#: chances of an answer under either truth, and how many answers have them
Chances = Counter[tuple[Fraction, Fraction]]


def answers_of(plan: ResponsePlan) -> Callable[[int, int], str | None]:
    """What is wrong with the answers of two records whose levels have these places; None when nothing is."""
    law: Any = plan.channel.law
    sizes = [size for size, _ in law.digits]

    @lru_cache
    def differing(digits: tuple[bool, ...]) -> str | None:
        kept = [(size, Fraction(keep)) for (size, keep), differs in zip(law.digits, digits, strict=True) if differs]
        return _broken(plan.channel.guarantee, _chances(kept))

    def check(one: int, other: int) -> str | None:
        return differing(tuple(a != b for a, b in zip(_digits(one, sizes), _digits(other, sizes), strict=True)))

    return check


def _digits(place: int, sizes: list[int]) -> list[int]:
    found = []
    for size in reversed(sizes):
        place, digit = divmod(place, size)
        found.append(digit)
    return found[::-1]


def _chances(kept: list[tuple[int, Fraction]]) -> Chances:
    """Of all answers about columns in which two records differ; what they agree in tells nothing."""
    found: Chances = Counter({(Fraction(1), Fraction(1)): 1})
    for size, truth in kept:
        other = (1 - truth) / (size - 1)
        more: Chances = Counter()
        for (p, q), count in found.items():
            more[p * truth, q * other] += count
            more[p * other, q * truth] += count
            more[p * other, q * other] += count * (size - 2)
        found = +more
    return found


def _broken(promise: Any, chances: Chances) -> str | None:
    largest = max(p / q for p, q in chances)
    match promise:
        case PureDP(epsilon=epsilon):
            kept = largest <= exponential(epsilon)
        case ApproxDP(epsilon=epsilon, delta=delta):
            kept = _beyond(chances, exponential(epsilon)) <= Fraction(delta)
        case ZCDP(rho=rho):
            kept = all(_renyi(chances, order) <= order * rho * (1 + _SLACK) for order in _ORDERS)
        case GDP(mu=mu):
            epsilons = [share * math.log(largest) for share in (0.0, 0.25, 0.5, 0.75)]
            found = [float(_beyond(chances, Fraction(math.exp(epsilon)))) for epsilon in epsilons]
            kept = all(a <= _gaussian(epsilon, mu) + _SLACK for epsilon, a in zip(epsilons, found, strict=True))
        case _:
            return None
    return (
        None if kept else f"answers are up to {float(largest):.6g} times as likely for another, which {promise} forbids"
    )


def _beyond(chances: Chances, factor: Fraction) -> Fraction:
    """The hockey-stick divergence."""
    return sum((count * max(p - factor * q, Fraction(0)) for (p, q), count in chances.items()), Fraction(0))


def _renyi(chances: Chances, order: float) -> float:
    terms = [
        math.log(count) + math.log(p) + (order - 1) * (math.log(p) - math.log(q)) for (p, q), count in chances.items()
    ]
    top = max(terms)
    return (top + math.log(math.fsum(math.exp(term - top) for term in terms))) / (order - 1)


def _gaussian(epsilon: float, mu: float) -> float:
    return float(ndtr(mu / 2 - epsilon / mu) - math.exp(epsilon) * ndtr(-mu / 2 - epsilon / mu))
