"""Tables of noisy counts: ours, and those that a statistical office publishes with the variance of each number."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.denoising.cell import NoisyCell
from confide.errors import IncompatibleError, InvalidArgument
from confide.mechanism import Gaussian
from confide.mechanism.additive import AdditiveMechanism
from confide.processing import Processed
from confide.published import Release
from confide.statistic.cells import CellCut
from confide.statistic.histogram import cells_of

#: whole numbers beyond this no double holds
_LARGEST = 2.0**53


@dataclass(frozen=True)
class CountTable:
    """Noisy counts of cells that do not overlap, each named by a label in every column.

    >>> import confide as cf
    >>> cf.published_counts({"north": 12, "south": -3}, variance=9.0).labels
    ('north', 'south')
    """

    columns: tuple[str, ...]
    #: the labels of each cell, in the order of the columns
    keys: tuple[tuple[str, ...], ...]
    cells: tuple[NoisyCell, ...]
    #: the names of the cells
    labels: tuple[str, ...]
    #: how a histogram sorts its columns; a table that was published by somebody else only lists its cells
    cuts: tuple[CellCut, ...] | None = None
    #: what all cells are known to add up to
    exact: int | None = None

    def among(self, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """The labels of each cell in some of the columns."""
        places = [self.columns.index(name) for name in columns]
        return [tuple(key[place] for place in places) for key in self.keys]


def table_of_release(release: Release) -> CountTable:
    """The counts of a release of ours; one cell without columns for a count of all records."""
    channel = release.channel
    noise = channel.law.added
    if noise is None:
        raise IncompatibleError(f"{channel!r} does not add noise to counts; denoise releases with Laplace or Gaussian")
    values = np.atleast_1d(np.asarray(release.observed, dtype=float)).tolist()
    cells = tuple(NoisyCell(value, noise, release.processed) for value in values)
    if channel.statistic.counts:
        return CountTable((), ((),), cells, ("count",), ())
    if not channel.statistic.tallies:
        raise IncompatibleError(f"{channel.statistic!r} is no count; denoise serves a Histogram and a Count")
    histogram = cells_of(channel.statistic)
    keys: list[tuple[str, ...]] = [()]
    for cut in histogram.cuts:
        keys = [(*key, label) for key in keys for label in cut.labels]
    return CountTable(histogram.columns, tuple(keys), cells, histogram.cells, histogram.cuts, channel.n)


def published_counts(
    table: Any, *, variance: Any, count: str = "count", noise: Any = Gaussian, step: float | None = 1,
    processed: Processed | None = None,
) -> CountTable:  # fmt: skip
    """Noisy counts that somebody else published, with the variance of their noise: what `denoise` takes.

    `table` is a data frame, or columns by name: the column `count`, and for every other column the label of the cell in
    it. `variance` is a number, or names the column that has one for each cell; where it is 0 the count was published as
    it is. Or `table` is a mapping of the names of the cells to their counts. Noise is `Gaussian` or `Laplace`, on
    multiples of `step`; on the line if that is None.

    >>> import confide as cf
    >>> print(cf.denoise(cf.published_counts({"north": 412, "south": 187}, variance=9.0), totals=600))
    True counts (before: flat on the whole numbers; they add up to 600)
      north: 412.5 ± 2.1, 409 to 416 (90%)
      south: 187.5 ± 2.1, 184 to 191 (90%)
    >>> by_age = {"sex": ["f", "f", "m", "m"], "age": ["18", "-"] * 2, "count": [31, 104, 29, 97], "var": [4.0] * 4}
    >>> by_sex = {"sex": ["f", "m"], "count": [133, 128], "var": [1.0, 1.0]}
    >>> tables = [cf.published_counts(each, variance="var") for each in (by_age, by_sex)]
    >>> print(cf.denoise(tables[0], totals=tables[1]).mean.round(2))
    [ 30.11 103.11  29.89  97.89]
    """
    if not isinstance(noise, type) or not issubclass(noise, AdditiveMechanism):
        raise InvalidArgument("noise", noise, "is no kind of noise", "use cf.Gaussian or cf.Laplace")
    columns = _columns(table, count)
    numbers = _numbers(count, columns.pop(count), some_left_out=processed is not None)
    if processed is not None:
        numbers = _numbers(count, processed.read(numbers).tolist())
    if isinstance(variance, str):
        if variance not in columns:
            raise InvalidArgument("variance", variance, "is no column of the table", f"it has {', '.join(columns)}")
        variances = _numbers("variance", columns.pop(variance))
    else:
        variances = _numbers("variance", [variance] * len(numbers))
    laws: dict[float, Any] = {0.0: None}
    for each in variances:
        if each < 0:
            raise InvalidArgument(
                "variance", each, "is below 0", "give the variance of the noise, 0 where there is none"
            )
        if each not in laws:
            laws[each] = noise.of_variance(each, step=step).given_noise
    for number, each in zip(numbers, variances, strict=True):
        if each == 0 and (number != math.floor(number) or abs(number) > _LARGEST):
            problem = "has no noise, by its variance, and is no whole number"
            raise InvalidArgument(count, number, problem, "give its variance")
    cells = tuple(NoisyCell(y, laws[each], processed) for y, each in zip(numbers, variances, strict=True))
    keys = tuple(zip(*(map(str, labels) for labels in columns.values()), strict=True)) if columns else ((),)
    if len(keys) != len(cells) or len(set(keys)) < len(keys):
        problem = "has two rows of one cell" if columns else "has several rows and no column that says of which cell"
        raise InvalidArgument("table", list(columns), problem, "give one row for each cell")
    one = len(columns) == 1
    named = (", ".join(f"{name}={label}" for name, label in zip(columns, key, strict=True)) for key in keys)
    labels = tuple(key[0] for key in keys) if one else tuple(named) if columns else ("count",)
    return CountTable(tuple(columns), keys, cells, labels)


def _columns(table: Any, count: str) -> dict[str, list[Any]]:
    """Columns by name; labels are texts."""
    remedy = "give a data frame, columns by name, or counts by the names of their cells"
    if isinstance(table, Mapping) and table and all(np.ndim(value) == 0 for value in table.values()):
        table = {"cell": list(table), count: list(table.values())}
    named = table.columns if hasattr(table, "columns") else table
    if not (hasattr(table, "columns") or isinstance(table, Mapping)) or count not in named:
        raise InvalidArgument("table", table, f"has no column {count!r}", remedy)
    found = {str(name): list(table[name]) for name in named}
    if len({len(each) for each in found.values()}) != 1 or not found[count]:
        raise InvalidArgument("table", list(found), "has no rows, or columns of different lengths", remedy)
    return found


def _numbers(argument: str, column: Any, *, some_left_out: bool = False) -> list[float]:
    """Finite numbers, but for None or NaN in the place of what was left out."""
    remedy = "give finite numbers, and say processed=cf.Suppressed(below=…) where some were left out"
    try:
        found = [math.nan if each is None else float(each) for each in column]
    except (TypeError, ValueError):
        raise InvalidArgument(argument, column, "holds what is no number", remedy) from None
    if not all(math.isfinite(each) or (some_left_out and math.isnan(each)) for each in found):
        raise InvalidArgument(argument, column, "holds what is not finite", remedy)
    return found
