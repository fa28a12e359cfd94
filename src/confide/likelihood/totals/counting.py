"""What says how many records there are, at values that may be traced: w(n) = π(n) Π_j g_j(y_j − c_j n).

And the normal law of several sums given n, summed over n in chunks, with derivatives that are sums beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from confide.likelihood.totals.number import NumberPrior
from confide.mechanism.noise import Noise

#: nats below its peak at which the noise of a count rules an n out
_RULED_OUT = 90.0
#: numbers of records that are summed at once, and at most
_CHUNK, _MOST = 64, 2**20


def log_noise(noise: Noise, y: jax.Array, u: jax.Array) -> jax.Array:
    """log g(y − u) where u may be off the noise's lattice, to which it is rounded first."""
    step = noise.step
    return noise.log_prob(y - (u if step is None else step * jnp.floor(u / step + 0.5)))


@dataclass(frozen=True, eq=False)
class Counting:
    """The prior of n, and for each published count what one record adds to it and the noise."""

    prior: NumberPrior
    each: tuple[tuple[float, Noise], ...]

    def log_weight(self, numbers: jax.Array, counts: jax.Array) -> jax.Array:
        """log w(n) of whole numbers (N,), given the counts (K,)."""
        total = self.prior.traced(numbers)
        for (share, noise), y in zip(self.each, counts, strict=True):
            total += log_noise(noise, y, share * numbers)
        return total

    def slopes(self, numbers: jax.Array, counts: jax.Array) -> jax.Array:
        """∂ log w(n)/∂y_j: (K, N)."""

        def one(noise: Noise, share: float, y: jax.Array) -> jax.Array:
            return jax.vmap(jax.grad(lambda y, u: log_noise(noise, y, u)), (None, 0))(y, share * numbers)

        found = [one(noise, share, y) for (share, noise), y in zip(self.each, counts, strict=True)]
        return jnp.stack(found) if found else jnp.zeros((0, numbers.size))

    def hull(self, counts: jax.Array) -> jax.Array:
        """Where counts and prior would have n: (2,). Where they disagree, what lies between them."""
        lows, highs = ([jnp.asarray(end)] for end in self.prior.ends)
        for (share, noise), y in zip(self.each, counts, strict=True):
            if share != 0:
                reach = _RULED_OUT * noise.scale if noise.exponential else math.sqrt(2 * _RULED_OUT) * noise.scale
                lows.append((y - reach) / share if share > 0 else (y + reach) / share)
                highs.append((y + reach) / share if share > 0 else (y - reach) / share)
        low, high = jnp.max(jnp.stack(lows)), jnp.min(jnp.stack(highs))
        first, last = jnp.floor(jnp.minimum(low, high)), jnp.ceil(jnp.maximum(low, high))
        return jnp.stack([jnp.maximum(first, 0.0), jnp.maximum(last, 0.0)])


def summed(log_terms: Callable[[Any, jax.Array], jax.Array], parts: Any, ends: Callable[[Any], jax.Array]) -> jax.Array:
    """log Σ_n e^{term(parts, n)} over the whole numbers between ends, differentiable in the parts.

    >>> with jax.enable_x64(True):
    ...     print(summed(lambda rate, n: -rate * n, jnp.asarray(0.1), lambda _: jnp.asarray([0.0, 999.0])).round(9))
    2.352168461
    """

    @jax.custom_jvp
    def of(parts: Any) -> jax.Array:
        return both(parts)[0]

    @of.defjvp
    def _(primals: Any, tangents: Any) -> tuple[jax.Array, jax.Array]:
        value, slopes = both(*primals)
        moved = jax.tree.map(lambda slope, tangent: jnp.sum(slope * tangent), slopes, *tangents)
        return value, sum(jax.tree.leaves(moved), jnp.zeros(()))

    def both(parts: Any) -> tuple[jax.Array, Any]:
        first, last = ends(parts)
        chunks = jnp.ceil((jnp.minimum(last - first, float(_MOST)) + 1) / _CHUNK).astype(jnp.int32)

        def chunk(parts: Any, i: jax.Array) -> jax.Array:
            numbers = first + i * _CHUNK + jnp.arange(float(_CHUNK))
            terms = jnp.where(numbers <= last, log_terms(parts, numbers), -jnp.inf)
            top = jax.lax.stop_gradient(jnp.max(terms))
            some = jnp.isfinite(top)
            total = jnp.sum(jnp.where(terms > -jnp.inf, jnp.exp(terms - jnp.where(some, top, 0.0)), 0.0))
            return jnp.where(some, top + jnp.log(jnp.where(some, total, 1.0)), -jnp.inf)

        def add(i: jax.Array, state: Any) -> Any:
            total, slopes = state
            value, more = jax.value_and_grad(chunk)(parts, i)
            new = jnp.logaddexp(total, value)
            old, own = (jnp.where(part > -jnp.inf, jnp.exp(part - new), 0.0) for part in (total, value))
            return new, jax.tree.map(lambda a, b: a * old + jnp.where(own > 0, b, 0.0) * own, slopes, more)

        start = jnp.full((), -jnp.inf), jax.tree.map(jnp.zeros_like, parts)
        found: tuple[jax.Array, Any] = jax.lax.fori_loop(0, chunks, add, start)
        value = jnp.where(last - first <= _MOST, found[0], jnp.nan)
        return value, found[1]

    return of(parts)
