"""Two readers that bound an expression on intervals: its range, and its range together with its slope.

Both are conservative: the true range and the true slopes (almost everywhere) lie inside. A slope may be infinite
(`sqrt` at 0) and is the whole line where the expression may jump.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from confide.expression import interval
from confide.expression.interval import ONE, ZERO, Interval, choose, point
from confide.expression.table import table
from confide.expression.tree import integer_exponent

#: a slope of which nothing is known
WHOLE = Interval.of(-np.inf, np.inf)


Variables = Interval | Mapping[str, Interval]


def _called(variables: Variables, name: str) -> Interval:
    """The intervals of one variable: the only one, or the one of this name."""
    return variables if isinstance(variables, Interval) else variables[name]


class RangeReader:
    """Reads an expression as the interval of its values."""

    add = staticmethod(interval.add)
    multiply = staticmethod(interval.multiply)
    divide = staticmethod(interval.divide)
    power = staticmethod(interval.power)
    negative = staticmethod(interval.negative)
    absolute = staticmethod(interval.absolute)
    exp = staticmethod(interval.exp)
    log = staticmethod(interval.log)
    log1p = staticmethod(interval.log1p)
    sqrt = staticmethod(interval.sqrt)
    number = staticmethod(point)

    def __init__(self, variable: Variables) -> None:
        self.variable = lambda name: _called(variable, name)

    @staticmethod
    def subtract(a: Interval, b: Interval) -> Interval:
        """The difference."""
        return interval.add(a, interval.negative(b))

    @staticmethod
    def minimum(a: Interval, b: Interval) -> Interval:
        """The smaller."""
        return Interval(np.minimum(a.low, b.low), np.minimum(a.high, b.high))

    @staticmethod
    def maximum(a: Interval, b: Interval) -> Interval:
        """The larger."""
        return Interval(np.maximum(a.low, b.low), np.maximum(a.high, b.high))

    @classmethod
    def clip(cls, a: Interval, low: Interval, high: Interval) -> Interval:
        """Between two limits; the upper one wins, as everywhere in array languages."""
        return cls.minimum(cls.maximum(a, low), high)

    @staticmethod
    def sign(a: Interval) -> Interval:
        """−1, 0 or 1."""
        return Interval(np.sign(a.low), np.sign(a.high))

    @staticmethod
    def _bit(surely: np.ndarray, possibly: np.ndarray) -> Interval:
        # ends that are no numbers (∞ − ∞) compare with nothing: `possibly` is asked as not surely otherwise
        return Interval(surely.astype(np.float64), possibly.astype(np.float64))

    @classmethod
    def less(cls, a: Interval, b: Interval) -> Interval:
        """1 where a < b."""
        return cls._bit(a.high < b.low, ~(a.low >= b.high))

    @classmethod
    def less_equal(cls, a: Interval, b: Interval) -> Interval:
        """1 where a ≤ b."""
        return cls._bit(a.high <= b.low, ~(a.low > b.high))

    @classmethod
    def greater(cls, a: Interval, b: Interval) -> Interval:
        """1 where a > b."""
        return cls.less(b, a)

    @classmethod
    def greater_equal(cls, a: Interval, b: Interval) -> Interval:
        """1 where a ≥ b."""
        return cls.less_equal(b, a)

    @classmethod
    def equal(cls, a: Interval, b: Interval) -> Interval:
        """1 where a = b."""
        same = (a.low == a.high) & (b.low == b.high) & (a.low == b.low)
        return cls._bit(same, ~((a.low > b.high) | (b.low > a.high)))

    @classmethod
    def not_equal(cls, a: Interval, b: Interval) -> Interval:
        """1 where a ≠ b."""
        return cls.subtract(ONE, cls.equal(a, b))

    @staticmethod
    def where(condition: Interval, yes: Interval, no: Interval) -> Interval:
        """The branch that a condition chooses, or both where it is open."""
        false = (condition.low == 0) & (condition.high == 0)
        true = ~condition.contains(0.0)
        return choose(true, yes, choose(false, no, yes.hull(no)))

    @staticmethod
    def interp(a: Interval, knots: tuple[float, ...], values: tuple[float, ...]) -> Interval:
        """What a table can be, by any of the formulas in use."""
        return table(knots, values).ranges(a)


@dataclass(frozen=True, slots=True)
class Bound:
    """The range of values and of slopes on intervals of x."""

    value: Interval
    slope: Interval


class SlopeReader:
    """Reads an expression as the interval of its values and the interval of its slopes (forward differentiation)."""

    def __init__(self, variable: Variables, along: str | None = None) -> None:
        """Slopes in the one variable, or along one of several."""

        def seeded(name: str) -> Bound:
            of = _called(variable, name)
            one = np.ones_like(of.low)
            return Bound(of, Interval(one, one) if along in (None, name) else ZERO)

        self.variable = seeded

    def __getattr__(self, operation: str) -> object:
        # a comparison or sign: constant wherever it is decided, a jump where it is not
        def jump(*arguments: Bound) -> Bound:
            value = getattr(RangeReader, operation)(*(a.value for a in arguments))
            return Bound(value, choose(value.low == value.high, ZERO, WHOLE))

        return jump

    @staticmethod
    def number(value: float) -> Bound:
        """A constant has no slope."""
        return Bound(point(value), ZERO)

    @staticmethod
    def add(a: Bound, b: Bound) -> Bound:
        """(a + b)' = a' + b'."""
        return Bound(interval.add(a.value, b.value), interval.add(a.slope, b.slope))

    @staticmethod
    def subtract(a: Bound, b: Bound) -> Bound:
        """(a − b)' = a' − b'."""
        return Bound(RangeReader.subtract(a.value, b.value), RangeReader.subtract(a.slope, b.slope))

    @staticmethod
    def negative(a: Bound) -> Bound:
        """(−a)' = −a'."""
        return Bound(interval.negative(a.value), interval.negative(a.slope))

    @staticmethod
    def multiply(a: Bound, b: Bound) -> Bound:
        """(ab)' = a'b + ab'."""
        slope = interval.add(interval.multiply(a.slope, b.value), interval.multiply(a.value, b.slope))
        return Bound(interval.multiply(a.value, b.value), slope)

    @classmethod
    def divide(cls, a: Bound, b: Bound) -> Bound:
        """(a/b)' = (a' − (a/b) b') / b."""
        value = interval.divide(a.value, b.value)
        numerator = RangeReader.subtract(a.slope, interval.multiply(value, b.slope))
        return Bound(value, interval.divide(numerator, b.value))

    @classmethod
    def power(cls, a: Bound, b: Bound) -> Bound:
        """(a**c)' = c a**(c−1) a', and for a varying exponent a**b = exp(b log a)."""
        value = interval.power(a.value, b.value)
        if b.value.low.size > 1 or b.value.low.item() != b.value.high.item():
            return Bound(value, cls.exp(cls.multiply(b, cls.log(a))).slope)
        exponent = float(b.value.low.item())
        if exponent == 0:
            return Bound(value, ZERO)
        k = integer_exponent(exponent)
        if k is None:
            below = _falling_power(a.value, exponent - 1) if exponent < 1 else None
            derivative = interval.real_power(a.value, exponent - 1) if below is None else below
        else:
            derivative = interval.integer_power(a.value, k - 1)
        return Bound(value, interval.multiply(interval.multiply(point(exponent), derivative), a.slope))

    @staticmethod
    def absolute(a: Bound) -> Bound:
        """|a|' is a' or −a', by the sign of a inside the interval."""
        minus = interval.negative(a.slope)
        slope = choose(a.value.low >= 0, a.slope, choose(a.value.high <= 0, minus, a.slope.hull(minus)))
        return Bound(interval.absolute(a.value), slope)

    @staticmethod
    def exp(a: Bound) -> Bound:
        """(exp a)' = exp(a) a'."""
        value = interval.exp(a.value)
        return Bound(value, interval.multiply(value, a.slope))

    @staticmethod
    def log(a: Bound) -> Bound:
        """(log a)' = a'/a."""
        return Bound(interval.log(a.value), interval.divide(a.slope, a.value))

    @staticmethod
    def log1p(a: Bound) -> Bound:
        """(log(1+a))' = a'/(1+a)."""
        return Bound(interval.log1p(a.value), interval.divide(a.slope, interval.add(ONE, a.value)))

    @staticmethod
    def sqrt(a: Bound) -> Bound:
        """(√a)' = a' / 2√a."""
        half = interval.multiply(point(0.5), _falling_power(a.value, -0.5))
        return Bound(interval.sqrt(a.value), interval.multiply(half, a.slope))

    @staticmethod
    def minimum(a: Bound, b: Bound) -> Bound:
        """The slope of the smaller, or of both where either may be the smaller."""
        first, second = a.value.high <= b.value.low, b.value.high <= a.value.low
        slope = choose(first, a.slope, choose(second, b.slope, a.slope.hull(b.slope)))
        return Bound(RangeReader.minimum(a.value, b.value), slope)

    @classmethod
    def maximum(cls, a: Bound, b: Bound) -> Bound:
        """max(a, b) = −min(−a, −b)."""
        return cls.negative(cls.minimum(cls.negative(a), cls.negative(b)))

    @classmethod
    def clip(cls, a: Bound, low: Bound, high: Bound) -> Bound:
        """clip = min(max(a, low), high)."""
        return cls.minimum(cls.maximum(a, low), high)

    @staticmethod
    def where(condition: Bound, yes: Bound, no: Bound) -> Bound:
        """The chosen branch's slope; anything at all where the choice is open, for there may be a jump."""
        false = (condition.value.low == 0) & (condition.value.high == 0)
        true = ~condition.value.contains(0.0)
        value = RangeReader.where(condition.value, yes.value, no.value)
        return Bound(value, choose(true, yes.slope, choose(false, no.slope, WHOLE)))

    @staticmethod
    def interp(a: Bound, knots: tuple[float, ...], values: tuple[float, ...]) -> Bound:
        """The slopes of the segments that the argument may meet."""
        slopes = table(knots, values).slopes(a.value)
        return Bound(RangeReader.interp(a.value, knots, values), interval.multiply(slopes, a.slope))


def _falling_power(a: Interval, exponent: float) -> Interval:
    """a**c for c < 0 and a ≥ 0, infinite at 0."""
    inner = Interval(np.where(a.low == 0, a.high, a.low), a.high)
    with np.errstate(divide="ignore"):
        zero = a.high == 0
        safe = interval.real_power(choose(zero, ONE, inner), exponent)
    infinite = Interval.of(np.inf, np.inf)
    return choose(zero, infinite, Interval(safe.low, np.where(a.low == 0, np.inf, safe.high)))
