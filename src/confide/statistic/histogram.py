"""Histograms and contingency tables: how many records are in each of some disjoint cells."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from confide._final import final
from confide.errors import IncompatibleError
from confide.privacy.rounding import root_sum_of_squares_up
from confide.statistic.cells import CellCut, as_cuts, index_of, joined
from confide.statistic.columns import ColumnBounds, column
from confide.statistic.persons import rows_of_one, told_persons
from confide.statistic.size import check_count
from confide.statistic.statistic import OWN, Statistic
from confide.statistic.transform import Transform

Pair = tuple[float, float]
_LARGEST = sys.float_info.max


@final(OWN)
@dataclass(frozen=True, eq=False, repr=False, init=False)
class Histogram(Statistic):
    """Counts of the records in disjoint cells, each with a name.

    Cells are half-open intervals [low, high) between edges, and those below and above; or the texts of a public list,
    and `other` for every other value; or, for several columns, all combinations.

    >>> ages = Histogram("age", edges=[0, 18, 65])
    >>> ages.cells
    ('below 0', '0 to 18', '18 to 65', '65 or more')
    >>> print(ages.summary([3.0, 18.0, 40.0, 17.9]))
    [0. 2. 2. 0.]
    >>> table = Histogram(["sex", "ward"], categories={"sex": ["f", "m"], "ward": ["north", "south"]})
    >>> table.dimension, table.cells[1]
    (9, 'sex=f, ward=south')

    One record that is replaced takes 1 from a cell and gives 1 to another, however many cells there are:

    >>> table.sensitivity(n=100), round(table.sensitivity(n=100, norm=2), 6)
    (2.0, 1.414214)
    """

    transforms: tuple[Transform, ...]
    bounds: Any
    cuts: tuple[CellCut, ...]

    noun = "the histogram of"
    tallies = True

    def __init__(self, columns: Any, *, edges: Any = None, categories: Any = None) -> None:
        cuts = as_cuts(columns, edges, categories)
        # nothing is clipped: the outermost cells hold whatever is beyond the edges
        ends = tuple((0.0, float(len(cut.categories))) if cut.categories else (-_LARGEST, _LARGEST) for cut in cuts)
        lists = tuple((cut.column, cut.categories) for cut in cuts if cut.categories)
        bounds = ColumnBounds(tuple(cut.column for cut in cuts), ends, lists)
        vars(self).update(transforms=(), bounds=bounds, cuts=cuts)

    @property
    def cells(self) -> tuple[str, ...]:
        """The names of the cells, in the order of the counts."""
        return joined(self.cuts)

    @property
    def labels(self) -> tuple[str, ...]:
        """The cells: each number is a count."""
        return self.cells

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns whose values are sorted into cells."""
        return tuple(cut.column for cut in self.cuts)

    @property
    def dimension(self) -> int:
        """The number of cells."""
        return len(self.cells)

    @property
    def ranges(self) -> tuple[Pair, ...]:
        """What one record adds to each count."""
        return ((0.0, 1.0),) * self.dimension

    @property
    def levels(self) -> None:
        """A record's cell is no number."""
        return

    @property
    def options(self) -> dict[str, Any]:
        """The edges and the categories, as they are given."""
        found = {
            name: {cut.column: list(getattr(cut, name)) for cut in self.cuts if getattr(cut, name)}
            for name in ("edges", "categories")
        }
        single = len(self.cuts) == 1
        return {name: value[self.columns[0]] if single else value for name, value in found.items() if value}

    def first_column(self, records: Any) -> Any:
        """The first of the columns: it has the records' shape."""
        if not isinstance(records, Mapping):
            return records
        name = self.columns[0]
        return column(records, name if name in records or len(self.cuts) > 1 else "x")

    def index(self, records: Any) -> Any:
        """The cell of each record, counted from 0; records are columns by name, numbers, or codes of cells.

        >>> print(Histogram("ward", categories=["north", "south"]).index(["south", "south", "Atlantis"]))
        [1 1 2]
        """
        return index_of(self.cuts, records)

    def values(self, records: Any) -> Any:
        """For each record a 1 in its cell and 0 in the others, on a last axis."""
        return (self.index(records)[..., None] == jnp.arange(self.dimension)).astype(float)

    def summary(self, records: Any, window: int = 0) -> Any:
        """The counts."""
        del window
        return jnp.sum(self.values(records), axis=-2)

    def sensitivity(self, n: int | None, norm: int = 1) -> float:
        """2 in L1 and √2 in L2: a replaced record leaves one cell for another. 1 where it is added or removed."""
        if n is None:
            return float(rows_of_one(self, n))
        check_count(n)
        return 2.0 if norm == 1 else root_sum_of_squares_up([1.0, 1.0])

    def __str__(self) -> str:
        cells = self.cells
        named = ", ".join(cells) if len(cells) <= 6 else f"{', '.join(cells[:3])}, …, {cells[-1]}"
        return f"{self.noun} {' and '.join(self.columns)} ({len(cells)} cells: {named})"

    def __repr__(self) -> str:
        columns = self.columns[0] if len(self.cuts) == 1 else list(self.columns)
        told = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        return f"Histogram({columns!r}, {told}){told_persons(self)}"


def cells_of(statistic: Statistic) -> Histogram:
    """A statistic that `tallies`, as the histogram that it is."""
    if not isinstance(statistic, Histogram):
        raise IncompatibleError(f"{statistic!r} does not count the records in cells; use a Histogram")
    return statistic
