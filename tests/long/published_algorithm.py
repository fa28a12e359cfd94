"""The algorithm of Yıldırım 2023 for a normal mean and variance, in plain NumPy, and nothing of the library."""

from __future__ import annotations

from typing import Any

import numpy as np

#: half widths of the clip that is best for the mean, in standard deviations
BEST_HALF = {1.0: 0.0706, 2.0: 0.2234, 5.0: 0.7281, 10.0: 1.2244}


def posterior_mean(records: Any, epsilon: float, half: float, generator: Any, particles: int = 1000) -> float:
    """His sequential Monte Carlo with adaptive truncation, as printed but for the noise: its scale is the range over ε.

    The posterior mean of the mean. After SMC_DP_norm of his published code, in our own words.
    """
    n = len(records)
    lows, highs, answers = np.zeros(n), np.zeros(n), np.zeros(n)
    lows[0], highs[0] = -half, half
    mean, sd, latent = np.zeros(particles), np.ones(particles), np.zeros((particles, n))
    for t in range(n):
        scale = (highs[: t + 1] - lows[: t + 1]) / epsilon
        answers[t] = np.clip(records[t], lows[t], highs[t]) + generator.laplace(scale=scale[t])
        if t == 0:
            mean, latent[:, 0] = np.full(particles, answers[0]), answers[0]
        else:
            latent[:, t] = mean + sd * generator.normal(size=particles)
        weight = np.exp(-(off := np.abs(answers[t] - np.clip(latent[:, t], lows[t], highs[t])) / scale[t]) + off.min())
        chosen = np.searchsorted(
            np.cumsum(weight) / weight.sum(), (np.arange(particles) + generator.random()) / particles
        )
        chosen = np.minimum(chosen, particles - 1)
        now, mean, sd = latent[chosen, : t + 1], mean[chosen], sd[chosen]

        def told(x: Any, upto: int = t + 1, scale: Any = scale) -> Any:
            return -np.abs(answers[:upto] - np.clip(x, lows[:upto], highs[:upto])) / scale

        m, s = mean[:, None], sd[:, None]
        for walk in (True, False):
            proposed = (
                (now + 3 * s * generator.normal(size=now.shape)) if walk else m + s * generator.normal(size=now.shape)
            )
            ratio = told(proposed) - told(now)
            if walk:
                ratio += ((now - m) ** 2 - (proposed - m) ** 2) / (2 * s**2)
            now = np.where(np.log(generator.random(now.shape)) < ratio, proposed, now)
        latent[:, : t + 1] = now
        variance = 1 / (1e-4 + (t + 1) / sd**2)
        mean = variance * now.sum(axis=1) / sd**2 + np.sqrt(variance) * generator.normal(size=particles)
        rest = 1 + 0.5 * np.sum((now - mean[:, None]) ** 2, axis=1)
        sd = np.sqrt(rest / generator.gamma(1 + (t + 1) / 2, size=particles))
        if t + 1 < n:
            one = generator.integers(particles)
            lows[t + 1], highs[t + 1] = mean[one] - half * sd[one], mean[one] + half * sd[one]
    return float(mean.mean())
