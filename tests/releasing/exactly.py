"""Independent computations: an expression in exact fractions, and the laws of released whole numbers."""

import math
from fractions import Fraction

import numpy as np

from confide.expression.tree import read


class FractionReader:
    """Reads an expression in exact rational arithmetic."""

    def __init__(self, x):
        self.variable = lambda name: x[name] if isinstance(x, dict) else x

    number = staticmethod(Fraction)
    add = staticmethod(lambda a, b: a + b)
    subtract = staticmethod(lambda a, b: a - b)
    multiply = staticmethod(lambda a, b: a * b)
    divide = staticmethod(lambda a, b: a / b)
    negative = staticmethod(lambda a: -a)
    absolute = staticmethod(abs)
    minimum = staticmethod(min)
    maximum = staticmethod(max)
    clip = staticmethod(lambda a, low, high: min(max(a, low), high))
    sign = staticmethod(lambda a: Fraction((a > 0) - (a < 0)))
    less = staticmethod(lambda a, b: Fraction(a < b))
    less_equal = staticmethod(lambda a, b: Fraction(a <= b))
    greater = staticmethod(lambda a, b: Fraction(a > b))
    greater_equal = staticmethod(lambda a, b: Fraction(a >= b))
    equal = staticmethod(lambda a, b: Fraction(a == b))
    not_equal = staticmethod(lambda a, b: Fraction(a != b))
    where = staticmethod(lambda c, a, b: a if c != 0 else b)

    @staticmethod
    def power(a, b):
        assert b.denominator == 1
        return a**b.numerator

    @staticmethod
    def interp(a, knots, values):
        xs, vs = [Fraction(k) for k in knots], [Fraction(v) for v in values]
        if a <= xs[0]:
            return vs[0]
        for x0, x1, v0, v1 in zip(xs, xs[1:], vs, vs[1:], strict=False):
            if a <= x1:
                return v0 + (v1 - v0) / (x1 - x0) * (a - x0)
        return vs[-1]


def whole_numbers(channel, grid, x):
    """⌊s(clip(x))/step + ½⌋ within the ends, for each coordinate, in exact arithmetic."""
    low, high = (Fraction(end) for end in channel.statistic.bounds)
    clipped = min(max(Fraction(x), low), high)
    values = [read(t.tree, FractionReader(clipped)) for t in channel.statistic.transforms]
    return [
        min(max(math.floor(value / grid.step + Fraction(1, 2)), bottom), top)
        for value, bottom, top in zip(values, grid.low, grid.high, strict=True)
    ]


def row_numbers(channel, grid, row):
    """The same of a row, {column: number}: what an engine must find if it rounds nothing."""
    ends = {name: tuple(map(Fraction, pair)) for name, pair in channel.statistic.bounds.by_name.items()}
    clipped = {name: min(max(Fraction(row[name]), low), high) for name, (low, high) in ends.items()}
    values = [read(t.tree, FractionReader(clipped)) for t in channel.statistic.transforms]
    return [grid.nearest(value, index) for index, value in enumerate(values)]


def numbers(plan, data, column=None, table=None, part=None, missing=None):
    """The exact whole numbers that a plan gets from a source."""
    from confide.releasing.aggregate import exact_numbers, records_needed
    from confide.releasing.readers.source import open_source
    from confide.releasing.readers.table.asked import asked_of, check_column

    stop = records_needed(plan.channel, part, missing)
    asked = asked_of(plan.channel.statistic, check_column(plan.channel.statistic, column))
    with open_source(data, asked, table, getattr(part, "column", None), stop) as source:
        return exact_numbers(plan, source, part, missing)


def engine_numbers(plan, values):
    """The whole numbers of each value, as DuckDB computes them: one row per value, one column per coordinate."""
    from confide.releasing.aggregate import _records
    from confide.releasing.readers.engine import rows_of
    from confide.releasing.readers.source import open_source

    with open_source([float(value) for value in values], None, None) as source:
        table = _records(plan, source, None, None)
        columns = [f"q{i}" for i in range(plan.channel.statistic.dimension)]
        rows = rows_of(source.connection, table.select(*columns))
    return [[row[column] for column in columns] for row in rows]


def log_laplace(k, scale):
    """log P(k) of the discrete Laplace law."""
    return -np.abs(k) / scale + math.log(math.tanh(0.5 / scale))


def log_gaussian(k, scale):
    """log P(k) of the discrete Gaussian law."""
    every = np.arange(-math.ceil(45 * scale) - 2, math.ceil(45 * scale) + 3)
    top = -0.5 * (np.asarray(k, dtype=float) / scale) ** 2
    return top - math.log(np.sum(np.exp(-0.5 * (every / scale) ** 2)))


def log_rounded_laplace(k, scale):
    """log P(⌊scale·Z + ½⌋ = k) for a standard Laplace Z, by differences of its distribution function."""
    k = np.abs(np.asarray(k, dtype=float))
    zero = math.log(-math.expm1(-0.5 / scale))
    return np.where(k == 0, zero, math.log(math.sinh(0.5 / scale)) - np.maximum(k, 1) / scale)


def log_rounded_cauchy(k, scale):
    """log P(⌊scale·Z + ½⌋ = k) for a standard Cauchy Z: atan a − atan b = atan((a − b)/(1 + ab)) cancels nothing."""
    a, b = (np.asarray(k, dtype=float) + 0.5) / scale, (np.asarray(k, dtype=float) - 0.5) / scale
    return np.log(np.arctan2(a - b, 1 + a * b) / math.pi)


def hockey_stick(log_p, log_q, epsilon):
    """Σ max(0, p − e^ε q)."""
    return float(np.sum(np.maximum(np.exp(log_p) - np.exp(epsilon + log_q), 0.0)))
