"""Reading an expression as what may be computed instead of it: how far rounding may lead away from the exact value.

Real analysis speaks of the exact s: where its slope has one sign, its range lies between its values at the ends. An
engine computes something else. On every cell this reader bounds the distance, in the way of a running error analysis:
each operation rounds, and passes on the errors of its arguments times how steep it is in each of them. Where a
switch may be taken the other way because of an error the distance is infinite, and nothing is concluded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from confide.expression import rounding
from confide.expression.bounding import Bound, RangeReader, SlopeReader, Variables
from confide.expression.interval import ONE, ZERO, Interval, point
from confide.expression.rounding import Array

#: the largest relative error of one rounding
_UNIT = 2.0**-53
#: how many times 2⁻⁵³ of its result an operation may be off; what is not named is exact
_ROUNDINGS = {
    "add": 1, "subtract": 1, "multiply": 1, "divide": 1, "sqrt": 1,
    "exp": 16, "log": 16, "log1p": 16, "power": 80,
}  # fmt: skip
#: in units of 2⁻⁵³ of the largest value of a table: five of a product that is at most twice it, and the sum
_TABLE_ROUNDINGS = 16
#: what may be taken for 0 (`interval.or_zero`), and below what a slope or a share has lost its digits
_TINY, _SUBNORMAL = 1.1e-154, 2.2250738585072014e-308


@dataclass(frozen=True, slots=True)
class Computed:
    """The interval that holds both the exact and every computed value, and how far these may lie apart."""

    value: Interval
    error: Array


class ErrorReader:
    """Reads an expression as computed numbers."""

    def __init__(self, variable: Variables) -> None:
        exact = RangeReader(variable)
        self.variable = lambda name: Computed(exact.variable(name), np.zeros_like(exact.variable(name).low))
        self._slopes = SlopeReader(variable)

    @staticmethod
    def number(value: float) -> Computed:
        """A constant is exact."""
        return Computed(point(value), np.asarray(0.0))

    def __getattr__(self, operation: str) -> Callable[..., Computed]:
        def computed(*arguments: Computed) -> Computed:
            value = getattr(RangeReader, operation)(*(a.value for a in arguments))
            return self._passed_on(operation, value, _ROUNDINGS.get(operation, 0) * _UNIT * _size(value), arguments)

        return computed

    def interp(self, a: Computed, knots: tuple[float, ...], values: tuple[float, ...]) -> Computed:
        """A table: three roundings of its slope, two of the product and one of the sum, by either formula.

        A slope that is subnormal, or a share of a segment that is, may be 0 instead, whatever it is multiplied by.
        """
        value = RangeReader.interp(a.value, knots, values)
        largest, farthest = np.max(np.abs(values)), np.max(np.abs(knots))
        with np.errstate(over="ignore"):
            lost = 2 * _SUBNORMAL * (largest + np.maximum(_size(a.value), farthest))
            rounded = _TABLE_ROUNDINGS * _UNIT * largest + lost
        return self._passed_on("interp", value, rounded, (a,), knots, values)

    def _passed_on(
        self, operation: str, value: Interval, rounded: Array, arguments: tuple[Computed, ...], *table: object
    ) -> Computed:
        error = rounding.add(rounded, np.asarray(_TINY if operation in _ROUNDINGS or table else 0.0), 1)
        for index, argument in enumerate(arguments):
            if not np.any(argument.error > 0):
                continue
            seeded = [Bound(a.value, ONE if i == index else ZERO) for i, a in enumerate(arguments)]
            steepness = _size(getattr(self._slopes, operation)(*seeded, *table).slope)
            error = rounding.add(error, rounding.multiply(steepness, argument.error, 1), 1)
        return Computed(value, np.where(np.isnan(error), np.inf, error))


def _size(a: Interval) -> Array:
    return np.maximum(np.abs(a.low), np.abs(a.high))
