"""Tables whose types, or whose order, would be found while they are read: one record would change how others are."""

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pytest

import confide as cf
from confide.published import DataError
from confide.releasing.plan import plan_of
from confide.releasing.readers.content import content_of
from tests.releasing.exactly import numbers

MEAN = cf.Mean("x", bounds=(0, 10))


def mean(data, n, missing=0.0, statistic=MEAN, **options):
    plan = plan_of(cf.Channel(statistic, cf.Laplace(cf.PureDP(1.0)), n))
    return float(numbers(plan, data, missing=missing, **options)[0] * plan.grid.step)


class Cells:
    """A sequence that does not say that it is one."""

    def __init__(self, cells):
        self.cells = cells

    def __len__(self):
        return len(self.cells)

    def __getitem__(self, index):
        return self.cells[index]


@pytest.mark.parametrize("scan", ["scan_csv", "scan_ndjson"])
def test_lazy_tables_of_text_files_are_refused(scan, tmp_path):
    """Polars made texts of 299 truth values because of the first record, and their sum went from 299 to 0."""
    line = {"scan_csv": "{}\n", "scan_ndjson": '{{"x": {}}}\n'}[scan]
    for first in ("true", '"abc"'):
        path = tmp_path / f"people-{first == 'true'}.txt"
        path.write_text("x\n" * (scan == "scan_csv") + line.format(first) + line.format("true") * 299)
        lazy = getattr(pl, scan)(path)
        for data in (lazy, lazy.select("x").head(300)):
            with pytest.raises(DataError, match="path of the file"):
                mean(data, 300, column="x")


def test_lazy_tables_of_typed_files_are_read(tmp_path):
    pl.DataFrame({"x": [1.0, 2.0], "y": [3.0, 4.0]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": [3.0], "y": [5.0]}).write_ipc(tmp_path / "a.arrow")
    lazy = pl.concat([pl.scan_parquet(tmp_path / "a.parquet"), pl.scan_ipc(tmp_path / "a.arrow")])
    assert mean(lazy, 3, column="x") == 6.0


def test_a_lazy_table_is_computed_once():
    """Computed column by column, the rows came in another order each time, and a row was made of several."""
    n, calls = 1000, []

    def shuffled(frame):
        calls.append(frame.columns)
        return frame.sample(fraction=1.0, shuffle=True, seed=len(calls))

    lazy = pl.LazyFrame({"p": np.arange(n) * 1.0, "q": np.arange(n) * 1.0}).map_batches(shuffled)
    apart = cf.Mean("abs(p - q)", bounds={"p": (0, n), "q": (0, n)})
    assert mean(lazy, n, None, apart) == 0.0


@pytest.mark.parametrize(
    "made",
    [Cells, lambda cells: {"x": Cells(cells)}, lambda cells: pd.arrays.NumpyExtensionArray(np.asarray(cells, object)),
     lambda cells: pd.Series(pd.arrays.SparseArray(cells, dtype=object))],
    ids=["sequence", "column", "pandas", "sparse"],
)  # fmt: skip
@pytest.mark.parametrize("cell", [3, 2.5, "2.5", None, b"3", 2**70, "n/a", 10**400], ids=lambda cell: repr(cell)[:20])
def test_cells_without_a_declared_type_are_read_one_by_one(made, cell):
    """One text made texts of all truth values, or had all cells refused."""
    alone = mean(made([cell]), 1)
    assert mean(made([True, 1, 4.5, cell]), 4) == 6.5 + alone
    assert alone == {"2.5": 2.5, 2**70: 10.0}.get(cell, cell if isinstance(cell, int | float) and cell < 10 else 0.0)


@pytest.mark.parametrize("data", [pd.array([1, 2, 3]), pd.arrays.SparseArray([1.0, 2.0, 3.0]), Cells([1, 2, 3])])
def test_arrays_of_pandas_go_into_a_ledger(data, tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    channel = cf.Channel(MEAN, cf.Laplace(cf.PureDP(1.0)), 3)
    assert cf.release(channel, data, ledger=book, dataset="people").value is not None


@pytest.mark.parametrize("way", ["column", "setting"])
def test_parts_do_not_overlap_by_a_collation(way):
    """In Danish `aa` comes after `z`: a third of all people were in two parts that were charged in parallel."""
    connection = duckdb.connect()
    if way == "setting":
        connection.execute("SET default_collation = 'da'")
    connection.execute(f"CREATE TABLE people (x DOUBLE, id VARCHAR {'COLLATE da' if way == 'column' else ''})")
    connection.execute("INSERT INTO people SELECT 1.0, 'p' || i FROM range(2000) r(i)")
    known, cuts = ibis.duckdb.from_connection(connection), [0, 0xAA / 256, 0xAB / 256, 1]
    total = 0
    for start, stop in zip(cuts, cuts[1:], strict=False):
        plan = plan_of(cf.Channel(cf.Sum("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0))))
        found = numbers(plan, known, "x", "people", cf.Hashed("id", start, stop), None)
        total += found[0] * plan.grid.step
    assert total == 2000


def test_a_server_that_reads_marks_within_texts_is_refused(postgres):
    """A pattern of ours was another one there: `3x5` passed for a number, and one such text had all of them refused."""
    connection = ibis.connect(postgres)
    connection.create_table("marked", pd.DataFrame({"x": ["3", "4"]}))
    assert mean(connection, 2, table="marked") == 7.0
    connection.raw_sql("SET standard_conforming_strings = off").close()
    with pytest.raises(DataError, match="standard_conforming_strings"):
        mean(connection, 2, table="marked")
    connection.disconnect()


class Cents(int):
    """A number of one's own: a hundredth of what NumPy and Arrow take it for."""

    def __float__(self):
        return int(self) / 100


@pytest.mark.parametrize("other", [Cents(0), 0, 0.0, None, "0", np.float32(0)], ids=repr)
def test_numbers_of_ones_own_are_read_one_by_one(other):
    """Whole numbers alone were read at once, by NumPy and not by `float`: one other cell changed how all were read."""
    assert mean([Cents(100)] * 3 + [other], 4) == 3.0


def test_a_digest_tells_numbers_of_ones_own_from_others():
    assert content_of([Cents(100)], None, []) != content_of([100], None, [])
    assert content_of([Cents(100)], None, []) == content_of([Cents(100)], None, [])
