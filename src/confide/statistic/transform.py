"""s(x): what is computed from one record, once it is clipped to the bounds.

Usually an `Expression`, which proves its own range. A Python callable is accepted for modelling: it must declare a
range, to which its output is clamped, and it can be neither released from a database nor saved.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidArgument, RangeError
from confide.expression import Expression, Piece
from confide.expression.boxes import Bounds
from confide.expression.parse import MAX_LENGTH
from confide.statistic.columns import ColumnBounds, Pair, as_pair, check_use, named_in


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

    def range_on(self, bounds: Bounds, shared: int = 1) -> tuple[float, float]:
        """The declared range, whatever the bounds of the columns."""
        del bounds, shared
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
def ranges_of(
    transforms: tuple[Transform, ...], bounds: tuple[float, float] | ColumnBounds
) -> tuple[tuple[float, float], ...]:
    """The certified range of each component on the bounds."""
    if isinstance(bounds, ColumnBounds):
        return tuple(transform.range_on(bounds.by_name, len(transforms)) for transform in transforms)
    return tuple(transform.range(*bounds, shared=len(transforms)) for transform in transforms)


def as_transform(expression: object, declared: object = None, names: tuple[str, ...] = ("x",)) -> Transform:
    """An expression in these variables from text, or a function with its declared range."""
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
    return Expression(expression, names)  # type: ignore[arg-type]  # the parser refuses what is not text


def as_transforms(expression: object, declared: object, bounds: Pair | ColumnBounds) -> tuple[Transform, ...]:
    """The components of s, which are about x or about the columns that are bounded."""
    names = named_in(expression, bounds)
    found = _listed(expression, declared, names)
    if isinstance(bounds, ColumnBounds):
        used = {name for part in found if isinstance(part, Expression) for name in part.variables}
        if all(isinstance(part, Expression) for part in found):
            check_use(used, bounds)
        # the same expression whatever else may have been named in the text that it was read from
        return tuple(Expression(part.text, bounds.names) if isinstance(part, Expression) else part for part in found)
    return found


def _listed(expression: object, declared: object, names: tuple[str, ...]) -> tuple[Transform, ...]:
    if isinstance(expression, Sequence) and not isinstance(expression, str):
        if not expression:
            raise InvalidArgument("expression", expression, "is empty", "give at least one expression")
        ranges = [None] * len(expression) if declared is None else list(declared)  # type: ignore[call-overload]
        if len(ranges) != len(expression):
            raise InvalidArgument("range", declared, "has another length than the expressions", "give one each")
        length = sum(len(part) for part in expression if isinstance(part, str))
        if length > MAX_LENGTH:
            problem = f"has {length} characters in all, more than {MAX_LENGTH}"
            raise InvalidArgument("expression", f"{len(expression)} expressions", problem, "use fewer or shorter ones")
        return tuple(as_transform(part, r, names) for part, r in zip(expression, ranges, strict=True))
    return (as_transform(expression, declared, names),)


def apply(transform: Transform, namespace: Any, x: Any, low: float, high: float, shared: int = 1) -> Any:
    """s(clip(x)), clamped to its certified range, of a component of a vector if it is `shared`."""
    bottom, top = transform.range(low, high, shared)
    value = transform(namespace.clip(namespace.asarray(x, dtype=np.float64), low, high))
    return namespace.clip(value, bottom, top)


def apply_to_rows(transforms: tuple[Transform, ...], namespace: Any, rows: Any, bounds: ColumnBounds) -> list[Any]:
    """s_j of clipped rows, given as columns by name, each clamped to its certified range."""
    clipped = bounds.clipped(namespace, rows)
    ranges = ranges_of(transforms, bounds)
    return [namespace.clip(transform(clipped), *ends) for transform, ends in zip(transforms, ranges, strict=True)]
