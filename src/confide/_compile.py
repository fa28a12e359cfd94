"""How hard XLA works on a program. What a user waits for first is compilation."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp

Options = dict[str, bool | int | float | str]

#: two thirds of the compile time of the default, at no loss, for programs of many parts that run often. Versions of JAX
#: from 0.11 on know no such option, and refuse it
IN_PARTS: Options = {"xla_cpu_use_fusion_emitters": False} if jax.__version_info__ < (0, 11) else {}
#: half the compile time of the default. Loops over random numbers become two or three times slower; inversions and what
#: runs a few times do not
FAST_COMPILE: Options = {"xla_backend_optimization_level": 1, **IN_PARTS}


def numbers_of(program: Any, *arrays: Any, **static: Any) -> Any:
    """What a jitted function gives for arrays that are known, as numbers also inside somebody's trace."""
    return program.lower(*arrays, **static).compile()(*arrays)


@contextlib.contextmanager
def on_the_cpu() -> Iterator[None]:
    """Programs run on the processor, also where there is an accelerator, which keeps fewer digits."""
    try:
        cpu = jax.local_devices(backend="cpu")[0]
    except RuntimeError:  # JAX was told to do without
        yield
        return
    with jax.default_device(cpu):
        yield


def materialize(value: jax.Array) -> jax.Array:
    """The same numbers, computed by themselves.

    XLA on a CPU puts what it takes for cheap into the loop of each that uses it: a proposed θ, random bits and all,
    into a loop over records. A running sum it computes by itself, and that of nothing and a number is the number.
    """
    return jnp.cumsum(jnp.stack([jnp.zeros_like(value), value]), axis=0)[1]
