"""The canonical text of a tree: parsing it gives the tree back."""

from __future__ import annotations

from confide.expression.parse import FUNCTIONS
from confide.expression.tree import COMPARISONS, Call, Interp, Number, Tree, Variable

#: how operations are written
_NAMES = {operation: name for name, operation in FUNCTIONS.items()}
_SYMBOLS = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "less": "<", "less_equal": "<=",
    "greater": ">", "greater_equal": ">=", "equal": "==", "not_equal": "!=",
}  # fmt: skip

# How tightly each form binds; an operand that binds less tightly than its place demands gets brackets.
_COMPARISON, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(6)


def format_number(value: float) -> str:
    """The shortest text that reads back as the same number, without a trailing `.0`."""
    if value == int(value) and abs(value) < 1e16:
        return str(int(value))
    return repr(value)


def format_tree(tree: Tree) -> str:
    """Canonical text: one blank around sums, products and comparisons, and no needless brackets."""
    return _format(tree)[0]


def _format(tree: Tree) -> tuple[str, int]:
    match tree:
        case Number(value):
            return format_number(value), _SIGN if str(value).startswith("-") else _ATOM
        case Variable(name):
            return name, _ATOM
        case Interp(argument, knots, values):
            tables = (", ".join(map(format_number, table)) for table in (knots, values))
            return "interp({}, [{}], [{}])".format(format_tree(argument), *tables), _ATOM
        case Call("negative", (inner,)):
            return f"-{_operand(inner, _SIGN)}", _SIGN
        case Call("power", (base, exponent)):
            return f"{_operand(base, _ATOM)}**{_operand(exponent, _SIGN)}", _POWER
        case Call(operation, (left, right)) if operation in _SYMBOLS:
            level = _COMPARISON if operation in COMPARISONS else _SUM
            level = _PRODUCT if operation in ("multiply", "divide") else level
            left_level = level + 1 if level == _COMPARISON else level
            sides = (_operand(left, left_level), _operand(right, level + 1))
            return f"{sides[0]} {_SYMBOLS[operation]} {sides[1]}", level
        case Call(operation, arguments):
            return f"{_NAMES[operation]}({', '.join(map(format_tree, arguments))})", _ATOM


def _operand(tree: Tree, needed: int) -> str:
    text, level = _format(tree)
    return text if level >= needed else f"({text})"
