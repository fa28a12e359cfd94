"""What a column of rows may hold: numbers around ends, edges and constants, or texts of a public list and others."""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass

import numpy as np

from confide.expression import Expression
from confide.expression.tree import Interp, Number, nodes
from confide.releasing.auditing.cells import OddCell, around, fitted, strange
from confide.releasing.auditing.shapes import TEXT_FILES, Shape
from confide.releasing.gaps import Missing, check_missing
from confide.statistic import Statistic
from confide.statistic.columns import ColumnBounds, bounds_by_name
from confide.statistic.histogram import cells_of

#: places around which numbers are drawn, at most, and as many texts of a list
_MOST = 24
#: texts that a file holds as they are
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+( [A-Za-z0-9_.-]+)*")


@dataclass(frozen=True)
class DrawnColumn:
    """A column: its type, cells that hold something, and cells that may be missing or are the reader's choice."""

    name: str
    kind: str
    present: tuple[OddCell, ...]
    odd: tuple[OddCell, ...]
    #: how many of those that are present lie at the ends, edges and switches, or on the list
    ends: int
    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()


def columns_of(statistic: Statistic, shape: Shape, generator: np.random.Generator) -> tuple[DrawnColumn, ...]:
    """The columns of a statistic, as a source of some shape may hold them."""
    lists = statistic.bounds.lists if isinstance(statistic.bounds, ColumnBounds) else {}
    cuts = {cut.column: cut.edges for cut in cells_of(statistic).cuts} if statistic.tallies else {}
    return tuple(
        _of_texts(name, lists[name], shape, generator)
        if name in lists
        else _of_numbers(statistic, name, cuts.get(name, ()), shape, generator)
        for name in statistic.columns
    )


def _of_numbers(
    statistic: Statistic, name: str, edges: tuple[float, ...], shape: Shape, generator: np.random.Generator
) -> DrawnColumn:
    """Numbers at the ends and all constants of the expressions; of histograms at the edges, as nothing is clipped."""
    low, high = (edges[0] - 1, edges[-1] + 1) if edges else bounds_by_name(statistic)[name]
    places = list(edges) or [low, high, *_constants(statistic)]
    if len(places) > _MOST:
        places = generator.choice(places, _MOST, replace=False).tolist()
    ends = fitted(shape.kind, [x for place in places for x in around(place) if math.isfinite(x)])
    others = [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, sys.float_info.max, -sys.float_info.max]
    others += (low + (high - low) * generator.random(8)).tolist()
    present = fitted(shape.kind, [x for place in places for x in around(place) if math.isfinite(x)] + others)
    return DrawnColumn(name, shape.kind, tuple(present), tuple(strange(shape, generator)), len(ends), edges=edges)


def _constants(statistic: Statistic) -> list[float]:
    """All numbers that stand in the expressions: some of them are where a switch is."""
    found: list[float] = []
    for transform in statistic.transforms:
        for node in nodes(transform.tree) if isinstance(transform, Expression) else ():
            if isinstance(node, Number):
                found.append(node.value)
            if isinstance(node, Interp):
                found += node.knots
    return list(dict.fromkeys(found))


def _of_texts(name: str, listed: tuple[str, ...], shape: Shape, generator: np.random.Generator) -> DrawnColumn:
    """Texts on the list, others that look like them, and none at all, which is no more missing than another text."""
    kept = listed if len(listed) <= _MOST else tuple(generator.choice(listed, _MOST, replace=False).tolist())
    near = [
        each for text in kept[:4] for each in (text.upper(), text.title(), text + " ", " " + text, text[:-1], text * 2)
    ]
    texts = list(dict.fromkeys([*kept, *near, "", "other", "0", "1", "x", "caf\u00e9"]))
    known, others = [], []
    for text in texts:
        code = float(listed.index(text)) if text in listed else float(len(listed))
        if shape.reader not in TEXT_FILES or _PLAIN.fullmatch(text) or not text:
            known.append(OddCell(text, code))
        elif text in listed and "\n" not in text and "\r" not in text:
            known.append(OddCell('"' + text.replace('"', '""') + '"', code))
        else:
            others.append(OddCell(text, None))
    present = (*known, OddCell(None, float(len(listed))))
    ends = sum(cell.means is not None and cell.means < len(listed) for cell in present)
    return DrawnColumn(name, "text", present, tuple(others), max(ends, 1), categories=listed)


def policy_of(
    statistic: Statistic, n: int | None, columns: tuple[DrawnColumn, ...], generator: np.random.Generator
) -> Missing:
    """Mostly public numbers for all columns of numbers; else refuse what is missing, or drop it."""
    drawn, constants = generator.random(), {}
    for column in columns:
        if not column.categories:
            low, high = bounds_by_name(statistic)[column.name]
            places = column.edges or (low, high, low + (high - low) * generator.random())
            constants[column.name] = float(generator.choice(np.asarray(places)))
    if drawn < 0.75:
        return check_missing(constants, statistic)
    return "public" if drawn < 0.9 and n is None else None
