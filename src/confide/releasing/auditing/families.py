"""Families of neighbours: tables that differ in what one record holds, so that every two of them are neighbours.

k tables go through the pipeline once each, and give k(k − 1)/2 pairs to compare: brute force over all pairs of cells.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from confide.channel import Channel
from confide.published.part import Grouped, Hashed, Part, Rows
from confide.releasing.auditing.cells import OddCell, extremes, fitted, numbers, strange
from confide.releasing.auditing.neighbours import in_runs
from confide.releasing.auditing.shapes import TEXT_FILES, Shape
from confide.releasing.auditing.tables import COLUMN, ID, Table, TypedColumn
from confide.releasing.whole_numbers import Plan

#: more records than a reader looks at when it guesses a type (DuckDB: 20,480)
LONG = 21_000


@dataclass(frozen=True)
class Neighbours:
    """One table, the row that differs, and all that it may hold."""

    plan: Plan
    shape: Shape
    records: tuple[OddCell, ...]
    row: int
    cells: tuple[OddCell, ...]
    part: Part | None
    missing: float | str | None
    ids: tuple[int, ...] | None

    @property
    def channel(self) -> Channel:
        """The channel, for as many records as the part has."""
        return self.plan.channel

    @property
    def refused(self) -> bool:
        """A row of one column that lacks it holds nothing else that a refusal could tell: none is made to."""
        return False

    @property
    def inside(self) -> bool:
        """Whether the row that differs is in the part, by the definition of parts."""
        if isinstance(self.part, Hashed):
            assert self.ids is not None
            first, last = self.part.cuts
            return first <= place_of(self.ids[self.row]) < last
        if isinstance(self.part, Grouped):
            assert self.ids is not None
            return str(self.ids[self.row]) == self.part.value
        return self.part is None or self.part.start <= self.row < self.part.stop

    def table(self, cell: OddCell) -> Table:
        """The table in which the row holds this cell."""
        column = [record.value for record in self.records]
        column[self.row] = cell.value
        ids = {} if self.ids is None else {ID: TypedColumn("int64", self.ids)}
        return {**ids, COLUMN: TypedColumn(self.shape.kind, column)}

    def steps(self, one: OddCell, other: OddCell) -> int:
        """One record is replaced."""
        del one, other
        return 1

    def told(self, cell: OddCell) -> str:
        """What differs, in words."""
        return f"record {self.row} = {cell.value!r}"

    @property
    def shown(self) -> str:
        """The records, in words; the one that differs is a question mark."""
        texts = [repr(record.value) for record in self.records]
        texts[self.row] = "?"
        return in_runs(texts) + ("" if self.ids is None else f", ids {self.ids[0]}, {self.ids[0] + 1}, …")

    def meaning(self, cell: OddCell) -> str | None:
        """What a cell counts as, imputed and clipped; cells with one meaning must give one answer. None: unknown."""
        if cell.means is None:
            return None
        if math.isnan(cell.means) and not isinstance(self.missing, float):
            return "missing"
        low, high = self.channel.statistic.bounds
        number = self.missing if math.isnan(cell.means) and isinstance(self.missing, float) else cell.means
        return min(max(number, low), high).hex()


def place_of(identifier: object) -> int:
    """Where an identifier lies among 2³² places: the first digits of its MD5."""
    return int(hashlib.md5(str(identifier).encode(), usedforsecurity=False).hexdigest()[:8], 16)


def draw_family(plan: Plan, shape: Shape, size: int, generator: np.random.Generator) -> Neighbours:
    """A family of tables of a shape, around what the channel decides by."""
    channel = plan.channel
    candidates = numbers(channel, plan.grid, generator)
    missing = _policy(channel, generator)
    present = fitted(shape.kind, candidates)
    odd = strange(shape, generator) if isinstance(missing, float) else []
    ends = fitted(shape.kind, _ends(channel, candidates, generator))
    part, ids, total = part_of(shape, channel.n, generator, shape.identified)
    even = fitted(shape.kind, _round_numbers(channel))
    # on a lattice nothing else makes sums that lie in the middle of a step
    records = _records(even, even if plan.grid.per_lattice else present, total, generator)
    if odd:
        for gap in np.flatnonzero(generator.random(total) < 0.1):
            records[gap] = next(cell for cell in odd if cell.means is not None)
    row = row_of(part, total, generator)
    if missing == "public" and part is None:
        records, ids = _with_a_gap(shape, records, ids)
    return Neighbours(
        plan, shape, tuple(records), row, _chosen(ends, odd, present, size, generator), part, missing, ids
    )


def draw_long(plan: Plan, shape: Shape, size: int, generator: np.random.Generator) -> Neighbours:
    """A part at the end of a long file, and a first row outside of it that must not matter.

    A reader that guesses types from the first records reads the last ones as whole numbers, or not, by what the first
    one holds.
    """
    assert shape.reader in TEXT_FILES
    low, high = plan.channel.statistic.bounds
    whole = float(math.floor(low) if math.floor(low) >= low else math.ceil(low))
    filler = fitted(shape.kind, [whole])[0]
    first = OddCell(str(int(whole)), whole)
    last = fitted(shape.kind, (low + (high - low) * generator.random(16)).tolist())
    records = [first, *([OddCell(str(int(filler.means or 0)), filler.means)] * LONG)]
    records += [last[index] for index in generator.integers(len(last), size=plan.channel.n)]
    texts = ["n/a", "true", "2020-01-01", '"3', "9" * 30, ""]
    chosen = [texts[index] for index in generator.permutation(len(texts))[: max(size - 2, 1)]]
    cells = (first, *(OddCell(text, None) for text in (f"{whole + 0.25:g}", *chosen)))
    part = Rows(len(records) - plan.channel.n, len(records))
    return Neighbours(plan, shape, tuple(records), 0, cells, part, (low + high) / 2, None)


def _ends(channel: Channel, candidates: list[float], generator: np.random.Generator) -> list[float]:
    """Where s is extreme, and the bounds or something beyond them."""
    low, high = channel.statistic.bounds
    beyond = [
        float(generator.choice([low, math.nextafter(low, -math.inf), low - 1, -1e308])),
        float(generator.choice([high, math.nextafter(high, math.inf), high + 1, 1e308])),
    ]
    return [*extremes(channel, candidates), *beyond]


def _round_numbers(channel: Channel) -> list[float]:
    """The bounds and what lies evenly between them: ties among records, and sums in the middle of a lattice step."""
    low, high = channel.statistic.bounds
    even = [low + (high - low) * k / 4 for k in range(5)]
    return [*even, *(float(whole) for whole in map(round, even) if low <= whole <= high)]


def _records(even: list[OddCell], present: list[OddCell], total: int, generator: np.random.Generator) -> list[OddCell]:
    """Records of a table: round numbers, anything, or round numbers first, by which a reader might judge the rest."""
    rounded = int(generator.choice([total, 0, -(-total // 3)]))
    pools = [even] * rounded + [present] * (total - rounded)
    return [pool[int(generator.integers(len(pool)))] for pool in pools]


def row_of(part: Part | None, total: int, generator: np.random.Generator) -> int:
    """The row that differs: often the first, by which a reader might judge the rest, or one at an end of the part."""
    if isinstance(part, Rows) and generator.random() < 0.7:
        near = [row for row in (0, part.start - 1, part.start, part.stop - 1, part.stop) if 0 <= row < total]
        return int(generator.choice(near))
    return int(generator.integers(total))


def _policy(channel: Channel, generator: np.random.Generator) -> float | str | None:
    """Mostly impute; else refuse what is missing, or drop it where it is no secret."""
    low, high = channel.statistic.bounds
    drawn = generator.random()
    if drawn < 0.75:
        return float(generator.choice([low, high, low + (high - low) * generator.random()]))
    return None if drawn < 0.9 else "public"


def part_of(
    shape: Shape, n: int, generator: np.random.Generator, identified: bool
) -> tuple[Part | None, tuple[int, ...] | None, int]:
    """A part of n records, the identifiers of all, and how many there are in all."""
    ways = ["all"] + ["rows"] * shape.ordered + ["hashed", "group"] * identified
    way = ways[int(generator.integers(len(ways)))]
    offset = int(generator.integers(1000))
    if way == "hashed":
        ids = tuple(range(offset, offset + n + 3))
        places = sorted(map(place_of, ids))
        # from the place of one record to that of another: who lies on the boundary is in one part and not in the next
        first = int(generator.integers(3))
        return Hashed("id", places[first] / 2**32, places[first + n] / 2**32), ids, len(ids)
    if way == "group":
        members = [*[offset] * n, *[offset + 1] * int(generator.integers(4))]
        ids = tuple(members[index] for index in generator.permutation(len(members)))
        return Grouped("id", str(offset)), ids, len(ids)
    before, after = (int(generator.integers(3)) for _ in range(2)) if way == "rows" else (0, 0)
    total = before + n + after
    numbered = identified and generator.random() < 0.5
    return (
        Rows(before, before + n) if way == "rows" else None,
        tuple(range(offset, offset + total)) if numbered else None,
        total,
    )


def _with_a_gap(
    shape: Shape, records: list[OddCell], ids: tuple[int, ...] | None
) -> tuple[list[OddCell], tuple[int, ...] | None]:
    """One more record, at the end, that lacks a value: which one does is public here, and it is dropped."""
    gap = OddCell("" if shape.kind == "text" else None, math.nan)
    return [*records, gap], None if ids is None else (*ids, ids[-1] + 1)


def _chosen(
    ends: Sequence[OddCell],
    odd: Sequence[OddCell],
    present: Sequence[OddCell],
    size: int,
    generator: np.random.Generator,
) -> tuple[OddCell, ...]:
    """Extremes first, as only they move a number as far as is allowed; of the rest as many of either sort."""
    cells = list(ends[: max(size // 2, 2)])
    cells += odd[: max(size - len(cells) - 1, 1)] if len(odd) > len(ends) else odd[: max((size - len(cells)) // 2, 1)]
    others = [present[index] for index in generator.permutation(len(present))]
    unique = {(type(cell.value), repr(cell.value)): cell for cell in [*cells, *others]}
    return tuple(unique.values())[: max(size, 2)]
