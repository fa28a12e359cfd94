"""Local and smooth sensitivity of an order statistic (Nissim, Raskhodnikova and Smith 2007; the paper's Sec 5.4).

Let s₁ ≤ … ≤ sₙ be the sorted values, s_j = low for j < 1 and high for j > n, and let the statistic be s_m.
Replacing one record moves s_m to anywhere between s_{m−1} and s_{m+1}: the local sensitivity is the larger of
the two gaps next to s_m. Replacing k more records can turn s_{m−a} and s_{m+b} with a + b = k + 1 into
neighbours in rank around m, so that

    A_k = max_{a+b=k+1} s_{m+b} − s_{m−a},    a, b ≥ 0,

is the largest local sensitivity within distance k, and S = max_k e^{−kβ} A_k is the smooth sensitivity: the
smallest bound on the local sensitivity whose logarithm changes by at most β between neighbours. Capped at K,

    S_K = max( max_{k<K} e^{−kβ} A_k,  e^{−Kβ} (high − low) ),

it needs only the window of ranks m−K, …, m+K and is never 0. It is β-smooth as well: A_k(x) ≤ A_{k+1}(x') for
neighbours, and A_{K−1} ≤ high − low. With K = n it is S itself, for n replacements reach every data set.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def smooth_sensitivity(
    window: Float[Array, "*batch ranks"], beta: float | Float[Array, ""], low: float, high: float
) -> Float[Array, "*batch"]:
    """The smooth sensitivity S_K of the middle of a window of 2K+1 ranks, capped at K.

    The pairs (a, b) are folded over a, so that memory grows with K and not with its square, also under
    reverse-mode differentiation (each step is recomputed rather than stored).

    >>> round(float(smooth_sensitivity(jnp.array([0.0, 1.0, 4.0]), 1.0, 0.0, 10.0)), 4)   # 10/e beats 3
    3.6788
    """
    window = jnp.asarray(window, dtype=float)
    cap = window.shape[-1] // 2
    below, above = window[..., cap::-1], window[..., cap:]
    b = jnp.arange(cap + 1)

    @jax.checkpoint
    def fold(largest: Float[Array, "*batch"], a: Array) -> tuple[Float[Array, "*batch"], None]:
        gap = above - jnp.take(below, a, axis=-1)[..., None]
        # pairs outside 1 ≤ a+b ≤ K count as 0, which never wins against the cap
        inside = (a + b >= 1) & (a + b <= cap)
        damped = jnp.where(inside, gap * jnp.exp(-beta * (a + b - 1)), 0)
        return jnp.maximum(largest, jnp.max(damped, axis=-1)), None

    capped = jnp.full(window.shape[:-1], (high - low) * jnp.exp(-beta * cap), dtype=window.dtype)
    return jax.lax.scan(fold, capped, b)[0]
