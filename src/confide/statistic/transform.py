"""s(x): what is computed from one record, once it is clipped to the bounds.

Usually an `Expression`, which proves its own range. A Python callable is accepted for modelling: it must declare a
range, to which its output is clamped, and it can be neither released from a database nor saved.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidArgument, RangeError
from confide.expression import Expression, Piece


@dataclass(frozen=True)
class Function:
    """A Python callable with a declared range, standing in for an expression where only modelling is needed."""

    callable: Callable[[Any], Any]
    declared: tuple[float, float]

    def __call__(self, x: Any) -> Any:
        """The value at x."""
        return self.callable(x)

    def range(self, low: float, high: float, shared: int = 1) -> tuple[float, float]:
        """The declared range, whatever the bounds."""
        del low, high, shared
        return self.declared

    def pieces(self, low: float, high: float) -> tuple[Piece, ...]:
        """A callable cannot be read, only called, so its pieces are not known."""
        raise RangeError(
            "expression",
            self.callable,
            f"is a Python function, whose kinks and monotone pieces on ({low:g}, {high:g}) cannot be read",
            "write the statistic as a text in the expression language",
        )

    @property
    def levels(self) -> tuple[float, ...] | None:
        """Not known."""
        return None

    @property
    def is_identity(self) -> bool:
        """Not known, so no."""
        return False

    def __str__(self) -> str:
        return getattr(self.callable, "__name__", "a function") + "(x)"


Transform = Expression | Function


@functools.lru_cache(maxsize=1024)
def ranges_of(transforms: tuple[Transform, ...], bounds: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    """The certified range of each component on the bounds."""
    return tuple(transform.range(*bounds, shared=len(transforms)) for transform in transforms)


def as_transform(expression: object, declared: object = None) -> Transform:
    """An expression from text, or a function with its declared range."""
    if isinstance(expression, Expression | Function):
        return expression
    if callable(expression):
        if declared is None:
            raise InvalidArgument(
                "expression",
                expression,
                "is a Python function without a declared range",
                "add range=(low, high), or write it as text such as 'abs(x)'",
            )
        return Function(expression, as_pair("range", declared))
    if declared is not None:
        raise InvalidArgument("range", declared, "is given for an expression, which proves its own", "leave range out")
    return Expression(expression)  # type: ignore[arg-type]  # the parser refuses what is not text


def as_pair(argument: str, value: object) -> tuple[float, float]:
    """Two finite numbers in increasing order."""
    remedy = "give two finite numbers (low, high) with low < high"
    try:
        low, high = (float(end) for end in value)  # type: ignore[attr-defined]
    except (TypeError, ValueError) as error:
        raise InvalidArgument(argument, value, "is not a pair of numbers", remedy) from error
    if not (math.isfinite(low) and math.isfinite(high)):
        raise InvalidArgument(argument, value, "is not finite", remedy)
    if low >= high:
        raise InvalidArgument(argument, value, "is empty or reversed", remedy)
    return low, high


def apply(transform: Transform, namespace: Any, x: Any, low: float, high: float, shared: int = 1) -> Any:
    """s(clip(x)), clamped to its certified range, of a component of a vector if it is `shared`."""
    bottom, top = transform.range(low, high, shared)
    value = transform(namespace.clip(namespace.asarray(x, dtype=np.float64), low, high))
    return namespace.clip(value, bottom, top)
