"""Where an expression may do something else: found by looking, not by theory.

The certificates of a statistic rest on what is proved about its switches. An audit must not rest on the same proof, so
the places are searched here: every switching part of the expression is evaluated in floating point on many points, and
between two points where it differs the interval is halved until its ends are neighbouring doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channel import Channel
from confide.expression import Expression
from confide.expression.evaluate import evaluate
from confide.expression.tree import COMPARISONS, Call, Interp, Number, Tree, nodes

Array = NDArray[np.float64]

#: points that the bounds are searched on, and the most places that are kept
_POINTS, _MOST = 4096, 64


def switch_points(channel: Channel, generator: np.random.Generator) -> list[float]:
    """Doubles within the bounds just after which some part of the expression takes another branch.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("where(x >= 0.3, x, 0)", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=2)
    >>> any(x < 0.3 <= np.nextafter(x, 1) for x in switch_points(channel, np.random.default_rng(0)))
    True
    """
    low, high = channel.statistic.bounds
    points = np.unique(np.concatenate([_spread(low, high, generator), np.linspace(low, high, 257)]))
    found: set[float] = set()
    for transform in channel.statistic.transforms:
        assert isinstance(transform, Expression)
        for branch in _branches(transform.tree):
            found.update(_changes(branch, points))
    chosen = sorted(found)
    if len(chosen) > _MOST:
        chosen = sorted(generator.choice(chosen, _MOST, replace=False).tolist())
    return chosen


def values_at(channel: Channel, points: Array) -> Array:
    """s at points within the bounds, shape (coordinates, points), as NumPy computes it."""
    with np.errstate(all="ignore"):
        return np.stack([np.broadcast_to(t(points), points.shape) for t in channel.statistic.transforms])


def _spread(low: float, high: float, generator: np.random.Generator) -> Array:
    """Doubles between two ends: half of them uniform, half of them of every magnitude."""
    uniform = low + (high - low) * generator.random(_POINTS // 2)
    largest = max(abs(low), abs(high))
    magnitude = largest * 2.0 ** -generator.uniform(0, 80, _POINTS // 2)
    signed = magnitude * generator.choice([-1.0, 1.0], magnitude.size)
    return np.clip(np.concatenate([uniform, signed]), low, high)


def _branches(tree: Tree) -> Iterator[Callable[[Array], Array]]:
    """For each switching part, which branch it takes at x, as a number."""
    for node in nodes(tree):
        match node:
            case Call(operation, _) if operation in COMPARISONS or operation == "sign":
                yield _valued(node)
            case Call("absolute", (a,)):
                yield _valued(Call("sign", (a,)))
            case Call("minimum" | "maximum", (a, b)):
                yield _valued(Call("sign", (Call("subtract", (a, b)),)))
            case Call("clip", (a, low, high)):
                yield _valued(Call("less", (a, low)))
                yield _valued(Call("greater", (a, high)))
            case Call("where", (condition, _, _)):
                yield _valued(Call("not_equal", (condition, Number(0.0))))
            case Interp(argument, knots, _):
                for knot in knots:
                    yield _valued(Call("less", (argument, Number(knot))))


def _valued(tree: Tree) -> Callable[[Array], Array]:
    def value(x: Array) -> Array:
        with np.errstate(all="ignore"):
            found: Any = evaluate(tree, x)
        return np.asarray(np.broadcast_to(found, x.shape))

    return value


def _changes(branch: Callable[[Array], Array], points: Array) -> list[float]:
    """The last double of each branch, to the left of a change: all intervals are halved together."""
    taken = branch(points)
    at = np.flatnonzero(taken[1:] != taken[:-1])
    # a part that switches all over is looked at in a few places
    at = at[:: max(len(at) // _MOST, 1)]
    left, right, before = points[at], points[at + 1], taken[at]
    for _ in range(1200):
        middle = left + 0.5 * (right - left)
        open_ = (middle > left) & (middle < right)
        if not open_.any():
            break
        same = branch(middle) == before
        left, right = np.where(open_ & same, middle, left), np.where(open_ & ~same, middle, right)
    return [float(x) for x in left if math.isfinite(x)]
