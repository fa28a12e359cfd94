"""Counts on a lattice: means whose rounding to the lattice does nothing, because they are on it already.

A histogram is a vector of means of bits. On the lattice of multiples of 1/n each cell is k/n already, so that rounding
cells one by one does not let them move apart: one record takes 1 from a cell and gives 1 to another, two steps in all,
however many cells there are.
"""

from __future__ import annotations

import math
from fractions import Fraction

from confide.expression import Expression
from confide.expression.whole import largest_whole
from confide.statistic import Statistic

#: what a step that was computed, as 1/n is, may be off by
_OFF = Fraction(1, 2**51)
#: steps that all n records make together at most: half a unit of the last place of so many is far below a step
_MOST_STEPS = 2**40


def steps_per_unit(statistic: Statistic, n: int | None, step: float) -> int | None:
    """g, where every component of s is a whole number and a record's share 1/n of the mean is g steps; else None.

    Let s(xᵢ) be whole, with |s| ≤ M, and 1/(n·step) = g·(1 + e) with |e| ≤ 2⁻⁵¹. Then the mean of s is u = S/n with
    a whole S = Σ s(xᵢ), |S| ≤ nM, and u/step = g·S·(1 + e). Since g·n·M ≤ 2⁴⁰, that is within 2⁻¹¹ of the whole number
    g·S: rounding gives g·S exactly, for any records, and also if s/step was itself rounded to a relative 2⁻⁵⁰ on the
    way. So when one record is replaced, the lattice points move by g·(s(x') − s(x)).

    A *sum* of whole numbers is one, and on the lattice of 2^−j nothing is rounded at all: g = 2^j, and a record that is
    added moves the lattice point by g·s(x).
    """
    if not (statistic.averages or statistic.totals):
        return None
    sizes = [largest_whole(part.tree) if isinstance(part, Expression) else None for part in statistic.transforms]
    known = [size for size in sizes if size is not None]
    if statistic.totals:
        # a sum of whole numbers is on the lattice of 1/g for any number of records, if that is a power of two
        per_unit = 1 / Fraction(float(step))
        dyadic = per_unit.denominator == 1 and per_unit.numerator.bit_count() == 1
        return per_unit.numerator if dyadic and None not in sizes else None
    ratio = 1 / ((n or 1) * Fraction(repr(float(step))))
    whole = round(ratio)
    if len(known) < len(sizes) or whole < 1 or abs(ratio - whole) > whole * _OFF:
        return None
    return whole if whole * (n or 1) * max(*known, 1) <= _MOST_STEPS else None


def on_the_lattice(statistic: Statistic, n: int | None, step: float) -> bool:
    """Whether the statistic, of any records, is on the lattice of multiples of a step, so that rounding does nothing.

    >>> from confide.statistic import Mean
    >>> cells = Mean(["x < 1", "x >= 1"], bounds=(0, 3))
    >>> on_the_lattice(cells, 100, 1 / 100), on_the_lattice(cells, 100, 1 / 64), on_the_lattice(cells, 100, 1 / 200)
    (True, False, True)
    """
    if statistic.tallies or statistic.counts:
        return (1 / Fraction(repr(float(step)))).denominator == 1
    return steps_per_unit(statistic, n, step) is not None


def squared_counts(statistic: Statistic, n: int | None, step: float, norm: int) -> int | None:
    """The squared integer sensitivity of counts on their lattice; None for what is not.

    The lattice points move by g·(s(x') − s(x)), in which every coordinate is whole. ‖s(x') − s(x)‖₁, and the square of
    ‖s(x') − s(x)‖₂, are whole numbers then, and not above a bound of them: not above its floor. Where that is 0
    nothing moves, though intervals did not see it, and noise for one step is more than enough.

    >>> from confide.statistic import Mean
    >>> cells = Mean(["x < 1", "(x >= 1) * (x < 2)", "x >= 2"], bounds=(0, 3))
    >>> squared_counts(cells, 100, 1 / 100, norm=1), squared_counts(cells, 100, 1 / 100, norm=2)
    (4, 2)
    """
    units = steps_per_unit(statistic, n, step)
    if units is None:
        return None
    most = Fraction(statistic.sensitivity(n if n is None else 1, norm=norm))
    return max(units**2 * (math.floor(most) ** 2 if norm == 1 else math.floor(most**2)), 1)


def squared_moves(n: int | None, step: float | Fraction, norm: int) -> int:
    """The squared integer sensitivity of a histogram on the lattice of multiples of a step.

    A record that is added or removed (n is None) moves one count by 1, and one that is replaced two of them. Where 1 is
    g whole steps a count moves by g of them; otherwise, rounded half up, by ⌈1/step⌉ at most.

    >>> squared_moves(100, 1.0, norm=1), squared_moves(100, 1.0, norm=2), squared_moves(None, 0.5, norm=1)
    (4, 2, 4)
    """
    exact = step if isinstance(step, Fraction) else Fraction(repr(float(step)))
    each, moved = math.ceil(1 / exact), 1 if n is None else 2
    return (moved * each) ** 2 if norm == 1 else moved * each**2
