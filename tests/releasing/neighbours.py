"""Neighbours: records of which one cell is replaced by whatever a cell may hold, and what readers make of them."""

import math

import numpy as np

import confide as cf
from confide.releasing.plan import plan_of
from confide.releasing.readers.engine import rows_of
from confide.releasing.readers.source import open_source
from tests.releasing.exactly import numbers

STATISTIC = cf.Mean(["x", "x >= 0.1", "x > 3.25"], (-10, 10))
#: 0.1 and 3.25 lie at switches, so that a last bit counts
RECORDS = [3, 0.1, 3.25, -2.5, 4, 3, 0.1, 9.75]
PLAN = plan_of(cf.Channel(STATISTIC, cf.Laplace(cf.PureDP(1.0)), len(RECORDS)))
HALF = plan_of(cf.Channel(STATISTIC, cf.Laplace(cf.PureDP(1.0)), 4))
IMPUTED = -1.0
#: texts, and the numbers that they are by the rule; all others are missing
TEXTS = {
    "+3": 3.0, "3.": 3.0, ".5": 0.5, " 7 ": 7.0, "\t7": 7.0, "-1e-1": -0.1, "1E+0": 1.0, "007": 7.0, "1e-400": 0.0, "-0": 0.0,
    "0.1000000000000000055511151231257827": 0.1, "1e-99999999": 0.0, "0e99999999": 0.0, "1e5": 1e5, "2" * 300: 2.2222222222222223e299,
    "": None, "n/a": None, "0x10": None, "3,4": None, "3;4": None, "1_000": None, "inf": None, "-Infinity": None, "nan": None,
    "1e400": None, "1e99999999": None, "+-3": None, "1e+-3": None, "--3": None, ".": None, "e5": None, "1e": None, "3 4": None,
    "true": None, "2026-01-01": None, "1/2": None, "NULL": None, "3d": None, "3f": None, "٣": None, "３": None, "3\u00a0": None,
    "1" * 401: None, "0" * 500: None, "x" * 5000: None, "#3": None, "'3'": None, "\\N": None, "[3]": None, "3|4": None,
}  # fmt: skip


def total(plan, source, part=None, missing=IMPUTED):
    data, column, table = source
    return numbers(plan, data, column, table, part, missing)


def expected(values, plan=PLAN):
    return total(plan, (np.asarray([IMPUTED if value is None else value for value in values], float), None, None))


def read(source):
    """The cells as the reader hands them on: numbers, or None."""
    data, column, table = source
    with open_source(data, column, table) as opened:
        found = [row["x"] for row in rows_of(opened.connection, opened.table.select("x"))]
    return [value if value is not None and math.isfinite(value) else None for value in found]


def check(make, cells, base=RECORDS, values=None):
    """Cells, with the numbers that they are, among other records: all of them at once, then some alone in some place.

    Every cell is read as it is by itself, and so are all of its neighbours; then the sums cannot but agree, which is
    seen for one of them.
    """
    cells, values = list(cells), list(values or map(float, base))
    many = [each for index, (cell, _) in enumerate(cells) for each in (cell, base[index % len(base)])]
    known = [each for index, (_, number) in enumerate(cells) for each in (number, values[index % len(base)])]
    assert read(make(many)) == known
    for index in range(0, len(cells), max(1, len(cells) // 5)):
        (cell, number), place = cells[index], (0, 4, len(base) - 1)[index % 3]
        records = [cell if at == place else record for at, record in enumerate(base)]
        assert read(make(records)) == [number if at == place else value for at, value in enumerate(values)]
    assert total(PLAN, make(records)) == expected([number if at == place else v for at, v in enumerate(values)])


def texts(records):
    return [record if isinstance(record, str | bytes) else repr(record) for record in records]
