"""JAX's random numbers, written so that XLA fuses them.

JAX lowers its generator, Threefry with 2 × 32 bits and 20 rounds (Salmon, Moraes, Dror and Shaw, SC 2011), as a loop
when it compiles for a CPU, which writes every round to memory: three times slower to run and to compile than the
rounds written out, as JAX itself writes them for a GPU. The numbers here are JAX's, bit for bit.

A few keys outside of a compiled program are made by NumPy: there is nothing to compile for them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.random import define_prng_impl

#: of Threefry-2x32 (Salmon, Moraes, Dror and Shaw 2011)
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_WORDS = {8: jnp.uint8, 16: jnp.uint16, 32: jnp.uint32, 64: jnp.uint64}
#: keys that NumPy makes sooner than a program is compiled
_FEW = 2**12


def _hash(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Threefry of counters in two words, by JAX or by NumPy."""
    schedule = (key[:1], key[1:], key[:1] ^ key[1:] ^ _PARITY)
    high, low = high + schedule[0], low + schedule[1]
    for group in range(5):
        for turn in _ROTATIONS[group % 2]:
            high = high + low
            low = high ^ ((low << np.uint32(turn)) | (low >> np.uint32(32 - turn)))
        high = high + schedule[(group + 1) % 3]
        low = low + (schedule[(group + 2) % 3] + np.uint32(group + 1))
    return high, low


def _counted(key: jax.Array, size: int) -> tuple[jax.Array, jax.Array]:
    """Threefry of the whole numbers from zero on."""
    if size < 2**32:
        low = jax.lax.iota(jnp.uint32, size)
        return _hash(key, jnp.zeros_like(low), low)
    count = jax.lax.iota(jnp.uint64, size)
    return _hash(key, (count >> np.uint64(32)).astype(jnp.uint32), count.astype(jnp.uint32))


# A barrier keeps XLA from hashing anew for each who uses a number, and from a program that is larger for it. Compiled
# where they are called by themselves, and lowered once where a program calls them often.
@partial(jax.jit, static_argnums=1)
def _keys(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    words = jnp.stack(_counted(key, math.prod(shape)), axis=-1).reshape(*shape, 2)
    return jax.lax.optimization_barrier(words)


@partial(jax.jit, static_argnums=(1, 2))
def _bits(key: jax.Array, width: int, shape: tuple[int, ...]) -> jax.Array:
    high, low = _counted(key, math.prod(shape))
    word = _WORDS[width]
    bits = (high.astype(word) << word(32)) | low.astype(word) if width == 64 else (high ^ low).astype(word)
    return jax.lax.optimization_barrier(bits.reshape(shape))


@jax.jit
def _folded(key: jax.Array, data: jax.Array) -> jax.Array:
    low = data.astype(jnp.uint32)[None]
    return jax.lax.optimization_barrier(jnp.concatenate(_hash(key, jnp.zeros_like(low), low)))


@jax.jit
def _seed(seed: jax.Array) -> jax.Array:
    high = jax.lax.shift_right_logical(seed, jnp.asarray(32, seed.dtype)) if seed.dtype.itemsize == 8 else 0 * seed
    return jnp.stack([high.astype(jnp.uint32), seed.astype(jnp.uint32)])


def _by_numpy(key: jax.Array, counts: np.ndarray, shape: tuple[int, ...]) -> jax.Array:
    words = np.stack(_hash(np.asarray(key), np.zeros_like(counts), counts), axis=-1)
    return jax.device_put(words.reshape(*shape, 2))


def _split(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    size = math.prod(shape)
    if isinstance(key, jax.core.Tracer) or size > _FEW:
        return _keys(key, tuple(shape))
    return _by_numpy(key, np.arange(size, dtype=np.uint32), shape)


def _fold_in(key: jax.Array, data: Any) -> jax.Array:
    if isinstance(key, jax.core.Tracer) or isinstance(data, jax.core.Tracer):
        return _folded(key, data)
    return _by_numpy(key, np.asarray(data).astype(np.uint32)[None], ())


def _random_bits(key: jax.Array, width: int, shape: tuple[int, ...]) -> jax.Array:
    return _bits(key, width, tuple(shape))


UNROLLED = define_prng_impl(
    key_shape=(2,),
    seed=_seed,
    split=_split,
    random_bits=_random_bits,
    fold_in=_fold_in,
    name="confide_threefry2x32",
    tag="cfry",
)
