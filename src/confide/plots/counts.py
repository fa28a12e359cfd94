"""Counts of cells with what is not known of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from confide.plots.style import BLUE, GREY, VERMILION, new_figure, styled

#: cells beyond which names are left out, and characters of a name that are shown
_MOST_NAMES, _LONGEST = 40, 28


def plot_counts(
    cells: Sequence[str], middle: Any, ends: Any, published: Any = None, words: str = "published, ± noise (90%)"
) -> Any:
    """A bar for each cell with an interval, and what was published where that is something else; returns the figure."""
    middle, ends = np.asarray(middle, dtype=float), np.asarray(ends, dtype=float)
    at = np.arange(len(cells))
    with styled():
        figure, (axis,) = new_figure(7.2, 3.4)
        axis.bar(at, middle, color=BLUE, alpha=0.3, width=0.8)
        axis.vlines(at, ends[:, 0], ends[:, 1], color=BLUE, linestyle="-")
        if published is not None:
            axis.plot(at, published, "x", color=VERMILION, markersize=5, linestyle="none", label="published")
            axis.legend()
        axis.axhline(0.0, color=GREY, linewidth=0.8, linestyle="-")
        axis.set_ylabel(f"records: {words}")
        if len(cells) <= _MOST_NAMES:
            names = [name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…" for name in cells]
            turned = max(map(len, names)) * len(names) > 80
            axis.set_xticks(
                at, names, rotation=45 if turned else 0, ha="right" if turned else "center", fontsize="small"
            )
        else:
            axis.set_xlabel(f"{len(cells)} cells, in their order")
    return figure
