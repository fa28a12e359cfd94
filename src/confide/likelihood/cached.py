"""What is computed once for its arguments, also inside somebody's trace."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import jax

P = ParamSpec("P")
R = TypeVar("R")


def once(function: Callable[P, R]) -> Callable[P, R]:
    """Remember results; compute them with known numbers even inside somebody's trace, and in double precision."""

    @functools.lru_cache(maxsize=256)
    @functools.wraps(function)
    def compute(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            return function(*args, **kwargs)

    return compute  # type: ignore[return-value]
