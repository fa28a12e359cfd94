"""The Mills ratio R(x) = (1 − Φ(x))/φ(x) of the normal law, in logs, for every x."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.scipy.special import log_ndtr

#: log √(2π); and from where the continued fraction, cut after forty terms, has full precision
_LOG_ROOT_2PI = 0.9189385332046727
_FAR = 12.0


@jax.custom_jvp
def log_mills(x: jax.Array) -> jax.Array:
    """log R(x), without the cancellation of log Φ(−x) + x²/2 far out, where R(x) ~ 1/x.

    >>> with jax.enable_x64(True):
    ...     print(f"{float(log_mills(jnp.asarray(1e8))):.10f}")
    -18.4206807440
    """
    far = x > _FAR
    near = jnp.where(far, 0.0, x)
    out = jnp.where(far, x, _FAR)
    # Laplace's continued fraction x + 1/(x + 2/(x + 3/(x + …))): forty terms give full precision from x = 12 on
    fraction = out
    for k in range(40, 0, -1):
        fraction = out + k / fraction
    return jnp.where(far, -jnp.log(fraction), log_ndtr(-near) + 0.5 * near**2 + _LOG_ROOT_2PI)


@log_mills.defjvp
def _log_mills_jvp(primals: tuple[jax.Array], tangents: tuple[jax.Array]) -> tuple[jax.Array, jax.Array]:
    """R' = xR − 1, so (log R)' = x − 1/R; far out the difference is −1/x + 2/x³ − … and is taken from the fraction."""
    (x,), (dot,) = primals, tangents
    value = log_mills(x)
    far = x > _FAR
    out = jnp.where(far, x, _FAR)
    tail = out
    for k in range(40, 1, -1):
        tail = out + k / tail
    slope = jnp.where(far, -1.0 / tail, x - jnp.exp(-value))
    return value, slope * dot
