"""Noisy counts of any number of records, all alike beforehand, at one θ inside somebody's trace.

    Σ_n p_n(y | q) = ∫ e^{−t} Π_j G_j(q_j t) dt,      G_j(w) = Σ_{c ≥ 0} wᶜ/c!·g(y_j − c)

(`totals.cells` derives it, and computes it where θ is known), by the trapezoidal rule in log t, with half the step that
is begun with there. The derivative in q_j is the mean of E[c_j]/q_j over t.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from confide.likelihood.cells.traced import CellSums
from confide.likelihood.cells.window import CountNoise

#: nats below the largest at which a t is left out
_DROP = 42.0
#: the widest step in log t, and its share of a Poisson law's width; points that are looked at together
_STEP, _SHARE, _BLOCK = 0.125, 0.35, 16
#: steps of the search for the mode, at most
_STEPS = 100


@partial(jax.custom_jvp, nondiff_argnums=(3,))
def over_means(q: jax.Array, y: jax.Array, numbers: Any, exponential: bool) -> jax.Array:
    """log p(y | q) of cells (J,), summed over n; `numbers` are the noise's scale and peak."""
    return _value_and_slopes(q, y, numbers, exponential)[0]


@over_means.defjvp
def _(exponential: bool, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    q, y, numbers = primals
    value, slopes = _value_and_slopes(q, y, numbers, exponential)
    return value, jnp.sum(slopes * tangents[0])


def _value_and_slopes(q: jax.Array, y: jax.Array, numbers: Any, exponential: bool) -> tuple[jax.Array, jax.Array]:
    q, y, numbers = (jax.lax.stop_gradient(part) for part in (q, y, numbers))
    noise = CountNoise(exponential, numbers[0], numbers[1])
    sums = CellSums(noise, q, y, 1)
    rise = noise.log_g(jnp, y, 1.0) - noise.log_g(jnp, y, 0.0)

    def at(log_t: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The logarithm of the integrand in log t, and ∂/∂q of it."""
        total, mean, _ = sums.moments(log_t)
        log_total = jnp.sum(sums.windows(log_t)[1] + jnp.log(total))
        none = jnp.exp(log_t + jnp.where(sums.some, 0.0, rise))
        slopes = jnp.where(sums.some, mean / jnp.where(sums.some, q, 1.0), none)
        return log_total - jnp.exp(log_t) + log_t, slopes

    middle = _mode(sums)
    top = at(middle)[0]

    def end(way: float) -> jax.Array:
        start = 0.5 * _SHARE / jnp.sqrt(1 + jnp.exp(middle))
        return middle + way * jax.lax.while_loop(
            lambda step: at(middle + way * step)[0] > top - _DROP, lambda step: 1.6 * step, start
        )

    low, high = end(-1.0), end(1.0)
    step = jnp.minimum(_STEP, _SHARE / jnp.sqrt(jnp.maximum(jnp.exp(high), 1.0)))
    count = jnp.maximum(jnp.ceil((high - low) / step), 16.0)
    step = (high - low) / count

    def add(i: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        k = i * _BLOCK + jnp.arange(float(_BLOCK))
        logs, slopes = jax.vmap(at)(low + step * jnp.minimum(k, count))
        weight = jnp.where(k <= count, jnp.exp(logs - top), 0.0)
        return state[0] + jnp.sum(weight), state[1] + weight @ slopes

    blocks = jnp.ceil((count + 1) / _BLOCK).astype(jnp.int32)
    total, slopes = jax.lax.fori_loop(0, blocks, add, (jnp.zeros(()), jnp.zeros(q.size)))
    return top + jnp.log(total * step), slopes / total


def _mode(sums: CellSums) -> jax.Array:
    """Where the integrand in log t is largest: 1 − t + Σ E c_j = 0, whose left side falls; Newton in a bracket."""
    whole = jnp.maximum(jnp.sum(sums.y), 0.0)
    high = jnp.log(whole + 100 * sums.noise.scale + 100) + 3

    def improve(state: Any) -> Any:
        here, low, high, _, count = state
        _, mean, variance = sums.moments(here)
        rising = 1 - jnp.exp(here) + jnp.sum(mean)
        low, high = jnp.where(rising > 0, here, low), jnp.where(rising > 0, high, here)
        step = rising / jnp.maximum(jnp.exp(here) - jnp.sum(variance), 1e-300)
        settled = jnp.abs(step) < 0.1 / jnp.sqrt(1 + jnp.exp(here))
        newton = jnp.where((low < here + step) & (here + step < high), here + step, 0.5 * (low + high))
        return jnp.where(settled, here, newton), low, high, settled, count + 1

    def unsettled(state: Any) -> jax.Array:
        return ~state[3] & (state[4] < _STEPS)

    start = (jnp.log(whole + 1), jnp.asarray(-60.0), high, jnp.asarray(False), jnp.zeros((), jnp.int32))
    found: jax.Array = jax.lax.while_loop(unsettled, improve, start)[0]
    return found
