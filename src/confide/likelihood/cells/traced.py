"""The same integral at one θ inside somebody's trace: loops over whole numbers, with a derivative of their own.

Windows and frequencies are as many as the numbers ask for, so that nothing is fixed beforehand; JAX cannot transpose
such loops, and need not: the derivative in q is a sum beside that of the value.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln

from confide.likelihood.cells.window import CountNoise, middle, window

#: whole numbers, and frequencies, that are summed at once
_CHUNK, _BLOCK = 32, 32
#: as in `sums`
_DECAYED, _ALIASED, _OFF = 1e-18, 44.0, 1.5
#: steps towards the saddlepoint, at most
_STEPS = 200


@partial(jax.custom_jvp, nondiff_argnums=(3, 4))
def log_p(q: jax.Array, y: jax.Array, numbers: Any, exponential: bool, n: int) -> jax.Array:
    """log p(y | q) of cells (J,); `numbers` are the noise's scale and peak."""
    return _value_and_slopes(q, y, numbers, exponential, n)[0]


@log_p.defjvp
def _log_p_jvp(exponential: bool, n: int, primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
    q, y, numbers = primals
    value, slopes = _value_and_slopes(q, y, numbers, exponential, n)
    return value, jnp.sum(slopes * tangents[0])


def _value_and_slopes(
    q: jax.Array, y: jax.Array, numbers: Any, exponential: bool, n: int
) -> tuple[jax.Array, jax.Array]:
    q, y, numbers = (jax.lax.stop_gradient(part) for part in (q, y, numbers))
    noise = CountNoise(exponential, numbers[0], numbers[1])
    sums = CellSums(noise, q, y, n)
    return sums.integral(*_saddle(sums))


class CellSums:
    """CellSums over the windows of all cells, in chunks."""

    def __init__(self, noise: CountNoise, q: jax.Array, y: jax.Array, n: int) -> None:
        self.noise, self.q, self.y, self.n = noise, q, y, n
        self.some = q > 0
        self.log_q = jnp.log(jnp.where(self.some, q, 1.0))

    def windows(self, log_radius: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """First count of each cell, the log weight of its middle, and how many chunks there are."""
        mu = jnp.exp(log_radius) * self.q
        first, last = window(jnp, self.noise, mu, self.y)
        centre = jnp.floor(middle(jnp, self.noise, mu, self.y)[0])
        log_mu = jnp.where(self.some, log_radius + self.log_q, 0.0)
        top = centre * log_mu + self.noise.log_g(jnp, self.y, centre) - gammaln(centre + 1)
        if self.noise.exponential:  # the middle of Laplace noise is a guess, and its kink a candidate
            kink = jnp.clip(jnp.round(self.y), first, last)
            top = jnp.maximum(top, kink * log_mu + self.noise.log_g(jnp, self.y, kink) - gammaln(kink + 1))
        return first, top, jnp.ceil((jnp.max(last - first) + 1) / _CHUNK).astype(jnp.int32)

    def chunk(self, first: jax.Array, top: jax.Array, log_radius: jax.Array, i: jax.Array) -> jax.Array:
        """The weights of chunk i (J, C), in units of the middle's."""
        start = first + i * _CHUNK
        counts = start[:, None] + jnp.arange(_CHUNK)
        logs = jnp.cumsum(jnp.log(jnp.maximum(counts[:, 1:], 1.0)), axis=1)
        factorial = gammaln(start + 1)[:, None] + jnp.pad(logs, ((0, 0), (1, 0)))
        log_mu = jnp.where(self.some, log_radius + self.log_q, 0.0)
        log_w = counts * log_mu[:, None] + self.noise.log_g(jnp, self.y[:, None], counts) - factorial - top[:, None]
        return jnp.where(self.some[:, None] | (counts == 0), jnp.exp(log_w), 0.0)

    def moments(self, log_radius: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        """The sum of the weights of each cell, and the mean and the variance of its count."""
        first, top, chunks = self.windows(log_radius)

        def add(i: jax.Array, total: jax.Array) -> jax.Array:
            places = i * _CHUNK + jnp.arange(_CHUNK, dtype=float)
            powers = jnp.stack([jnp.ones_like(places), places, places**2], axis=1)
            return total + self.chunk(first, top, log_radius, i) @ powers

        total = jax.lax.fori_loop(0, chunks, add, jnp.zeros((self.q.size, 3)))
        above = total[:, 1] / total[:, 0]
        return total[:, 0], first + above, jnp.maximum(total[:, 2] / total[:, 0] - above**2, 0.0)

    def transforms(
        self, k: jax.Array, m: jax.Array, log_radius: jax.Array, found: tuple[Any, ...]
    ) -> tuple[jax.Array, jax.Array]:
        """Σ w e^{iφ(c − first)} and Σ w (c − first) e^{iφ(c − first)} at frequencies k, (J, K) each."""
        first, top, chunks = found
        places = jnp.arange(_CHUNK, dtype=float)
        waves = jnp.exp(2j * math.pi / m * jnp.mod(jnp.outer(places, k), m))

        def add(i: jax.Array, total: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            w = self.chunk(first, top, log_radius, i)
            turned = waves * jnp.exp(2j * math.pi / m * jnp.mod(i * _CHUNK * k, m))
            return total[0] + w @ turned, total[1] + (w * (i * _CHUNK + places)) @ turned

        zero = jnp.zeros((self.q.size, k.size), dtype=complex)
        both: tuple[jax.Array, jax.Array] = jax.lax.fori_loop(0, chunks, add, (zero, zero))
        return both

    def integral(self, log_radius: jax.Array, total: jax.Array, variance: jax.Array) -> tuple[jax.Array, jax.Array]:
        """log p and its derivatives in q."""
        found = first, top, _ = self.windows(log_radius)
        m = _points(variance)
        rise = log_radius + self.noise.log_g(jnp, self.y, 1.0) - self.noise.log_g(jnp, self.y, 0.0)
        at_none = jnp.exp(jnp.where(self.some, 0.0, rise))

        def more(state: Any) -> jax.Array:
            block, last = state[:2]
            return (block * _BLOCK <= m / 2) & (last >= _DECAYED)

        def add(state: Any) -> Any:
            block, _, mass, slopes = state
            k = block * _BLOCK + jnp.arange(_BLOCK, dtype=float)
            own, ahead = (part / total[:, None] for part in self.transforms(k, m, log_radius, found))
            phase = jnp.exp(2j * math.pi / m * jnp.mod(k * (jnp.sum(first) - self.n), m))
            phase *= jnp.where(2 * k <= m, jnp.where((k == 0) | (2 * k == m), 1.0, 2.0), 0.0) / m
            product = jnp.prod(own, axis=0)
            grown = (ahead + first[:, None] * own) / jnp.where(self.some, self.q, 1.0)[:, None]
            none = at_none[:, None] * jnp.exp(2j * math.pi / m * k)
            others = _others(own)
            told = jnp.where(self.some[:, None], grown, none) * others
            last = jnp.max(jnp.abs(product[-4:]))
            return block + 1, last, mass + jnp.real(product @ phase), slopes + jnp.real(told @ phase)

        start = (jnp.zeros((), jnp.int32), jnp.ones(()), jnp.zeros(()), jnp.zeros(self.q.size))
        _, _, mass, slopes = jax.lax.while_loop(more, add, start)
        whole = gammaln(self.n + 1.0) - self.n * log_radius + jnp.sum(top + jnp.log(total))
        return whole + jnp.log(mass), slopes / mass


def _others(own: jax.Array) -> jax.Array:
    """The product over all other rows."""
    ones = jnp.ones_like(own[:1])
    before = jnp.concatenate([ones, jnp.cumprod(own[:-1], axis=0)])
    after = jnp.concatenate([ones, jnp.cumprod(own[:0:-1], axis=0)])[::-1]
    return before * after


def _points(variance: jax.Array) -> jax.Array:
    """M, by Chernoff's bound for log-concave laws: log E e^{t(c − Ec)} ≤ t²Var c where t²Var c ≤ 1/4."""
    total, largest = jnp.sum(variance), jnp.sqrt(jnp.max(variance))
    safe = jnp.where(largest > 0, largest, 1.0)
    many = 2 * _ALIASED * safe + 0.5 * total / safe
    return jnp.ceil(jnp.minimum(_ALIASED * jnp.sqrt(total), many) + _OFF * jnp.sqrt(total) + 40.0)


def _saddle(sums: CellSums) -> tuple[jax.Array, jax.Array, jax.Array]:
    """log λ with the sum of the means within a standard deviation or so of n, by Newton's steps within a bracket.

    And the sums of the weights there, and the variances.
    """

    def guess(_: int, log_radius: jax.Array) -> jax.Array:
        mean, spread = middle(jnp, sums.noise, jnp.exp(log_radius) * sums.q, sums.y)
        return log_radius + jnp.clip((sums.n - jnp.sum(mean)) / jnp.maximum(jnp.sum(spread), 1e-3), -1.0, 1.0)

    def unfinished(state: Any) -> jax.Array:
        return state[3] & (state[4] < _STEPS)

    def improve(state: Any) -> Any:
        here, below, above, _, steps, *_ = state
        weight, mean, variance = sums.moments(here)
        off, total = jnp.sum(mean) - sums.n, jnp.sum(variance)
        far = jnp.abs(off) > _OFF * jnp.sqrt(total) + 1e-9
        above = jnp.where(far & (off > 0), jnp.minimum(above, here), above)
        below = jnp.where(far & (off < 0), jnp.maximum(below, here), below)
        step = here - jnp.clip(off / jnp.maximum(total, 1e-12), -2.0, 2.0)
        bracketed = jnp.isfinite(below) & jnp.isfinite(above)
        halved = 0.5 * (jnp.where(bracketed, below, 0.0) + jnp.where(bracketed, above, 0.0))
        step = jnp.where(bracketed & ((step <= below) | (step >= above)), halved, step)
        return jnp.where(far, step, here), below, above, far, steps + 1, weight, variance

    start = jax.lax.fori_loop(0, 8, guess, jnp.asarray(math.log(sums.n)))
    infinite, none = jnp.full((), jnp.inf), jnp.ones(sums.q.size)
    state = (start, -infinite, infinite, jnp.asarray(True), jnp.zeros((), jnp.int32), none, none)
    found = jax.lax.while_loop(unfinished, improve, state)
    return found[0], found[5], found[6]
