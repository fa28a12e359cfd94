"""From the noisy whole numbers of a release to its value: the only floating-point step, and it follows the noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.channel import Channel


@dataclass(frozen=True)
class Integers:
    """Noisy whole numbers, one per coordinate, and the step that they count.

    For a mean they are noisy sums over the records that are not left out; on a lattice and for order statistics, the
    value itself in steps.
    """

    counts: tuple[int, ...]
    step: Fraction


def lattice_step(channel: Channel) -> Fraction | None:
    """The step of a mechanism on a lattice, read as the decimal that was written; None for all others."""
    noise = channel.law.added
    return None if noise is None or noise.step is None else Fraction(repr(noise.step))


def averaged(channel: Channel) -> int:
    """How many whole numbers of records the one is the sum of that a published value is a mean of; 1 for others.

    >>> import confide as cf
    >>> averaged(cf.Channel(cf.TrimmedMean("x", 0.1, bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=25))
    21
    """
    ranks = None if channel.n is None else channel.statistic.averaged_ranks(channel.n)
    return 1 if ranks is None else ranks[1] - ranks[0] + 1


def derive(channel: Channel, integers: Integers) -> Any:
    """The published value: a float, or an array for a vector.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=3)
    >>> derive(channel, Integers((48,), Fraction(1, 32)))
    0.5
    """
    values = [_derive(channel, count, integers.step) for count in integers.counts]
    return values[0] if channel.value_shape == () else np.asarray(values)


def shown(channel: Channel, value: Any) -> str:
    """Published numbers at the precision that they deserve: to a hundredth of their noise.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=3000)
    >>> shown(channel, 0.31415926535)
    '0.314159'
    """
    numbers = np.ravel(np.asarray(value, dtype=np.float64))
    margin = channel.margin()
    digits, step = 2 - math.floor(math.log10(margin)) if margin else None, lattice_step(channel)
    if digits is not None and step is not None and step.denominator == 1:
        digits = min(digits, 0)  # a count is a whole number
    texts = [_rounded(float(number), digits) for number in numbers]
    return texts[0] if np.ndim(value) == 0 else f"[{', '.join(texts)}]"


def _rounded(number: float, digits: int | None) -> str:
    if digits is None or abs(number) >= 1e15:
        return f"{number:.6g}"
    near = round(number, digits)
    return f"{near:.0f}" if digits <= 0 else repr(near)


def _derive(channel: Channel, count: int, step: Fraction) -> float:
    if channel.law.selects:
        # the whole number names the cell [count, count + 1) that the drawn point lies in; the outermost cells may
        # stick out
        low, high = (Fraction(end) for end in channel.statistic.ranges[0])
        return float(min(max((count + Fraction(1, 2)) * step, low), high))
    if lattice_step(channel) is None:
        step = step / averaged(channel)
    return _nearest(count * step)


def _nearest(exact: Fraction) -> float:
    """The nearest float; heavy-tailed noise may exceed them all, and then the largest is nearest."""
    try:
        return float(exact)
    except OverflowError:
        return float(np.copysign(np.finfo(float).max, 1.0 if exact > 0 else -1.0))
