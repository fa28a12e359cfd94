"""Algorithm 2 for order statistics, on windows of ranks instead of records: a draw costs the same for every n.

A mechanism that publishes an order statistic sees a window of ranks only, and Fisher's identity holds for any latent
that y depends on through nothing else: the score of the window takes the place of the sum of the records' scores, of
which it is the conditional mean. The window is drawn on the uniform scale (see `likelihood.window`): its middle from
two gamma variables, exponential spacings outward; records below and above it enter as F^k and (1−F)^k.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from confide.information.weights import weighted_score
from confide.likelihood.rank.pool import window_model
from confide.likelihood.rank.window import Ranks, WindowPool, outward, window_score
from confide.likelihood.value_law.steps import MOST_STEPS
from confide.likelihood.value_law.table import QuantileTable, StepTable
from confide.model import Model
from confide.statistic.transform import Function

#: windows further out than this have no part in any estimate
_NEGLIGIBLE = 1e-13


def has_windows(model: Model) -> bool:
    """Whether the mechanism sees a window of ranks whose law can be read."""
    statistic = model.channel.statistic
    if not statistic.ranked or isinstance(statistic.transforms[0], Function):
        return False
    low, high = statistic.bounds
    return not model.population.discrete or high - low <= MOST_STEPS


def window_scores(model: Model, inner: int) -> tuple[Any, Any, int]:
    """(key, table) → two independent score estimates for one y; θ → table; and the numbers that one estimate costs."""
    windows, law = window_model(model), model.channel.law
    cap, ranks = law.window, windows.ranks
    reach = _reach(int(ranks.n), int(ranks.rank), cap)

    def draw(key: jax.Array, count: int) -> jax.Array:
        return draw_windows(key, ranks, cap, count)

    def estimate(key: jax.Array, table: QuantileTable | StepTable, y: jax.Array) -> jax.Array:
        zeta = draw(key, inner)
        return weighted_score(law.log_prob(y, windows.windows(table, zeta)), window_score(table, zeta, ranks))

    def scores(key: jax.Array, table: QuantileTable | StepTable) -> tuple[jax.Array, jax.Array]:
        for_window, for_noise, first, second = jax.random.split(key, 4)
        y = law.sample(for_noise, windows.windows(table, draw(for_window, 1)))[0]
        return estimate(first, table, y), estimate(second, table, y)

    prepare = jax.jit(lambda theta: windows.table(theta, reach.low, reach.high))
    return scores, prepare, inner * (2 * cap + 1)


def draw_windows(key: jax.Array, ranks: Ranks, cap: int, count: int) -> jax.Array:
    """Logits (count, 2K+1) of independent windows of uniform order statistics."""
    for_low, for_high, for_above, for_below = jax.random.split(key, 4)
    # U_(m) is a ratio of gamma variables, and its logit the difference of their logarithms
    low = jax.random.loggamma(for_low, ranks.rank, (count,))
    high = jax.random.loggamma(for_high, ranks.n - ranks.rank + 1.0, (count,))
    above, below = (jax.random.exponential(k, (count, cap)) for k in (for_above, for_below))
    return outward(low - high, above, below, ranks)


def _reach(n: int, rank: int, cap: int) -> WindowPool:
    """The logits between which all windows lie, as a pool without windows."""
    first, last = max(rank - cap, 1), min(rank + cap, n)
    low, low_rest = _quantiles(first, n - first + 1)
    high_rest, high = _quantiles(n - last + 1, last)
    return WindowPool(jnp.zeros(0), jnp.zeros(0), jnp.log(low / low_rest), jnp.log(high / high_rest))


def _quantiles(a: float, b: float) -> tuple[float, float]:
    """A far lower quantile of Beta(a, b), and its complement with digits of its own."""
    tiny = np.finfo(float).tiny
    low = special.betaincinv(a, b, _NEGLIGIBLE)
    return max(float(low), tiny), max(float(special.betainccinv(b, a, _NEGLIGIBLE)), tiny)
