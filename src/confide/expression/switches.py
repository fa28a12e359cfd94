"""Where an expression in several variables changes branch: the roots of its switching sub-expressions.

`pieces` finds the kinks of one variable once and for all. With several variables a kink is a surface, and what a reader
along one axis needs is the function whose sign changes there.
"""

from __future__ import annotations

from confide.expression.tree import COMPARISONS, Call, Interp, Number, Tree, Variable, nodes


def switches(tree: Tree) -> tuple[Tree, ...]:
    """Sub-expressions at whose roots the expression may have a kink or a jump.

    >>> from confide.expression import Expression
    >>> from confide.expression.text import format_tree
    >>> [format_tree(each) for each in switches(Expression("max(a - b, 0) + (b > 2)", ("a", "b")).tree)]
    ['a - b', 'b - 2']
    """
    found = [switch for node in nodes(tree) for switch in _of(node) if not isinstance(switch, Number)]
    return tuple(dict.fromkeys(found))


def jumps(tree: Tree) -> bool:
    """Whether the expression may jump at a switch, and not merely have a kink there."""
    return any(isinstance(node, Call) and node.operation in COMPARISONS | {"sign", "where"} for node in nodes(tree))


def variables(tree: Tree) -> frozenset[str]:
    """The variables that occur in a tree."""
    return frozenset(node.name for node in nodes(tree) if isinstance(node, Variable))


def _of(node: Tree) -> list[Tree]:
    match node:
        case Call("sqrt", (a,)):
            return [a]
        case Call("power", (a, Number(exponent))) if exponent != int(exponent) or exponent < 0:
            return [a]
        case _:
            return [apart(a, b) for a, b in meetings(node)]


def meetings(node: Tree) -> list[tuple[Tree, Tree]]:
    """The pairs of expressions that change order where a node changes its branch."""
    match node:
        case Call("absolute" | "sign", (a,)):
            return [(a, Number(0.0))]
        case Call("clip", (a, low, high)):
            above = a if isinstance(low, Number) and isinstance(high, Number) else Call("maximum", (a, low))
            return [(a, low), (above, high)]
        case Call("where", (condition, _, _)):
            decided = isinstance(condition, Call) and condition.operation in COMPARISONS
            return [] if decided else [(condition, Number(0.0))]
        case Call(operation, (a, b)) if operation in COMPARISONS or operation in ("minimum", "maximum"):
            return [(a, b)]
        case Interp(argument, knots, _):
            return [(argument, Number(knot)) for knot in knots]
        case _:
            return []


def apart(a: Tree, b: Tree) -> Tree:
    """Their difference, as short as it can be written."""
    return a if b == Number(0.0) else Call("subtract", (a, b))
