"""What one record may hold: numbers where something could go wrong, and what is no number at all."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from confide.channel import Channel
from confide.releasing.auditing.shapes import Shape
from confide.releasing.auditing.switches import switch_points, values_at
from confide.releasing.quantise import StepGrid

#: texts that a file may hold in place of a number; some are numbers to some readers
TEXTS = (
    "", "n/a", "NA", "null", "NaN", "nan", "inf", "-inf", "Infinity", "+3", " 3", "3 ", "0x10", '"3', '3"', '"3"',
    '""', '"', "3,4", "3;4", "3\t4", "3|4", "'3'", "1e400", "-1e400", "1e-400", "1_000", "1,000.5", "3.", ".5", "1e",
    "--3", "true", "f", "2020-01-01", "12:30", "\u0663", "3\u00a0", "3 # a remark", "\\N", "x", "id", "9" * 40,
)  # fmt: skip
#: Python objects that a list or a column of objects may hold
OBJECTS = (
    2**63, -(2**63) - 1, 10**30, 10**400, Decimal("NaN"), Decimal("Infinity"), Decimal("1e45"), Decimal("0.1"),
    Fraction(1, 3), True, "3", "n/a", "", 3 + 0j, b"3", (1,), np.float32(0.1), np.int64(3), np.datetime64("2020-01-01"),
)  # fmt: skip


@dataclass(frozen=True)
class OddCell:
    """What a record holds, and the number that it stands for: NaN if it is missing, None if the reader may choose."""

    value: Any
    means: float | None


def numbers(channel: Channel, grid: StepGrid, generator: np.random.Generator) -> list[float]:
    """Finite numbers around everything that the release decides by: bounds, switches, zero, the grid, the lattice."""
    low, high = channel.statistic.bounds
    places = [low, high, 0.0, -0.0, *switch_points(channel, generator)]
    found = [x for place in places for x in around(place)]
    found += [sys.float_info.max, -sys.float_info.max, 1e308, -1e308, sys.float_info.min, 5e-324, -5e-324]
    found += [low + (high - low) * k / 4 for k in range(1, 4)]
    step = float(grid.step) * float(grid.per_lattice or 1)
    found += [x for k in generator.integers(-8, 8, 4) for x in around(low + step * (int(k) + 0.5))]
    found += (low + (high - low) * generator.random(16)).tolist()
    found += [float(f"{x:.3g}") for x in low + (high - low) * generator.random(4)]
    found += (np.ldexp(generator.choice([-1.0, 1.0], 8), generator.integers(-1070, 1023, 8))).tolist()
    return [float(x) for x in found if math.isfinite(x)]


def around(place: float) -> list[float]:
    """A number and the two doubles on either side."""
    below, above = math.nextafter(place, -math.inf), math.nextafter(place, math.inf)
    return [place, below, above, math.nextafter(below, -math.inf), math.nextafter(above, math.inf)]


def extremes(channel: Channel, candidates: list[float]) -> list[float]:
    """Candidates where each coordinate is smallest and largest, and the two where all of them are furthest apart."""
    x = np.clip(np.asarray(candidates), *channel.statistic.bounds)
    values = values_at(channel, x)
    picked = {int(index) for row in values for index in (row.argmin(), row.argmax())}
    if len(values) > 1:
        scaled = values - values.min(axis=1, keepdims=True)
        apart = np.abs(scaled[:, :, None] - scaled[:, None, :]).sum(axis=0)
        picked.update(map(int, np.unravel_index(apart.argmax(), apart.shape)))
    return [candidates[index] for index in sorted(picked)]


def _whole(smallest: int, largest: int) -> Callable[[float], OddCell]:
    def fit(x: float) -> OddCell:
        value = min(max(round(x), smallest), largest)
        return OddCell(value, float(value))

    return fit


def _single(x: float) -> OddCell:
    value = float(np.float32(min(max(x, -3.4e38), 3.4e38)))
    return OddCell(value, value)


def _decimal(x: float) -> OddCell:
    value = round(Decimal(min(max(x, -1e18), 1e18)), 9)
    # an engine may round a decimal of more digits than a double holds to either side
    return OddCell(value, float(value) if abs(value) < 2**20 else None)


#: how a number is written in a column of a type
FITS: dict[str, Callable[[float], OddCell]] = {
    "float64": lambda x: OddCell(x, x),
    "float32": _single,
    "int64": _whole(-(2**63), 2**63 - 1),
    "int32": _whole(-(2**31), 2**31 - 1),
    "uint64": _whole(0, 2**64 - 1),
    "bool": lambda x: OddCell(x > 0, float(x > 0)),
    "decimal": _decimal,
    "text": lambda x: OddCell(repr(x), x),
    # ints and floats side by side, so that a type inferred from them depends on each
    "inferred": lambda x: OddCell(int(x), x) if x == int(x) and abs(x) < 2**53 else OddCell(x, x),
    "objects": lambda x: OddCell(int(x), x) if x == int(x) and abs(x) < 2**53 else OddCell(x, x),
}
#: types of a column of floating-point numbers
_FLOATS = ("float64", "float32")


def strange(shape: Shape, generator: np.random.Generator) -> list[OddCell]:
    """Cells of a type that hold no plain number: missing ones, and whatever else the type can hold."""
    kind, found = shape.kind, [OddCell(None, math.nan)]
    if kind in (*_FLOATS, "inferred", "objects"):
        found += [OddCell(value, math.nan) for value in (math.nan, math.inf, -math.inf)]
    if kind == "text":
        found = [OddCell("", math.nan), *(OddCell(text, None) for text in TEXTS[1:])]
    if kind == "objects":
        found += [OddCell(value, None) for value in OBJECTS]
    if shape == Shape("postgres", "decimal"):
        found += [
            OddCell(Decimal(text), None) for text in ("NaN", "Infinity", "-Infinity", "1e400", "1e-400", "-1e308")
        ]
    return [found[index] for index in generator.permutation(len(found))]


def fitted(kind: str, candidates: Iterable[float]) -> list[OddCell]:
    """Numbers as cells of a column's type, each once."""
    cells = {(type(cell.value), repr(cell.value)): cell for cell in map(FITS[kind], candidates)}
    return list(cells.values())
