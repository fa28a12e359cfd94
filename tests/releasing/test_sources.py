"""Sources, parts and bad input: all that a data holder might hand over, and what is said when it cannot be released."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.published import DataError, Hashed, Rows
from confide.releasing import release
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers

X = np.asarray([1.5, -2.25, 3.0, 0.125, -9.5, 40.0])
CHANNEL = cf.Channel(cf.Mean("x", (-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=6)
HOSTILE = """x"; DROP TABLE records; --' `[%s] ${x} \\ ü"""


def total(data, column=None, table=None, channel=CHANNEL, part=None, missing=None):
    return numbers(plan_of(channel), data, column, table, part, missing)


EXPECTED = total(X)


@pytest.mark.parametrize(
    "data",
    [
        X, X.tolist(), tuple(X), pd.Series(X), pl.Series(X), pa.array(X), pa.chunked_array([X[:2], X[2:]]),
        X.astype("f4"),
        np.ma.masked_array(X, mask=False), {"x": X}, pd.DataFrame({"x": X}), pl.DataFrame({"x": X}),
        pl.DataFrame({"x": X}).lazy(), pa.table({"x": X}), pa.record_batch({"x": pa.array(X)}), X[::-1],
    ],
    ids=lambda data: f"{type(data).__module__}.{type(data).__name__}",
)  # fmt: skip
def test_everything_in_memory(data):
    assert total(data) == EXPECTED


def test_jax_arrays_and_ibis_tables(tmp_path):
    import ibis
    import jax

    assert total(jax.numpy.asarray(X, dtype="float32")) == EXPECTED
    connection = ibis.duckdb.connect(tmp_path / "people.duckdb")
    quoted = '"' + HOSTILE.replace('"', '""') + '"'
    connection.con.register("memory", pa.table({HOSTILE: X}))
    connection.con.execute(f"CREATE TABLE {quoted} AS SELECT * FROM memory")
    table = connection.table(HOSTILE)
    assert total(table, HOSTILE) == EXPECTED
    assert total(table[HOSTILE]) == EXPECTED
    assert total(connection, HOSTILE, HOSTILE) == EXPECTED
    connection.disconnect()
    assert total(f"duckdb://{tmp_path}/people.duckdb", HOSTILE, HOSTILE) == EXPECTED


def test_decimals_that_count_hundreds():
    """DuckDB fails for good on a negative scale, which Arrow has."""
    hundreds = pa.array([100, 300, 200, 0, 0, 500]).cast(pa.decimal128(19, 0)).cast(pa.decimal128(19, -2))
    wide = cf.Channel(cf.Mean("x", (0, 1000)), cf.Laplace(cf.PureDP(1.0)), n=6)
    assert total(hundreds, channel=wide) == total([100, 300, 200, 0, 0, 500], channel=wide)


def test_files_and_globs(tmp_path):
    frame = pd.DataFrame({HOSTILE: X, "other": "text"})
    frame.to_parquet(tmp_path / "it's [1]*.parquet")
    frame.to_csv(tmp_path / "people.csv", index=False)
    assert total(tmp_path / "it's [1]*.parquet", HOSTILE) == EXPECTED
    assert total(tmp_path / "people.csv", HOSTILE) == EXPECTED
    for index in range(3):
        frame[2 * index : 2 * index + 2].to_parquet(tmp_path / f"part{index}.parquet")
    assert total(str(tmp_path / "part*.parquet"), HOSTILE) == EXPECTED


def test_integers_booleans_and_decimals():
    from decimal import Decimal

    channel = cf.Channel(cf.Mean("x", (-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=2)
    expected = total([1.0, 0.0], channel=channel)
    for data in ([1, 0], [True, False], np.asarray([1, 0], dtype="u8"), pa.array([Decimal(1), Decimal(0)])):
        assert total(data, channel=channel) == expected


def test_postgres_names_are_quoted(postgres, postgres_table):
    import psycopg
    from psycopg import sql

    name = sql.Identifier(HOSTILE)
    with psycopg.connect(postgres) as connection:
        connection.execute(sql.SQL("CREATE TABLE {} AS SELECT x AS {} FROM {}").format(
            name, name, sql.Identifier(postgres_table(X))))  # fmt: skip
    assert total(postgres, HOSTILE, HOSTILE) == EXPECTED


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, None])
def test_missing_values(bad, postgres, postgres_table):
    values = [*X[:5].tolist(), bad]
    for source in ((values, None, None), (postgres, "x", postgres_table(values))):
        with pytest.raises(DataError, match="missing") as error:
            total(*source)
        assert not any(character.isdigit() for character in str(error.value))
        assert total(*source, missing=4.0) == total([*X[:5], 4.0])
        five = cf.Channel(CHANNEL.statistic, CHANNEL.mechanism, n=5)
        assert total(*source, channel=five, missing="public") == total(X[:5], channel=five)
        with pytest.raises(DataError, match="there are 5 records, but the channel is made for n = 6"):
            total(*source, missing="public")


@pytest.mark.parametrize("missing", ["zero", 11, float("nan"), True, [1]])
def test_policies_that_are_none(missing):
    with pytest.raises(cf.InvalidArgument, match="missing"):
        release(CHANNEL, X, missing=missing)


SECRET = "Rosebud"


@pytest.mark.parametrize(
    ("data", "column", "words"),
    [
        ([], None, "no records"),
        ([None] * 6, None, "missing"),
        (np.zeros(0), None, "no records"),
        (X[:5], None, "there are 5 records"),
        (["a", SECRET] * 3, None, "missing"),
        (pd.DataFrame({"x": [1.0, SECRET] * 3}), "x", "missing"),
        (pd.date_range("2026-01-01", periods=6), None, "holds timestamp|cannot be read"),
        (X.reshape(2, 3), None, "cannot be read"),
        (X + 1j, None, "cannot be read"),
        (object(), None, "cannot be read"),
        (3.0, None, "cannot be read"),
        ("nothing.parquet", "x", "there is no file"),
        ("postgresql://localhost:1/nowhere", "x", "no connection|name of a table"),
    ],
)  # fmt: skip
def test_bad_data(data, column, words):
    with pytest.raises(cf.ConfideError, match=words) as error:
        release(CHANNEL, data, column=column, table="t")
    assert SECRET not in str(error.value)
    assert error.value.__cause__ is None or SECRET not in str(error.value.__cause__)


def test_bad_columns_tables_and_paths(tmp_path):
    frame = pd.DataFrame({"x": X, "y": X})
    for arguments in ({"column": "z"}, {}):
        with pytest.raises(cf.InvalidArgument, match="column"):
            release(CHANNEL, frame, **arguments)
    with pytest.raises(cf.InvalidArgument, match="data"):
        release(CHANNEL, "people.xlsx")
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 not a table")
    with pytest.raises(DataError, match="cannot be read"):
        release(CHANNEL, tmp_path / "broken.parquet", column="x")
    (tmp_path / "late.csv").write_text("x\n" + "1.0\n" * 30_000 + f"{SECRET}\n")
    with pytest.raises(DataError) as error:
        release(cf.Channel(CHANNEL.statistic, CHANNEL.mechanism, n=30_001), tmp_path / "late.csv", column="x")
    assert SECRET not in str(error.value)


def test_channels_that_must_not_be_released():
    with pytest.raises(cf.IncompatibleError, match="protects nobody"):
        release(cf.Channel(CHANNEL.statistic, cf.Noiseless(), 6), X)
    with pytest.raises(cf.IncompatibleError, match="function"):
        release(cf.Channel(cf.Mean(abs, (-1, 1), range=(0, 1)), cf.Laplace(cf.PureDP(1.0)), 6), X)
    with pytest.raises(cf.InvalidArgument, match="channel"):
        release("mean", X)
    with pytest.raises(cf.InvalidArgument, match="ledger"):
        release(CHANNEL, X, ledger="budget.db")


@pytest.mark.parametrize(
    "macro", ['"sum"(a) AS max(a) * 1000', '"+"(a, b) AS 7', '"SIGN"(a) AS 0', '"<"(a, b) AS 1 = 1']
)
def test_a_database_whose_file_brings_its_own_functions_is_refused(tmp_path, macro):
    """DuckDB computes a macro that lies in the file instead of its own function, sums and operators included."""
    import duckdb
    import ibis

    for temporary in ("", "TEMP"):
        path = tmp_path / f"people{temporary}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute("CREATE TABLE t AS SELECT range::DOUBLE AS x FROM range(6)")
            connection.execute("CREATE MACRO harmless(a) AS a + 1")
        assert total(f"duckdb://{path}", "x", "t") == total(np.arange(6.0))
        user = ibis.duckdb.connect(path)
        user.con.execute(f"CREATE {temporary} MACRO {macro}")
        with pytest.raises(DataError, match="of its own"):
            total(user.table("t"), "x")
        user.disconnect()
    with pytest.raises(DataError, match="of its own"):
        total(f"duckdb://{tmp_path}/people.duckdb", "x", "t")


@pytest.mark.parametrize(
    "macro",
    ["duckdb_functions() AS TABLE SELECT 'other' AS function_name, FALSE AS internal", "lower(a) AS 'other'", '"="(a, b) AS a'],
)  # fmt: skip
def test_functions_of_a_database_cannot_hide_each_other(tmp_path, macro):
    """A macro called as the listing of functions, or as what the listing computes with, once hid one called sum."""
    import duckdb

    path = tmp_path / "people.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE t AS SELECT range::DOUBLE AS x FROM range(6)")
        connection.execute('CREATE MACRO "sum"(a) AS max(a) * 1000')
        connection.execute(f"CREATE MACRO {macro}")
    with pytest.raises(DataError, match="of its own"):
        total(f"duckdb://{path}", "x", "t")


def test_an_ibis_table_over_arrow_is_refused(tmp_path):
    """Arrow finds types in records too: hexadecimal cells of a CSV file were numbers, or missing, by another's text."""
    import ibis
    import pyarrow.csv
    import pyarrow.dataset

    path = tmp_path / "people.csv"
    path.write_text("x\n3\n" + "0x10\n" * 5)
    user = ibis.duckdb.connect()
    user.con.register("files", pyarrow.dataset.dataset(path, format="csv"))
    user.con.register("stream", pyarrow.csv.open_csv(path))
    guessed = [user.table("files"), user.table("stream"), ibis.memtable(pyarrow.dataset.dataset(path, format="csv"))]
    for table in [*guessed, ibis.memtable({"x": X}), ibis.memtable(pd.DataFrame({"x": X}))]:
        with pytest.raises(DataError, match=r"types.*give the data"):
            total(table, "x", missing=0.0)


def test_an_ibis_table_whose_types_follow_from_records_is_refused(tmp_path):
    """DuckDB guesses the types of a text file by a sample: the first record once rounded 15,000 others, or did not."""
    import ibis

    (tmp_path / "people.csv").write_text("x\n3\n" + "3\n" * 25_000 + "3.5\n" * 15_000)
    (tmp_path / "people.json").write_text('[{"x": 3}, {"x": 3.5}]')
    user = ibis.duckdb.connect()
    user.con.execute(f"CREATE VIEW inner_view AS SELECT * FROM '{tmp_path}/people.csv'")
    user.con.execute("CREATE VIEW outer_view AS SELECT x + 1 AS x FROM inner_view WHERE x > 0")
    user.con.register("objects", pd.DataFrame({"x": pd.Series([3, "3.5"], dtype=object)}))
    guessed = [user.read_csv(tmp_path / "people.csv"), user.read_json(tmp_path / "people.json")]
    guessed += [user.table(name) for name in ("outer_view", "objects")]
    for table in guessed:
        with pytest.raises(DataError, match="types"):
            total(table, "x", missing=0.0)
    pq.write_table(pa.table({"x": X}), tmp_path / "people.parquet")
    user.con.execute("CREATE TABLE t AS SELECT unnest(?::DOUBLE[]) AS x", [X.tolist()])
    declared = [user.read_parquet(tmp_path / "people.parquet"), user.table("t")]
    assert all(total(table, "x") == EXPECTED for table in declared)


def test_rows_are_positions_in_the_file(tmp_path):
    table = pa.table({"x": np.arange(1000.0)})
    pq.write_table(table, tmp_path / "people.parquet", row_group_size=100)
    channel = cf.Channel(cf.Mean("x", (0, 1000)), cf.Laplace(cf.PureDP(1.0)), n=250)
    for data in (table, tmp_path / "people.parquet"):
        assert total(data, "x", channel=channel, part=Rows(150, 400)) == total(np.arange(150.0, 400.0), channel=channel)


def test_hashed_parts_are_disjoint_complete_and_the_same_everywhere(postgres, postgres_table):
    import hashlib

    import ibis

    frame = pd.DataFrame({"id": [f"p{i}" for i in range(200)], "x": np.arange(200.0)})
    inside = [int(hashlib.md5(i.encode()).hexdigest()[:8], 16) / 2**32 < 0.3 for i in frame["id"]]
    counts = (sum(inside), 200 - sum(inside))
    connection = ibis.connect(postgres)
    connection.create_table("hashed_people", pa.Table.from_pandas(frame), temp=False)
    for n, (start, stop), chosen in zip(counts, ((0, 0.3), (0.3, 1)), (inside, [not i for i in inside]), strict=True):
        channel = cf.Channel(cf.Mean("x", (0, 1000)), cf.Laplace(cf.PureDP(1.0)), n=n)
        expected = total(frame["x"][chosen], channel=channel)
        part = Hashed("id", start, stop)
        assert total(frame, "x", channel=channel, part=part) == expected
        assert total(postgres, "x", "hashed_people", channel=channel, part=part) == expected
    with pytest.raises(DataError, match="no positions"):
        total(postgres, "x", "hashed_people", part=Rows(0, 6))
    connection.disconnect()


@pytest.mark.parametrize("part", [3, "", Rows, ("a", 1)])
def test_bad_parts(part):
    with pytest.raises(cf.InvalidArgument, match="part"):
        release(CHANNEL, X, part=part)
    for build in (lambda: Rows(3, 3), lambda: Rows(-1, 3), lambda: Rows(0.5, 3), lambda: Hashed("id", 0.5, 0.5),
                  lambda: Hashed("id", 0, 2), lambda: Hashed("", 0, 1), lambda: Hashed("id", "a", 1)):  # fmt: skip
        with pytest.raises(cf.InvalidArgument):
            build()


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_each_streams_and_shuffles(engine, postgres, postgres_table, monkeypatch):
    """Values far apart beside little noise: they come back, one for each record, in another order."""
    from confide.releasing import local

    monkeypatch.setattr(local, "BUCKET", 500)
    values = np.arange(3000.0)
    channel = cf.Channel(cf.Each("x", (0, 3000)), cf.Laplace(cf.PureDP(3e6)), n=3000)
    data = (values, None, None) if engine == "duckdb" else (postgres, "x", postgres_table(values))
    published = release(channel, data[0], column=data[1], table=data[2])
    rounded = np.round(published.value)
    np.testing.assert_array_equal(np.sort(rounded), values)
    assert abs(np.corrcoef(rounded, values)[0, 1]) < 0.15
    table = pq.read_table(published.records.path)
    assert table.column_names == ["count", "value"]
    np.testing.assert_array_equal(table["value"].to_numpy(), published.value)


def test_the_answer_to_a_response_is_the_nearest_level():
    channel = cf.Channel(cf.Each("x", (0, 3)), cf.RandomizedResponse(cf.PureDP(40.0)), n=7)
    data = [0.0, 0.5, 0.6, 1.4, 2.0, 3.0, 99.0]
    published = release(channel, data)
    assert sorted(published.value.tolist()) == [0.0, 0.0, 1.0, 1.0, 2.0, 3.0, 3.0]


def test_values_agree_with_the_model_when_noise_is_small():
    for statistic, mechanism in [
        (cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(1e6))),
        (cf.Mean(["x", "x**2"], (-10, 10)), cf.Gaussian(cf.GDP(1e6))),
        (cf.Median("x", (-10, 10)), cf.Laplace(cf.PureDP(1e6))),
        (cf.Mean("x", (-10, 10)), cf.Laplace(cf.PureDP(1e6), step=0.001)),
    ]:
        channel = cf.Channel(statistic, mechanism, n=6)
        exact = cf.Channel(statistic, cf.Noiseless(), n=6).simulate(0, X)
        np.testing.assert_allclose(release(channel, X).value, exact, atol=5e-2)
