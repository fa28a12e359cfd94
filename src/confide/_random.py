"""Keys: an int or a JAX key, and the same key gives the same answer."""

from __future__ import annotations

import operator

import jax
import jax.numpy as jnp
import numpy as np

from confide._threefry import UNROLLED
from confide.errors import InvalidArgument

_THREEFRY = "threefry2x32"


def as_key(key: object) -> jax.Array:
    """A JAX key from an int or a JAX key (old-style `uint32[2]` keys included)."""
    if isinstance(key, jax.Array):
        if jnp.issubdtype(key.dtype, jax.dtypes.prng_key):
            return key
        if key.dtype == "uint32" and key.shape == (2,):
            return jax.random.wrap_key_data(key, impl=_THREEFRY)
    elif not isinstance(key, bool):
        try:
            seed = operator.index(key)  # type: ignore[arg-type]
        except TypeError:
            pass
        else:
            if not -(2**63) <= seed < 2**63:
                raise InvalidArgument("key", key, "does not fit 64 bits", "pass a smaller int such as key=0")
            # as JAX makes a key of 64 bits, whichever its mode
            words = np.array(divmod(seed % 2**64, 2**32), dtype=np.uint32)
            return jax.random.wrap_key_data(jax.device_put(words), impl=_THREEFRY)
    raise InvalidArgument("key", key, "is neither an int nor a JAX key", "pass an int such as key=0")


def split_in_two(key: jax.Array) -> tuple[jax.Array, jax.Array]:
    """`jax.random.split` of a key that is known, without a program that takes the two apart."""
    one, two = np.asarray(jax.random.key_data(jax.random.split(key)))
    implementation = jax.random.key_impl(key)
    return jax.random.wrap_key_data(one, impl=implementation), jax.random.wrap_key_data(two, impl=implementation)


def fused_key(key: jax.Array) -> jax.Array:
    """The same key, whose numbers are made faster. Not for samplers that are not our own: some of JAX refuse it."""
    if str(jax.random.key_impl(key)) != _THREEFRY:
        return key
    return jax.random.wrap_key_data(jax.random.key_data(key), impl=UNROLLED)


def jax_key(key: jax.Array) -> jax.Array:
    """The key that `unrolled` was given."""
    if jax.random.key_impl(key) != UNROLLED:
        return key
    return jax.random.wrap_key_data(jax.random.key_data(key), impl=_THREEFRY)


def key_as_numbers(key: jax.Array) -> tuple[str, np.ndarray]:
    """A key as another process can read it."""
    return str(jax.random.key_impl(key)), np.asarray(jax.random.key_data(key))


def key_of_numbers(implementation: str, numbers: np.ndarray) -> jax.Array:
    """The key that these are of."""
    return jax.random.wrap_key_data(jax.device_put(numbers), impl=implementation)
