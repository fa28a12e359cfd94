"""Reading an expression on one piece: every switch is replaced by the branch that is taken there.

`abs(x)` becomes `x` or `-x`, a comparison becomes 0 or 1, a table becomes a straight line. What remains is smooth
on the piece including its ends, so one-sided limits at a jump are plain evaluations.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from confide.expression.evaluate import evaluate
from confide.expression.tree import COMPARISONS, Call, Interp, Number, Tree, Variable


def specialise(tree: Tree, low: float, high: float) -> Tree:
    """The branch of the expression that is taken inside (low, high), where it must not change."""
    inside = np.float64(0.5 * (low + high))

    def at(part: Tree) -> float:
        return float(evaluate(part, inside))

    def reduce(part: Tree) -> Tree:
        match part:
            case Number() | Variable():
                return part
            case Interp(argument, knots, values):
                return _segment(reduce(argument), at(argument), knots, values)
            case Call("where", (condition, yes, no)):
                return reduce(yes) if at(condition) != 0 else reduce(no)
            case Call("sign", _):
                return Number(at(part))
            case Call(operation, _) if operation in COMPARISONS:
                return Number(at(part))
            case Call("absolute", (a,)):
                return reduce(a) if at(a) >= 0 else Call("negative", (reduce(a),))
            case Call("minimum", (a, b)):
                return reduce(a) if at(a) <= at(b) else reduce(b)
            case Call("maximum", (a, b)):
                return reduce(a) if at(a) >= at(b) else reduce(b)
            case Call("clip", (a, lower, upper)):
                if at(Call("maximum", (a, lower))) >= at(upper):
                    return reduce(upper)
                return reduce(lower) if at(a) <= at(lower) else reduce(a)
            case Call(operation, arguments):
                return _fold(Call(operation, tuple(map(reduce, arguments))))
        raise AssertionError(part)

    return reduce(tree)


def _fold(call: Call) -> Tree:
    """An operation on constants is a constant: 0 · anything as well, so that flat pieces are seen to be flat."""
    if all(isinstance(argument, Number) for argument in call.arguments):
        value: Any = evaluate(call, np.float64(0.0))
        return Number(float(value))
    if call.operation == "multiply" and Number(0.0) in call.arguments:
        return Number(0.0)
    return call


def _segment(argument: Tree, at: float, knots: tuple[float, ...], values: tuple[float, ...]) -> Tree:
    """The straight line of a table around a point: v0 + slope · (argument − x0)."""
    if at <= knots[0]:
        return Number(values[0])
    if at >= knots[-1]:
        return Number(values[-1])
    i = int(np.searchsorted(knots, at, side="right")) - 1
    slope = (values[i + 1] - values[i]) / (knots[i + 1] - knots[i])
    if slope == 0:
        return Number(values[i])
    offset = Call("subtract", (argument, Number(knots[i])))
    return _fold(Call("add", (Number(values[i]), _fold(Call("multiply", (Number(slope), offset))))))
