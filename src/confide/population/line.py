"""The real line on which a record is integrated and solved for.

Every density in use decays at least exponentially on both sides of it: x = c + s·sinh v for a support without
ends (so that algebraic tails become exponential), x = low + e^v for a half-line, and a logistic map for an
interval.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.nn import log_sigmoid
from jax.scipy.special import expit, logit


class RealLine(NamedTuple):
    """The map from the real line to the support: its ends, and centre and scale for a support without ends."""

    low: jax.Array
    high: jax.Array
    centre: jax.Array
    scale: jax.Array
    below: bool
    above: bool

    def record(self, v: jax.Array) -> jax.Array:
        """x as a function of the coordinate v."""
        if self.below and self.above:
            width = self.high - self.low
            return jnp.where(v > 0, self.high - width * expit(-v), self.low + width * expit(v))
        if self.below:
            return self.low + jnp.exp(v)
        return self.high - jnp.exp(-v) if self.above else self.centre + self.scale * jnp.sinh(v)

    def log_slope(self, v: jax.Array) -> jax.Array:
        """log dx/dv."""
        if self.below and self.above:
            return jnp.log(self.high - self.low) + log_sigmoid(v) + log_sigmoid(-v)
        if self.below:
            return v
        return -v if self.above else jnp.log(self.scale) + jnp.logaddexp(v, -v) - jnp.log(2.0)

    def coordinate(self, x: jax.Array) -> jax.Array:
        """v as a function of x inside the support."""
        if self.below and self.above:
            return logit((x - self.low) / (self.high - self.low))
        if self.below:
            return jnp.log(x - self.low)
        return -jnp.log(self.high - x) if self.above else jnp.arcsinh((x - self.centre) / self.scale)

    def still(self) -> RealLine:
        """The same line, whose ends have no derivative."""
        low, high, centre, scale = (lax.stop_gradient(part) for part in self[:4])
        return self._replace(low=low, high=high, centre=centre, scale=scale)
