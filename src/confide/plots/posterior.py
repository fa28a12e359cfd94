"""Prior, likelihood and posterior of each parameter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from confide.plots.style import BLUE, GREY, VERMILION, panels_of, panels_size, styled

if TYPE_CHECKING:
    from confide.posterior import Posterior

Floats = NDArray[np.float64]

#: points of a curve: about as many as a picture has pixels
_POINTS = 400


class Curve(NamedTuple):
    """A density over values of one parameter: the posterior's, the prior's, and the central 90%.

    The likelihood is scaled to the area of a density over the values drawn; it is there where the posterior was
    integrated, as the ratio of the two.
    """

    label: str
    theta: Floats
    posterior: Floats
    prior: Floats | None
    likelihood: Floats | None
    interval: tuple[float, float]


def curves(posterior: Posterior) -> list[Curve]:
    """What is drawn: exact densities where there are any, else smoothed draws."""
    found = []
    ends = posterior.interval(0.9)
    for position, name in enumerate(posterior.prior.names):
        draws = posterior.draws[name].reshape(-1, posterior.draws[name][0, 0].size)
        low, high = (np.ravel(end) for end in ends[name])
        for j in range(draws.shape[1]):
            label = name if draws.shape[1] == 1 else f"{name}[{j}]"
            theta, density = _density(posterior, draws[:, j])
            prior = _prior(posterior.prior.parts[position], theta, j, draws.shape[1])
            likelihood = None if prior is None or _grid(posterior) is None else _likelihood(theta, density, prior)
            found.append(Curve(label, theta, density, prior, likelihood, (float(low[j]), float(high[j]))))
    return found


def _grid(posterior: Posterior) -> tuple[Floats, Floats, Floats] | None:
    """θ, density and distribution function, where the posterior of one parameter was integrated."""
    exact = posterior.exact
    if exact is None or exact.theta is None or exact.density is None or exact.cdf is None:
        return None
    return exact.theta, exact.density, exact.cdf


def _likelihood(theta: Floats, density: Floats, prior: Floats) -> Floats | None:
    """p(y | θ), scaled to unit area; None where the prior vanishes on the way."""
    if not np.all(prior > 0):
        return None
    ratio = density / prior
    return np.asarray(ratio / np.trapezoid(ratio, theta))


def _density(posterior: Posterior, draws: Floats) -> tuple[Floats, Floats]:
    grid = _grid(posterior)
    if grid is not None:
        at, exact, cdf = grid
        low, high = np.interp([0.0005, 0.9995], cdf, at)
        theta = np.linspace(low, high, _POINTS)
        return theta, np.interp(theta, at, exact)
    from scipy.stats import gaussian_kde

    low, high = np.quantile(draws, [0.001, 0.999])
    theta = np.linspace(low, high, _POINTS)
    return theta, gaussian_kde(draws)(theta) if np.ptp(draws) > 0 else np.zeros_like(theta)


def _prior(prior: Any, theta: Floats, component: int, size: int) -> Floats | None:
    """The prior's density; of a component of a vector where its law is known."""
    import numpyro.distributions as dist

    with jax.enable_x64(True):
        if isinstance(prior, dist.Dirichlet):
            weights = np.asarray(prior.concentration, dtype=np.float64)
            prior = dist.Beta(weights[component], weights.sum() - weights[component])
        if not prior.event_dim:
            return np.exp(np.asarray(prior.log_prob(theta)))
        if isinstance(prior, dist.Independent) and prior.event_dim == 1 and not prior.base_dist.event_dim:
            each = np.asarray(prior.base_dist.log_prob(theta[:, None]))  # a law for each entry
            return np.exp(np.broadcast_to(each, (theta.size, size))[:, component])
    return None


def plot_posterior(posterior: Posterior, axes: Any = None) -> Any:
    """One panel per parameter; returns the figure."""
    import matplotlib.pyplot as plt

    drawn = curves(posterior)
    with styled():
        if axes is None:
            axes = panels_of(plt.figure(figsize=panels_size(len(drawn)), layout="constrained"), len(drawn))
        return plot_curves(drawn, axes)


def plot_curves(drawn: Sequence[Curve], axes: Any) -> Any:
    """One panel for each; the first explains the lines. Returns the figure."""
    panels = np.ravel(axes)
    with styled():
        for panel, curve in zip(panels, drawn, strict=True):
            _draw(panel, curve)
        panels[0].legend()
    return panels[0].figure


def _draw(panel: Any, curve: Curve) -> None:
    inside = (curve.theta >= curve.interval[0]) & (curve.theta <= curve.interval[1])
    panel.fill_between(curve.theta[inside], curve.posterior[inside], color=BLUE, alpha=0.2, linewidth=0)
    panel.plot(curve.theta, curve.posterior, color=BLUE, linestyle="-", label="posterior, 90% shaded")
    if curve.likelihood is not None:
        panel.plot(curve.theta, curve.likelihood, color=VERMILION, linestyle=":", label="likelihood, scaled")
    if curve.prior is not None:
        panel.plot(curve.theta, curve.prior, color=GREY, linestyle="--", label="prior")
    panel.set_xlabel(curve.label)
    panel.set_ylabel("density")
    panel.set_ylim(bottom=0)
