"""The probability that noise lies between two ends, in logarithms: what is known of a number that was rounded.

Both ends on one side of 0 it is a difference of two tails there, so that nothing cancels however far out they are;
around 0 it is what two tails leave of one.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, logsumexp

Floats = NDArray[np.float64]

#: standard deviations beyond the first point of a tail of the discrete Gaussian law that are summed
_SUMMED = 10.0
#: points summed at once
_BLOCK = 2**22


class KnownNoise(Protocol):
    """What is asked of noise: its scale, its step, and whether it is Laplace's."""

    @property
    def scale(self) -> Any:
        """The scale."""

    @property
    def step(self) -> Any:
        """The step of its lattice; None on the line."""

    @property
    def exponential(self) -> bool:
        """Whether it is Laplace's, and not Gaussian."""


def log_between(noise: KnownNoise, low: Any, high: Any) -> Floats:
    """log P(low ≤ V ≤ high), of noise on the line or on the multiples of its step, which low and high then are.

    >>> from confide.mechanism import LaplaceNoise
    >>> import math
    >>> found = log_between(LaplaceNoise(1.0), [-math.inf, 700.0, -1.0], [0.0, 701.0, 1.0])
    >>> print(np.exp(found[[0, 2]]).round(8), found[1].round(6))  # 700 + log(2/(1 − 1/e))
    [0.5        0.63212056] -701.151822
    """
    low, high = np.broadcast_arrays(np.asarray(low, dtype=float), np.asarray(high, dtype=float))
    # mirrored, so that the middle is not below 0
    with np.errstate(invalid="ignore"):
        turned = low + high < 0
    low, high = np.where(turned, -high, low), np.where(turned, -low, high)
    step = 0.0 if noise.step is None else float(noise.step)
    inside = low > 0
    from_low = _log_tail(noise, np.where(inside, low, 1.0))
    beyond = np.where(np.isfinite(high), high + step, 1.0)
    past = np.where(np.isfinite(high), _log_tail(noise, np.where(beyond > 0, beyond, 1.0)), -np.inf)
    below = np.where(np.isfinite(low), _log_tail(noise, np.where(inside, 1.0, np.abs(low) + step)), -np.inf)
    with np.errstate(divide="ignore"):
        one_side = from_low + np.log(-np.expm1(np.minimum(past - from_low, 0.0)))
        around = np.log(np.maximum(1.0 - np.exp(past) - np.exp(below), 0.0))
    return np.where(inside, one_side, around)


def _log_tail(noise: KnownNoise, v: Floats) -> Floats:
    """log P(V ≥ v) for v ≥ 0, on a lattice for v of it above 0; on the line also for v = 0, where it is ½."""
    scale, v = float(noise.scale), np.where(np.isfinite(v), v, 1.0)
    if noise.step is None:
        return -v / scale - math.log(2) if noise.exponential else np.asarray(log_ndtr(-v / scale))
    rate, index = float(noise.step) / scale, np.round(v / float(noise.step))
    if noise.exponential:
        return np.asarray(-rate * index - math.log1p(math.exp(-rate)))
    count = math.ceil(_SUMMED / rate) + 1
    whole = np.arange(1, math.ceil(40 / rate) + 2)
    log_all = np.logaddexp(0.0, math.log(2) + logsumexp(-0.5 * (rate * whole) ** 2))
    flat, found = index.ravel(), np.empty(index.size)
    for start in range(0, flat.size, max(_BLOCK // count, 1)):
        points = flat[start : start + max(_BLOCK // count, 1), None] + np.arange(count)
        found[start : start + len(points)] = logsumexp(-0.5 * (rate * points) ** 2, axis=1) - log_all
    return found.reshape(index.shape)


def ends_on(step: float | None, low: float, high: float, *, closed: bool) -> tuple[float, float]:
    """The first and the last multiple of the step in [low, high), or [low, high] where the end is in it."""
    if step is None:
        return low, high
    if math.isfinite(high):
        high = step * (math.floor(high / step + 1e-9) if closed else math.ceil(high / step - 1e-9) - 1)
    return (step * math.ceil(low / step - 1e-9) if math.isfinite(low) else low), high
