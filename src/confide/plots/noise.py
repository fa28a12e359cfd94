"""Where the statistic of the records lies, given the published value and the noise alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.evenly import margin_if_even, noise_if_even
from confide.plots.style import BLUE, GREY, empty_figure, new_figure, panels_of, panels_size, styled
from confide.published import Release

Floats = NDArray[np.float64]

#: numbers of a vector that still have a panel each
_MOST_PANELS = 6
#: answers that still have a bar each
_MOST_BARS = 12


class Spread(NamedTuple):
    """The density of the noise around a published number, and its central 90%."""

    label: str
    value: float
    at: Floats
    density: Floats
    interval: tuple[float, float]


def spreads(release: Release) -> list[Spread]:
    """What is drawn, one for each number; nothing where the noise depends on the records, or is each record's own.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
    >>> [drawn] = spreads(cf.Release(channel, 0.4172))
    >>> tuple(round(end, 3) for end in drawn.interval)
    (0.394, 0.44)
    """
    statistic, law = release.channel.statistic, release.channel.law
    if law.added is None or statistic.per_record or statistic.tallies:
        return []
    with jax.enable_x64(True):
        reach = 6.0 * float(np.sqrt(law.added.variance))
        noise = np.linspace(-reach, reach, 1201)
        cdf = np.asarray(law.added.cdf(jnp.asarray(noise)))
    density, half = np.gradient(cdf, noise), law.margin(0.9)
    return [
        Spread(label, value, value + noise, density, (value - half, value + half))
        for label, value in zip(statistic.labels, np.ravel(release.value).tolist(), strict=True)
    ]


def spread_if_even(release: Release) -> Spread | None:
    """What would be drawn if the records lay evenly over the range; None where the noise does not depend on them."""
    margin, found = margin_if_even(release.channel), noise_if_even(release.channel)
    if margin is None or found is None:
        return None
    away, density = (each[found[0] <= 4 * margin] for each in found)
    statistic, value = release.channel.statistic, float(release.value)
    at = np.concatenate([value - away[:0:-1], value + away])
    # the two sides together, as which of them the number came from is not known
    both = 0.5 * np.concatenate([density[:0:-1], density])
    label = f"{statistic.noun} {statistic.transforms[0]}"
    return Spread(label, value, at, both, (value - margin, value + margin))


def plot_spreads(drawn: Sequence[Spread]) -> Any:
    """A panel for each number, or intervals in a row where there are many; returns the figure."""
    with styled():
        if len(drawn) > _MOST_PANELS:
            return _intervals(drawn)
        width, height = panels_size(len(drawn))
        figure = empty_figure(width, 0.8 * height)
        panels = panels_of(figure, len(drawn))
        for panel, each in zip(panels, drawn, strict=True):
            _density(panel, each)
        panels[0].legend()
    return figure


def _density(axis: Any, drawn: Spread) -> None:
    inside = (drawn.at >= drawn.interval[0]) & (drawn.at <= drawn.interval[1])
    axis.fill_between(drawn.at[inside], drawn.density[inside], color=BLUE, alpha=0.25, linewidth=0, label="90%")
    axis.plot(drawn.at, drawn.density, color=BLUE)
    axis.axvline(drawn.value, color="black", linestyle=":", linewidth=1.2, label="published")
    axis.set_ylim(bottom=0)
    axis.set_yticks([])
    axis.set_xlabel(f"{drawn.label}, clipped")


def _intervals(drawn: Sequence[Spread]) -> Any:
    figure, (axis,) = new_figure(7.2, 3.2)
    values = np.asarray([each.value for each in drawn])
    half = np.asarray([each.interval[1] - each.value for each in drawn])
    axis.errorbar(np.arange(1, len(drawn) + 1), values, half, fmt="o", color=BLUE, markersize=4, capsize=3)
    axis.axhline(0.0, color=GREY, linewidth=0.8, linestyle="-")
    axis.set_xlabel("component")
    axis.set_ylabel("published, ± noise (90%)")
    return figure


def plot_answers(values: Any) -> Any:
    """How often each of a few answers was published, or how many numbers spread; returns the figure."""
    answers, counts = np.unique(np.ravel(values), return_counts=True)
    with styled():
        figure, (axis,) = new_figure(7.2, 2.6)
        if answers.size <= _MOST_BARS:
            axis.bar([f"{each:g}" for each in answers], counts, color=BLUE, width=0.6)
        else:
            axis.hist(np.ravel(values), bins=40, color=BLUE)
        axis.set_xlabel("published, noise included")
        axis.set_ylabel("records")
    return figure
