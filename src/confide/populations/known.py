"""Functions of families that are made of others: one parameter known, or one of two tails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp


@dataclass(frozen=True)
class Known:
    """A function of several parameters with one of them known; equal to another if both parts are."""

    function: Callable[..., Any]
    known: str
    value: float

    def __call__(self, *args: jax.Array, **unknown: jax.Array) -> Any:
        """The function with the known parameter filled in."""
        return self.function(*args, **unknown, **{self.known: jnp.asarray(self.value)})


@dataclass(frozen=True)
class Tail:
    """P(X ≤ x) (side 0) or P(X > x) (side 1), of a function that knows both."""

    both: Callable[..., tuple[jax.Array, jax.Array]]
    side: int

    def __call__(self, x: jax.Array, **parameters: jax.Array) -> jax.Array:
        """The tail beyond x on this side."""
        return self.both(x, **parameters)[self.side]


def both_tails(both: Callable[..., tuple[jax.Array, jax.Array]]) -> dict[str, Any]:
    """The two tails as a population is given them."""
    return {"cdf": Tail(both, 0), "survival": Tail(both, 1)}


def called(function: str, known: str, value: float) -> str:
    """The name of a population, which is the call that makes it.

    >>> called("normal_mean", "variance", 2.0)
    'normal_mean(variance=2)'
    """
    short = f"{value:g}"
    return f"{function}({known}={short if float(short) == value else repr(value)})"
