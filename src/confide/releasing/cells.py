"""Which cell of a histogram a record is in, as engines compute it: comparisons of doubles, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from confide.expression.database import double
from confide.releasing.clipping import engine_columns
from confide.statistic import Statistic
from confide.statistic.histogram import cells_of

#: the cell of a record that lacks a value
LACKING = -1


def sorted_into_cells(statistic: Statistic, table: Any, present: Any) -> Any:
    """The table with a column q0: the cell of each record, or -1 for one that is not `present`.

    Edges are compared as doubles, which every engine does alike, and texts came as codes of their public lists.
    """
    import ibis

    columns, found = engine_columns(statistic), None
    for cut in cells_of(statistic).cuts:
        column = table[columns[cut.column]]
        own = column.cast("int64") if cut.categories else _between(column, cut.edges, 0)
        found = own if found is None else found * ibis.literal(cut.size, "int64") + own
    return table.mutate(q0=present.ifelse(found, ibis.literal(LACKING, "int64")))


def _between(column: Any, edges: Sequence[float], first: int) -> Any:
    """The number of edges that are not above a value, by halving."""
    import ibis

    if not edges:
        return ibis.literal(first, "int64")
    middle = len(edges) // 2
    below = _between(column, edges[:middle], first)
    return (column < double(edges[middle])).ifelse(below, _between(column, edges[middle + 1 :], first + middle + 1))
