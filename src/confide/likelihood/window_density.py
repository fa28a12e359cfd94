"""The density of a window of order statistics as a function of its values.

For ranks a … b of n values with distribution function F and density f,

    f(w_a, …, w_b; θ) ∝ F(w_a)^{a−1} · Π_j f(w_j) · (1 − F(w_b))^{n−b}:

the records below and above enter by their number only. A value on the upper atom (records clipped to the end of the
range) stands for all ranks from it on: each counts P(V ≥ top), those above the window included; on the lower atom
likewise. A window that lies wholly on one atom says only that at least n−a+1 (or b) records are clipped there, which
is a binomial tail.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from confide.likelihood.transformed import TransformedLaw
from confide.likelihood.window import Ranks
from confide.population.special import beta_tails


def window_log_density(law: TransformedLaw, theta: jax.Array, window: jax.Array, ranks: Ranks) -> jax.Array:
    """log f(window; θ) of one window (2K+1,), up to a constant that does not depend on θ.

    V may have atoms at the ends of its range only; ranks that do not exist are ignored.
    """
    cap = window.shape[-1] // 2
    exists = ranks.inside(cap)
    rank = ranks.rank + jnp.arange(-cap, cap + 1)
    first, last = jnp.maximum(ranks.rank - cap, 1.0), jnp.minimum(ranks.rank + cap, ranks.n)
    bottom, top = law.cuts[0], law.cuts[-1]
    held = jnp.where(exists, window, 0.5 * (bottom + top))
    levels, density = law.tails_and_density(held, theta)
    on_top, on_bottom = exists & (held >= top), exists & (held <= bottom)
    inside = exists & ~on_top & ~on_bottom
    each = jnp.where(inside, _log(jnp.where(inside, density, 1.0)), 0.0)
    each += jnp.where(on_top, _log(levels.strict.above), 0.0) + jnp.where(on_bottom, _log(levels.weak.below), 0.0)
    # the records outside the window are beyond its outermost value, or on the same atom
    lowest, highest = rank == first, rank == last
    beyond_low = jnp.where(lowest, (first - 1.0) * _log(levels.weak.below), 0.0)
    beyond_high = jnp.where(
        highest, (ranks.n - last) * _log(jnp.where(on_top, levels.strict.above, levels.weak.above)), 0.0
    )
    total = jnp.sum(each + beyond_low + beyond_high)
    # at least n−a+1 of n records on the upper atom, or b on the lower one
    ends = law.tails(jnp.stack([jnp.asarray(bottom), jnp.asarray(top)]), theta)
    clipped_low, clipped_high = ends.weak.at(0), ends.strict.at(1)
    up = beta_tails(ranks.n - first + 1.0, first, clipped_high.above, clipped_high.below)[0]
    down = beta_tails(last, ranks.n - last + 1.0, clipped_low.below, clipped_low.above)[0]
    all_top, all_bottom = jnp.all(on_top | ~exists), jnp.all(on_bottom | ~exists)
    return jnp.where(all_top, _log(up), jnp.where(all_bottom, _log(down), total))


def _log(probability: jax.Array) -> jax.Array:
    positive = probability > 0
    return jnp.where(positive, jnp.log(jnp.where(positive, probability, 1.0)), -jnp.inf)
