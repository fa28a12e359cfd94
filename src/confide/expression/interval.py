"""Interval arithmetic, rounded outward: the proof of a range.

An `Interval` holds arrays of lower and upper ends, so that one call bounds an expression on many pieces at once.
Arithmetic is rounded exactly in the safe direction. Library functions (exp, log, general powers) are widened by
several units in the last place, which covers the C library, XLA and any database; they stay exact where they are
known to be (exp(0), log(1), 0**a, 1**a).

Every operation contains the exact result of the operation on any numbers inside its arguments, and so what every
engine computes: the exact result rounded, once or (a·b + c in one step) later, since rounding never passes a double.
There is one exception, and one rule for it: what is tiny may be 0 instead (`or_zero`). By induction the expression
lies inside of its interval wherever it is evaluated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from confide.expression import rounding
from confide.expression.rounding import Array, Mask
from confide.expression.tree import integer_exponent

#: The C library, the JVM and XLA are within two units in the last place, and log1p as a database computes it,
#: log(u)·(a/(u − 1)), within 5·2⁻⁵³: at most five units, and one more for the end that is computed here.
_LIBRARY_ULPS = 8

#: Products, quotients and powers below 1e-154 are 0 where an engine would otherwise stop at an underflow
#: (`database.PostgresReader`), and exp(a) is at least exp(−700). Sums below the normal doubles may be flushed.
_FLUSHED, _SUBNORMAL = 1.1e-154, 2.2250738585072014e-308
_EXP_FLOOR = 1e-304


class UndefinedError(Exception):
    """An operation is not defined, or not bounded, on the whole of its arguments."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Closed intervals [low, high]."""

    low: Array
    high: Array

    @staticmethod
    def of(low: float | Array, high: float | Array) -> Interval:
        """Intervals from their ends."""
        return Interval(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))

    def contains(self, value: float) -> Mask:
        """Whether a value may lie inside; of ∞ − ∞ or ∞/∞, whose ends are no numbers, nothing is known."""
        return ~((value < self.low) | (self.high < value))

    def hull(self, other: Interval) -> Interval:
        """The smallest intervals around both."""
        return Interval(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def describe(self) -> str:
        """The hull of all intervals, as text."""
        return f"[{float(np.min(self.low)):.6g}, {float(np.max(self.high)):.6g}]"


def point(value: float) -> Interval:
    """The interval that holds one number."""
    return Interval.of(value, value)


#: constants that occur often
ZERO, ONE = point(0.0), point(1.0)


def choose(condition: Mask, yes: Interval, no: Interval) -> Interval:
    """Elementwise choice between intervals."""
    return Interval(np.where(condition, yes.low, no.low), np.where(condition, yes.high, no.high))


def or_zero(a: Interval, tiny: float = _FLUSHED) -> Interval:
    """The interval, and 0 as well if something in it is so small that an engine may take it for 0."""
    low = np.where((a.low > 0) & (a.low <= tiny), 0.0, a.low)
    return Interval(low, np.where((a.high < 0) & (a.high >= -tiny), 0.0, a.high))


def add(a: Interval, b: Interval) -> Interval:
    """The sum."""
    return or_zero(Interval(rounding.add(a.low, b.low, -1), rounding.add(a.high, b.high, 1)), _SUBNORMAL)


def negative(a: Interval) -> Interval:
    """The negative."""
    return Interval(-a.high, -a.low)


def _corners(operation: Callable[[Array, Array, float], Array], a: Interval, b: Interval) -> Interval:
    """The range of an operation that is monotone in each argument: its values at the corners, all at once."""
    u, v = np.stack([a.low, a.low, a.high, a.high]), np.stack([b.low, b.high, b.low, b.high])
    if u.ndim != v.ndim:
        dimension = max(u.ndim, v.ndim)
        u, v = (part.reshape(4, *(1,) * (dimension - part.ndim), *part.shape[1:]) for part in (u, v))
    return Interval(operation(u, v, -1).min(axis=0), operation(u, v, 1).max(axis=0))


def multiply(a: Interval, b: Interval) -> Interval:
    """The product."""
    return or_zero(_corners(rounding.multiply, a, b))


def divide(a: Interval, b: Interval) -> Interval:
    """The quotient; undefined where the divisor may vanish."""
    if np.any(b.contains(0.0)):
        raise UndefinedError(f"division by values in {b.describe()}")
    return or_zero(_corners(rounding.divide, a, b))


def absolute(a: Interval) -> Interval:
    """The absolute value."""
    low = np.where(a.contains(0.0), 0.0, np.minimum(np.abs(a.low), np.abs(a.high)))
    return Interval(low, np.maximum(np.abs(a.low), np.abs(a.high)))


def _library(function: Callable[[Array], Array], a: Interval, exact_at: float) -> Interval:
    """An increasing library function, widened except where it is known exactly."""
    with np.errstate(all="ignore"):
        low, high = function(a.low), function(a.high)
    return Interval(
        np.where(a.low == exact_at, low, rounding.nudge(low, -1, _LIBRARY_ULPS)),
        np.where(a.high == exact_at, high, rounding.nudge(high, 1, _LIBRARY_ULPS)),
    )


def exp(a: Interval) -> Interval:
    """The exponential, which is never negative; an engine may compute the smallest ones larger than they are."""
    result = _library(np.exp, a, 0.0)
    high = np.where(result.low < _EXP_FLOOR, np.maximum(result.high, _EXP_FLOOR), result.high)
    return or_zero(Interval(np.maximum(result.low, 0.0), high), _EXP_FLOOR)


def log(a: Interval) -> Interval:
    """The logarithm of positive values."""
    if np.any(a.low <= 0):
        raise UndefinedError(f"log of values in {a.describe()}")
    return _library(np.log, a, 1.0)


def log1p(a: Interval) -> Interval:
    """log(1 + a) for a > −1."""
    if np.any(a.low <= -1):
        raise UndefinedError(f"log1p of values in {a.describe()}")
    return _library(np.log1p, a, 0.0)


def sqrt(a: Interval) -> Interval:
    """The square root of values that are not negative."""
    if np.any(a.low < 0):
        raise UndefinedError(f"sqrt of values in {a.describe()}")
    return Interval(rounding.sqrt(a.low, -1), rounding.sqrt(a.high, 1))


def integer_power(a: Interval, exponent: int) -> Interval:
    """a**k for an integer k, by the same chain of products as evaluation uses."""
    if exponent < 0:
        inverse = integer_power(a, -exponent)
        if not np.all(np.isfinite(inverse.high)):  # an engine may stop at it, although 1/∞ is no more than 0
            raise UndefinedError(f"the power {exponent} of values in {a.describe()}")
        return divide(ONE, inverse)
    if exponent == 0:
        return Interval(np.ones_like(a.low), np.ones_like(a.high))
    if exponent % 2 == 0:
        a = absolute(a)
    # 0 for what is tiny on the way: all of it is a power of one number, so that the result is tiny too
    return or_zero(Interval(_chain(a.low, exponent, -1), _chain(a.high, exponent, 1)))


def _chain(base: Array, exponent: int, direction: float) -> Array:
    """|base|**k by repeated squaring, rounded away from or towards zero so that the signed result is outward."""
    outward = np.where(base < 0, -direction, direction)
    size = np.abs(base)
    down, up = (_power_of_size(size, exponent, side) for side in (-1.0, 1.0))
    power = np.where(outward < 0, down, up)
    return np.where((base < 0) & (exponent % 2 == 1), -power, power)


def _power_of_size(size: Array, exponent: int, direction: float) -> Array:
    result: Array | None = None
    while exponent:
        if exponent & 1:
            result = size if result is None else rounding.multiply(result, size, direction)
        exponent >>= 1
        if exponent:
            size = rounding.multiply(size, size, direction)
    assert result is not None
    return result


def real_power(a: Interval, exponent: float) -> Interval:
    """a**c for a constant c that is not a small integer; a ≥ 0."""
    if np.any(a.low < 0):
        raise UndefinedError(f"the power {exponent:g} of values in {a.describe()}")
    if exponent < 0 and np.any(a.low == 0):
        raise UndefinedError(f"the power {exponent:g} of values in {a.describe()}")

    def raised(base: Array, direction: float) -> Array:
        with np.errstate(all="ignore"):
            value = np.power(base, exponent)
        exact = (base == 0) | (base == 1)
        return np.where(exact, value, np.maximum(rounding.nudge(value, direction, _LIBRARY_ULPS), 0.0))

    ends = (a.low, a.high) if exponent > 0 else (a.high, a.low)
    return or_zero(Interval(raised(ends[0], -1), raised(ends[1], 1)))


def power(a: Interval, b: Interval) -> Interval:
    """a**b: for a constant integer b, a constant real b with a ≥ 0, or any b with a > 0."""
    if b.low.size == 1 and b.low.item() == b.high.item():
        exponent = float(b.low.item())
        k = integer_exponent(exponent)
        return real_power(a, exponent) if k is None else integer_power(a, k)
    if np.any(a.low <= 0):
        raise UndefinedError(f"a varying power of values in {a.describe()}")
    # pow is monotone in each argument on a > 0, and its corners are bounded through exp and log
    with np.errstate(all="ignore"):
        corners = [np.power(u, v) for u in (a.low, a.high) for v in (b.low, b.high)]
    low = rounding.nudge(functools.reduce(np.minimum, corners), -1, _LIBRARY_ULPS)
    high = rounding.nudge(functools.reduce(np.maximum, corners), 1, _LIBRARY_ULPS)
    return or_zero(Interval(np.maximum(low, 0.0), high))
