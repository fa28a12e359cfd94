"""Double precision, without touching the caller's JAX configuration.

JAX computes in single precision unless told otherwise, and the switch is global. Everything deterministic here needs
double precision, so public functions enter `jax.enable_x64` for their own duration and hand back NumPy arrays: a
float64 JAX array outside that context is a trap, because the next operation on it silently rounds to float32.
Inside somebody's trace the values are tracers, which are passed through untouched.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


def _to_numpy(leaf: Any) -> Any:
    if (
        isinstance(leaf, jax.Array)
        and not isinstance(leaf, jax.core.Tracer)
        and not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
    ):
        return np.asarray(leaf)
    return leaf


def float64(function: Callable[P, R]) -> Callable[P, R]:
    """Run a public function in double precision and return NumPy arrays."""

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.enable_x64(True):
            result: R = jax.tree.map(_to_numpy, function(*args, **kwargs))
        return result

    return wrapper
