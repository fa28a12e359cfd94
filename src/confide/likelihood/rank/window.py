"""Windows of order statistics, simulated without the records.

What a mechanism on smooth sensitivity sees is the window of sorted values of ranks m−K, …, m+K. On the uniform scale
(V = Q(U; θ)) the middle one is U_(m) ~ Beta(m, n−m+1). Given it, the n−m values above are uniform on (U_(m), 1), so
that the least of them leaves the share 1 − U_(m+1) = (1 − U_(m))·R, R^{n−m} uniform, and so on outwards:

    log(1 − U_(m+j)) = log(1 − U_(m)) − Σ_{i≤j} E_i/(n−m−i+1),        log U_(m−j) = log U_(m) − Σ_{i≤j} E'_i/(m−i),

with E_i, E'_i independent standard exponentials (Rényi's representation): 2K+1 draws a window for every n. All is
kept as a logit ζ = log U/(1−U), which has its digits at both ends; a spacing at n = 10⁹ keeps seven. The ζ do not
depend on θ: a window Q(ζ; θ) is a smooth function of θ, and the same ζ serve all θ (common random numbers).

The numbers behind a batch are scrambled Sobol points, so that a batch is an unbiased sample, and batches are
independent: one coordinate is the level of the middle, the others are the sums of neighbouring E_i in blocks of 1, 3,
9, … ranks on either side, as a mechanism sees sums of spacings. How a sum is shared out in its block is left to chance.

The middles are drawn from a wider law, Beta(1 + (m−1)/4, 1 + (n−m)/4), and a window carries the ratio of the densities
as its weight: at a θ in the tail of a posterior what is published is explained by middles that are rare. The wider law
has twice the standard deviation, and weights are bounded.

Ranks below 1 and above n hold ζ = −∞ and +∞, whose values are the ends of the range.
"""

from __future__ import annotations

import functools
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.nn import log_sigmoid, sigmoid
from scipy import special

from confide._compile import FAST_COMPILE, numbers_of
from confide.likelihood.value_law.table import QuantileTable, StepTable
from confide.likelihood.value_law.value import Tails

#: of a pool: their spread is the Monte Carlo error, known to 1/√62 of itself (13%)
BATCHES = 32
#: how many times less is known of the middle in the law that it is drawn from: 4 was the best of 1, 4, 9, 16 and 36
_WIDER = 4.0


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

    Either side has exponentials of its own number, of ranks that exist.
    """
    fall = jnp.cumsum(above / (ranks.n - ranks.rank - jnp.arange(above.shape[-1])), axis=-1)
    rise = jnp.cumsum(below / (ranks.rank - 1.0 - jnp.arange(below.shape[-1])), axis=-1)
    high = middle.above[:, None] * jnp.exp(-fall)
    low = (middle.below[:, None] * jnp.exp(-rise))[:, ::-1]
    return Tails(
        jnp.concatenate([low, middle.below[:, None], 1.0 - high], axis=-1),
        jnp.concatenate([1.0 - low, middle.above[:, None], high], axis=-1),
    )


def wider_middles(level: np.ndarray, n: int, rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Logits of U_(m) at levels of the wider law, and the log ratio of its own law's density to that law's."""
    a, b = 1.0 + (rank - 1.0) / _WIDER, 1.0 + (n - rank) / _WIDER
    low, high = special.betaincinv(a, b, level), special.betainccinv(b, a, level)  # 1 − U, with digits of its own
    tiny = np.finfo(float).tiny
    log_low, log_high = np.log(np.maximum(low, tiny)), np.log(np.maximum(high, tiny))
    ratio = (rank - a) * log_low + (n - rank + 1.0 - b) * log_high
    return log_low - log_high, ratio + special.betaln(a, b) - special.betaln(rank, n - rank + 1.0)


class WindowPool(NamedTuple):
    """Logits of simulated windows (batches, L, 2K+1), their log weights, and the least and largest finite logit."""

    zeta: jax.Array
    log_weight: jax.Array
    low: jax.Array
    high: jax.Array

    def first(self, count: int) -> WindowPool:
        """The first windows of each batch: the beginning of a Sobol sequence is one too."""
        return self._replace(zeta=self.zeta[:, :count], log_weight=_scaled(self.log_weight[:, :count]))


def _scaled(log_weight: Any) -> Any:
    """Weights whose mean is one."""
    mean = special.logsumexp(np.asarray(log_weight)) - np.log(log_weight.size)
    return log_weight - mean


def _blocks(cap: int) -> list[slice]:
    """1, 3, 9, … ranks, outwards."""
    ends = np.unique(np.minimum(np.cumsum(3 ** np.arange(21)), cap)).tolist() if cap else []
    return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]


def _numbers(generator: np.random.Generator, length: int, cap: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Levels of the middles (batches, L), and exponentials (batches·L, K) for either side."""
    from scipy.stats import qmc  # takes longer to load than most answers that need no windows

    blocks = _blocks(cap)
    exponent = (length - 1).bit_length()
    sobol = [qmc.Sobol(1 + 2 * len(blocks), rng=generator) for _ in range(BATCHES)]
    points = np.stack([each.random_base2(exponent)[:length] for each in sobol])
    # uniform numbers within the cells of the points, which are of 30 bits: none is 0
    points += np.ldexp(1.0 - generator.random(points.shape), -30)
    level, *sums = np.moveaxis(points, -1, 0)
    sides = generator.standard_exponential((2, BATCHES * length, cap))
    for i, block in enumerate(blocks):
        for side, uniform in zip(sides, sums[2 * i : 2 * i + 2], strict=True):
            own = side[:, block]
            own *= (special.gammaincinv(own.shape[1], uniform.ravel()) / np.sum(own, axis=1))[:, None]
    return level, sides[0], sides[1]


# it runs once for a pool
@partial(jax.jit, compiler_options=FAST_COMPILE)
def _laid_out(middle: jax.Array, log_weight: jax.Array, above: jax.Array, below: jax.Array, ranks: Ranks) -> WindowPool:
    zeta = outward(middle.ravel(), above, below, ranks)
    finite = jnp.where(jnp.isfinite(zeta), zeta, middle[0, 0])
    return WindowPool(zeta.reshape(*middle.shape, -1), log_weight, jnp.min(finite), jnp.max(finite))


@functools.lru_cache(maxsize=4)
def _simulate(n: int, rank: int, cap: int, length: int, seed: bytes) -> WindowPool:
    with jax.enable_x64(True):
        generator = np.random.default_rng(np.frombuffer(seed, dtype=np.uint32))
        level, above, below = _numbers(generator, length, cap)
        middle, log_weight = wider_middles(level, n, rank)
        pool: WindowPool = numbers_of(
            _laid_out, middle, _scaled(log_weight), above, below, Ranks(float(n), float(rank))
        )
        return pool


def simulate_pool(key: jax.Array, n: int, rank: int, cap: int, size: int) -> WindowPool:
    """At least `size` windows, in batches; remembered, so that the same key gives the same windows at no cost."""
    with jax.ensure_compile_time_eval():
        seed = np.asarray(jax.random.key_data(key)).tobytes()
    return _simulate(n, rank, cap, -(-size // BATCHES), seed)


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
