"""What a family of tables is, of which every two are neighbours, whatever it is that differs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, Protocol

from confide.releasing.auditing.shapes import Shape
from confide.releasing.auditing.tables import Table
from confide.releasing.whole_numbers import Plan


class AnyNeighbours(Protocol):
    """A table, and all that one record or one person may hold in it."""

    @property
    def plan(self) -> Plan:
        """The plan of the channel, for as many records as the part has."""

    @property
    def shape(self) -> Shape:
        """The reader."""

    @property
    def records(self) -> Sequence[Any]:
        """The rows that stay."""

    @property
    def cells(self) -> Sequence[Any]:
        """What differs, one for each table."""

    @property
    def part(self) -> Any:
        """The part that is released."""

    @property
    def missing(self) -> Any:
        """What is done about cells that are missing."""

    @property
    def inside(self) -> bool:
        """Whether what differs is in the part, by the definition of parts."""

    @property
    def refused(self) -> bool:
        """Whether a refusal of all tables is what is right."""

    @property
    def shown(self) -> str:
        """The rows that stay, in words."""

    def table(self, cell: Any) -> Table:
        """The table with one of the cells."""

    def meaning(self, cell: Any) -> Any:
        """What a cell counts as; cells with one meaning must give one answer. None: unknown."""

    def steps(self, one: Any, other: Any) -> int:
        """How many neighbours apart two tables are: two, where a record of a private number is replaced."""

    def told(self, cell: Any) -> str:
        """A cell in words."""


def in_runs(texts: Sequence[str]) -> str:
    """Texts, equal ones in a row written once.

    >>> in_runs(["0.5", "0.5", "?"])
    '[2 x 0.5, ?]'
    """
    runs = [(text, len(list(equal))) for text, equal in groupby(texts)]
    shown = [text if length == 1 else f"{length} x {text}" for text, length in runs]
    return f"[{', '.join(shown[:40])}{', …' if len(shown) > 40 else ''}]"
