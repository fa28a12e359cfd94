"""From text to tree, safely.

Python's own `ast` does the tokenising and the precedence, nothing is ever evaluated or compiled, and every node that
is not in the grammar is refused by name. Length, depth and size are limited before and after, so hostile input costs
little.
"""

from __future__ import annotations

import ast
import itertools
import math
import warnings
from collections.abc import Collection

from confide.errors import ExpressionError
from confide.expression.tree import ARITY, Call, Interp, Number, Tree, Variable, nodes

#: chosen: far beyond what people write (a table of 1,000 knots has some 40,000 characters), within Python's stack
MAX_LENGTH = 100_000
MAX_DEPTH = 100
MAX_NODES = 2_000

GRAMMAR = (
    "write it with numbers, x, + - * / **, abs, min, max, clip(e, lo, hi), exp, log, log1p, sqrt, sign, "
    "comparisons such as x > 2, where(c, a, b) and interp(x, [knots], [values])"
)

_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "subtract",
    ast.Mult: "multiply",
    ast.Div: "divide",
    ast.Pow: "power",
}
_COMPARE: dict[type[ast.cmpop], str] = {
    ast.Lt: "less",
    ast.LtE: "less_equal",
    ast.Gt: "greater",
    ast.GtE: "greater_equal",
    ast.Eq: "equal",
    ast.NotEq: "not_equal",
}
#: name in the language -> operation of the tree
FUNCTIONS = {
    "abs": "absolute", "min": "minimum", "max": "maximum", "clip": "clip", "exp": "exp", "log": "log",
    "log1p": "log1p", "sqrt": "sqrt", "sign": "sign", "where": "where",
}  # fmt: skip


def parse(text: object, names: Collection[str] = ("x",)) -> Tree:
    """Parse a text of the expression language, in which these variables have a name; `a[0]` may be one too.

    >>> parse("abs(x) ** 2")
    Call(operation='power', arguments=(Call(operation='absolute', arguments=(Variable(name='x'),)), Number(value=2.0)))
    """
    if not isinstance(text, str):
        raise ExpressionError("expression", text, "is not text", GRAMMAR)
    if len(text) > MAX_LENGTH:
        raise ExpressionError("expression", text, f"is longer than {MAX_LENGTH} characters", "use a shorter one")
    if _bracket_depth(text) > MAX_DEPTH:
        raise ExpressionError("expression", text, f"is nested deeper than {MAX_DEPTH}", "use a flatter one")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            syntax = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ExpressionError("expression", text, "cannot be parsed", GRAMMAR) from error
    tree = _Builder(text, names).build(syntax.body, 0)
    if sum(1 for _ in itertools.islice(nodes(tree), MAX_NODES + 1)) > MAX_NODES:
        raise ExpressionError("expression", text, f"has more than {MAX_NODES} parts", "use a smaller one")
    return tree


def _bracket_depth(text: str) -> int:
    steps = ((character in "([{") - (character in ")]}") for character in text)
    return max(itertools.accumulate(steps, initial=0))


class _Builder:
    """Turns Python's syntax tree into ours, refusing whatever is not in the grammar."""

    def __init__(self, text: str, names: Collection[str]) -> None:
        self.text, self.names = text, names

    def refuse(self, problem: str, remedy: str = GRAMMAR) -> ExpressionError:
        return ExpressionError("expression", self.text, problem, remedy)

    def build(self, node: ast.expr, depth: int) -> Tree:
        if depth > MAX_DEPTH:
            raise self.refuse(f"is nested deeper than {MAX_DEPTH}", "use a flatter one")
        match node:
            case ast.Constant(value=value):
                return Number(self.number(value))
            case ast.Name(id=name):
                return self.variable(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(index))):
                return self.variable(f"{name}[{index}]")
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.build(operand, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.build(operand, depth + 1)
                return Number(-inner.value) if isinstance(inner, Number) else Call("negative", (inner,))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
                return Call(_BINARY[type(op)], (self.build(left, depth + 1), self.build(right, depth + 1)))
            case ast.BinOp(op=ast.BitXor()):
                raise self.refuse("uses ^", "powers are written **")
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return Call(_COMPARE[type(op)], (self.build(left, depth + 1), self.build(right, depth + 1)))
            case ast.Compare() | ast.BoolOp():
                raise self.refuse("chains conditions", "multiply them: (0 < x) * (x < 2) is 1 where both hold, else 0")
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(name, arguments, depth)
        raise self.refuse(f"uses {type(node).__name__}, which is not in the language")

    def variable(self, name: str) -> Tree:
        if name in self.names:
            return Variable(name)
        known = ", ".join(self.names)
        there_is = f"the only variable is {known}" if len(self.names) == 1 else f"the variables are {known}"
        raise self.refuse(f"uses the unknown name {name!r}", f"{there_is}; {GRAMMAR}")

    def number(self, value: object) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.refuse(f"has the constant {str(value)[:40]!r}, which is not a real number")
        try:
            result = float(value)
        except OverflowError:
            result = math.inf
        if not math.isfinite(result):
            raise self.refuse("has a number too large for double precision")
        return result

    def call(self, name: str, arguments: list[ast.expr], depth: int) -> Tree:
        if name == "interp":
            return self.interp(arguments, depth)
        if name not in FUNCTIONS:
            raise self.refuse(f"calls the unknown function {name!r}")
        operation = FUNCTIONS[name]
        built = [self.build(argument, depth + 1) for argument in arguments]
        if operation in ("minimum", "maximum") and len(built) > 2:
            if depth + len(built) > MAX_DEPTH:
                raise self.refuse(f"gives {name} {len(built)} arguments", f"nest {name}(…) of some of them")
            tree: Tree = built[0]
            for argument in built[1:]:
                tree = Call(operation, (tree, argument))
            return tree
        if len(built) != ARITY[operation]:
            raise self.refuse(f"gives {name} {len(built)} arguments", f"{name} takes {ARITY[operation]}")
        return Call(operation, tuple(built))

    def interp(self, arguments: list[ast.expr], depth: int) -> Tree:
        remedy = "write interp(e, [x0, x1, …], [v0, v1, …]) with increasing knots and as many values"
        match arguments:
            case [argument, ast.List(elts=knots), ast.List(elts=values)]:
                xs, vs = self.table(knots, depth), self.table(values, depth)
            case _:
                raise self.refuse("calls interp wrongly", remedy)
        if len(xs) < 2 or len(xs) != len(vs) or any(b <= a for a, b in itertools.pairwise(xs)):
            raise self.refuse("has a table that is not one", remedy)
        return Interp(self.build(argument, depth + 1), xs, vs)

    def table(self, entries: list[ast.expr], depth: int) -> tuple[float, ...]:
        built = [self.build(entry, depth + 1) for entry in entries]
        if not all(isinstance(entry, Number) for entry in built):
            raise self.refuse("has an interp table with entries that are not numbers")
        return tuple(entry.value for entry in built if isinstance(entry, Number))
