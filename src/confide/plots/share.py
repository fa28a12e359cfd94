"""Who says how much: the information of channels as shares of the best, or of what the records themselves say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from confide.plots.style import BLUE, GREY, new_figure, styled

#: bars, and characters of a label: what a picture of a page's width holds
_MOST = 10
_LONGEST, _TAIL = 48, 14


class Bar(NamedTuple):
    """A channel, its share, and whether it leads."""

    label: str
    share: float
    best: bool


def bars(labels: Sequence[str], shares: Sequence[float]) -> list[Bar]:
    """The first ten in the order of the table, so that the first is the best; what has no share is left out.

    >>> bars(["abs", "square"], [0.268, 0.059])
    [Bar(label='abs', share=0.268, best=True), Bar(label='square', share=0.059, best=False)]
    """
    told = zip(labels, shares, strict=True)
    drawn = [Bar(shorten(label), float(share), i == 0) for i, (label, share) in enumerate(told) if np.isfinite(share)]
    return drawn[:_MOST]


def shorten(label: str) -> str:
    """A label that fits beside a bar."""
    return label if len(label) <= _LONGEST else f"{label[: _LONGEST - _TAIL]}…{label[-_TAIL:]}"


def plot_bars(drawn: Sequence[Bar], title: str) -> Any:
    """Horizontal bars with their numbers, the best on top; returns the figure."""
    with styled():
        figure, (axis,) = new_figure(7.2, 0.9 + 0.36 * len(drawn))
        places = np.arange(len(drawn))[::-1]
        colours = [BLUE if bar.best else "#B8C9D6" for bar in drawn]
        axis.barh(
            places, [bar.share for bar in drawn], color=colours, edgecolor=[BLUE if b.best else GREY for b in drawn]
        )
        for place, bar in zip(places, drawn, strict=True):
            axis.text(
                bar.share + 0.01, place, f"{bar.share:.0%}" if bar.share >= 0.1 else f"{bar.share:.1%}", va="center"
            )
        axis.set_yticks(places, [bar.label for bar in drawn])
        axis.set_xlim(0, max(1.0, *(bar.share for bar in drawn)) * 1.08)
        axis.xaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
        axis.tick_params(axis="y", length=0)
        figure.suptitle(title, x=0.01, ha="left", fontsize="medium")
    return figure
