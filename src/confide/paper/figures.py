"""How figures look: colours that the colour-blind can tell apart, dashes and markers that survive a grey printer."""

from __future__ import annotations

from typing import Any

#: Okabe and Ito's palette, darkest contrasts first, each with a dash and a marker of its own
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#000000")
_DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS = ("o", "s", "^", "D", "x")


def panels(count: int, *, columns: int = 2, height: float = 3.4) -> tuple[Any, Any]:
    """A figure with so many panels, and the panels."""
    from matplotlib.figure import Figure

    columns = min(columns, count)
    rows = -(-count // columns)
    figure = Figure(figsize=(4.6 * columns, height * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False).ravel()
    for axis in axes[count:]:
        axis.set_visible(False)
    for axis in axes:
        axis.grid(True, color="0.88", linewidth=0.6)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes[:count]


def style(index: int, *, markers: bool = False) -> dict[str, Any]:
    """The look of the index-th curve of a panel."""
    index %= len(_COLOURS)
    look: dict[str, Any] = {"color": _COLOURS[index], "linestyle": _DASHES[index], "linewidth": 1.6}
    return look | ({"marker": _MARKERS[index], "markersize": 4.5} if markers else {})


def dots(index: int) -> dict[str, Any]:
    """Hollow markers without a line: estimates beside an exact curve."""
    index %= len(_COLOURS)
    return {
        "color": _COLOURS[index],
        "linestyle": "none",
        "marker": _MARKERS[index],
        "markersize": 5,
        "markerfacecolor": "none",
    }


def label(axis: Any, title: str, x: str, y: str, *, log: str = "", legend: bool = True) -> None:
    """Title, axes and legend of a panel; `log` names the axes on a logarithmic scale."""
    axis.set_title(title, fontsize=10)
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    if "x" in log:
        axis.set_xscale("log")
    if "y" in log:
        axis.set_yscale("log")
    if legend:
        axis.legend(fontsize=8, facecolor="white", edgecolor="none", framealpha=0.85)
