"""Algorithm 4 for many releases at once: Metropolis–Hastings on the normal model, a chain per release.

Section 5.1 asks for 62,000 chains of 100,000 steps. Nothing of a step is stored: chains are the vectorised axis of one
loop, θ is summed as it goes, and the randomness is a small generator (xoshiro128++) that each chain carries, seeded by
JAX. It is the paper's algorithm with its walk on log θ; the target, the Jacobian and the acceptance are those of the
kernel `confide.inference.kernel.Marginal`, which a test runs beside it. Steps are in single precision (a test runs them
in double as well), sums in double.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from confide._precision import float64
from confide._random import as_key
from confide.paper.moments import clipped_moments

#: steps written out in the body of the loop
_UNROLL = 8
#: log θ is kept within these where the prior has no ends
_FARTHEST = 80.0


class MetropolisChains(NamedTuple):
    """Per chain: the mean of θ over the kept steps and the share of accepted proposals."""

    mean: np.ndarray
    acceptance: np.ndarray


class _Generator(NamedTuple):
    """The state of xoshiro128++ (Blackman and Vigna 2021), a column per chain."""

    a: jax.Array
    b: jax.Array
    c: jax.Array
    d: jax.Array

    def bits(self) -> tuple[_Generator, jax.Array]:
        found = _rotate(self.a + self.d, 7) + self.a
        c, d = self.c ^ self.a, self.d ^ self.b
        return _Generator(self.a ^ d, self.b ^ c, c ^ (self.b << 9), _rotate(d, 11)), found


def _rotate(bits: jax.Array, by: int) -> jax.Array:
    return (bits << by) | (bits >> (32 - by))


def _uniform(bits: jax.Array, dtype: Any) -> jax.Array:
    """In (0, 1), never an end: 23 bits and a half."""
    return ((bits >> 9).astype(dtype) + 0.5) * 2.0**-23


def _log_target(
    log_theta: jax.Array, value: jax.Array, scale: jax.Array, ends: tuple[float, float] | None, power: int, n: int
) -> jax.Array:
    """The log density of log θ: normal likelihood, prior flat on θ between its ends (or, mistakenly, on log θ)."""
    mean, variance = clipped_moments(jnp.exp(log_theta), power, 10.0)
    spread = variance / n + scale**2
    found = -0.5 * jnp.log(spread) - 0.5 * (value - mean) ** 2 / spread
    if ends is None:
        return jnp.where(jnp.abs(log_theta) < _FARTHEST, found, -jnp.inf)
    low, high = (math.log(end) for end in ends)
    return jnp.where((log_theta > low) & (log_theta < high), found + log_theta, -jnp.inf)


@partial(jax.jit, static_argnames=("ends", "power", "n", "dtype"))
def _run(
    values: jax.Array,
    scales: jax.Array,
    seeds: jax.Array,
    sd: float,
    start: float,
    blocks: int,
    *,
    ends: tuple[float, float] | None,
    power: int,
    n: int,
    dtype: Any,
) -> tuple[jax.Array, jax.Array]:
    values, scales = values.astype(dtype), scales.astype(dtype)
    target = partial(_log_target, value=values, scale=scales, ends=ends, power=power, n=n)
    burn = blocks // 4
    step_size = jnp.asarray(sd * math.sqrt(2.0), dtype)

    def step(generator: _Generator, t: jax.Array, density: jax.Array) -> tuple[Any, ...]:
        generator, first = generator.bits()
        generator, second = generator.bits()
        proposed = t + step_size * jax.lax.erf_inv(2.0 * _uniform(first, dtype) - 1.0)
        there = target(proposed)
        accepted = jnp.log(_uniform(second, dtype)) < there - density
        return generator, jnp.where(accepted, proposed, t), jnp.where(accepted, there, density), accepted

    def block(index: jax.Array, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        generator, t, density, total, moved = carry
        thetas, moves = jnp.zeros_like(t), jnp.zeros(t.shape, jnp.int32)
        for _ in range(_UNROLL):
            generator, t, density, accepted = step(generator, t, density)
            thetas, moves = thetas + jnp.exp(t), moves + accepted
        kept = index >= burn
        return generator, t, density, total + jnp.where(kept, thetas, 0.0), moved + jnp.where(kept, moves, 0)

    t = jnp.full(values.shape, jnp.log(start), dtype)
    sums = jnp.zeros(values.shape, jnp.float64), jnp.zeros(values.shape, jnp.int32)
    carry = jax.lax.fori_loop(0, blocks, block, (_Generator(*seeds), t, target(t), *sums))
    kept = (blocks - burn) * _UNROLL
    return carry[3] / kept, carry[4] / kept


@float64
def metropolis(
    values: Any,
    scales: Any,
    *,
    power: int,
    n: int,
    steps: int,
    key: Any,
    sd: float = 1.0,
    ends: tuple[float, float] | None = (0.01, 60.0),
    start: float = 2.0,
    double: bool = False,
) -> MetropolisChains:
    """Algorithm 4 on the normal model of the mean of |x|^power over n records, a chain per value, 3/4 of `steps` kept.

    `ends` are those of the uniform prior of θ; None is the improper prior of the published code, flat on log θ.

    >>> found = metropolis([1.128379], [0.02], power=1, n=100, steps=20_000, key=0)
    >>> bool(abs(found.mean[0] - 2.06) < 0.1)
    True
    """
    values, scales = np.broadcast_arrays(np.asarray(values, np.float64), np.asarray(scales, np.float64))
    seeds = jax.random.bits(as_key(key), (4, *values.shape), jnp.uint32) | jnp.uint32(1)
    dtype = jnp.float64 if double else jnp.float32
    options = {"ends": ends, "power": power, "n": n, "dtype": dtype}
    mean, moved = _run(jnp.asarray(values), jnp.asarray(scales), seeds, sd, start, steps // _UNROLL, **options)
    return MetropolisChains(np.asarray(mean), np.asarray(moved))
