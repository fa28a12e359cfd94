"""The density, or on a lattice the mass, of the noise between a mean and the published value."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.likelihood.noise.channel import noise_step
from confide.likelihood.noise.transform import DiscreteTransform, GaussianTransform, LaplaceTransform, NoiseTransform

#: how near to a half a mean, in steps of the noise, is one: a mean of floats is known to 1e-12 of its range
_TIE = 1e-9


def log_noise(transform: NoiseTransform, gap: Any) -> Any:
    """log g(y | mean) where the mean is `gap` below y; with noise on a lattice y is on it, and the mean is rounded."""
    xp: Any = jnp if isinstance(gap, jax.Array) else np
    scale, step = float(transform.scale), noise_step(transform)  # type: ignore[attr-defined]
    if isinstance(transform, DiscreteTransform):
        # halves are rounded up, and round numbers meet halves, which the rounding of floats must not part
        gap = step * xp.ceil(gap / step - 0.5 - _TIE)
    if isinstance(transform, LaplaceTransform) or not np.isinf(transform.pole):
        return -xp.abs(gap) / scale + math.log(0.5 / scale if step == 0 else math.tanh(0.5 * step / scale))
    assert isinstance(transform, GaussianTransform | DiscreteTransform)
    return -0.5 * (gap / scale) ** 2 - _log_total(scale, step)


def _log_total(scale: float, step: float) -> float:
    """log Σ e^{−(k step)²/2 scale²}, which for a fine lattice is nearly an integral; for none, that integral."""
    s = scale / step if step > 0 else math.inf
    k = np.arange(-40, 41)
    if s < 1.0:
        return float(np.log(np.sum(np.exp(-0.5 * (k / s) ** 2))))
    fine = 0.0 if math.isinf(s) else float(np.log(np.sum(np.exp(-2.0 * (math.pi * s * k) ** 2))))
    return math.log((scale if step == 0 else s) * math.sqrt(2.0 * math.pi)) + fine
