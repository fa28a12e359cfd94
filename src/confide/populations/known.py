"""Families of which one parameter is known."""

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


def called(function: str, known: str, value: float) -> str:
    """The name of a population, which is the call that makes it.

    >>> called("normal_mean", "variance", 2.0)
    'normal_mean(variance=2)'
    """
    short = f"{value:g}"
    return f"{function}({known}={short if float(short) == value else repr(value)})"
