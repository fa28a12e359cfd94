"""Whether an engine can evaluate an expression on every record: no step on the way overflows or is undefined.

A certified range speaks of the result alone: `min(exp(x), 5)` is bounded although exp(x) may overflow. NumPy and DuckDB
go on with infinity, and may turn it into NaN; PostgreSQL stops with an error. Neither may depend on a record, so an
expression is refused where a part of it may overflow, whatever the engine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from confide.errors import RangeError
from confide.expression.bounding import RangeReader
from confide.expression.interval import Interval, UndefinedError
from confide.expression.text import format_tree
from confide.expression.tree import Interp, Tree, Variable, nodes, read
from confide.expression.work import size

#: cells that the bounds are cut into: intervals are wide where x occurs more than once, and the cut makes them narrow
_CELLS = (2**4, 2**10, 2**14)
#: columns beyond which none is cut: there would be too many boxes
_MOST_CUT = 12
#: nodes × cells that are worth a second or two
_MOST_WORK = 2**22


class _Watched:
    """A reader that stops at the first value that may not be finite."""

    def __init__(self, reader: RangeReader) -> None:
        self._reader = reader

    def __getattr__(self, operation: str) -> Callable[..., Any]:
        function = getattr(self._reader, operation)

        def watched(*arguments: Any) -> Any:
            with np.errstate(all="ignore"):
                result = function(*arguments)
            if not np.all(np.isfinite(result.low) & np.isfinite(result.high)):
                raise UndefinedError(operation)
            return result

        return watched


def check_evaluable(tree: Tree, bounds: Mapping[str, tuple[float, float]]) -> None:
    """Refuse an expression of which some part may overflow on the bounds.

    >>> from confide.expression.parse import parse
    >>> check_evaluable(parse("min(exp(x), 5)"), {"x": (0.0, 100.0)})
    >>> check_evaluable(parse("min(exp(x), 5)"), {"x": (0.0, 1000.0)})
    Traceback (most recent call last):
    ...
    confide.errors.RangeError: expression = 'min(exp(x), 5)' overflows on the way to its value within the bounds ...
    """
    steep = any(isinstance(node, Interp) and not _gentle(node) for node in nodes(tree))
    bounds = {name: bounds[name] for name in {n.name: None for n in nodes(tree) if isinstance(n, Variable)}}
    cuts = [cells for cells in _CELLS if cells == _CELLS[0] or cells * size(tree) <= _MOST_WORK]
    if not steep and any(_finite(tree, bounds, cells) for cells in cuts):
        return
    problem = f"overflows on the way to its value within the bounds {dict(bounds)}"
    remedy = f"clip what overflows first, as in exp(min({next(iter(bounds), 'x')}, 700))"
    raise RangeError("expression", format_tree(tree), problem, remedy)


def _finite(tree: Tree, bounds: Mapping[str, tuple[float, float]], cells: int) -> bool:
    """Whether all of it is finite on boxes that cover the bounds: about as many of them as there are cells."""
    each = max(math.floor(cells ** (1 / max(len(bounds), 1)) + 1e-9), 2 if len(bounds) < _MOST_CUT else 1)
    share = np.linspace(0.0, 1.0, each + 1)
    edges = [low * (1 - share) + high * share for low, high in bounds.values()]
    sides: Any = [e[:-1] for e in edges], [e[1:] for e in edges]
    # NumPy's grids have 32 axes at most
    lows, highs = (np.meshgrid(*side, indexing="ij") for side in sides) if each > 1 else sides
    boxes = {name: Interval.of(low.ravel(), high.ravel()) for name, low, high in zip(bounds, lows, highs, strict=True)}
    try:
        read(tree, _Watched(RangeReader(boxes)))
    except UndefinedError:
        return False
    return True


def _gentle(table: Interp) -> bool:
    """Whether no segment of a table is so steep or so wide that its slope, or a distance in it, overflows."""
    with np.errstate(all="ignore"):
        widths = np.diff(table.knots)
        return bool(np.all(np.isfinite(widths) & np.isfinite(np.diff(table.values) / widths)))
