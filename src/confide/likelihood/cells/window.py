"""Which counts a published number can stand for: where Poisson weights times the noise are not negligible.

The likelihood of noisy counts is made of the weights w(c) = μᶜ/c!·g(y − c) of each cell (`sums`). They are log-concave,
so that there is one mode, from which the logarithm falls by at least δx + x²/2v after x steps: δ the first step's fall,
v the Poisson variance there and, for Gaussian noise, the noise's as well. Where that is `DROP` the rest is lost in
rounding. The window follows the mode and not y: where y disagrees with μ, it is that of a tilted Poisson law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

#: weights below e^−38 of the largest are left out: all together they are below rounding
DROP = 38.0
#: counts added to a window: one where the mode is rounded down, and those next to a kink, whose slope is not the mode's
_SLACK = 3.0


@dataclass(frozen=True)
class CountNoise:
    """The noise on a count: log g(v) = peak − |v|/scale, or peak − v²/2scale², on the line or on whole numbers."""

    exponential: bool
    scale: Any
    #: log g(0)
    peak: Any
    #: the step of its lattice; None on the line
    step: float | None = None

    def log_g(self, namespace: Any, y: Any, counts: Any) -> Any:
        """log g(y − c)."""
        v = (y - counts) / self.scale
        return self.peak - (namespace.abs(v) if self.exponential else 0.5 * v * v)


def omega(namespace: Any, z: Any) -> Any:
    """v > 0 with v + log v = z (Wright's omega), by Halley's steps on log v; any start converges, and these are near.

    >>> import numpy as np
    >>> v = omega(np, np.array([-30.0, 0.5, 1e6]))
    >>> bool(np.all(np.abs(v + np.log(v) - [-30.0, 0.5, 1e6]) < 1e-9))
    True
    """
    large = namespace.maximum(z, 1.5)
    u = namespace.where(z > 1.5, namespace.log(large - namespace.log(large)), namespace.minimum(z, 1.5) * 0.6)
    u = namespace.where(z < -2.0, z, u)
    for _ in range(4):
        v = namespace.exp(u)
        off = v + u - z
        u = u - off / (1 + v - 0.5 * off * v / (1 + v))
    return namespace.exp(u)


def middle(namespace: Any, noise: CountNoise, mu: Any, y: Any) -> tuple[Any, Any]:
    """Roughly the mean and the variance of c under w: exact enough to start from.

    For Gaussian noise the mode solves log μ − log c = (c − y)/σ². Laplace noise stands in as one of its variance whose
    pull is at most 1/b.
    """
    variance = 2 * noise.scale**2 if noise.exponential else noise.scale**2
    positive = mu > 0
    safe = namespace.where(positive, mu, 1.0)
    mean = variance * omega(namespace, namespace.log(safe) + y / variance - namespace.log(variance))
    if noise.exponential:
        low, high = _pulled(namespace, noise, safe)
        mean = namespace.minimum(namespace.maximum(mean, low), high)
        inside = (mean > low) & (mean < high)
        spread = namespace.where(inside, mean * variance / (mean + variance), mean)
    else:
        spread = mean * variance / (mean + variance)
    return namespace.where(positive, mean, 0.0), namespace.where(positive, spread, 0.0)


def _pulled(namespace: Any, noise: CountNoise, mu: Any) -> tuple[Any, Any]:
    """The modes of the Poisson weights with the noise's slope on either side, μe^{∓1/b}; finite."""
    pull = namespace.exp(namespace.minimum(1 / noise.scale, 200.0))
    return mu / pull, mu * pull


def window(namespace: Any, noise: CountNoise, mu: Any, y: Any) -> tuple[Any, Any]:
    """The first and the last count of the window, as whole floats; [0, 2] at least, where a cell has no probability."""
    positive = mu > 0
    safe = namespace.where(positive, mu, 1.0)
    if noise.exponential:
        low, high = _pulled(namespace, noise, safe)
        mode = namespace.floor(namespace.minimum(namespace.maximum(y, low), high))
        slope = namespace.log((mode + 1) / safe)
        right = slope + namespace.where(mode + 1 > y, 1.0, -1.0) / noise.scale
        left = (
            -namespace.log(namespace.maximum(mode, 0.5) / safe) + namespace.where(mode < y + 1, 1.0, -1.0) / noise.scale
        )
        bend = 0.0
    else:
        mode = namespace.floor(middle(namespace, noise, mu, y)[0])
        right = left = namespace.zeros_like(mode)
        bend = 0.5 / noise.scale**2
    reach = DROP / 3 + namespace.sqrt(DROP**2 / 9 + 2 * DROP * (mode + 2))
    up = _fall(namespace, right, bend + 0.5 / (mode + 2 + reach / 3))
    down = _fall(namespace, left, bend + 0.5 / (mode + 1))
    first = namespace.maximum(namespace.floor(mode - down - _SLACK), 0.0)
    last = namespace.ceil(mode + up + _SLACK)
    return namespace.where(positive, first, 0.0), namespace.where(positive, last, 2.0)


def _fall(namespace: Any, slope: Any, curve: Any) -> Any:
    """x with slope·x + curve·x² = DROP; in a form in which nothing cancels."""
    slope = namespace.maximum(slope, 0.0)
    return 2 * DROP / (slope + namespace.sqrt(slope * slope + 4 * curve * DROP))
