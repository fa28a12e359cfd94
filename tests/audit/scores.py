"""Fisher information by numeric scores: p(y | θ) at four neighbours of θ, Richardson's extrapolation, one sum over y."""

from __future__ import annotations

import numpy as np


def information(at, theta, widths, step: float) -> np.ndarray:
    """F = ∫ ∂p ∂pᵀ / p dy. `at(θ)` is p on points y, `step` apart, that are the same for every θ."""
    p = at(theta)
    slopes = [_slope(lambda t, i=i: at(_moved(theta, i, t)), width) for i, width in enumerate(widths)]
    seen = p > 1e-13 * p.max()
    return np.asarray([[step * np.sum((a * b)[seen] / p[seen]) for b in slopes] for a in slopes])


def _moved(theta, i, t):
    return tuple(value + t * (k == i) for k, value in enumerate(theta))


def _slope(at, width):
    """(8(f(h/2) − f(−h/2)) − (f(h) − f(−h)))/6h."""
    near, far = at(0.5 * width) - at(-0.5 * width), at(width) - at(-width)
    return (8 * near - far) / (6 * width)
