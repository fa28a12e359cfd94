"""Statistics that a file keeps of its columns must not decide how a record is read."""

import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.published import DataError
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers

PLAN = plan_of(cf.Channel(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=4))


def total(path, cells, **options):
    pq.write_table(pa.table({"x": pa.array(cells, pa.float64())}), path)
    return numbers(PLAN, path, "x", **options)


def test_an_infinite_record_does_not_decide_whether_others_are_imputed(tmp_path):
    """Parquet's statistics leave NaN out, and by them DuckDB takes |x| <= 1.8e308 for true."""
    path = tmp_path / "people.parquet"
    imputed = total(path, [1.0, 1.0, 1.0, 1.0], missing=1.0)
    assert total(path, [1.0, math.nan, math.nan, math.inf], missing=1.0) == imputed
    assert total(path, [1.0, math.nan, math.nan, 1.0], missing=1.0) == imputed


def test_nan_in_a_parquet_file_is_refused_without_a_policy(tmp_path):
    with pytest.raises(DataError, match="some values are missing"):
        total(tmp_path / "people.parquet", [1.0, math.nan, 2.0, 3.0])


@pytest.mark.parametrize("reader", ["file", "view", "url"])
def test_nan_is_missing_in_every_row_group_and_behind_views(tmp_path, reader):
    """Also where missing values are left out: a filter may be dropped by the statistics of a row group."""
    import duckdb
    import ibis

    cells = [1.0, math.nan, 2.0, math.nan, 3.0, 4.0]
    pq.write_table(pa.table({"x": cells}), tmp_path / "people.parquet", row_group_size=2)
    with duckdb.connect(tmp_path / "people.duckdb") as connection:
        connection.execute(f"CREATE VIEW people AS SELECT x FROM read_parquet('{tmp_path}/people.parquet')")
    data = {
        "file": lambda: (tmp_path / "people.parquet", None),
        "view": lambda: (ibis.duckdb.connect(tmp_path / "people.duckdb"), "people"),
        "url": lambda: (f"duckdb://{tmp_path}/people.duckdb", "people"),
    }[reader]()
    assert numbers(PLAN, data[0], "x", data[1], missing="public") == numbers(PLAN, [1.0, 2.0, 3.0, 4.0])
    six = plan_of(cf.Channel(PLAN.channel.statistic, PLAN.channel.mechanism, n=6))
    assert numbers(six, data[0], "x", data[1], missing=1.0) == numbers(six, [1.0, 1.0, 2.0, 1.0, 3.0, 4.0])
    with pytest.raises(DataError, match="some values are missing"):
        numbers(six, data[0], "x", data[1])


@pytest.mark.parametrize(("query", "blind"), [("VALUES (1.0::DOUBLE), ('nan')", False), ("parquet", True)])
def test_only_the_statistics_of_parquet_files_are_kept_from_the_optimiser(tmp_path, query, blind):
    """DuckDB's own tables know of NaN, and what keeps their statistics away costs as much as the rest of a release."""
    import ibis

    from confide.releasing.readers.source import open_source

    connection = ibis.duckdb.connect(tmp_path / "people.duckdb")
    if query == "parquet":
        pq.write_table(pa.table({"x": [1.0, math.nan]}), tmp_path / "people.parquet")
        connection.raw_sql(f"CREATE VIEW people AS SELECT x FROM read_parquet('{tmp_path}/people.parquet')")
    else:
        connection.raw_sql(f"CREATE TABLE people AS SELECT * FROM ({query}) AS t(x)")
    with open_source(connection, "x", "people") as source:
        assert ("RANDOM" in connection.compile(source.table)) == blind


@pytest.mark.parametrize(
    "change", ["", "UPDATE people SET x = 'nan' WHERE rowid = 1", "DELETE FROM people WHERE rowid = 2"]
)
def test_nan_is_missing_in_tables_of_duckdb(tmp_path, change):
    """Whatever was known of a table when it was written: by a wrong maximum tests for NaN would be left out."""
    import ibis

    connection = ibis.duckdb.connect(tmp_path / "people.duckdb")
    connection.raw_sql(
        "CREATE TABLE people AS SELECT * FROM (VALUES (1.0::DOUBLE), (2.0), ('nan'), (4.0), (NULL)) AS t(x)"
    )
    connection.raw_sql("CHECKPOINT")
    if change:
        connection.raw_sql(change)
    cells = [row[0] for row in connection.con.execute("SELECT x FROM people").fetchall()]
    plan = plan_of(cf.Channel(PLAN.channel.statistic, PLAN.channel.mechanism, n=len(cells)))
    plain = [1.0 if cell is None or math.isnan(cell) else cell for cell in cells]
    assert numbers(plan, connection, "x", "people", missing=1.0) == numbers(plan, plain)
    with pytest.raises(DataError, match="some values are missing"):
        numbers(plan, connection, "x", "people")
