"""Families of neighbours among rows: of several columns, of a private number of records, and of persons.

Where the number of records is public, one row holds something else in each table. Where it is private, the row is also
left out, and where a person is protected all rows of one person are: other rows, more of them than are used, fewer, the
same ones in another order, or none.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.channel import Channel
from confide.published.part import Grouped, Hashed, Part, Rows
from confide.releasing.auditing.cells import OddCell
from confide.releasing.auditing.columns import DrawnColumn, columns_of, policy_of
from confide.releasing.auditing.families import part_of, place_of, row_of
from confide.releasing.auditing.neighbours import in_runs
from confide.releasing.auditing.shapes import Shape
from confide.releasing.auditing.tables import ID, Table, TypedColumn
from confide.releasing.gaps import Missing, constants_of
from confide.releasing.whole_numbers import Plan
from confide.statistic import Statistic
from confide.statistic.columns import bounds_by_name

#: what a row holds, in the order of the columns
RowCells = tuple[OddCell, ...]


@dataclass(frozen=True)
class Variant:
    """The rows of the one record or person that differs, and where each of them is put among the others."""

    rows: tuple[tuple[int, RowCells], ...]


@dataclass(frozen=True)
class RowNeighbours:
    """Rows that stay, and all that one record or person may hold beside them."""

    plan: Plan
    shape: Shape
    columns: tuple[DrawnColumn, ...]
    #: whose each of the rows is that stay, with what it holds
    records: tuple[tuple[object, RowCells], ...]
    #: whose the rows are that differ; of a public number it is one row, with a place
    who: object
    cells: tuple[Variant, ...]
    part: Part | None
    missing: Missing
    #: what the column of identifiers is called; None where there is none
    identifier: str | None

    @property
    def statistic(self) -> Statistic:
        """The statistic of the channel."""
        return self.plan.channel.statistic

    @property
    def inside(self) -> bool:
        """Whether what differs is in the part, by the definition of parts; rows of nobody are in none of a person's."""
        if self.statistic.persons is not None and self.who is None:
            return False
        if isinstance(self.part, Hashed):
            first, last = self.part.cuts
            return first <= place_of(self.who) < last
        if isinstance(self.part, Grouped):
            return str(self.who) == self.part.value
        return not isinstance(self.part, Rows) or self.part.start <= self.cells[0].rows[0][0] < self.part.stop

    def table(self, cell: Variant) -> Table:
        """The table with one of the variants."""
        rows = list(self.records)
        for place, held in cell.rows:
            rows.insert(place, (self.who, held))
        found = {}
        if self.identifier is not None:
            kind = "text" if any(isinstance(who, str) for who, _ in (*rows, (self.who, ()))) else "int64"
            found[self.identifier] = TypedColumn(kind, [who for who, _ in rows])
        for index, column in enumerate(self.columns):
            found[column.name] = TypedColumn(column.kind, [held[index].value for _, held in rows])
        return found

    def meaning(self, cell: Variant) -> object:
        """What the rows count as: of a person what they hold, in any order, as it decides which of them are used."""
        keys = [tuple(map(self._key, range(len(self.columns)), held)) for _, held in cell.rows]
        return None if any(None in key for key in keys) else tuple(sorted(keys))

    def _key(self, index: int, cell: OddCell) -> str | None:
        if cell.means is None:
            return None
        if self.statistic.persons is not None or self.columns[index].categories:
            return "missing" if math.isnan(cell.means) else (cell.means + 0.0).hex()
        name = self.columns[index].name
        value = constants_of(self.missing, self.statistic).get(name, math.nan) if math.isnan(cell.means) else cell.means
        if math.isnan(value):
            return "missing"
        if self.columns[index].edges:
            return str(bisect_right(self.columns[index].edges, value))
        low, high = bounds_by_name(self.statistic)[name]
        return (min(max(value, low), high) + 0.0).hex()

    @property
    def refused(self) -> bool:
        """Whether each table lacks a value that nothing was said about: a refusal must say that, and no more."""
        held = [cell for variant in self.cells for _, row in variant.rows for cell in row]
        return self.missing is None and any(cell.means is not None and math.isnan(cell.means) for cell in held)

    def steps(self, one: Variant, other: Variant) -> int:
        """One row is replaced; or added or removed, and both where the number is private and either has some."""
        return 2 if self.plan.channel.n is None and one.rows and other.rows else 1

    def told(self, cell: Variant) -> str:
        """What differs, in words."""
        if not cell.rows:
            return f"nothing of {self.who!r}"
        return f"of {self.who!r}, " + ", ".join(f"row {place} = {self._row(held)}" for place, held in cell.rows)

    @property
    def shown(self) -> str:
        """The rows that stay, in words."""
        return in_runs([f"{who!r}: {self._row(held)}" for who, held in self.records])

    def _row(self, held: RowCells) -> str:
        return str({column.name: cell.value for column, cell in zip(self.columns, held, strict=True)})


def is_of_rows(channel: Channel) -> bool:
    """Whether neighbours of a channel are rows, and not numbers in one column of a public number of records."""
    statistic = channel.statistic
    return channel.n is None or statistic.tallies or statistic.columns != ("x",)


def draw_rows(plan: Plan, shape: Shape, size: int, generator: np.random.Generator) -> RowNeighbours:
    """A family of tables of a shape, around what the channel decides by."""
    statistic = plan.channel.statistic
    columns = columns_of(statistic, shape, generator)
    missing = policy_of(statistic, plan.channel.n, columns, generator)
    draw = _Draw(columns, generator, odd=_may_lack(plan.channel, missing))
    if statistic.persons is not None:
        return _of_persons(plan, shape, size, draw, missing)
    if plan.channel.n is None:
        return _of_any_number(plan, shape, size, draw, missing)
    name = _free(statistic, ID)
    part, ids, total = part_of(shape, plan.channel.n, generator, identified=True)
    part = part if part is None or isinstance(part, Rows) else _renamed(part, name)
    row = row_of(part, total, generator)
    who = [None] * total if ids is None else list(ids)
    records = tuple((who[index], draw.row(0.1)) for index in range(total) if index != row)
    cells = tuple(Variant(((row, held),)) for held in draw.variants(size, lacking=missing is None))
    named = None if ids is None else name
    return RowNeighbours(plan, shape, columns, records, who[row], cells, part, missing, named)


def _of_any_number(plan: Plan, shape: Shape, size: int, draw: _Draw, missing: Missing) -> RowNeighbours:
    """One record more, or not, beside some others or none."""
    generator, name = draw.generator, _free(plan.channel.statistic, ID)
    total, first = int(generator.integers(6)), int(generator.integers(1000))
    way = ("all", "hashed", "group")[int(generator.integers(3))]
    ids = [first + (index % 2 if way == "group" else index) for index in range(total + 1)]
    part: Part | None = None
    if way == "hashed":
        part = _hashed(name, ids, generator)
    if way == "group":
        part = Grouped(name, str(first + int(generator.random() < 0.2)))
    records = tuple((each, draw.row(0.1)) for each in ids[:-1])
    rows = [Variant(((int(generator.integers(total + 1)), draw.row(0.3)),)) for _ in range(size - 1)]
    named = name if part is not None or generator.random() < 0.5 else None
    return RowNeighbours(plan, shape, draw.columns, records, ids[-1], (Variant(()), *rows), part, missing, named)


def _of_persons(plan: Plan, shape: Shape, size: int, draw: _Draw, missing: Missing) -> RowNeighbours:
    """All rows of one person, beside persons with fewer and with more rows than are used, and rows of nobody."""
    generator, known = draw.generator, plan.channel.statistic.persons
    assert known is not None
    first, most = int(generator.integers(1000)), known.at_most
    texts = generator.random() < 0.5
    people = [f"p{first + index}" if texts else first + index for index in range(4)]
    who = None if generator.random() < 0.25 else people[0]
    others: list[object] = [None] * int(generator.integers(3))
    for each in people[1 : 1 + int(generator.integers(4))]:
        others += [each] * int(generator.integers(1, most + 3))
    records = tuple((others[index], draw.row(0.1)) for index in generator.permutation(len(others)))
    part = _hashed(known.column, people, generator) if generator.random() < 0.4 else None
    cells = [Variant(())]
    while len(cells) < size:
        count = int(generator.integers(1, most + 4))
        rows = [draw.row(0.3)] * count if generator.random() < 0.3 else [draw.row(0.3) for _ in range(count)]
        cells += [_placed(rows, len(records), generator), _placed(rows, len(records), generator)]
    return RowNeighbours(plan, shape, draw.columns, records, who, tuple(cells[:size]), part, missing, known.column)


def _placed(rows: Sequence[RowCells], others: int, generator: np.random.Generator) -> Variant:
    """Rows in some order, anywhere among the others."""
    order = generator.permutation(len(rows))
    return Variant(tuple((int(generator.integers(others + 1)), rows[index]) for index in order))


def _hashed(name: str, people: Sequence[object], generator: np.random.Generator) -> Hashed:
    """From the place of one to that of another, or to the end: who lies on the boundary is in one part only."""
    places = [*sorted(map(place_of, people)), 2**32]
    first, last = sorted(generator.choice(len(places), 2, replace=False).tolist())
    return Hashed(name, places[first] / 2**32, places[last] / 2**32)


def _renamed(part: Part, name: str) -> Part:
    if isinstance(part, Hashed):
        return Hashed(name, part.start, part.stop)
    assert isinstance(part, Grouped)
    return Grouped(name, part.value)


def _free(statistic: Statistic, name: str) -> str:
    """A name that no column of the statistic has."""
    while name in statistic.columns:
        name += "_"
    return name


def _may_lack(channel: Channel, missing: Missing) -> bool:
    """Whether a record may lack a value without a refusal, which is what is promised then."""
    return bool(constants_of(missing, channel.statistic)) or (missing == "public" and channel.n is None)


@dataclass(frozen=True)
class _Draw:
    """TypedColumn of rows, drawn one after the other."""

    columns: tuple[DrawnColumn, ...]
    generator: np.random.Generator
    odd: bool

    def variants(self, size: int, *, lacking: bool) -> list[RowCells]:
        """What one row may hold. Where `lacking` is refused, sometimes all of them lack the same value."""
        rows = [self.row(0.3) for _ in range(size)]
        numbers = [index for index, column in enumerate(self.columns) if not column.categories]
        if not lacking or not numbers or self.generator.random() < 0.5:
            return rows
        gap = int(self.generator.choice(numbers))
        nothing = next(cell for cell in self.columns[gap].odd if cell.means is not None)
        return [(*held[:gap], nothing, *held[gap + 1 :]) for held in rows]

    def row(self, strange: float) -> RowCells:
        """A row, of which each cell is a strange one with some chance."""
        return tuple(self._cell(column, strange if self.odd else 0.0) for column in self.columns)

    def _cell(self, column: DrawnColumn, strange: float) -> OddCell:
        drawn = self.generator.random()
        if drawn < strange and column.odd:
            return column.odd[int(self.generator.integers(len(column.odd)))]
        # ends and edges come first, as only they move a number as far as is allowed
        known = column.present[: column.ends] if drawn < 0.7 else column.present
        return known[int(self.generator.integers(len(known)))]
