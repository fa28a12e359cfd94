"""Constants of an expression, computed once: `1/3` is the double that every reader sees, not an interval around it."""

from __future__ import annotations

import numpy as np

from confide.expression.evaluate import evaluate
from confide.expression.tree import Call, Interp, Number, Tree

#: operations that every machine rounds in the same way; NumPy computes them before an engine sees them
_EXACT = frozenset({"add", "subtract", "multiply", "divide", "negative", "absolute", "minimum", "maximum"})


def fold(tree: Tree) -> Tree:
    """The expression with its arithmetic on constants carried out.

    >>> from confide.expression.parse import parse
    >>> fold(parse("x > 1/4 + 1"))
    Call(operation='greater', arguments=(Variable(name='x'), Number(value=1.25)))
    """
    match tree:
        case Interp(argument, knots, values):
            return Interp(fold(argument), knots, values)
        case Call(operation, arguments):
            call = Call(operation, tuple(map(fold, arguments)))
            if operation in _EXACT and all(isinstance(argument, Number) for argument in call.arguments):
                value = float(evaluate(call, np.float64(0.0)))
                return Number(value) if np.isfinite(value) else call
            return call
    return tree
