"""Interval arithmetic, rounded outward: the proof of a range.

An `Interval` holds arrays of lower and upper ends, so that one call bounds an expression on many pieces at once.
Arithmetic is rounded exactly in the safe direction. Library functions (exp, log, general powers) are widened by
several units in the last place, which covers the C library, XLA and any database; they stay exact where they are
known to be (exp(0), log(1), 0**a, 1**a).

Every operation contains the double-precision result of the same operation on any numbers inside its arguments, so
by induction the evaluated expression lies inside the evaluated interval, rounding included.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from confide.expression import rounding
from confide.expression.rounding import Array, Mask
from confide.expression.tree import integer_exponent

_LIBRARY_ULPS = 4


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
        """Whether a value lies inside."""
        return (self.low <= value) & (value <= self.high)

    def hull(self, other: Interval) -> Interval:
        """The smallest intervals around both."""
        return Interval(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def describe(self) -> str:
        """The hull of all intervals, as text."""
        return f"[{float(np.min(self.low)):.6g}, {float(np.max(self.high)):.6g}]"


def point(value: float) -> Interval:
    """The interval that holds one number."""
    return Interval.of(value, value)


ZERO, ONE = point(0.0), point(1.0)


def choose(condition: Mask, yes: Interval, no: Interval) -> Interval:
    """Elementwise choice between intervals."""
    return Interval(np.where(condition, yes.low, no.low), np.where(condition, yes.high, no.high))


def add(a: Interval, b: Interval) -> Interval:
    """The sum."""
    return Interval(rounding.add(a.low, b.low, -1), rounding.add(a.high, b.high, 1))


def negative(a: Interval) -> Interval:
    """The negative."""
    return Interval(-a.high, -a.low)


def _corners(operation: Callable[[Array, Array, float], Array], a: Interval, b: Interval) -> Interval:
    """The range of an operation that is monotone in each argument: its values at the corners."""
    pairs = [(u, v) for u in (a.low, a.high) for v in (b.low, b.high)]
    lows = [operation(u, v, -1) for u, v in pairs]
    highs = [operation(u, v, 1) for u, v in pairs]
    return Interval(functools.reduce(np.minimum, lows), functools.reduce(np.maximum, highs))


def multiply(a: Interval, b: Interval) -> Interval:
    """The product."""
    return _corners(rounding.multiply, a, b)


def divide(a: Interval, b: Interval) -> Interval:
    """The quotient; undefined where the divisor may vanish."""
    if np.any(b.contains(0.0)):
        raise UndefinedError(f"division by values in {b.describe()}")
    return _corners(rounding.divide, a, b)


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
    """The exponential, which is never negative."""
    result = _library(np.exp, a, 0.0)
    return Interval(np.maximum(result.low, 0.0), result.high)


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
        return divide(ONE, integer_power(a, -exponent))
    if exponent == 0:
        return Interval(np.ones_like(a.low), np.ones_like(a.high))
    if exponent % 2 == 0:
        a = absolute(a)
    low, high = _chain(a.low, exponent, -1), _chain(a.high, exponent, 1)
    return Interval(low, high)


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
    return Interval(raised(ends[0], -1), raised(ends[1], 1))


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
    return Interval(np.maximum(low, 0.0), rounding.nudge(functools.reduce(np.maximum, corners), 1, _LIBRARY_ULPS))
