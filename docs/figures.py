"""Draw the documentation's pictures: python docs/figures.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpyro.distributions as dist
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch

import confide as cf
from confide.plots.posterior import plot_posterior
from confide.plots.style import new_figure, styled, svg

HERE = Path(__file__).parent / "img"
INK, OBSERVED = "#1b2733", "#c9d8e3"


def node(axis: Any, at: tuple[float, float], label: str, *, observed: bool = False) -> None:
    """A variable."""
    axis.add_patch(
        Circle(at, 0.16, facecolor=OBSERVED if observed else "white", edgecolor=INK, linewidth=1.2, zorder=2)
    )
    axis.text(*at, label, ha="center", va="center", fontsize=12, zorder=3)


def arrow(axis: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    """What depends on what."""
    axis.add_patch(FancyArrowPatch(start, end, arrowstyle="-|>", mutation_scale=13, color=INK, shrinkA=17, shrinkB=17))


def plate(axis: Any, low: tuple[float, float], size: tuple[float, float], label: str) -> None:
    """What is repeated."""
    axis.add_patch(FancyBboxPatch(low, *size, boxstyle="round,pad=0.02", facecolor="none", edgecolor="#767676"))
    axis.text(low[0] + size[0] - 0.02, low[1] + 0.03, label, ha="right", va="bottom", fontsize=9, color="#5b6b7a")


def models() -> Figure:
    """The paper's four graphical models."""
    figure, axes = new_figure(10.0, 3.1, 4)
    titles = (
        "1  S integrated: it is normal",
        "2  S latent",
        "3  z behind the records latent",
        "4  one value per record",
    )
    for axis, title in zip(axes, titles, strict=True):
        axis.set(xlim=(-0.75, 0.75), ylim=(-0.3, 1.85), aspect="equal")
        axis.axis("off")
        axis.set_title(title, fontsize=10, loc="center")
    theta, middle, y = (0.0, 1.6), (0.0, 0.8), (0.0, 0.0)
    one, two, three, four = axes
    arrow(one, theta, y)
    arrow(two, theta, middle)
    arrow(two, middle, y)
    node(two, middle, "$S$")
    x, z = (-0.3, 0.8), (0.4, 0.8)
    for start, end in ((theta, x), (z, x), (x, y)):
        arrow(three, start, end)
    plate(three, (-0.56, 0.5), (1.22, 0.56), "$t = 1 … n$")
    node(three, x, "$x_t$")
    node(three, z, "$z_t$")
    low, beside = (-0.3, 0.0), (0.4, 0.8)
    for start, end in ((theta, x), (beside, x), (x, low)):
        arrow(four, start, end)
    plate(four, (-0.56, -0.24), (1.22, 1.3), "$t = 1 … n$")
    node(four, x, "$x_t$")
    node(four, beside, "$z_t$")
    for axis, at, label in ((one, y, "$Y$"), (two, y, "$Y$"), (three, y, "$Y$"), (four, low, "$Y_t$")):
        node(axis, theta, r"$\theta$")
        node(axis, at, label, observed=True)
    return figure


def posterior() -> Figure:
    """The first page's picture: a published 1.21, and what it says."""
    channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(scale=0.1), n=100)
    prior = {"variance": dist.InverseGamma(2.0, 2.0)}
    found = cf.infer(cf.populations.normal_variance(), cf.Release(channel, 1.21), prior)
    figure, panels = new_figure(7.2, 3.0)
    plot_posterior(found, panels)
    return figure


def adaptive() -> Figure:
    """One run each of two plans: how the posterior of the mean narrows, and what is asked."""
    population, prior = cf.populations.normal_mean(variance=10.0), {"mean": dist.Normal(0.0, 100.0)}
    figure, panels = new_figure(9.0, 3.2, 2)
    for panel, epsilon in zip(panels, (2.0, 10.0), strict=True):
        plan = cf.adapt(population, prior, privacy=cf.PureDP(epsilon), batches=[1] * 1000)
        runs = plan.simulated([[50.0]], key=3)
        mean, sd = runs.mean[0, :, 0], runs.sd[0, :, 0]
        panel.fill_between(runs.at, mean - 2 * sd, mean + 2 * sd, color=OBSERVED, step="pre", label="mean ± 2 sd")
        panel.axhline(50.0, color=INK, linewidth=0.8)
        bit, low, high = runs.questions[0].T
        person = np.arange(1, 1001)
        panel.scatter(person[bit > 0], low[bit > 0], s=3, color="#b3541e", label="threshold of a bit")
        clip = bit == 0
        if clip.any():
            panel.vlines(person[clip], low[clip], high[clip], color="#1b6ca8", alpha=0.25, linewidth=0.7, label="clip")
        panel.set(xscale="log", ylim=(20.0, 80.0), xlabel="persons", title=f"ε = {epsilon:g}")
        panel.legend(fontsize=8)
    panels[0].set_ylabel("x")
    return figure


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    with styled():
        for draw in (models, posterior, adaptive):
            (HERE / f"{draw.__name__}.svg").write_text(svg(draw()), encoding="utf-8")
