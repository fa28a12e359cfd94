"""How far neighbours' numbers may be apart, for each kind of plan: exact, in whole numbers and fractions.

Each check compares what two neighbours give with what the noise was calibrated to *and*, where the promise is a pure ε
or a ρ, with the promise itself, which no function of the calibration is asked for.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from confide.privacy import ZCDP, PureDP
from confide.privacy.relation import REPLACE
from confide.releasing.auditing.exponential import exponential
from confide.releasing.auditing.responses import answers_of
from confide.releasing.plan import Additive, ResponsePlan, squared_sensitivity
from confide.releasing.ranks import RanksPlan, Smooth
from confide.releasing.whole_numbers import Plan

Numbers = Sequence[int]
#: what is wrong with the numbers of two tables that are so many steps apart; None when nothing is
Check = Callable[..., str | None]


def movement_of(plan: Plan) -> Check:
    """The check of a plan."""
    if plan.channel.statistic.per_record:
        return _one_record(plan)
    match plan:
        case Additive():
            return _additive(plan)
        case Smooth():
            return _smooth(plan)
        case RanksPlan():
            return _ranks(plan)
    raise AssertionError(plan)


def _additive(plan: Additive) -> Check:
    """Of a private number of records one that is replaced is two steps, for which there may be a promise of its own."""
    norm = 2 if plan.kind == "gaussian" else 1
    channel, rows = plan.channel, plan.channel.statistic.persons is None
    replaced = channel.n is None and rows

    def certified(steps: int) -> tuple[int, Any, int]:
        if steps == 2 and replaced:
            found = squared_sensitivity(channel, plan.grid, norm=norm, neighbours=REPLACE)
            return found, channel.guarantee_between(REPLACE), 1
        return steps**2 * squared_sensitivity(channel, plan.grid, norm=norm), channel.guarantee, steps

    known = {steps: certified(steps) for steps in ((1, 2) if channel.n is None else (1,))}

    def check(first: Numbers, second: Numbers, steps: int = 1) -> str | None:
        most, promise, times = known[steps]
        moved = [abs(a - b) for a, b in zip(first, second, strict=True)]
        squared = sum(moved) ** 2 if norm == 1 else sum(step**2 for step in moved)
        scale = Fraction(plan.scale)
        if squared > most:
            root = math.sqrt(squared), math.sqrt(most)
            return f"the numbers moved by {root[0]:.17g} in L{norm}, and noise is calibrated to {root[1]:.17g}"
        if isinstance(promise, PureDP) and norm == 1 and sum(moved) > times * scale * Fraction(promise.epsilon):
            return f"the numbers moved by {sum(moved)}, which noise of scale {plan.scale!r} does not hide at {promise}"
        if isinstance(promise, ZCDP) and norm == 2 and squared > times**2 * 2 * Fraction(promise.rho) * scale**2:
            return f"the numbers moved by √{squared}, which noise of scale {plan.scale!r} does not hide at {promise}"
        return None

    return check


def _one_record(plan: Plan) -> Check:
    """Of all records' numbers one may change, by the width at most; their order is not published.

    Randomized answers are held against the promise itself.
    """
    most = (
        plan.grid.widths[0]
        if isinstance(plan, ResponsePlan)
        else math.isqrt(squared_sensitivity(plan.channel, plan.grid, norm=1))
    )

    answers = answers_of(plan) if isinstance(plan, ResponsePlan) else None

    def check(first: Numbers, second: Numbers, steps: int = 1) -> str | None:
        del steps
        gone, come = Counter(first) - Counter(second), Counter(second) - Counter(first)
        if gone.total() != come.total() or gone.total() > 1:
            return f"{max(gone.total(), come.total())} records' numbers changed, not one"
        moved = abs(sum(gone.elements()) - sum(come.elements()))
        if moved > most:
            return f"a record's number moved by {moved}, and noise is calibrated to {most}"
        inside = range(len(plan.channel.law.levels)) if isinstance(plan, ResponsePlan) else None  # type: ignore[attr-defined]
        if inside is not None and not all(number in inside for number in (*first, *second)):
            return "a record's answer is none of the levels"
        return None if answers is None or not gone else answers(*gone, *come)

    return check


def _smooth(plan: Smooth) -> Check:
    """|u − u'| ≤ α·min(t, t') and t ≤ e^β·t' for the scales t, which is what (α, β) was calibrated for."""
    law: Any = plan.channel.law

    def check(first: Numbers, second: Numbers, steps: int = 1) -> str | None:
        del steps
        import numpy as np

        scales = sorted(Fraction(plan.scale(np.asarray(window, dtype=np.int64))) for window in (first, second))
        moved = abs(first[len(first) // 2] - second[len(second) // 2])
        if moved > Fraction(law.alpha) * scales[0]:
            return f"the statistic moved by {moved}, further than the smooth sensitivity allows"
        if scales[1] > exponential(law.beta) * scales[0]:
            return f"the scales of the noise differ by the factor {float(scales[1] / scales[0])!r}, more than e^beta"
        return None

    return check


def _ranks(plan: RanksPlan) -> Check:
    """The largest ratio of the two laws of the published point, in fractions."""
    promise = plan.channel.guarantee
    assert isinstance(promise, PureDP)
    most = exponential(promise.epsilon)

    def check(first: Numbers, second: Numbers, steps: int = 1) -> str | None:
        del steps
        laws = [_law(plan, window) for window in (first, second)]
        ends = sorted({edge for edges, _, _ in laws for edge in edges})
        for left, right in pairwise(ends):
            masses = [Fraction(_weight_at(edges, weights, left), total) for edges, weights, total in laws]
            if max(masses) > most * min(masses):
                ratio = math.inf if min(masses) == 0 else float(max(masses) / min(masses))
                return f"the chances of {left} … {right - 1} differ by the factor {ratio!r}, more than {promise} allows"
        return None

    return check


def _law(plan: RanksPlan, window: Numbers) -> tuple[list[int], list[int], int]:
    edges, weights = plan.pieces(window)
    total = sum((b - a) * weight for (a, b), weight in zip(pairwise(edges), weights, strict=True))
    return edges, weights, total


def _weight_at(edges: list[int], weights: list[int], cell: int) -> int:
    return next(
        (weight for (a, b), weight in zip(pairwise(edges), weights, strict=True) if a <= cell < b),
        0,
    )
