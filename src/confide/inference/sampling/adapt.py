"""Adaptation of the random walk, during warm-up only and pooled over the chains."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from confide.inference.kernel.proposal import Proposal


class Adaptation(NamedTuple):
    """The size and shape of the walk, and what they were learned from."""

    log_size: jax.Array
    mean: jax.Array
    covariance: jax.Array
    steps: jax.Array

    def proposal(self) -> Proposal:
        """The walk in free coordinates."""
        k = self.mean.size
        jitter = 1e-12 * jnp.eye(k) * (jnp.trace(self.covariance) / k + 1e-300)
        return Proposal(jnp.exp(self.log_size) * jnp.linalg.cholesky(self.covariance + jitter), on="free")


def start(free: np.ndarray) -> Adaptation:
    """From the chains' starts (chains, k)."""
    k = free.shape[-1]
    plain = math.log(2.4 / math.sqrt(k)), np.mean(free, axis=0), np.eye(k), 1.0
    return Adaptation(*(jax.device_put(np.asarray(part, dtype=np.float64)) for part in plain))


def update(adaptation: Adaptation, free: jax.Array, accepted: jax.Array) -> Adaptation:
    """Robbins–Monro on the size, towards the acceptance that suits the dimension; running moments for the shape.

    The gain falls as t^{−0.6} for the size, and as t^{−0.8} for the moments, which forgets the starts.
    """
    log_size, mean, covariance, steps = adaptation
    k = mean.size
    wanted = 0.4 if k == 1 else 0.28
    rate = jnp.mean(accepted)
    log_size = log_size + 2.0 * steps**-0.6 * (rate - wanted)
    gain = (steps + 2.0) ** -0.8
    centred = free - mean
    mean = mean + gain * jnp.mean(centred, axis=0)
    covariance = covariance + gain * (centred.T @ centred / free.shape[0] - covariance)
    return Adaptation(log_size, mean, covariance, steps + 1.0)
