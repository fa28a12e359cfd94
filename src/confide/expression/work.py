"""A budget of work, known beforehand: an expression may come from a file that somebody else wrote.

One unit is about one operation on intervals, some 200 microseconds. What is beyond the budget is given up, and
whoever asked falls back on a bound that needs no search, or refuses in words.
"""

from __future__ import annotations

from confide.expression.interval import UndefinedError
from confide.expression.tree import Interp, Tree, nodes

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
    """The operations that one reading takes: a node is one, and a long table is several."""
    return sum(1 + len(node.knots) / 200 if isinstance(node, Interp) else 1 for node in nodes(tree))
