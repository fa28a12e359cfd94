"""What chains did: traces, and rank plots (Vehtari et al. 2021), which are flat where chains agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.plots.style import COLOURS, GREY, LINES, new_figure, styled

Floats = NDArray[np.float64]
#: bars of a rank plot, and points of a trace, about as many as a picture has pixels
_BINS = 20
_POINTS = 500


class ChainPicture(NamedTuple):
    """One parameter's draws, thinned for the eye, and how each chain's draws rank among all of them."""

    label: str
    #: the steps that are drawn, and the values there (chain, step)
    steps: NDArray[np.int64]
    values: Floats
    #: (chain, bin) counts of ranks, and what each would be if all chains agreed
    ranks: NDArray[np.int64]
    expected: float


def chains(label: str, draws: Any) -> ChainPicture:
    """What is drawn of draws (chain, draw).

    >>> chains("mean", np.arange(40.0).reshape(2, 20)).ranks.sum(axis=1)
    array([20, 20])
    """
    values = np.asarray(draws, dtype=np.float64)
    steps = np.unique(np.linspace(0, values.shape[1] - 1, min(values.shape[1], _POINTS)).astype(int))
    order = np.empty(values.size, dtype=np.int64)
    order[np.argsort(values, axis=None, kind="stable")] = np.arange(values.size)
    bins = min(_BINS, values.shape[1])
    place = (order * bins // values.size).reshape(values.shape)
    ranks = np.stack([np.bincount(row, minlength=bins) for row in place])
    return ChainPicture(label, steps, values[:, steps], ranks, values.shape[1] / bins)


def plot_chains(drawn: ChainPicture) -> Any:
    """The trace beside the rank plot; returns the figure."""
    with styled():
        figure, (trace, ranks) = new_figure(8.4, 2.7, 2)
        bins = np.arange(drawn.ranks.shape[1] + 1)
        for i, values in enumerate(drawn.values):
            look = {"color": COLOURS[i % len(COLOURS)], "alpha": 0.85}
            trace.plot(drawn.steps, values, linewidth=0.6, linestyle="-", **look)
            ranks.stairs(drawn.ranks[i], bins, linestyle=LINES[i % len(LINES)], label=f"chain {i + 1}", **look)
        ranks.axhline(drawn.expected, color=GREY, linewidth=0.8, linestyle="-")
        ranks.set_ylim(bottom=0)
        ranks.set_xticks([])
        ranks.set_xlabel("rank among all draws, low to high")
        ranks.set_ylabel("draws")
        ranks.legend(ncols=2, loc="lower center")
        trace.set_xlabel("step")
        trace.set_ylabel(drawn.label)
    return figure
