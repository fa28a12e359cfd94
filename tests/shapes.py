"""Shapes of arrays, looked at whenever a test calls a function that is annotated with them."""

from beartype import beartype
from jax.typing import ArrayLike
from jaxtyping import AbstractArray, Shaped

#: packages and modules in which arrays are annotated with their shapes
ANNOTATED = [
    "confide.mechanism",
    "confide.prior",
    *(f"confide.population.{name}" for name in ("density", "tails", "tiles")),
    *(f"confide.likelihood.{name}" for name in ("score_integral", "batched", "local.records", "local.response")),
    *(f"confide.likelihood.mean.{name}" for name in ("normal", "share", "spectral", "y_rules")),
    *(f"confide.likelihood.{name}" for name in ("rank.order", "rank.pool", "cells.route")),
    *(f"confide.information.{name}" for name in ("private", "result")),
]


def checked(function):
    """Whether dimensions of one name are one number; kinds are mypy's, and a number may be a traced or NumPy's one."""
    function.__annotations__ = {
        name: Shaped[ArrayLike, kind.dim_str]
        for name, kind in function.__annotations__.items()
        if isinstance(kind, type) and issubclass(kind, AbstractArray)
    }
    return beartype(function)
