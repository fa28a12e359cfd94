"""How pictures look: colours that all eyes tell apart (Okabe and Ito 2008), and line styles for print in grey."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, GREY = (
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#767676",
)  # fmt: skip
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, "#000000")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)))


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


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Any, Any]:
    """A figure with a row of axes that no window or notebook shows by itself."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(1, columns, squeeze=False)[0]
