"""What a report says about a result, before it is a page: the sentence that answers the question, pictures, numbers.

What is said about each kind of result is registered beside this: `choosing`, `learning`, `publishing`, `several`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from confide.errors import InvalidArgument
from confide.missing import SHARE
from confide.privacy import Privacy


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure and what it shows."""

    figure: Any
    caption: str


@dataclass(frozen=True, eq=False)
class PageContent:
    """A report before it is a page."""

    title: str
    question: str
    #: the sentence that answers it
    answer: str
    pictures: tuple[Picture, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    #: what is published, each a channel in words, and what it promises
    channels: tuple[str, ...]
    guarantee: Privacy | None
    #: what the columns are about, where their names do not say it
    legend: tuple[tuple[str, str], ...] = ()
    #: whether the first row is the best
    ranked: bool = False
    why: tuple[str, ...] = ()
    #: what a reader must know besides
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    #: pictures of how it was computed, which are folded away
    workings: tuple[Picture, ...] = ()


@singledispatch
def content(result: Any) -> PageContent:
    """The content of a result."""
    raise InvalidArgument(
        "result",
        result,
        "cannot be reported",
        "give what compare, optimize, infer or release returned, a list of releases, or ledger.statement(name)",
    )


def of_population(names: Sequence[str]) -> str:
    """Parameters as a reader meets them.

    >>> of_population(["mean", "variance"])
    "the population's mean and variance"
    >>> of_population(["missing"])
    'the share of missing records'
    """
    if SHARE in names:
        own = [name for name in names if name != SHARE]
        return " and ".join([*([of_population(own)] if own else []), "the share of missing records"])
    return f"the population's {' and '.join(filter(None, [', '.join(names[:-1]), names[-1]]))}"
