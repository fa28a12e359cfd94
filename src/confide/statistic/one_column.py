"""A statistic of one named column, read as one of numbers: `readmitted` of a table is x of a population of numbers."""

from __future__ import annotations

import re

from confide.expression import Expression
from confide.statistic.columns import ColumnBounds
from confide.statistic.statistic import Statistic


def about_x(statistic: Statistic) -> Statistic | None:
    """The same statistic with its one column called x; None of several columns, texts or cells, or about x.

    >>> from confide.statistic import Mean
    >>> about_x(Mean(["age", "age**2"], bounds={"age": (18, 90)}))
    Mean(['x', 'x**2'], bounds=(18.0, 90.0))
    """
    bounds = statistic.bounds
    if not isinstance(bounds, ColumnBounds) or len(bounds.names) != 1 or bounds.categories:
        return None
    if statistic.tallies or not all(isinstance(each, Expression) for each in statistic.transforms):
        return None
    name = re.compile(rf"(?<![\w.]){re.escape(bounds.names[0])}\b")  # not the exponent of a number
    texts = [name.sub("x", str(each)) for each in statistic.transforms]
    made = type(statistic)
    return made(texts if len(texts) > 1 else texts[0], bounds=bounds.ends[0], **statistic.options)
