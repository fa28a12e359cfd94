"""The grid: s(x) as a whole number of steps, clamped by construction.

Everything here is public. It follows from the channel alone, never from the data:

* the *step* is a power of two, at most 2⁻²⁰ of the range and of the noise scale of the mean (of the smallest scale
  that the channel can produce, where it depends on the records); on a user's lattice it is that lattice's step
  halved often enough;
* the *ends* are the certified range of s in steps, rounded outward.

A record becomes q = ⌊s/step + ½⌋, clamped in integers to the ends. Whatever an engine's arithmetic does in the last
bits of s, q stays between the ends: that alone bounds the sum's sensitivity by high − low. Rounding moves one
record by at most half a step, so the mean of n by at most 2⁻²¹ of its noise: the likelihood may ignore the grid,
and does.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from confide.channel import Channel
from confide.errors import IncompatibleError
from confide.expression import Expression
from confide.expression.database import Column, column_of, double, read_in_database
from confide.mechanism import squared_steps
from confide.mechanism.counts import steps_per_unit
from confide.published.value import averaged, lattice_step
from confide.releasing.clipping import filled
from confide.statistic.persons import rows_of_one

#: the step is at most this share of the noise scale
FINENESS = Fraction(1, 2**20)
#: whole numbers that every engine can hold and subtract in 64 bits
LARGEST = 2**61
#: records whose roundings together stay below a millionth of the noise where nobody knows how many there are: more of
#: them cost accuracy, and nothing else
AT_MOST = 2**32
#: twice as much, and one more, are whole numbers that doubles hold
EXACT = 2**51


@dataclass(frozen=True)
class StepGrid:
    """A step, the ends of the range of each coordinate in steps, and how many steps make one of a user's lattice."""

    step: Fraction
    low: tuple[int, ...]
    high: tuple[int, ...]
    #: 2ʲ: grid steps in a step of the lattice that the mechanism publishes on; None when it has none
    per_lattice: int | None = None

    @property
    def widths(self) -> tuple[int, ...]:
        """high − low of each coordinate: the exact sensitivity of the sum of one coordinate."""
        return tuple(high - low for low, high in zip(self.low, self.high, strict=True))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The largest size of each coordinate: what a record that is added or removed moves its sum by."""
        return tuple(max(abs(low), abs(high)) for low, high in zip(self.low, self.high, strict=True))

    def nearest(self, value: Fraction, coordinate: int = 0) -> int:
        """⌊value/step + ½⌋ within the ends: what an engine must compute from an exact s(x)."""
        return min(max(math.floor(value / self.step + Fraction(1, 2)), self.low[coordinate]), self.high[coordinate])


def grid_of(channel: Channel) -> StepGrid:
    """The grid of a channel.

    >>> import confide as cf
    >>> grid_of(cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100))
    StepGrid(step=Fraction(1, 16777216), low=(0,), high=(167772160,), per_lattice=None)
    """
    if channel.law.answers is not None:
        return StepGrid(Fraction(1), (0,), (len(channel.law.answers) - 1,))
    lattice = lattice_step(channel)
    if channel.statistic.tallies:
        return _of_counts(channel, lattice)
    # fine beside the range as well, so that rounding its ends outward costs next to nothing
    widths = [Fraction(high) - Fraction(low) for low, high in channel.statistic.ranges if low < high]
    finest: Fraction = min([_finest_scale(channel), *widths])
    if finest <= 0 or max([*widths, Fraction(0)]) / finest > LARGEST:
        raise _too_fine(channel)
    if lattice is not None:
        halvings = max(20, math.ceil(math.log2(max(lattice / finest, Fraction(1)))) + 20)
        if channel.statistic.totals:
            halvings = _of_a_sum(channel, lattice, halvings)
        return _on_lattice(channel, lattice / 2**halvings, 2**halvings)
    step = _power_of_two_below(finest * FINENESS)
    if channel.statistic.totals:
        # as finely as 64 bits allow, and at least as finely as for one record
        largest = max(abs(Fraction(end)) for ends in channel.statistic.ranges for end in ends)
        coarsest = _power_of_two_below(Fraction(channel.law.added.scale) * FINENESS)  # type: ignore[union-attr]
        step = max(step, min(coarsest, 2 * _power_of_two_below(2 * largest / LARGEST)))
    ends = [
        (math.floor(Fraction(low) / step), math.ceil(Fraction(high) / step)) for low, high in channel.statistic.ranges
    ]
    return _checked(channel, StepGrid(step, tuple(low for low, _ in ends), tuple(high for _, high in ends)))


def _on_lattice(channel: Channel, step: Fraction, per_lattice: int) -> StepGrid:
    """The grid of a user's lattice, with the ends drawn in so that the lattice's own sensitivity holds exactly.

    The model counts ⌈Δ/step⌉ lattice steps with numbers read as the decimals they were written as
    (`discrete.steps`): it takes 10/7 for ten steps of 1/7, although the doubles are not. The ends are rounded in
    the same way; at most one grid step of a record's range, 2⁻²⁰ of a lattice step, is given up for that.
    """
    low = [_signed_steps(low, step, math.floor) for low, _ in channel.statistic.ranges]
    high = [_signed_steps(high, step, math.ceil) for _, high in channel.statistic.ranges]
    if channel.statistic.dimension == 1:
        divisor = averaged(channel)
        most = math.isqrt(squared_steps(channel.statistic, channel.n, float(lattice_step(channel) or 0), norm=1))
        if channel.n is None:
            end = most * per_lattice // rows_of_one(channel.statistic, None)
            low[0], high[0] = max(low[0], -end), min(high[0], end)
        else:
            high[0] = min(high[0], low[0] + most * divisor * per_lattice)
    return _checked(channel, StepGrid(step, tuple(low), tuple(high), per_lattice))


def _of_counts(channel: Channel, lattice: Fraction | None) -> StepGrid:
    """Counts are whole: a user's lattice as it is, or a power of two that divides 1."""
    scale = Fraction(channel.law.added.scale)  # type: ignore[union-attr]
    step = lattice or min(Fraction(1), _power_of_two_below(scale * FINENESS))
    d = channel.statistic.dimension
    return _checked(channel, StepGrid(step, (0,) * d, (math.ceil(1 / step),) * d, None if lattice is None else 1))


def _of_a_sum(channel: Channel, lattice: Fraction, halvings: int) -> int:
    """Whole numbers on their own lattice are not rounded; others as finely as 64 bits allow, for any n."""
    if steps_per_unit(channel.statistic, channel.n, float(lattice)) is not None:
        return 20
    largest = max(abs(Fraction(end)) for ends in channel.statistic.ranges for end in ends) / lattice
    room = math.floor(math.log2(LARGEST / largest)) - 1 if largest > 0 else halvings
    return max(20, min(halvings, room))


def _signed_steps(end: float, step: Fraction, outward: Any) -> int:
    ratio = Fraction(repr(end)) / step
    whole = round(ratio)
    return whole if abs(ratio - whole) <= abs(whole) * Fraction(1, 2**51) else int(outward(ratio))


def _finest_scale(channel: Channel) -> Fraction:
    """The smallest scale at which the value is blurred: of the noise, or of the gaps that the mechanism resolves."""
    law: Any = channel.law
    if law.added is not None:
        # a sum has as many roundings as records, of which a mean takes the nth part
        return Fraction(law.added.scale) / ((channel.n or AT_MOST) if channel.statistic.totals else 1)
    width = Fraction(law.high) - Fraction(law.low)
    if law.selects:
        # the mechanism draws a point between records; n of them leave gaps of width/n
        return width / channel.n
    # the smallest smooth sensitivity is e^{−Kβ}(high − low), however the records lie
    return Fraction(math.exp(-law.cap * law.beta)) * width / Fraction(law.alpha)


def _power_of_two_below(bound: Fraction) -> Fraction:
    exponent = bound.numerator.bit_length() - bound.denominator.bit_length()
    power = Fraction(2) ** exponent
    while power > bound:
        power /= 2
    return power


def _checked(channel: Channel, grid: StepGrid) -> StepGrid:
    exponent = abs(math.log2(grid.step.numerator) - math.log2(grid.step.denominator))
    if exponent < 1000 and max(map(abs, (*grid.low, *grid.high))) <= LARGEST:
        return grid
    raise _too_fine(channel)


def _too_fine(channel: Channel) -> IncompatibleError:
    return IncompatibleError(
        f"{channel!r} needs noise so small beside its range that 64-bit integers cannot hold both; "
        "narrow the bounds, lower the privacy parameter or the cap, or release fewer records at once"
    )


def quantised(
    channel: Channel, grid: StepGrid, table: Any, engine: str, constants: Mapping[str, float] | None = None
) -> Any:
    """The table with a column q0, q1, … of 64-bit integers for each coordinate of s, clamped to the grid's ends.

    s of clipped numbers is rounded and clamped as an integer, which is what the guarantee rests on.
    """
    trees = [transform.tree for transform in channel.statistic.transforms if isinstance(transform, Expression)]
    table, columns = filled(channel.statistic, table, constants or {}, trees)
    rounded = {}
    # as few stages as can be: they lie within each other, and hundreds of them nobody can write down
    for index, transform in enumerate(channel.statistic.transforms):
        assert isinstance(transform, Expression)
        after, value = read_in_database(transform.tree, table, columns, engine)
        # each stage takes time with every record: s has one where it is needed more than once
        if channel.law.answers is not None or grid.step > 1:
            after = after.mutate(**{f"s{index}": column_of(after, value)})
            value = Column(f"s{index}")
        if after is table:
            rounded[f"rounded{index}"] = value
        else:
            table = after.mutate(**{f"rounded{index}": _rounded(channel, grid, column_of(after, value))})
    if rounded:
        table = table.mutate(**{name: _rounded(channel, grid, column_of(table, s)) for name, s in rounded.items()})
    ends = {
        f"q{index}": (_whole(low), _whole(high))
        for index, (low, high) in enumerate(zip(grid.low, grid.high, strict=True))
    }
    return table.mutate(**{name: _between(table[f"rounded{name[1:]}"], *pair) for name, pair in ends.items()})


def _rounded(channel: Channel, grid: StepGrid, value: Any) -> Any:
    """⌊s/step + ½⌋ without rounding error, as half of ⌊2s/step⌋ + 1, rounded down.

    Adding ½ in floating point may round up to the next integer; doubling, rounding down and whole numbers are
    exact. For randomized response the result is the index of the nearest level, the lower one of two that are as
    near.
    """
    if channel.law.answers is not None:
        middles = [(a + b) / 2 for a, b in pairwise(channel.law.answers)]
        return _balanced_sum([(value > double(middle)).ifelse(_whole(1), _whole(0)) for middle in middles])
    if grid.step > 1:
        # what underflows when it is scaled down PostgreSQL refuses; below half a step all values are 0 anyway
        value = (value.abs() < double(float(grid.step / 4))).ifelse(double(0.0), value)
    power_of_two = grid.step.numerator.bit_count() == 1 and grid.step.denominator.bit_count() == 1
    doubled = value * double(float(2 / grid.step)) if power_of_two else value / double(float(grid.step / 2))
    if max(map(abs, (*grid.low, *grid.high))) < EXACT:
        # the same whole numbers as doubles, for which engines are faster; one beyond them stays so, and is clamped
        floor = _floor_of_doubles()
        return floor((floor(doubled) + double(1.0)) * double(0.5)).cast("int64")
    return (doubled.floor() + _whole(1)) >> _whole(1)


@functools.cache
def _floor_of_doubles() -> Any:
    """The engine's own floor, whose results are doubles as well: Ibis would make integers of them."""
    import ibis

    @ibis.udf.scalar.builtin(name="floor", signature=(("float64",), "float64"))  # type: ignore[untyped-decorator, unused-ignore]
    def floor(value: Any) -> Any:
        """The largest whole number that is not above a double."""

    return floor


def _balanced_sum(terms: list[Any]) -> Any:
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return _balanced_sum(terms[:half]) + _balanced_sum(terms[half:])


def _between(column: Any, low: Any, high: Any) -> Any:
    """A column clamped to two constants. One test decides for almost all records; LEAST and GREATEST are slower."""
    return column.between(low, high).ifelse(column, (column < low).ifelse(low, high))


def _whole(value: int) -> Any:
    import ibis

    return ibis.literal(value, "int64")
