"""Double precision, without touching the caller's JAX configuration.

JAX computes in single precision unless told otherwise, and the switch is global. Everything deterministic here needs
double precision, so public functions enter `jax.enable_x64` for their own duration and hand back NumPy arrays: a
float64 JAX array outside that context is a trap, because the next operation on it silently rounds to float32. What is
compiled meanwhile is kept for the next process (`_kept`).
Inside somebody's trace the values are tracers, which are passed through untouched; but what a caller in single
precision differentiates is transposed after the function has returned, so that its derivatives are taken before.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from confide._kept import KEPT

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
        with jax.enable_x64(True), KEPT:
            result: R = jax.tree.map(_to_numpy, function(*args, **kwargs))
        return result

    return wrapper


def is_single(value: Any) -> bool:
    """Whether a value is traced by a caller who computes in single precision."""
    return isinstance(value, jax.core.Tracer) and value.dtype == jnp.float32


def _inexact(value: Any) -> Any:
    """What is traced as a whole number, as a real one: nobody asks for a derivative in it, and one may be computed."""
    whole = isinstance(value, jax.core.Tracer) and not jnp.issubdtype(value.dtype, jnp.floating)
    return value.astype(jnp.float32) if whole else value


def through_double(function: Callable[..., jax.Array], *arguments: Any, each: bool = False) -> jax.Array:
    """A function of arrays in double precision, for a caller who differentiates it in single precision.

    Its derivatives with respect to what is traced are computed with it: all that is left to be transposed is a product.
    With `each` the function is one of a single row of each array, and gives a number: rows know nothing of each other,
    so that a gradient each is all there is.
    """
    arguments = tuple(_inexact(argument) for argument in arguments)
    chosen = [i for i, argument in enumerate(arguments) if isinstance(argument, jax.core.Tracer)]

    def of(*arrays: jax.Array) -> jax.Array:
        return jax.vmap(function)(*arrays) if each else function(*arrays)

    def filled(traced: tuple[jax.Array, ...]) -> list[jax.Array]:
        given = [*arguments]
        for i, argument in zip(chosen, traced, strict=True):
            given[i] = argument
        return [jnp.asarray(argument, dtype=jnp.float64) for argument in given]

    def with_slopes(*given: jax.Array) -> tuple[jax.Array, tuple[jax.Array, ...]]:
        if each:
            return jax.vmap(jax.value_and_grad(function, argnums=chosen))(*given)
        return of(*given), jax.jacfwd(of, argnums=chosen)(*given)

    @jax.custom_jvp
    def rounded(*traced: jax.Array) -> jax.Array:
        with jax.enable_x64(True):
            return jnp.asarray(of(*filled(traced)), dtype=jnp.float32)

    @rounded.defjvp
    def _(primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]) -> tuple[jax.Array, jax.Array]:
        with jax.enable_x64(True):
            value, slopes = with_slopes(*filled(primals))
            value, *single = (part.astype(jnp.float32) for part in (value, *slopes))
        parts = [
            jnp.sum(slope * tangent, axis=tuple(range(value.ndim, slope.ndim)))
            for slope, tangent in zip(single, tangents, strict=True)
        ]
        return value, sum(parts[1:], parts[0])

    return rounded(*(arguments[i] for i in chosen))
