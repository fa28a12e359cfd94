"""What comes out of the pipeline for one table: the numbers that noise is added to, or a refusal; and what is said."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import ConfideError
from confide.published.part import Part, identifier_of_part
from confide.releasing.aggregate import exact_numbers, record_batches, records_needed
from confide.releasing.auditing.tables import Made
from confide.releasing.gaps import Missing
from confide.releasing.plan import Additive
from confide.releasing.readers.source import open_source
from confide.releasing.readers.table.asked import asked_of
from confide.releasing.whole_numbers import Plan


@dataclass(frozen=True)
class Outcome:
    """Whole numbers before noise (None where refused), the refusal with all it drags along, and the warnings."""

    numbers: tuple[int, ...] | None
    error: str = ""
    said: tuple[str, ...] = ()
    #: whether the error is one of ours, whose message was written to say nothing about records
    ours: bool = True

    def __str__(self) -> str:
        return self.error if self.numbers is None else _shortened(self.numbers)


def outcome_of(plan: Plan, made: Made, part: Part | None, missing: Missing) -> Outcome:
    """Send a table through the real pipeline, up to the point where noise is added."""
    statistic = plan.channel.statistic
    also = identifier_of_part(part) if statistic.persons is None else statistic.persons.column
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            stop = records_needed(plan.channel, part, missing)
            with open_source(made.data, asked_of(statistic, made.column), made.table, also, stop) as source:
                numbers = _numbers(plan, source, part, missing)
        except Exception as error:
            return Outcome(None, _chain(error), _said(caught), isinstance(error, ConfideError))
    return Outcome(tuple(int(number) for number in numbers), said=_said(caught))


def _numbers(plan: Plan, source: Any, part: Part | None, missing: Missing) -> Any:
    if plan.channel.statistic.per_record:
        batches = list(record_batches(plan, source, part, missing))
        numbers: Any = np.concatenate(batches) if batches else []
    else:
        numbers = exact_numbers(plan, source, part, missing)
    return plan.centre(numbers) if isinstance(plan, Additive) else numbers


def _said(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Each warning once, as Python shows it."""
    return tuple(dict.fromkeys(f"{warning.category.__name__}: {warning.message}" for warning in caught))


def _chain(error: BaseException | None) -> str:
    """An error, its cause and its context: whoever catches one can read them all."""
    told = []
    while error is not None:
        told.append(f"{type(error).__name__}: {error}")
        error = error.__cause__ or error.__context__
    return " <- ".join(told)


def _shortened(numbers: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, numbers[:8]))
    return f"[{shown}{', …' if len(numbers) > 8 else ''}]"
