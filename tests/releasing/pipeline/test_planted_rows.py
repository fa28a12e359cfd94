"""Bugs planted where rows, texts and groups are read: the neighbours of rows find every one of them."""

import dataclasses
from itertools import combinations

import ibis
import numpy as np
import pytest

import confide as cf
from confide.published import DataError
from confide.releasing import aggregate, plan, quantise
from confide.releasing.auditing import movement
from confide.releasing.plan import plan_of
from confide.releasing.readers import delimited, memory, source
from tests.releasing.exactly import numbers
from tests.releasing.test_row_neighbours import BOUNDS, PLAIN, READERS, TEXTS, WARDS, outcome, tables, whole_rows

STATISTIC = cf.Mean(TEXTS, bounds=BOUNDS, categories=WARDS)
MISSING = {"age": 30.0, "cost": 100.0}


def codes_by_rank(patch):
    """The code of a text is its place among the texts of the others."""
    rank = ibis.dense_rank()
    patch.setattr(source, "code", lambda text, known, **_: rank.over(ibis.window(order_by=text)).cast("float64"))


def refused_text(patch):
    honest = memory.label_of

    def label(cell):
        if isinstance(cell, str) and cell not in (*WARDS["ward"], "x"):
            raise ValueError(cell)
        return honest(cell)

    patch.setattr(memory, "label_of", label)


def imputed_by_a_record(patch):
    """What is missing is put in place of by the largest value of all."""
    honest = aggregate._records

    def records(plan, source_, part, missing):
        cells = source_.table["x1"]
        given = (cells.abs() <= 1e300).ifelse(cells, ibis.null("float64"))
        table = source_.table.mutate(x1=given.fill_null(given.max()))
        return honest(plan, dataclasses.replace(source_, table=table), part, missing)

    patch.setattr(aggregate, "_records", records)


def columns_read_apart(patch):
    """Cells that are missing are left out of their column alone, so that all below move up."""
    honest = memory._read

    def read(columns, name, objects, stop):
        cells = honest(columns, name, objects, stop)
        doubles = cells.type == "double"
        kept = [c for c in cells.to_pylist() if not doubles or (c is not None and np.isfinite(c))]
        return memory._numbers(kept + [0.0] * (len(cells) - len(kept))) if doubles else cells

    patch.setattr(memory, "_read", read)


def lines_dropped(patch):
    """Lines with too many fields."""
    honest = delimited._columns

    def columns(block, layout):
        whole = [line for line in block.split(b"\n")[:-1] if line.count(bytes([layout.separator])) == layout.fields - 1]
        return honest(b"\n".join(whole) + b"\n", layout)

    patch.setattr(delimited, "_columns", columns)


def last_coordinate_unclamped(patch):
    clamp = quantise._between
    patch.setattr(quantise, "_between", lambda c, low, high: clamp(c, low, high) * 3 if c.type().is_integer() else clamp(c, low, high))  # fmt: skip


def one_coordinate_forgotten(patch):
    honest = plan.squared_sensitivity

    def squared(channel, grid, norm, neighbours=None):
        return honest(channel, grid, norm, neighbours) // 4

    patch.setattr(plan, "squared_sensitivity", squared)
    patch.setattr(movement, "squared_sensitivity", squared)


def counted_twice(patch):
    patch.setattr(aggregate, "_sum", lambda plan, source, column: (column.sum() + column.max() * 2).cast("string"))


def quoted_text(patch):
    def label(cell):
        raise DataError(f"{cell!r} is no ward")

    patch.setattr(memory, "label_of", label)


def everybody_in_the_group(patch):
    """Whoever has any text is in every group."""
    patch.setattr(aggregate, "is_text", lambda text, value, _: (text == value) | (text.length() > ibis.literal(0)))


BUGS = {
    codes_by_rank: "dict", refused_text: "dict", imputed_by_a_record: "dict", columns_read_apart: "dict", lines_dropped: "csv",
    last_coordinate_unclamped: "dict", one_coordinate_forgotten: "dict", counted_twice: "dict", quoted_text: "dict",
}  # fmt: skip


def complaints(reader, folder):
    """What is wrong with some tables that differ in one row: in what is told, in the sums, and in the other rows."""
    found = plan_of(cf.Channel(STATISTIC, cf.Laplace(cf.PureDP(0.5)), n=5))
    check, sums, rows = movement.movement_of(found), [], []
    for data in tables(np.random.default_rng(3), 8):
        data["cost"][4] = None  # another row that lacks a value, beside the one that differs
        made = READERS[reader](folder, data)
        sums.append(outcome(found, made, MISSING))
        if sums[-1][1] is not None:
            return sums[-1][1]
        rows.append(whole_rows(found, made, MISSING))
    told = [check(a, b) for (a, _), (b, _) in combinations(sums, 2)]
    told += ["other rows changed" for a, b in combinations(rows, 2) if (a - b).total() > 1]
    return next((each for each in told if each is not None), None)


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_a_bug_that_is_planted_into_rows_is_found(bug, monkeypatch, tmp_path):
    bug(monkeypatch)
    assert complaints(BUGS[bug], tmp_path) is not None


def test_a_group_with_others_in_it_is_found(monkeypatch):
    """The row of another group must change nothing."""
    everybody_in_the_group(monkeypatch)
    found = plan_of(cf.Channel(cf.Mean("age", bounds={"age": BOUNDS["age"]}), cf.Laplace(cf.PureDP(1.0)), n=5))
    people = {"sex": ["f", "m", "m", "f", "f"], "age": PLAIN["age"]}
    ages = ([20, 40, age, 80, 33.5] for age in (18, 90))
    first, second = (numbers(found, people | {"age": each}, part=cf.Grouped("sex", "f")) for each in ages)
    assert first != second


@pytest.mark.parametrize("reader", ["dict", "csv"])
def test_nothing_is_found_in_rows_where_nothing_is_planted(reader, tmp_path):
    assert complaints(reader, tmp_path) is None
