"""Keys: an int or a JAX key, and the same key gives the same answer."""

from __future__ import annotations

import operator

import jax
import jax.numpy as jnp

from confide.errors import InvalidArgument


def as_key(key: object) -> jax.Array:
    """A JAX key from an int or a JAX key (old-style `uint32[2]` keys included)."""
    if isinstance(key, jax.Array):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            return key
        if key.dtype == "uint32" and key.shape == (2,):
            return jax.random.wrap_key_data(key)
    elif not isinstance(key, bool):
        try:
            return jax.random.key(operator.index(key))  # type: ignore[arg-type]
        except TypeError:
            pass
    raise InvalidArgument("key", key, "is neither an int nor a JAX key", "pass an int such as key=0")
