"""The tree of an expression, and the one walk that serves every reader.

A reader is a namespace: it says what a number, the variable and each operation mean. `read` walks the tree once and
asks it. JAX evaluation, interval arithmetic, specialisation to a smooth piece and sets of levels are four such
namespaces; a database's expressions are a fifth.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Variable:
    """What the expression is about: the record, x, unless it is given other names."""

    name: str = "x"


@dataclass(frozen=True, slots=True)
class Call:
    """An operation of the language on its arguments."""

    operation: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Interp:
    """Linear interpolation in a table, constant beyond its ends."""

    argument: Tree
    knots: tuple[float, ...]
    values: tuple[float, ...]


Tree = Number | Variable | Call | Interp

#: operation -> number of arguments, as the readers know it (`min(a, b, c)` is parsed into nested pairs).
ARITY = {
    "add": 2, "subtract": 2, "multiply": 2, "divide": 2, "power": 2, "negative": 1,
    "absolute": 1, "minimum": 2, "maximum": 2, "clip": 3,
    "exp": 1, "log": 1, "log1p": 1, "sqrt": 1, "sign": 1,
    "less": 2, "less_equal": 2, "greater": 2, "greater_equal": 2, "equal": 2, "not_equal": 2,
    "where": 3,
}  # fmt: skip

#: operations with the values 0 and 1
COMPARISONS = frozenset({"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"})


class Reader(Protocol):
    """What a namespace must offer, besides one method per operation of `ARITY`."""

    def variable(self, name: str) -> Any:
        """What a variable means."""

    def number(self, value: float) -> Any:
        """What a constant means."""

    def interp(self, argument: Any, knots: tuple[float, ...], values: tuple[float, ...]) -> Any:
        """What a table means."""


def read(tree: Tree, reader: Reader) -> Any:
    """Give the tree the meaning that the reader gives to its parts."""
    match tree:
        case Number(value):
            return reader.number(value)
        case Variable(name):
            return reader.variable(name)
        case Interp(argument, knots, values):
            return reader.interp(read(argument, reader), knots, values)
        case Call(operation, arguments):
            return getattr(reader, operation)(*(read(argument, reader) for argument in arguments))


def children(tree: Tree) -> tuple[Tree, ...]:
    """The sub-expressions directly below a node."""
    match tree:
        case Call(_, arguments):
            return arguments
        case Interp(argument, _, _):
            return (argument,)
        case _:
            return ()


def nodes(tree: Tree) -> Iterator[Tree]:
    """All nodes, innermost first."""
    for child in children(tree):
        yield from nodes(child)
    yield tree


def integer_exponent(exponent: float) -> int | None:
    """The exponent as a small integer, if it is one: then x**k is a product and negative bases are welcome."""
    return int(exponent) if exponent == int(exponent) and abs(exponent) <= 64 else None
