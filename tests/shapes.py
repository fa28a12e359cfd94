"""Shapes of arrays, looked at whenever a test calls a function that is annotated with them."""

from beartype import beartype
from jax.typing import ArrayLike
from jaxtyping import AbstractArray, Shaped


def checked(function):
    """Whether dimensions of one name are one number; kinds are mypy's, and a number may be a traced or NumPy's one."""
    function.__annotations__ = {
        name: Shaped[ArrayLike, kind.dim_str]
        for name, kind in function.__annotations__.items()
        if isinstance(kind, type) and issubclass(kind, AbstractArray)
    }
    return beartype(function)
