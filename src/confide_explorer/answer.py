"""What a computation tells a screen: texts, tables, pictures and the script that does it again. Plain values only."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

#: inches: a picture for a phone, whose letters are as large as a page's there, and a panel of one
_NARROW, _PANEL = 4.4, 2.6


@dataclass(frozen=True)
class Table:
    """Rows of texts, the best first if it is ranked; a row may be chosen by the words that stand for it."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    legend: tuple[tuple[str, str], ...] = ()
    picks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A picture as SVG, for a page and for a phone, and what it shows."""

    wide: str
    narrow: str
    caption: str


@dataclass(frozen=True)
class Answer:
    """What was found."""

    sentence: str
    tables: tuple[Table, ...] = ()
    drawings: tuple[Drawing, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    script: str = ""
    command: str = ""
    #: a file to take along, and a whole page
    channel_file: str = ""
    page: str = ""


def table(caption: str, columns: Sequence[str], rows: Iterable[Sequence[Any]], **more: Any) -> Table:
    """A table of values as they are shown."""
    return Table(caption, tuple(columns), tuple(tuple(map(cell, row)) for row in rows), **more)


def cell(value: Any) -> str:
    """A value in a table.

    >>> cell(0.123456), cell(float("nan")), cell("word")
    ('0.1235', '–', 'word')
    """
    if isinstance(value, float):
        return "–" if math.isnan(value) else "∞" if math.isinf(value) else f"{value:.4g}"
    return str(value)


def drawing(picture: Any) -> Drawing:
    """Of a report's picture."""
    from confide.plots.style import svg

    # the page behind it shows through, which may be dark
    for part in (picture.figure, *picture.figure.axes):
        part.patch.set_alpha(0.0)
    wide = svg(picture.figure)
    _stack(picture.figure)
    return Drawing(wide, svg(picture.figure), picture.caption)


def _stack(figure: Any) -> None:
    """Make a picture as narrow as a phone, so that its letters are read there: panels one below the other."""
    axes, height = figure.axes, figure.get_size_inches()[1]
    if len(axes) > 1:
        grid = figure.add_gridspec(len(axes), 1)
        for place, axis in enumerate(axes):
            axis.set_subplotspec(grid[place, 0])
        height = _PANEL * len(axes)
    figure.set_size_inches(_NARROW, height)
