"""A budget of work, known beforehand: an expression may come from a file that somebody else wrote.

One unit is about one operation on intervals, some 200 microseconds. What is beyond the budget is given up, and
whoever asked falls back on a bound that needs no search, or refuses in words.
"""

from __future__ import annotations

from confide.expression.interval import UndefinedError
from confide.expression.tree import Call, Interp, Number, Tree, integer_exponent, nodes

#: a second or two
SEARCH = 5_000


class Work:
    """What is left of a budget.

    >>> work = Work(10)
    >>> work.spend(7)
    >>> work.spend(7)
    Traceback (most recent call last):
    ...
    confide.expression.interval.UndefinedError: it is too large to be searched for its kinks and turning points
    """

    def __init__(self, units: float = SEARCH) -> None:
        self._left = units

    def spend(self, units: float) -> None:
        """Take units from the budget; refused where it is exhausted."""
        self._left -= units
        if self._left < 0:
            raise UndefinedError("it is too large to be searched for its kinks and turning points")


def size(tree: Tree) -> float:
    """The operations that one reading takes: a node is one, but a long table and a chain of products are several."""
    return sum(map(_operations, nodes(tree)))


def _operations(node: Tree) -> float:
    match node:
        case Interp(knots=knots):
            return 1 + len(knots) / 200
        case Call("power", (_, Number(exponent))) if k := integer_exponent(exponent):
            return abs(k).bit_length() + abs(k).bit_count() - 1
    return 1
