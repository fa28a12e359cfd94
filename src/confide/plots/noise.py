"""Where the statistic of the records lies, given the published value and the noise alone."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.mechanism.additive import AdditiveLaw
from confide.plots.style import BLUE, new_figure, styled
from confide.published import Release

Floats = NDArray[np.float64]


class Spread(NamedTuple):
    """The density of the noise around the published value, and its central 90%."""

    value: float
    at: Floats
    density: Floats
    interval: tuple[float, float]


def spread(release: Release) -> Spread | None:
    """What is drawn; None where the noise depends on the records, or several numbers were published.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
    >>> tuple(round(end, 3) for end in spread(cf.Release(channel, 0.4172)).interval)
    (0.394, 0.44)
    """
    law = release.channel.law
    if not isinstance(law, AdditiveLaw) or release.channel.value_shape != ():
        return None
    with jax.enable_x64(True):
        reach = 6.0 * float(np.sqrt(law.noise.variance))
        noise = np.linspace(-reach, reach, 1201)
        cdf = np.asarray(law.noise.cdf(jnp.asarray(noise)))
        density = np.gradient(cdf, noise)
    value, half = float(release.value), law.margin(0.9)
    return Spread(value, value + noise, density, (value - half, value + half))


def plot_spread(drawn: Spread, label: str) -> Any:
    """The density with its middle shaded; returns the figure."""
    with styled():
        figure, (axis,) = new_figure(7.2, 2.6)
        inside = (drawn.at >= drawn.interval[0]) & (drawn.at <= drawn.interval[1])
        axis.fill_between(drawn.at[inside], drawn.density[inside], color=BLUE, alpha=0.25, linewidth=0, label="90%")
        axis.plot(drawn.at, drawn.density, color=BLUE)
        axis.axvline(drawn.value, color="black", linestyle=":", linewidth=1.2, label=f"published: {drawn.value:.5g}")
        axis.set_ylim(bottom=0)
        axis.set_yticks([])
        axis.set_xlabel(label)
        axis.legend()
    return figure
