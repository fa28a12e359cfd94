"""One family after another, through the pipeline: the work of an audit, a step at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import cycle

import numpy as np

from confide.channel import Channel
from confide.errors import ConfideError
from confide.releasing.auditing.compare import failures_of
from confide.releasing.auditing.families import draw_family, draw_long
from confide.releasing.auditing.neighbours import AnyNeighbours
from confide.releasing.auditing.outcomes import Outcome, outcome_of
from confide.releasing.auditing.result import Failure
from confide.releasing.auditing.rows import draw_rows, is_of_rows
from confide.releasing.auditing.shapes import STRANGE, TEXT_FILES, Shape
from confide.releasing.auditing.tables import Workshop
from confide.releasing.plan import plan_of
from confide.releasing.whole_numbers import Plan
from confide.statistic.persons import per_person, per_row

#: numbers of records that are tried; where the channel has more, what it does to each of them is the same
_SIZES = (1, 2, 3, 12)
#: rows of one person that are used at most, where more of them may be
_ROWS = 3
#: tables of a family, at least and at most
_FEWEST, _MOST = 6, 24
#: turns of a shape whose cells may hold anything, for each turn of another
_TURNS = 3


@dataclass(frozen=True)
class Examined:
    """A family, what came out for each of its tables, and what is wrong with them."""

    family: AnyNeighbours
    outcomes: tuple[Outcome, ...]
    failures: tuple[Failure, ...]

    @property
    def pairs(self) -> int:
        """Pairs of neighbours in the family."""
        return math.comb(len(self.outcomes), 2)

    @property
    def refused(self) -> int:
        """Pairs of which both were refused, where that is not what they were made for."""
        return 0 if self.family.refused else math.comb(sum(outcome.numbers is None for outcome in self.outcomes), 2)


def size_of(pairs: int) -> int:
    """How many tables a family has: more pairs are had from more families and from larger ones.

    >>> [size_of(pairs) for pairs in (100, 1000, 100_000)]
    [6, 6, 21]
    """
    return min(max(int(1.2 * pairs**0.25), _FEWEST), _MOST)


def examine(
    plans: list[Plan], shapes: list[Shape], pairs: int, generator: np.random.Generator, workshop: Workshop
) -> Iterator[Examined]:
    """Families of all shapes in turn, until they have as many pairs as asked for."""
    made = 0
    for family in _families(plans, shapes, size_of(pairs), generator):
        tables = workshop.make(family.shape, [family.table(cell) for cell in family.cells])
        outcomes = tuple(outcome_of(family.plan, table, family.part, family.missing) for table in tables)
        step = Examined(family, outcomes, tuple(failures_of(family, outcomes)))
        yield step
        made += step.pairs
        if made >= pairs:
            return


def _families(
    plans: list[Plan], shapes: list[Shape], size: int, generator: np.random.Generator
) -> Iterator[AnyNeighbours]:
    """Shapes that can hold anything come more often than others; one turn of a text file is a long one."""
    turns = [(shape, turn) for shape in shapes for turn in range(_TURNS if shape.kind in STRANGE else 1)]
    for index in cycle(generator.permutation(len(turns))):
        shape, turn = turns[index]
        plan = plans[int(generator.integers(len(plans)))]
        if is_of_rows(plan.channel):
            yield draw_rows(plan, shape, size, generator)
            continue
        long = shape.reader in TEXT_FILES and turn == 1
        yield (draw_long if long else draw_family)(plan, shape, size, generator)


def plans_of(channel: Channel) -> list[Plan]:
    """Plans of the channel for few records, for tables of many take long to write; and for few rows of a person."""
    if channel.n is None:
        known = channel.statistic.persons
        if known is None or known.at_most <= _ROWS:
            return [plan_of(channel)]
        few = [per_person(per_row(channel.statistic), known.column, rows) for rows in range(1, _ROWS + 1)]
        return [plan_of(Channel(statistic, channel.mechanism)) for statistic in few]
    found = []
    for n in sorted({min(n, channel.n) for n in _SIZES}):
        try:
            found.append(plan_of(Channel(channel.statistic, channel.mechanism, n)))
        except ConfideError:  # what cannot be released from so few records may be from more
            continue
    return found or [plan_of(channel)]
