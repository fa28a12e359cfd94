"""The cells of a histogram, as files have them: each column with its edges or its public list of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from confide.published.errors import FileError
from confide.registry import NUMBER_LIMITS
from confide.statistic import Histogram, Statistic
from confide.statistic.histogram import cells_of

if TYPE_CHECKING:
    from confide.published.schema import StatisticForm


def encode_cells(statistic: Statistic) -> list[dict[str, Any]]:
    """The columns in order.

    >>> encode_cells(Histogram("sex", categories=["f", "m"]))
    [{'column': 'sex', 'categories': ['f', 'm']}]
    """
    return [
        {"column": cut.column} | {name: list(told) for name in ("edges", "categories") if (told := getattr(cut, name))}
        for cut in cells_of(statistic).cuts
    ]


def decode_cells(form: StatisticForm) -> Statistic | None:
    """The histogram of a form, or None where it is another statistic; each has what it needs and nothing else."""
    others = (form.expressions, form.bounds, form.categories, *(getattr(form, name) for name in NUMBER_LIMITS))
    if form.kind != "Histogram":
        if form.cells is not None:
            raise FileError(f"a {form.kind} has no cells")
        if form.expressions is None or form.bounds is None:
            raise FileError(f"a {form.kind} needs expressions and bounds")
        return None
    if form.cells is None or any(other is not None for other in others):
        raise FileError("a Histogram has cells, and nothing else")
    columns = [cut.column for cut in form.cells]
    told = {
        name: {cut.column: value for cut in form.cells if (value := getattr(cut, name)) is not None} or None
        for name in ("edges", "categories")
    }
    return Histogram(columns, **told)
