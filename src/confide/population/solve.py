"""Inverting a distribution function given on the real line."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

LogTail = Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]

#: the bracket of ±700 is halved to 1e-12 by 51 steps, if Newton's all leave it
_MOST_STEPS = 100.0
_REACH = 700.0  # e^±700: coordinates beyond it are not numbers on the record's own scale


def invert(log_tail: LogTail, q: jax.Array, start: jax.Array) -> jax.Array:
    """The v with F(v) = q, given the smaller tail: `log_tail(v, lower)` is log F or log(1 − F), and log F′.

    Newton's method on the logarithm of the smaller tail, which is concave where the density is log-concave,
    so that steps from its lower side never overshoot; a step that leaves the bracket is replaced by its
    middle.
    """
    lower = q <= 0.5
    target = jnp.where(lower, jnp.log(q), jnp.log1p(-q))

    def unfinished(carry: tuple[jax.Array, ...]) -> jax.Array:
        count, v, _, _, step = carry
        return (count < _MOST_STEPS) & (jnp.abs(step) > 1e-12 * (1.0 + jnp.abs(v)))

    def improve(carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        count, v, low, high, _ = carry
        value, log_slope = log_tail(v, lower)
        excess = jnp.where(lower, value - target, target - value)  # increases with v
        low, high = jnp.where(excess < 0, v, low), jnp.where(excess > 0, v, high)
        newton = v - excess * jnp.exp(value - log_slope)
        usable = (newton >= low) & (newton <= high)  # False for NaN
        following = jnp.where(excess == 0, v, jnp.where(usable, newton, 0.5 * (low + high)))
        return count + 1.0, following, low, high, following - v

    zero = jnp.zeros_like(q)
    start = jnp.where(jnp.isfinite(start), jnp.clip(start, -_REACH, _REACH), 0.0)
    first: tuple[jax.Array, ...] = (zero, start, zero - _REACH, zero + _REACH, zero + jnp.inf)
    return lax.while_loop(unfinished, improve, first)[1]
