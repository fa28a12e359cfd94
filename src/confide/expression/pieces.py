"""Kinks, smooth pieces, monotone pieces and the certified range of an expression over an interval.

Everything here is one idea, branch and bound: bound the expression and its slope on an interval; if that settles the
question, stop; otherwise halve. Kinks are where `abs`, `min`, `max`, `clip`, `sign`, a comparison or a table changes
branch, that is, roots of a sub-expression. Between kinks the tree is specialised to the branch taken there, so that
what is left is smooth up to and including its ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
from scipy.optimize import brentq

from confide.expression.bounding import Bound, RangeReader, SlopeReader
from confide.expression.evaluate import evaluate
from confide.expression.interval import Interval, UndefinedError
from confide.expression.rounding import Array, Mask
from confide.expression.specialise import specialise
from confide.expression.tree import COMPARISONS, Call, Interp, Number, Tree, nodes, read

_RESOLUTION = 2.0**-46
_MOST_PARTS = 2000


@dataclass(frozen=True)
class Piece:
    """An interval on which the expression is the smooth, monotone `tree`. direction: 1 up, −1 down, 0 constant."""

    low: float
    high: float
    tree: Tree
    direction: int


def bound(tree: Tree, low: Array, high: Array) -> Bound:
    """The range and the slopes of a tree on intervals."""
    part: Bound = read(tree, SlopeReader(Interval.of(low, high)))
    value, slope = (
        Interval(np.broadcast_to(i.low, np.shape(low)), np.broadcast_to(i.high, np.shape(low)))
        for i in (part.value, part.slope)
    )
    return Bound(value, slope)


def _bisect(
    low: float, high: float, settle: Callable[[Array, Array], Mask], resolution: float
) -> list[tuple[float, float, bool]]:
    """Halve an interval until `settle` holds on each part; parts below the resolution are given up (False).

    All parts of one width are settled in one call. The parts come back in order.
    """
    a, b = np.asarray([low]), np.asarray([high])
    done: list[tuple[float, float, bool]] = []
    while a.size:
        settled = settle(a, b)
        finished = settled | (b - a <= resolution)
        done += zip(a[finished].tolist(), b[finished].tolist(), settled[finished].tolist(), strict=True)
        a, b = a[~finished], b[~finished]
        if a.size > _MOST_PARTS:
            raise UndefinedError("it turns too often to be split into monotone pieces")
        middle = 0.5 * (a + b)
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    return sorted(done)


def kinks(tree: Tree, low: float, high: float) -> list[float]:
    """Points inside (low, high) where the expression may change branch, in order.

    Sub-expressions are visited innermost first, so that by the time a node's own switch is looked for, its arguments
    are already smooth between the points found.
    """
    points = [low, high]
    for node in nodes(tree):
        for switch in _switches(node):
            found = [root for a, b in pairwise(points) for root in _roots(specialise(switch, a, b), a, b)]
            points = sorted({*points, *found})
    return points[1:-1]


def _switches(node: Tree) -> list[Tree]:
    """Expressions whose roots are the switching points of a node."""
    match node:
        case Call("absolute" | "sign", (a,)):
            return [a]
        case Call("clip", (a, low, high)):
            return [Call("subtract", (a, low)), Call("subtract", (Call("maximum", (a, low)), high))]
        case Call("where", (condition, _, _)):
            decided = isinstance(condition, Call) and condition.operation in COMPARISONS
            return [] if decided else [condition]
        case Call(operation, (a, b)) if operation in COMPARISONS or operation in ("minimum", "maximum"):
            return [Call("subtract", (a, b))]
        case Interp(argument, knots, _):
            return [Call("subtract", (argument, Number(knot))) for knot in knots]
        case _:
            return []


def _value(tree: Tree, x: float) -> float:
    return float(evaluate(tree, np.float64(x)))


def _roots(tree: Tree, low: float, high: float) -> list[float]:
    """Isolated roots of a smooth expression inside (low, high)."""

    def settle(a: Array, b: Array) -> Mask:
        part = bound(tree, a, b)
        return ~part.value.contains(0.0) | (part.slope.low >= 0) | (part.slope.high <= 0)

    roots = []
    for a, b, settled in _bisect(low, high, settle, (high - low) * _RESOLUTION):
        ends = _value(tree, a), _value(tree, b)
        if not settled:
            roots.append(0.5 * (a + b))  # a root that only touches zero, to within the resolution
        elif ends[0] * ends[1] < 0:
            # a root at zero has no relative precision: halving from 1 to 1e-300 takes a thousand steps
            value = partial(_value, tree)
            roots.append(brentq(value, a, b, xtol=1e-300, rtol=1e-15, maxiter=5000))
        else:
            roots += [end for end, value in zip((a, b), ends, strict=True) if value == 0 and low < end < high]
    return [root for root in roots if low < root < high]


def pieces(tree: Tree, low: float, high: float) -> tuple[Piece, ...]:
    """Split [low, high] into pieces on which the expression is smooth and monotone."""
    result: list[Piece] = []
    points = [low, *kinks(tree, low, high), high]
    for a, b in pairwise(points):
        for piece in _monotone(specialise(tree, a, b), a, b):
            last = result[-1] if result else None
            if last and (last.tree, last.direction) == (piece.tree, piece.direction):
                result[-1] = replace(last, high=piece.high)  # a switch inside a branch that was not taken
            else:
                result.append(piece)
    return tuple(result)


def _directed(tree: Tree, low: Array, high: Array) -> Mask:
    """Whether the slope has one sign on each interval."""
    slope = bound(tree, low, high).slope
    return (slope.low >= 0) | (slope.high <= 0)


def _direction(tree: Tree, low: float, high: float) -> int:
    slope = bound(tree, np.asarray(low), np.asarray(high)).slope
    return 0 if slope.low == slope.high == 0 else 1 if slope.low >= 0 else -1


def _monotone(tree: Tree, low: float, high: float) -> list[Piece]:
    """The monotone pieces of a smooth expression; neighbours of one direction are joined."""
    joined: list[Piece] = []
    for a, b, settled in _bisect(low, high, partial(_directed, tree), (high - low) * _RESOLUTION):
        if not settled:
            continue  # a turning point to within the resolution; its neighbours take it over
        direction = _direction(tree, a, b)
        if joined and joined[-1].direction == direction:
            joined[-1] = replace(joined[-1], high=b)
        elif joined:
            turn = 0.5 * (joined[-1].high + a)
            joined[-1] = replace(joined[-1], high=turn)
            joined.append(Piece(turn, b, tree, direction))
        else:
            joined.append(Piece(low, b, tree, direction))
    joined[-1] = replace(joined[-1], high=high)
    return joined


def certified_range(tree: Tree, low: float, high: float) -> tuple[float, float]:
    """An interval that contains every value of the expression on [low, high], tight up to rounding.

    First plain interval arithmetic, which is already tight when x occurs once. Where x occurs more than once it
    overestimates (x − x² on [0, 1] would reach 1), so the interval is split: on a part where the slope has one sign
    the range is what the ends give. Where such an end value is itself rounded, the range is widened by the rounding
    of double precision at the size of the numbers involved. It never exceeds the plain one.
    """
    plain = _finite(read(tree, RangeReader(Interval.of(low, high))))
    if sum(1 for node in nodes(tree) if type(node).__name__ == "Variable") <= 1:
        return plain
    try:
        bottom, top = _split_range(tree, low, high)
    except UndefinedError:  # too many turns to settle cheaply: plain is valid, only less tight
        return plain
    slack = 1e-13 * max(abs(plain[0]), abs(plain[1]))
    low_slack, high_slack = (slack * (end[0] < end[1]) for end in (bottom, top))
    return max(plain[0], bottom[0] - low_slack), min(plain[1], top[1] + high_slack)


def _split_range(tree: Tree, low: float, high: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """The interval that holds the smallest value, and the one that holds the largest."""
    ends: list[tuple[float, float]] = []
    points = [low, *kinks(tree, low, high), high]
    for start, stop in pairwise(points):
        for a, b, settled in _bisect(start, stop, partial(_directed, tree), (high - low) * _RESOLUTION):
            parts = [(a, a), (b, b)] if settled else [(a, b)]
            ends += [_finite(read(tree, RangeReader(Interval.of(*part)))) for part in parts]
    return min(ends, key=lambda end: end[0]), max(ends, key=lambda end: end[1])


def _finite(result: Interval) -> tuple[float, float]:
    low, high = float(result.low), float(result.high)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise UndefinedError("its values are not bounded in double precision")
    return low, high
