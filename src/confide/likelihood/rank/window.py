"""Windows of order statistics, simulated without the records.

What a mechanism on smooth sensitivity sees is the window of sorted values of ranks m−K, …, m+K. On the uniform scale
(V = Q(U; θ)) the middle one is U_(m) ~ Beta(m, n−m+1). Given it, the n−m values above are uniform on (U_(m), 1), so
that the least of them leaves the share 1 − U_(m+1) = (1 − U_(m))·R, R^{n−m} uniform, and so on outwards:

    log(1 − U_(m+j)) = log(1 − U_(m)) − Σ_{i≤j} E_i/(n−m−i+1),        log U_(m−j) = log U_(m) − Σ_{i≤j} E'_i/(m−i),

with E_i, E'_i independent standard exponentials (Rényi's representation): 2K+1 draws a window for every n. All is
kept as a logit ζ = log U/(1−U), which has its digits at both ends; a spacing at n = 10⁹ keeps seven. The ζ do not
depend on θ: a window Q(ζ; θ) is a smooth function of θ, and the same ζ serve all θ (common random numbers).

The middles of a batch are stratified: the i-th of L is drawn from the i-th of L equally probable parts of its law. A
batch is an unbiased sample, batches are independent, and the location of the window adds little variance.

Ranks below 1 and above n hold ζ = −∞ and +∞, whose values are the ends of the range.
"""

from __future__ import annotations

import functools
from collections.abc import Hashable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import log_sigmoid, sigmoid
from scipy import special

from confide._compile import FAST_COMPILE, numbers_of
from confide._random import fused_key
from confide.likelihood.value_law.table import QuantileTable, StepTable
from confide.likelihood.value_law.value import Tails

#: of a pool: their spread is the Monte Carlo error, known to 1/√62 of itself (13%)
BATCHES = 32


class Ranks(NamedTuple):
    """Where a window stands: rank m of n. Numbers, so that one compiled function serves all n."""

    n: float
    rank: float

    def inside(self, cap: int) -> jax.Array:
        """Which of the ranks m−K … m+K exist."""
        rank = self.rank + jnp.arange(-cap, cap + 1)
        return (rank >= 1) & (rank <= self.n)


def outward(middle: jax.Array, above: jax.Array, below: jax.Array, ranks: Ranks) -> jax.Array:
    """The logits (W, 2K+1) of a window from that of its middle (W,) and exponentials (W, K) for either side."""
    cap = above.shape[-1]
    step = jnp.arange(1, cap + 1)
    left_above, left_below = ranks.n - ranks.rank - step + 1.0, ranks.rank - step + 0.0
    fall = jnp.cumsum(jnp.where(left_above > 0, above / jnp.maximum(left_above, 1.0), 1.0), axis=-1)
    rise = jnp.cumsum(jnp.where(left_below > 0, below / jnp.maximum(left_below, 1.0), 1.0), axis=-1)
    log_above = log_sigmoid(-middle)[:, None] - fall
    log_below = log_sigmoid(middle)[:, None] - rise
    up = jnp.where(left_above > 0, jnp.log(-jnp.expm1(log_above)) - log_above, jnp.inf)
    down = jnp.where(left_below > 0, log_below - jnp.log(-jnp.expm1(log_below)), -jnp.inf)
    return jnp.concatenate([down[:, ::-1], middle[:, None], up], axis=-1)


def outward_tails(middle: Tails, above: jax.Array, below: jax.Array, ranks: Ranks) -> Tails:
    """The levels of a window, and what is above them, from those of its middle (W,): `outward` with fewer logarithms.

    Ranks that do not exist have nothing below, or nothing above.
    """
    step = jnp.arange(1, above.shape[-1] + 1)
    left_above, left_below = ranks.n - ranks.rank - step + 1.0, ranks.rank - step + 0.0
    fall = jnp.cumsum(above / jnp.maximum(left_above, 1.0), axis=-1)
    rise = jnp.cumsum(below / jnp.maximum(left_below, 1.0), axis=-1)
    high = jnp.where(left_above > 0, middle.above[:, None] * jnp.exp(-fall), 0.0)
    low = jnp.where(left_below > 0, middle.below[:, None] * jnp.exp(-rise), 0.0)[:, ::-1]
    return Tails(
        jnp.concatenate([low, middle.below[:, None], 1.0 - high], axis=-1),
        jnp.concatenate([1.0 - low, middle.above[:, None], high], axis=-1),
    )


def stratified_middles(within: np.ndarray, n: int, rank: int) -> np.ndarray:
    """Logits of U_(m), one from each of equally probable parts of its law, by uniform numbers (batches, parts)."""
    length = within.shape[1]
    level = (np.arange(length) + np.clip(within, 2.0**-53, None)) / length
    low = special.betaincinv(rank, n - rank + 1, level)
    high = special.betainccinv(n - rank + 1, rank, level)  # 1 − U, with digits of its own
    tiny = np.finfo(float).tiny
    return np.log(np.maximum(low, tiny)) - np.log(np.maximum(high, tiny))


class WindowPool(NamedTuple):
    """Logits of simulated windows (batches, L, 2K+1), and their smallest and largest finite values."""

    zeta: jax.Array
    low: jax.Array
    high: jax.Array


# each runs once for a pool
@partial(jax.jit, static_argnames=("implementation", "length", "cap"), compiler_options=FAST_COMPILE)
def _numbers(seed: jax.Array, implementation: Hashable, length: int, cap: int) -> tuple[jax.Array, ...]:
    """Uniform numbers for the middles, and exponentials for either side."""
    key = fused_key(jax.random.wrap_key_data(seed, impl=implementation))
    for_middle, *for_sides = jax.random.split(key, 3)
    sides = (jax.random.exponential(k, (BATCHES * length, cap), dtype=jnp.float64) for k in for_sides)
    return jax.random.uniform(for_middle, (BATCHES, length), dtype=jnp.float64), *sides


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _laid_out(middle: jax.Array, above: jax.Array, below: jax.Array, ranks: Ranks) -> WindowPool:
    zeta = outward(middle.ravel(), above, below, ranks)
    finite = jnp.where(jnp.isfinite(zeta), zeta, middle[0, 0])
    return WindowPool(zeta.reshape(*middle.shape, -1), jnp.min(finite), jnp.max(finite))


@functools.lru_cache(maxsize=4)
def _simulate(n: int, rank: int, cap: int, length: int, seed: bytes, implementation: Hashable) -> WindowPool:
    with jax.enable_x64(True):
        known = {"implementation": implementation, "length": length, "cap": cap}
        within, above, below = numbers_of(_numbers, np.frombuffer(seed, dtype=np.uint32), **known)
        middle = stratified_middles(np.asarray(within), n, rank)
        pool: WindowPool = numbers_of(_laid_out, middle, above, below, Ranks(float(n), float(rank)))
        return pool


def simulate_pool(key: jax.Array, n: int, rank: int, cap: int, size: int) -> WindowPool:
    """At least `size` windows, in batches; remembered, so that the same key gives the same windows at no cost."""
    with jax.ensure_compile_time_eval():
        seed = np.asarray(jax.random.key_data(key)).tobytes()
    return _simulate(n, rank, cap, -(-size // BATCHES), seed, jax.random.key_impl(key))


def window_values(table: QuantileTable | StepTable, zeta: jax.Array, low: float, high: float) -> jax.Array:
    """Q(ζ; θ), with the ends of the range at ranks that do not exist."""
    finite = jnp.isfinite(zeta)
    value = table.quantile(jnp.where(finite, zeta, 0.0))
    return jnp.where(finite, value, jnp.where(zeta < 0, low, high))


def window_score(table: QuantileTable | StepTable, zeta: jax.Array, ranks: Ranks) -> jax.Array:
    """∂ log f(window; θ)/∂θ, shape (..., d), of windows (..., 2K+1) on the uniform scale.

    A window of values that stay where they are is one whose ζ move with velocity Z(ζ). Its density on the scale of ζ
    is ∝ U_a^{a−1} (1−U_b)^{n−b} Π U_j(1−U_j) for ranks a … b, the records below and above entering as F^k and
    (1−F)^k; its divergence along the flow is

        Σ_j [Z'(ζ_j) + (1 − 2U_j) Z(ζ_j)] + (a−1)(1−U_a) Z(ζ_a) − (n−b) U_b Z(ζ_b).

    For a continuous V this is the score of the values. Where V has atoms it is the score of the values and of how
    many records share the outermost atom, averaged over what the window does not tell: its conditional mean is the
    score, which is all that Fisher's identity needs.
    """
    cap = zeta.shape[-1] // 2
    exists = ranks.inside(cap)
    held = jnp.where(exists, zeta, 0.0)
    flow, slope = table.flow(held)
    u, above = sigmoid(held)[..., None], sigmoid(-held)[..., None]
    rank = (ranks.rank + jnp.arange(-cap, cap + 1))[:, None]
    first, last = exists & ~jnp.roll(exists, 1).at[0].set(False), exists & ~jnp.roll(exists, -1).at[-1].set(False)
    each = slope + (above - u) * flow
    ends = first[:, None] * (rank - 1) * above * flow - last[:, None] * (ranks.n - rank) * u * flow
    return jnp.sum(jnp.where(exists[:, None], each + ends, 0.0), axis=-2)
