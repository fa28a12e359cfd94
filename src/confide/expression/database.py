"""Reading an expression as columns of a database, through Ibis.

The engine computes in double precision, as NumPy and JAX do. What is used twice becomes a column of its own, a *stage*:
written in place it would be repeated, and nested repetition grows exponentially. Constants are computed here, in double
precision, and handed over as the text that reads back as the same double, for an engine may read `0.1` as a decimal.

An engine that rounds differently, or wrongly, is caught by the clamping of whole numbers that follows
(`confide.releasing.quantise`). How components of a vector move together is proved for what is written here: each
operation is one of `confide.expression.interval`, rounded once, library functions to a few units in the last place, and
what is tiny may become 0. A formula that is added here must lie in those intervals.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.expression.evaluate import ArrayReader
from confide.expression.tree import COMPARISONS, Tree, integer_exponent, read

#: an Ibis value, given the Ibis table that holds the columns; Ibis itself is imported where it is used
Formula = Callable[[Any], Any]
Operand = float | Formula

#: SQL is written by one thread at a time
_WRITING = threading.Lock()
if hasattr(os, "register_at_fork"):  # a fork must not find it taken by a thread that it does not have
    os.register_at_fork(before=_WRITING.acquire, after_in_parent=_WRITING.release, after_in_child=_WRITING.release)
#: operations that every engine has, and what Ibis calls them
_DIRECT = {"absolute": "abs", "exp": "exp", "log": "ln", "sqrt": "sqrt", "negative": "negate"}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "subtract": lambda a, b: a - b,
    "multiply": lambda a, b: a * b,
    "divide": lambda a, b: a / b,
    "less": lambda a, b: a < b,
    "less_equal": lambda a, b: a <= b,
    "greater": lambda a, b: a > b,
    "greater_equal": lambda a, b: a >= b,
    "equal": lambda a, b: a == b,
    "not_equal": lambda a, b: a != b,
}


@dataclass(frozen=True)
class Column:
    """A formula that is a column already, so that it costs nothing to use it again."""

    name: str

    def __call__(self, table: Any) -> Any:
        """The column of the table."""
        return table[self.name]


def double(value: float) -> Any:
    """A constant as a double, exactly: the engine reads the text, and no decimal type comes between."""
    import ibis

    return ibis.literal(repr(float(value))).cast("float64")


class DatabaseReader:
    """Reads an expression over columns of doubles, by name; `table` grows by the stages on the way."""

    def __init__(self, table: Any, columns: Mapping[str, str]) -> None:
        self.table = table
        self.variable: Callable[[str], Operand] = lambda name: Column(columns[name])
        self._stages = 0

    def __getattr__(self, operation: str) -> Any:
        if operation in _DIRECT:
            return lambda a: self._call(operation, lambda value: getattr(value, _DIRECT[operation])(), a)
        if operation in COMPARISONS:
            one, zero = double(1.0), double(0.0)
            return lambda a, b: self._call(operation, lambda p, q: _ARITHMETIC[operation](p, q).ifelse(one, zero), a, b)
        if operation in _ARITHMETIC:
            return lambda a, b: self._call(operation, _ARITHMETIC[operation], a, b)
        raise AttributeError(operation)

    @staticmethod
    def number(value: float) -> float:
        """A constant stays a number until it meets a column."""
        return value

    def _call(self, operation: str, function: Callable[..., Any], *operands: Operand) -> Operand:
        """An operation on columns; on constants alone it is computed here, as NumPy does."""
        if all(isinstance(operand, float) for operand in operands):
            with np.errstate(all="ignore"):
                return float(getattr(ArrayReader(np, {}), operation)(*operands))
        return lambda t: function(*(column_of(t, operand) for operand in operands))

    def stage(self, operand: Operand) -> Operand:
        """The operand as a column of the table, so that it can be used more than once."""
        if isinstance(operand, float | Column):
            return operand
        name = f"stage{self._stages}"
        self._stages += 1
        self.table = self._keep(self.table.mutate(**{name: operand(self.table)}))
        return Column(name)

    def _keep(self, table: Any) -> Any:
        """A table that the engine's planner does not take apart again."""
        return table

    def power(self, a: Operand, b: Operand) -> Operand:
        """A small integer power is the same chain of products as everywhere."""
        k = integer_exponent(b) if isinstance(b, float) else None
        if k is None or isinstance(a, float):
            return self._call("power", lambda p, q: p.pow(q), a, b)
        if k == 0:
            return 1.0
        if k < 0:
            inverse: Operand = self.divide(1.0, self.power(a, float(-k)))
            return inverse
        result: Operand | None = None
        base: Operand = a
        while k:
            if k > 1:
                base = self.stage(base)
            if k & 1:
                result = base if result is None else self.multiply(result, base)
            k >>= 1
            if k:
                base = self.multiply(base, base)
        assert result is not None
        return result

    def sign(self, a: Operand) -> Operand:
        """−1, 0 or 1 as a double: DuckDB's is an integer of eight bits, and a sum of 128 of them would be an error."""
        return self._call("sign", lambda value: value.sign() * double(1.0), a)

    def minimum(self, a: Operand, b: Operand) -> Operand:
        """The smaller."""
        import ibis

        return self._call("minimum", ibis.least, a, b)

    def maximum(self, a: Operand, b: Operand) -> Operand:
        """The larger."""
        import ibis

        return self._call("maximum", ibis.greatest, a, b)

    def clip(self, a: Operand, low: Operand, high: Operand) -> Operand:
        """Between two limits; the upper one wins. Ibis's own `clip` repeats its argument."""
        return self.minimum(self.maximum(a, low), high)

    def log1p(self, a: Operand) -> Operand:
        """log(1 + a) without loss near 0, where engines lack it (Kahan): log(u)·(a/(u − 1)) with u = 1 + a rounded.

        log is 2·2⁻⁵³ off, quotient and product 2⁻⁵³ each, and log(u)/(u − 1) changes by no more than u does: 5·2⁻⁵³.
        The quotient is near 1 and comes first, for log(u)·a would overflow at 1e308.
        """
        if isinstance(a, float):
            return float(np.log1p(a))
        argument = self.stage(a)
        u = self.stage(self.add(argument, 1.0))
        one = double(1.0)

        def formula(t: Any) -> Any:
            p, q = column_of(t, argument), column_of(t, u)
            safe = (q == one).ifelse(double(2.0), q)
            return (q == one).ifelse(p, safe.ln() * (p / (safe - one)))

        return formula

    def where(self, condition: Operand, yes: Operand, no: Operand) -> Operand:
        """The chosen branch."""
        if isinstance(condition, float):
            return yes if condition != 0 else no
        return lambda t: (condition(t) != double(0.0)).ifelse(column_of(t, yes), column_of(t, no))

    def interp(self, a: Operand, knots: tuple[float, ...], values: tuple[float, ...]) -> Operand:
        """A table, as a balanced tree of comparisons over its segments."""
        if isinstance(a, float):
            return float(np.interp(a, knots, values))
        argument = self.stage(a)

        def segments(x: Any, first: int, last: int) -> Any:
            if last - first > 1:
                middle = (first + last) // 2
                return (x < double(knots[middle])).ifelse(segments(x, first, middle), segments(x, middle, last))
            slope = (values[last] - values[first]) / (knots[last] - knots[first])
            return self._product(double(slope), x - double(knots[first])) + double(values[first])

        def formula(t: Any) -> Any:
            x = column_of(t, argument)
            inside = (x >= double(knots[-1])).ifelse(double(values[-1]), segments(x, 0, len(knots) - 1))
            return (x <= double(knots[0])).ifelse(double(values[0]), inside)

        return formula

    @staticmethod
    def _product(u: Any, v: Any) -> Any:
        """The product of two Ibis values."""
        return u * v


class PostgresReader(DatabaseReader):
    """PostgreSQL raises an error where a product, a quotient, a power or exp underflows to 0, as C does not.

    An error that depends on a record must not happen, so results that small are 0 before they are computed. No grid
    is as fine, but a comparison is: `interval.or_zero` knows of it.
    """

    _TINY = 1e-154

    def _keep(self, table: Any) -> Any:
        """PostgreSQL repeats the columns of a plain subquery wherever they are used, but not of one with a limit."""
        return table.limit(2**62)

    def multiply(self, a: Operand, b: Operand) -> Operand:
        """0 where one factor is tiny and the other at most 1."""
        if isinstance(a, float) and isinstance(b, float):
            return a * b
        return self._call("multiply", self._product, self.stage(a), self.stage(b))

    @classmethod
    def _product(cls, u: Any, v: Any) -> Any:
        one, tiny = double(1.0), double(cls._TINY)
        vanishes = ((u.abs() < tiny) & (v.abs() <= one)) | ((v.abs() < tiny) & (u.abs() <= one))
        return vanishes.ifelse(double(0.0), u * v)

    def divide(self, a: Operand, b: Operand) -> Operand:
        """0 where the numerator is tiny and the divisor at least 1, or the divisor huge and the numerator below 1."""
        if isinstance(a, float) and isinstance(b, float):
            return float(np.float64(a) / np.float64(b))
        p, q = self.stage(a), self.stage(b)

        def formula(t: Any) -> Any:
            u, v = column_of(t, p), column_of(t, q)
            one, tiny, huge = double(1.0), double(self._TINY), double(1 / self._TINY)
            vanishes = ((u.abs() < tiny) & (v.abs() >= one)) | ((u.abs() < one) & (v.abs() > huge))
            return vanishes.ifelse(double(0.0), u / v)

        return formula

    def exp(self, a: Operand) -> Operand:
        """exp(−700) is 1e-304, far below every grid."""
        return self._call("exp", lambda value: value.exp(), self.maximum(a, -700.0))

    def power(self, a: Operand, b: Operand) -> Operand:
        """0 where b·log(a) is so low that the power of a base that is not negative would underflow."""
        both_known = isinstance(a, float) and isinstance(b, float)
        if both_known or (isinstance(b, float) and integer_exponent(b) is not None):
            return super().power(a, b)
        base, exponent = self.stage(a), self.stage(b)
        # log(a) is 0 or above 1e-17 in size, so that a larger exponent decides nothing, but its product would overflow
        limited = self.clip(exponent, -1e300, 1e300)
        size = self.stage(self.multiply(limited, self.log(self.maximum(base, 1e-300))))

        def formula(t: Any) -> Any:
            result = column_of(t, base).pow(column_of(t, exponent))
            return (column_of(t, size) < double(-690.0)).ifelse(double(0.0), result)

        return formula


def column_of(table: Any, operand: Operand) -> Any:
    """The Ibis value of an operand: a constant, or a formula over the table."""
    return double(operand) if isinstance(operand, float) else operand(table)


def read_in_database(tree: Tree, table: Any, columns: Mapping[str, str], engine: str) -> tuple[Any, Operand]:
    """The table with the stages that the expression in these columns needs, and the expression over it."""
    reader = (PostgresReader if engine == "postgres" else DatabaseReader)(table, columns)
    value = read(tree, reader)
    return reader.table, value


def staged_sql(connection: Any, query: Any) -> str:
    """The SQL of a query with its stages apart: Ibis would merge them into one select, and repeat what they share."""
    # this hook makes tables in memory known to the engine
    connection._run_pre_execute_hooks(query)
    with compiling():
        return str(connection.compile(query))


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """The time in which Ibis writes SQL; it keeps stages apart by an option of the whole process alone.

    So one thread writes at a time, and none leaves the option as another had set it; queries run without the lock.
    """
    import ibis

    with _WRITING:
        before = ibis.options.sql.fuse_selects
        ibis.options.sql.fuse_selects = False
        try:
            yield
        finally:
            ibis.options.sql.fuse_selects = before
