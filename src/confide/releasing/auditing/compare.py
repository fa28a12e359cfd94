"""Comparing the outcomes of all pairs of a family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations

from confide.releasing.auditing.movement import movement_of
from confide.releasing.auditing.neighbours import AnyNeighbours
from confide.releasing.auditing.outcomes import Outcome
from confide.releasing.auditing.result import Failure


def failures_of(family: AnyNeighbours, outcomes: Sequence[Outcome]) -> Iterator[Failure]:
    """Every pair of neighbours that can be told apart by more than the noise hides, with what is wrong."""
    check = movement_of(family.plan)
    answered = list(zip(family.cells, outcomes, strict=True))
    if family.shape.kind != "text" and not family.refused and all(outcome.numbers is None for outcome in outcomes):
        (cell, outcome), (other, another) = answered[0], answered[-1]
        yield Failure("nothing could be released", family, (cell, other), (outcome, another))
        return
    for (cell, outcome), (other, another) in combinations(answered, 2):
        problem = _told_apart(outcome, another)
        if problem is None and outcome.numbers is not None and another.numbers is not None:
            same = family.meaning(cell) is not None and family.meaning(cell) == family.meaning(other)
            if not family.inside and outcome.numbers != another.numbers:
                problem = "a record outside of the part changed the numbers"
            elif same and outcome.numbers != another.numbers:
                problem = "two cells that mean the same gave different numbers"
            elif outcome.numbers != another.numbers:
                problem = check(outcome.numbers, another.numbers, family.steps(cell, other))
        if problem is not None:
            yield Failure(problem, family, (cell, other), (outcome, another))


def _told_apart(outcome: Outcome, another: Outcome) -> str | None:
    """What shows without any number: an error, its words, a warning."""
    if (outcome.numbers is None) != (another.numbers is None):
        return "one neighbour was refused, the other was not"
    if outcome.error != another.error:
        return "the words of a refusal depend on a record"
    if not (outcome.ours and another.ours):
        return "an error that is not Confide's, whose words may quote a record"
    return None if outcome.said == another.said else "a warning depends on a record"
