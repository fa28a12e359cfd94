"""What the paper draws: information against θ, against the privacy level and against n, on a log scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from confide._precision import float64
from confide.channel import Channel
from confide.design.evaluate import evaluate
from confide.design.levels import unit_of, with_privacy
from confide.design.points import Points
from confide.errors import IncompatibleError, InvalidArgument
from confide.model import Model
from confide.plots.information import InformationCurve, draw, lines
from confide.plots.style import styled

if TYPE_CHECKING:
    from confide.design.comparing.comparison import Comparison


@float64
def plot(comparison: Comparison, ax: Any, against: str, values: Any, theta: Any) -> Any:
    """Draw, and return the axes."""
    import matplotlib.pyplot as plt

    if against not in ("theta", "privacy", "n"):
        raise InvalidArgument("against", against, "cannot be drawn against", "use 'theta', 'privacy' or 'n'")
    with styled():
        if ax is None:
            _, ax = plt.subplots(figsize=(7.2, 3.8), layout="constrained")
        if against == "theta":
            _against_theta(comparison, ax)
        else:
            _against_other(comparison, ax, against, values, theta)
        _finish(comparison, ax)
    return ax


def _finish(comparison: Comparison, ax: Any) -> None:
    ax.set_yscale("log")
    ax.set_ylabel("Fisher information" if comparison.points.thetas.shape[1] == 1 else "trace of F")
    ax.legend()


def _against_theta(comparison: Comparison, ax: Any) -> None:
    thetas = comparison.points.thetas
    if thetas.shape[1] > 1:
        raise IncompatibleError("theta has several parameters; draw the information against 'privacy' or 'n' instead")
    for line in lines(comparison.evaluations):
        draw(ax, line)
    ax.set_xlabel(next(iter(comparison.evaluations.values())).model.population.names[0])


def _against_other(comparison: Comparison, ax: Any, against: str, values: Any, theta: Any) -> None:
    numbers = np.asarray([] if values is None else values, dtype=float).ravel()
    if numbers.size == 0:
        raise InvalidArgument("values", values, "names nothing to draw against", f"give the values of {against}")
    population = next(iter(comparison.evaluations.values())).model.population
    given = comparison.points.thetas[len(comparison.points.thetas) // 2] if theta is None else theta
    at = Points(np.asarray(population.theta(given)).reshape(1, -1), np.ones(1))
    label = "n"
    for name, each in comparison.evaluations.items():
        channel = each.model.channel
        found, errors = [], []
        for number in numbers:
            if against == "n":
                changed = Channel(channel.statistic, channel.mechanism, int(number))
            else:
                changed, label = with_privacy(channel, float(number)), unit_of(channel.guarantee)
            result = evaluate(Model(population, changed), at, comparison.method, 0)
            found.append(np.trace(result.matrices[0]))
            errors.append(np.sqrt(np.sum(np.diagonal(result.errors[0]) ** 2)))
        draw(ax, InformationCurve(name, numbers, np.asarray(found), np.asarray(errors)))
    ax.set_xlabel(label)
