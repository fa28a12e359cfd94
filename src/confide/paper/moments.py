"""Moments of a clipped normal record in closed form, for the sampling loops of Sections 5.1 to 5.3.

X ~ N(0, θ) clipped to (−A, A), s(x) = |x|^a. With q = A²/(2θ) the clipped moments are incomplete gamma functions of q,
which for a = 1, 2 and 4 are erfc and exp. The library integrates the same moments for any population and statistic
(`confide.likelihood.record_law.moments`); a loop of billions of steps needs them in a dozen operations.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

#: beyond this e^{−q} is zero in single precision, and the clip is of no effect
_LARGEST_Q = 200.0


def clipped_moments(theta: jax.Array, power: int, bound: float) -> tuple[jax.Array, jax.Array]:
    """The mean and the variance of |clip(X)|^power, power 1 or 2, in the precision of θ.

    >>> import jax, jax.numpy as jnp
    >>> with jax.enable_x64(True):
    ...     mean, variance = clipped_moments(jnp.asarray(2.0), 1, 10.0)
    >>> print(f"{mean:.6f} {variance:.6f}")
    1.128379 0.726760
    """
    q = jnp.minimum(bound**2 / (2.0 * theta), _LARGEST_Q)
    root, tail = jnp.sqrt(q), jnp.exp(-q)
    outside = jax.scipy.special.erfc(root)
    inside = 1.0 - outside - (2.0 / math.sqrt(math.pi)) * root * tail
    second = theta * inside + bound**2 * outside
    if power == 1:
        mean = jnp.sqrt(theta * (2.0 / math.pi)) * (1.0 - tail) + bound * outside
        return mean, second - mean**2
    fourth = 3.0 * theta**2 * (inside - q * root * tail / math.gamma(2.5)) + bound**4 * outside
    return second, fourth - second**2
