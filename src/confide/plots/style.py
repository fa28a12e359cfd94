"""How pictures look: colours that all eyes tell apart (Okabe and Ito 2008), and line styles for print in grey."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

#: the colours of Okabe and Ito, which colour-blind people tell apart
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676",
)  # fmt: skip
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#000000")
#: and lines that are told apart without colour
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)))


#: panels in a row of a figure
PER_ROW = 3


@contextmanager
def styled() -> Iterator[None]:
    """Draw in this style, whatever the caller's own settings are, and leave them as they were."""
    import matplotlib as mpl
    from cycler import cycler

    cycle = cycler(color=COLOURS) + cycler(linestyle=LINES)
    settings: Any = {
        "axes.prop_cycle": cycle,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": "medium",
        "axes.titlelocation": "left",
        "axes.grid": False,
        "font.size": 10.0,
        "legend.frameon": False,
        "legend.fontsize": "small",
        "lines.linewidth": 1.8,
        "svg.hashsalt": "confide",  # the same picture is the same text
    }
    with mpl.rc_context(settings):
        yield


def svg(figure: Any) -> str:
    """A figure as the text of an SVG picture, the same text for the same figure."""
    stream = io.StringIO()
    with styled():
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def empty_figure(width: float, height: float) -> Any:
    """A figure that no window or notebook shows by itself."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    """Such a figure with a row of axes."""
    figure = empty_figure(width, height)
    return figure, figure.subplots(1, columns, squeeze=False)[0]


def panels_size(count: int) -> tuple[float, float]:
    """The size of a figure of so many panels, three to a row, so that each can be read."""
    return (4.6 * min(count, PER_ROW) if count > 1 else 7.2), 3.2 * math.ceil(count / PER_ROW)


def panels_of(figure: Any, count: int) -> list[Any]:
    """So many panels in a figure, row by row; places that are left over stay empty."""
    axes = figure.subplots(math.ceil(count / PER_ROW), min(count, PER_ROW), squeeze=False).ravel()
    for left in axes[count:]:
        figure.delaxes(left)
    return list(axes[:count])
