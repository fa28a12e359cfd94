"""Kinks, smooth pieces and monotone pieces of an expression over an interval.

Everything here is one idea, branch and bound: bound the expression and its slope on an interval; if that settles the
question, stop; otherwise halve. Kinks are where `abs`, `min`, `max`, `clip`, `sign`, a comparison or a table changes
branch, that is, roots of a sub-expression. Between kinks the tree is specialised to the branch taken there, so that
what is left is smooth up to and including its ends.

Kinks and pieces are found with floats, to quadrature's accuracy, and the branch on a piece is chosen by one evaluation:
they serve the likelihood, and privacy never rests on them. What is proved is proved by intervals (`certify`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from confide.expression.bounding import Bound, SlopeReader
from confide.expression.evaluate import evaluate
from confide.expression.interval import Interval, UndefinedError
from confide.expression.rounding import Array, Mask
from confide.expression.specialise import specialise
from confide.expression.switches import apart, meetings
from confide.expression.tree import Number, Tree, Variable, nodes, read
from confide.expression.work import Work, size

#: how near a root or a turning point is found, as a share of the bounds: 128 units in the last place of it
_RESOLUTION = 2.0**-46
#: intervals that are open at once: an expression that turns more often is refused, rather than split for minutes
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

    All parts of one width are settled in one call. The parts come back in order. The resolution may be finer than the
    doubles are: a part without a double strictly inside is given up as well.
    """
    a, b = np.asarray([low]), np.asarray([high])
    done: list[tuple[float, float, bool]] = []
    while a.size:
        settled = settle(a, b)
        middle = 0.5 * a + 0.5 * b
        finished = settled | (b - a <= resolution) | ~((a < middle) & (middle < b))
        done += zip(a[finished].tolist(), b[finished].tolist(), settled[finished].tolist(), strict=True)
        a, b, middle = a[~finished], b[~finished], middle[~finished]
        if a.size > _MOST_PARTS:
            raise UndefinedError("it turns too often to be split into monotone pieces")
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    return sorted(done)


def kinks(tree: Tree, low: float, high: float, work: Work | None = None) -> list[float]:
    """Points inside (low, high) where the expression may change branch, in order."""
    points: list[float] = []
    for found in _growing_kinks(tree, low, high, work or Work()):
        points = found
    return points


def kink_hints(tree: Tree, low: float, high: float, work: Work) -> list[float]:
    """The kinks that are found within a budget of work: hints where to cut, no more."""
    points: list[float] = []
    try:
        for found in _growing_kinks(tree, low, high, work):
            points = found
    except UndefinedError:
        pass  # what was found before is as good a hint as any
    return points


def _growing_kinks(tree: Tree, low: float, high: float, work: Work) -> Iterator[list[float]]:
    """The kinks known after each switch.

    Sub-expressions are visited innermost first, so that by the time a node's own switch is looked for, its arguments
    are already smooth between the points found.
    """
    points = [low, high]
    for node in nodes(tree):
        switches = [_root_of(a, b) for a, b in meetings(node)]
        found = [switch for switch in switches if isinstance(switch, float) and low < switch < high]
        if found:
            points = sorted({*points, *found})
            yield points[1:-1]
        for switch in switches:
            if isinstance(switch, float):
                continue
            cost, found = _specialising(switch), []
            for a, b in pairwise(points):
                work.spend(cost)
                found += _roots(specialise(switch, a, b), a, b, work)
            points = sorted({*points, *found})
            yield points[1:-1]


def _root_of(a: Tree, b: Tree) -> Tree | float:
    """What has a root where two expressions meet, or the point itself where it is plain to see."""
    match a, b:
        case (Variable(), Number(value)) | (Number(value), Variable()):
            return value
    return apart(a, b)


def _value(tree: Tree, x: float) -> float:
    return float(evaluate(tree, np.float64(x)))


def _roots(tree: Tree, low: float, high: float, work: Work) -> list[float]:
    """Isolated roots of a smooth expression inside (low, high)."""
    if isinstance(tree, Number):
        return []
    nodes_read = size(tree)

    def settle(a: Array, b: Array) -> Mask:
        work.spend(nodes_read * (1 + a.size / 500))
        part = bound(tree, a, b)
        return ~part.value.contains(0.0) | (part.slope.low >= 0) | (part.slope.high <= 0)

    def value(x: float) -> float:
        work.spend(nodes_read / 20)
        return _value(tree, x)

    from scipy.optimize import brentq  # a second that most expressions do not need

    roots = []
    for a, b, settled in _bisect(low, high, settle, (high - low) * _RESOLUTION):
        ends = value(a), value(b)
        if not settled:
            roots.append(0.5 * a + 0.5 * b)  # a root that only touches zero, to within the resolution
        elif np.sign(ends[0]) * np.sign(ends[1]) < 0:
            # a root at zero has no relative precision: halving from 1 to 1e-300 takes a thousand steps
            roots.append(brentq(value, a, b, xtol=1e-300, rtol=1e-15, maxiter=5000, disp=False))
        else:
            roots += [end for end, at in zip((a, b), ends, strict=True) if at == 0 and low < end < high]
    return [root for root in roots if low < root < high]


def _specialising(tree: Tree) -> float:
    """The work of choosing branches: each switch is evaluated with all that is below it, at one number."""
    return sum(size(node) / 20 for node in nodes(tree) if not isinstance(node, Number | Variable)) + 0.5


def pieces(tree: Tree, low: float, high: float) -> tuple[Piece, ...]:
    """Split [low, high] into pieces on which the expression is smooth and monotone."""
    result: list[Piece] = []
    work = Work()
    points = [low, *kinks(tree, low, high, work), high]
    cost = _specialising(tree)
    for a, b in pairwise(points):
        work.spend(cost)
        for piece in _monotone(specialise(tree, a, b), a, b, work):
            last = result[-1] if result else None
            if last and (last.tree, last.direction) == (piece.tree, piece.direction):
                result[-1] = replace(last, high=piece.high)  # a switch inside a branch that was not taken
            else:
                result.append(piece)
    return tuple(result)


def _direction(tree: Tree, low: float, high: float) -> int:
    slope = bound(tree, np.asarray(low), np.asarray(high)).slope
    return 0 if slope.low == slope.high == 0 else 1 if slope.low >= 0 else -1


def _monotone(tree: Tree, low: float, high: float, work: Work) -> list[Piece]:
    """The monotone pieces of a smooth expression; neighbours of one direction are joined."""
    nodes_read = size(tree)

    def directed(a: Array, b: Array) -> Mask:
        work.spend(nodes_read * (1 + a.size / 500))
        slope = bound(tree, a, b).slope
        return (slope.low >= 0) | (slope.high <= 0)

    joined: list[Piece] = []
    for a, b, settled in _bisect(low, high, directed, (high - low) * _RESOLUTION):
        if not settled:
            continue  # a turning point to within the resolution; its neighbours take it over
        work.spend(nodes_read)
        direction = _direction(tree, a, b)
        if joined and joined[-1].direction == direction:
            joined[-1] = replace(joined[-1], high=b)
        elif joined:
            turn = 0.5 * (joined[-1].high + a)
            joined[-1] = replace(joined[-1], high=turn)
            joined.append(Piece(turn, b, tree, direction))
        else:
            joined.append(Piece(low, b, tree, direction))
    if not joined:  # nothing but a turning point: between two kinks that are a few doubles apart
        rise = _value(tree, high) - _value(tree, low)
        return [Piece(low, high, tree, int(np.sign(rise)))]
    joined[-1] = replace(joined[-1], high=high)
    return joined
