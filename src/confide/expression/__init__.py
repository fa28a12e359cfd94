"""The expression language: what a statistic computes from one record, readable by everyone who needs to read it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from confide.errors import RangeError
from confide.expression import pieces as _pieces
from confide.expression.ascent import range_on
from confide.expression.boxes import Bounds
from confide.expression.certify import certified_range
from confide.expression.evaluate import evaluate
from confide.expression.interval import UndefinedError
from confide.expression.levels import levels
from confide.expression.parse import parse
from confide.expression.pieces import Piece
from confide.expression.text import format_tree
from confide.expression.tree import COMPARISONS, Call, Tree, Variable, nodes
from confide.expression.work import SEARCH, Work

__all__ = ["Expression", "Piece"]

R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class Expression:
    """An expression s(x) in the safe language: numbers, x, arithmetic, a few functions, comparisons, tables.

    Two texts that differ in blanks, brackets or the way numbers are written are the same expression:

    >>> Expression("abs( x )**2.0") == Expression("(abs(x)) ** 2")
    True
    >>> Expression("abs( x )**2.0")
    Expression('abs(x)**2')
    """

    text: str = field(compare=False)
    #: what its variables may be called: the column of a record, or those of a row
    names: tuple[str, ...] = field(default=("x",), compare=False)
    tree: Tree = field(init=False)

    def __post_init__(self) -> None:
        tree = parse(self.text, self.names)
        object.__setattr__(self, "tree", tree)
        object.__setattr__(self, "text", format_tree(tree))

    def __call__(self, x: Any) -> Any:
        """The value at x, or at columns by name: NumPy for NumPy arrays, JAX for JAX arrays and tracers."""
        return evaluate(self.tree, x)

    def range(self, low: float, high: float, shared: int = 1) -> tuple[float, float]:
        """An interval that provably contains every value on [low, high], as any engine computes it in double precision.

        The work to make it tight is limited, and `shared` by as many expressions.

        >>> Expression("x**2").range(-10, 10)
        (0.0, 100.0)
        """
        return self._on(functools.partial(certified_range, work=Work(SEARCH / shared)), low, high)

    def range_on(self, bounds: Bounds, shared: int = 1) -> tuple[float, float]:
        """The same in several variables, each within bounds of its own.

        >>> Expression("a * b", ("a", "b")).range_on({"a": (-1.0, 2.0), "b": (0.0, 3.0)})
        (-3.0, 6.0)
        """
        try:
            return range_on(self.tree, bounds, shared)
        except UndefinedError as error:
            raise RangeError(
                "expression",
                self.text,
                f"has no certified range on the bounds {dict(bounds)}: {error}",
                f"change the bounds or guard the argument, as in log(max({next(iter(bounds))}, 0.1))",
            ) from error

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that occur in it, in their order.

        >>> Expression("log(b) * a + b", ("a", "b")).variables
        ('b', 'a')
        """
        return tuple(dict.fromkeys(node.name for node in nodes(self.tree) if isinstance(node, Variable)))

    def pieces(self, low: float, high: float) -> tuple[Piece, ...]:
        """The smooth monotone pieces on [low, high].

        >>> [(p.low, p.high, p.direction) for p in Expression("min(abs(x), 3)").pieces(-10, 10)]
        [(-10.0, -3.0, 0), (-3.0, 0.0, -1), (0.0, 3.0, 1), (3.0, 10.0, 0)]
        """
        return self._on(_pieces.pieces, low, high)

    def _on(self, compute: Callable[[Tree, float, float], R], low: float, high: float) -> R:
        try:
            return compute(self.tree, float(low), float(high))
        except UndefinedError as error:
            raise RangeError(
                "expression",
                self.text,
                f"has no certified range on the bounds ({low:g}, {high:g}): {error}",
                "change the bounds or guard the argument, as in log(max(x, 0.1))",
            ) from error

    @property
    def compares(self) -> bool:
        """Whether it is a comparison, which is 0 or 1.

        >>> Expression("x > 6").compares, Expression("2 * (x > 6)").compares
        (True, False)
        """
        return isinstance(self.tree, Call) and self.tree.operation in COMPARISONS

    @property
    def levels(self) -> tuple[float, ...] | None:
        """The provably finite set of values, or None.

        >>> Expression("(x > 2) + (x > 5)").levels
        (0.0, 1.0, 2.0)
        """
        return levels(self.tree)

    @property
    def is_identity(self) -> bool:
        """Whether this is just x."""
        return self.tree == Variable()

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"
