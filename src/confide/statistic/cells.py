"""How records are sorted into cells: by edges, or by a public list of categories."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from confide.errors import InvalidArgument
from confide.statistic.columns import column

#: cells of a histogram: what a file may hold, and a table that somebody can still read
MOST_CELLS = 1000
#: what every value is that is in no list
OTHER = "other"


@dataclass(frozen=True)
class CellCut:
    """One column and its cells: half-open intervals between edges with those below and above, or listed categories.

    The list is public. Whatever is not in it is in the last cell, `other`: an error for an unlisted value would answer
    a question about a single record.

    >>> CellCut("age", edges=(0.0, 18.0)).labels, CellCut("sex", categories=("f", "m")).labels
    (('below 0', '0 to 18', '18 or more'), ('f', 'm', 'other'))
    """

    column: str
    edges: tuple[float, ...] = ()
    categories: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the cells, in order."""
        if self.categories:
            return (*self.categories, OTHER)
        ends = [f"{edge:.15g}" for edge in self.edges]
        between = (f"{low} to {high}" for low, high in zip(ends[:-1], ends[1:], strict=True))
        return (f"below {ends[0]}", *between, f"{ends[-1]} or more")

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.categories or self.edges) + 1

    def index(self, values: Any) -> Any:
        """The cell of each value: a number between edges, a text among the categories, or its code (0, 1, …)."""
        if not self.categories:
            return jnp.searchsorted(jnp.asarray(self.edges), jnp.asarray(values, dtype=float), side="right")
        if isinstance(values, np.ndarray | list | tuple) and np.asarray(values).dtype.kind in "OUST":
            texts = np.asarray(values, dtype=object)
            found = np.full(texts.shape, self.size - 1)
            for code, text in enumerate(self.categories):
                found[texts == text] = code
            return jnp.asarray(found)
        return coded(values, self.size)


def coded(values: Any, size: int) -> Any:
    """Codes 0, 1, … of cells; what is none of them is in the last."""
    codes = jnp.asarray(values, dtype=float)
    known = (codes >= 0) & (codes < size) & (codes == jnp.floor(codes))
    return jnp.where(known, codes, size - 1).astype(jnp.int32)


def as_cuts(columns: Any, edges: Any, categories: Any) -> tuple[CellCut, ...]:
    """Checked cuts of one column or several, each with its edges or its categories."""
    single = isinstance(columns, str)
    names = [columns] if single else columns
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) and name for name in names):
        raise InvalidArgument("columns", columns, "names no column", 'give "x", or a list such as ["sex", "ward"]')
    if len(set(names)) < len(names):
        raise InvalidArgument("columns", columns, "names a column twice", "name each once")
    given = {"edges": edges, "categories": categories}
    for argument, value in given.items():
        if not single and value is not None and not isinstance(value, Mapping):
            remedy = f"give a list for each column, as in {{{names[0]!r}: […]}}"
            raise InvalidArgument(argument, value, "does not say which column it is for", remedy)
        if isinstance(value, Mapping) and (unknown := [name for name in value if name not in names]):
            raise InvalidArgument(argument, unknown[0], "is none of the columns", f"use {', '.join(names)}")
    by_name = {
        argument: value if isinstance(value, Mapping) else {} if value is None else {names[0]: value}
        for argument, value in given.items()
    }
    cuts = []
    for name in names:
        ways = [argument for argument in given if name in by_name[argument]]
        if len(ways) != 1:
            problem = "has no cells" if not ways else "has edges and categories"
            remedy = "give its edges if it is a number, or the public list of its categories if it is a text"
            raise InvalidArgument("columns", name, problem, remedy)
        value = by_name[ways[0]][name]
        cuts.append(
            CellCut(name, edges=as_edges(value)) if ways == ["edges"] else CellCut(name, categories=as_texts(value))
        )
    if (cells := math.prod(cut.size for cut in cuts)) > MOST_CELLS:
        raise InvalidArgument(
            "columns", columns, f"make {cells:,} cells, more than {MOST_CELLS:,}", "use fewer edges or categories"
        )
    return tuple(cuts)


def as_edges(value: Any) -> tuple[float, ...]:
    """Finite numbers in increasing order."""
    remedy = "give finite numbers in increasing order, such as edges=[0, 10, 20]"
    try:
        edges = tuple(float(edge) for edge in value)
    except (TypeError, ValueError) as error:
        raise InvalidArgument("edges", value, "is not a list of numbers", remedy) from error
    if not edges or not all(map(math.isfinite, edges)):
        raise InvalidArgument("edges", value, "is empty or not finite", remedy)
    if any(low >= high for low, high in zip(edges[:-1], edges[1:], strict=True)):
        raise InvalidArgument("edges", value, "is not in increasing order", remedy)
    return tuple(edge + 0.0 for edge in edges)  # −0 is 0


def as_texts(value: Any) -> tuple[str, ...]:
    """Different texts, none of which is `other`."""
    remedy = 'give the public list of texts, such as categories=["f", "m"]'
    if isinstance(value, str) or not isinstance(value, Sequence) or not value:
        raise InvalidArgument("categories", value, "is not a list of texts", remedy)
    if not all(isinstance(text, str) and text for text in value):
        raise InvalidArgument("categories", value, "holds what is no text", remedy)
    if len(set(value)) < len(value):
        raise InvalidArgument("categories", value, "has a text twice", remedy)
    if OTHER in value:
        raise InvalidArgument(
            "categories", value, f"lists {OTHER!r}, which is what is not listed", "leave it out: it is always there"
        )
    return tuple(value)


@functools.lru_cache(maxsize=256)
def joined(cuts: tuple[CellCut, ...]) -> tuple[str, ...]:
    """The names of the cells of a table: the label of one column, or of each column with its name.

    >>> joined((CellCut("sex", categories=("f",)), CellCut("ward", categories=("A",))))
    ('sex=f, ward=A', 'sex=f, ward=other', 'sex=other, ward=A', 'sex=other, ward=other')
    """
    if len(cuts) == 1:
        return cuts[0].labels
    names = [""]
    for cut in cuts:
        names = [f"{name}, {cut.column}={label}" for name in names for label in cut.labels]
    return tuple(name.removeprefix(", ") for name in names)


def index_of(cuts: tuple[CellCut, ...], records: Any) -> Any:
    """The cell of each record, given as columns by name, as numbers of the one column, or as codes of cells."""
    if isinstance(records, Mapping):
        names = [cut.column if cut.column in records or len(cuts) > 1 else "x" for cut in cuts]
        found: Any = 0
        for cut, name in zip(cuts, names, strict=True):
            found = found * cut.size + cut.index(column(records, name))
        return found
    if len(cuts) == 1:
        return cuts[0].index(records)
    return coded(records, math.prod(cut.size for cut in cuts))
