"""The information of channels against θ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.plots.style import COLOURS, LINES

if TYPE_CHECKING:
    from confide.design.evaluate import Evaluation

Floats = NDArray[np.float64]


class InformationCurve(NamedTuple):
    """A channel's information at increasing x, and its standard errors."""

    label: str
    x: Floats
    y: Floats
    error: Floats


def lines(evaluations: Mapping[str, Evaluation]) -> list[InformationCurve]:
    """What is drawn for one parameter: F at every θ, or at those in the middle 98% of a prior."""
    found = []
    for name, each in evaluations.items():
        kept = np.flatnonzero(each.points.body)
        order = kept[np.argsort(each.points.thetas[kept, 0])]
        theta = each.points.thetas[order, 0]
        found.append(InformationCurve(name, theta, each.matrices[order, 0, 0], each.errors[order, 0, 0]))
    return found


def draw(axis: Any, line: InformationCurve) -> None:
    """A line in the next colour and style, with two standard errors around it where there are any."""
    position = len(axis.lines)
    look = {"color": COLOURS[position % len(COLOURS)], "linestyle": LINES[position % len(LINES)]}
    axis.plot(line.x, line.y, label=line.label, **look)
    if np.any(line.error > 0):
        low = np.maximum(line.y - 2 * line.error, np.min(line.y[line.y > 0]) * 1e-3)
        axis.fill_between(line.x, low, line.y + 2 * line.error, color=look["color"], alpha=0.2, linewidth=0)
