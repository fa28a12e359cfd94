"""Prior and posterior of each parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from confide.posterior import Posterior

Floats = NDArray[np.float64]

#: dark enough to tell apart in grey, and by all eyes
PRIOR, POSTERIOR = "#999999", "#0072B2"
_POINTS = 400


class Curve(NamedTuple):
    """A density over values of one parameter: the posterior's, the prior's, and the central 90%."""

    label: str
    theta: Floats
    posterior: Floats
    prior: Floats | None
    interval: tuple[float, float]


def curves(posterior: Posterior) -> list[Curve]:
    """What is drawn: exact densities where there are any, else smoothed draws."""
    found = []
    ends = posterior.interval(0.9)
    for position, name in enumerate(posterior.names):
        draws = posterior.draws[name].reshape(-1, posterior.draws[name][0, 0].size)
        low, high = (np.ravel(end) for end in ends[name])
        for j in range(draws.shape[1]):
            label = name if draws.shape[1] == 1 else f"{name}[{j}]"
            theta, density = _density(posterior, draws[:, j])
            prior = _prior(posterior, position, theta) if draws.shape[1] == 1 else None
            found.append(Curve(label, theta, density, prior, (float(low[j]), float(high[j]))))
    return found


def _density(posterior: Posterior, draws: Floats) -> tuple[Floats, Floats]:
    exact = posterior.exact
    if exact is not None and exact.theta is not None and exact.density is not None and exact.cdf is not None:
        low, high = np.interp([0.0005, 0.9995], exact.cdf, exact.theta)
        theta = np.linspace(low, high, _POINTS)
        return theta, np.interp(theta, exact.theta, exact.density)
    from scipy.stats import gaussian_kde

    low, high = np.quantile(draws, [0.001, 0.999])
    theta = np.linspace(low, high, _POINTS)
    return theta, gaussian_kde(draws)(theta) if np.ptp(draws) > 0 else np.zeros_like(theta)


def _prior(posterior: Posterior, position: int, theta: Floats) -> Floats:
    with jax.enable_x64(True):
        return np.exp(np.asarray(posterior.prior.parts[position].log_prob(theta)))


def plot_posterior(posterior: Posterior, axes: Any = None) -> Any:
    """One panel per parameter."""
    import matplotlib.pyplot as plt

    drawn = curves(posterior)
    if axes is None:
        _, axes = plt.subplots(1, len(drawn), figsize=(4.2 * len(drawn), 3.2), squeeze=False, layout="constrained")
    panels = np.ravel(axes)
    for panel, curve in zip(panels, drawn, strict=True):
        inside = (curve.theta >= curve.interval[0]) & (curve.theta <= curve.interval[1])
        panel.fill_between(curve.theta[inside], curve.posterior[inside], color=POSTERIOR, alpha=0.25, linewidth=0)
        panel.plot(curve.theta, curve.posterior, color=POSTERIOR, label="posterior, 90% shaded")
        if curve.prior is not None:
            panel.plot(curve.theta, curve.prior, color=PRIOR, linestyle="--", label="prior")
        panel.set_xlabel(curve.label)
        panel.set_ylabel("density")
        panel.set_ylim(bottom=0)
        panel.legend(frameon=False, fontsize="small")
        panel.spines[["top", "right"]].set_visible(False)
    return panels[0].figure
