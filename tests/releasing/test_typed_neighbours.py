"""Neighbours through Parquet files, objects in memory and databases: types are declared, and cells move alone."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.published import DataError
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers
from tests.releasing.neighbours import HALF, PLAN, RECORDS, TEXTS, check, expected, read, texts, total


def parquet(folder, *columns):
    for old in folder.glob("part*.parquet"):
        old.unlink()
    for index, column in enumerate(columns):
        pq.write_table(pa.table({"x": column}), folder / f"part{index:02}.parquet")
    return str(folder / "part*.parquet"), "x", None


def test_parquet_files_of_different_types(tmp_path):
    integers, doubles = pa.array([3, 4, 5]), pa.array([0.1, 3.25, 3.5, 9.75, -2.5])
    kinds = [integers, integers.cast("float64"), integers.cast("int8"), integers.cast("string"), integers.cast("float32"),
             pa.array([Decimal(3), Decimal(4), Decimal(5)]), integers.cast("uint64"), integers.cast("int64").dictionary_encode()]  # fmt: skip
    for kind in kinds:
        for columns in (
            (kind, doubles),
            (doubles, kind),
            (kind, doubles.cast("string")),
            (doubles.cast("string"), kind),
        ):
            values = [float(cell) for column in columns for cell in column.to_pylist()]
            assert read(parquet(tmp_path, *columns)) == values
    for place in (0, 4):
        part = cf.Rows(place, place + 4)
        assert total(HALF, parquet(tmp_path, kind, doubles), part) == expected(
            [3, 4, 5, *doubles.to_pylist()][place : place + 4], HALF
        )
    empty = parquet(tmp_path, pa.nulls(3), doubles)
    assert read(empty) == [None] * 3 + doubles.to_pylist()
    for unfit in (pa.array([[1.0]] * 3), pa.array([0, 1, 2], pa.date32()), pa.array([0, 1, 2], pa.timestamp("s"))):
        with pytest.raises(DataError, match="not numbers"):
            total(PLAN, parquet(tmp_path, unfit, doubles))


def test_parquet_columns_of_text(tmp_path):
    def make(records):
        return parquet(tmp_path, pa.array(texts(records)[:5]), pa.array(texts(records)[5:]))

    check(make, TEXTS.items())


def test_folders_named_like_columns_are_no_columns(tmp_path):
    for year in ("x=2020", "x=none"):
        (tmp_path / year).mkdir()
    (tmp_path / "x=2020" / "a.parquet").write_bytes(b"")
    pq.write_table(pa.table({"x": RECORDS[:4]}), tmp_path / "x=2020" / "a.parquet")
    pq.write_table(pa.table({"x": RECORDS[4:]}), tmp_path / "x=none" / "a.parquet")
    assert total(PLAN, (f"{tmp_path}/*/a.parquet", "x", None)) == expected(RECORDS)


#: objects of Python, and the numbers that they are
OBJECTS = [
    *TEXTS.items(), (True, 1.0), (np.float32(0.1), float(np.float32(0.1))), (np.int8(7), 7.0), (np.bool_(True), 1.0),
    (Decimal("0.1"), 0.1), (Fraction(1, 4), 0.25), (2**63, 2.0**63), (2**64, 2.0**64), (-(2**70), -(2.0**70)), (Decimal("1e45"), 1e45),
    (Decimal("0.1000000000000000055511151231257827"), 0.1), (np.asarray(2.5), 2.5), (np.longdouble("0.1"), 0.1),
    *((cell, None) for cell in (
        None, math.nan, math.inf, -math.inf, 10**400, Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e400"),
        Fraction(10**400), pd.NA, pd.NaT, np.datetime64("2026-01-01"), np.timedelta64(3, "D"), pd.Timestamp("2026-01-01"), 3j,
        object(), [3], [], (3,), {}, {"a": 1}, {3}, b"3", np.zeros(2), np.zeros((1,)), np.ma.masked, float, "\ud800", "1" * 5000, 10**5000,
    )),
]  # fmt: skip


SEQUENCES = {
    "list": list,
    "tuple": tuple,
    "dict": lambda records: {"x": records},
    "objects": lambda records: np.asarray([*records, None], dtype=object)[:-1],
    "pandas objects": lambda records: pd.Series([*records, None], dtype=object)[:-1],
    "pandas frame": lambda records: pd.DataFrame({"x": pd.Series([*records, None], dtype=object)[:-1], "y": "a"}),
    "polars objects": lambda records: pl.Series("x", records, dtype=pl.Object),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_objects_of_python(name):
    check(lambda records: (SEQUENCES[name](records), "x", None), OBJECTS)


@pytest.mark.parametrize(
    "build",
    [np.asarray, np.ma.asarray, lambda r: pd.Series(r, dtype="string[python]"), lambda r: pd.Series(r, dtype=object)],
    ids=["array", "masked array", "pandas texts", "pandas objects"],
)
def test_half_of_a_pair_of_surrogates_is_missing(build):
    """It is no text that UTF-8 has, but a text of Python, and one record may not stop the release of all."""
    check(lambda records: (build(texts(records)), None, None), [("\ud800", None), ("3\udfff", None), ("7", 7.0)])


def test_half_of_a_pair_of_surrogates_in_an_identifier():
    data = {"x": np.asarray(RECORDS), "name": np.asarray(["a", "b", "\ud800", "c", "d", "e", "f", "g"])}
    assert numbers(PLAN, data, "x", None, cf.Hashed("name", 0, 1), None) == expected(RECORDS)


@pytest.mark.parametrize("cell", ["n/a", 10**400, Decimal("NaN"), None, [3]])
def test_objects_of_python_refuse_missing_values_alone(cell):
    with pytest.raises(DataError, match="some values are missing"):
        total(PLAN, ([*RECORDS[:-1], cell], None, None), missing=None)


@pytest.mark.parametrize(
    "build",
    [
        lambda r: pd.DataFrame({"x": r}),
        lambda r: pd.DataFrame({"x": r}).convert_dtypes(),
        lambda r: pd.DataFrame({"x": pd.Categorical(r)}),
        lambda r: pl.DataFrame({"x": r}, strict=False),
        lambda r: pa.table({"x": pa.array(r, from_pandas=True)}),
        lambda r: pa.table({"x": pa.array([None if v is None else Decimal(str(v)) for v in r])}),
        lambda r: pa.table({"x": pa.array(r, from_pandas=True)}).append_column("y", pa.array(r).dictionary_encode()),
    ],
    ids=["pandas", "nullable", "categorical", "polars", "arrow", "decimal", "arrow dictionary"],
)
@pytest.mark.parametrize("whole", [True, False])
def test_types_that_libraries_find_by_looking(build, whole):
    """Integers, doubles, decimals of some scale, objects: whatever one cell makes of a column, the others stay."""
    base = [3, 1, 4, -2, 5, 3, 1, 9] if whole else RECORDS
    for cell in (None, 7, 0.1, 1e300, 5e-324, -0.0, 123.456789, 2**53 + 1, math.nan):
        try:
            column = build([*base[:4], cell, *base[5:]])
        except pa.ArrowInvalid:
            continue  # what a library refuses to hold is nobody's record
        number = None if cell is None or math.isnan(cell) else float(cell)
        assert read((column, "x", None)) == [*base[:4], number, *base[5:]], cell


def test_whole_numbers_beyond_doubles_round_alike():
    """An int64 column and the float64 column that one missing value makes of it have equal cells."""
    values = [2**53 + 1, 2**53 + 3, 2**60 + 2**7, 2**60 + 3 * 2**7, 2**62 + 257, 2**63 - 513, 2**63 - 512, 1]
    plan = plan_of(cf.Channel(cf.Mean("x", (0, 2.0**63)), cf.Laplace(cf.PureDP(1e3)), 8))
    plain = numbers(plan, pd.Series(values, dtype="int64"))
    kinds = [values, np.asarray(values, "f8"), np.asarray(values, "u8"), pa.array(values), [Decimal(v) for v in values],
             pd.Series(values, dtype="Int64"), pa.array(values).cast(pa.decimal128(38, 3)), [str(v) for v in values],
             pa.array(values).cast(pa.decimal256(60, 7)), pl.Series(values)]  # fmt: skip
    for data in kinds:
        assert numbers(plan, data) == plain
    assert numbers(plan, pd.Series([*values[:7], None]), missing=1.0) == plain


@pytest.mark.parametrize(
    "kind",
    ["DOUBLE", "FLOAT", "DECIMAL(18, 3)", "DECIMAL(38, 20)", "HUGEINT", "UBIGINT", "TINYINT", "BOOLEAN", "VARCHAR"],
)
def test_duckdb_tables_and_views(kind, tmp_path):
    import ibis

    connection = ibis.duckdb.connect()
    base = [3, 1, 0, 4, 1, 2, 7, 9]
    connection.con.execute(f"CREATE TABLE t (i INTEGER, x {kind}); CREATE VIEW v AS SELECT x, i FROM t WHERE i >= 0")
    cells = {"VARCHAR": list(TEXTS.items()), "BOOLEAN": [(True, 1.0), (None, None)]}.get(kind, [(7, 7.0), (None, None)])
    if kind == "DOUBLE":
        cells += [(math.nan, None), (math.inf, None), (-1e308, -1e308), (5e-324, 5e-324)]
    if kind == "HUGEINT":
        cells += [(2**126, 2.0**126)]
    values = [float(value != 0) if kind == "BOOLEAN" else float(value) for value in base]

    def make(records):
        connection.con.execute("DELETE FROM t")
        connection.con.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(records)))
        return connection, "x", "tv"[len(records) % 2]

    check(make, cells, [str(value) for value in base] if kind == "VARCHAR" else base, values)
    connection.disconnect()


POSTGRES = {
    "double precision": [("'NaN'", None), ("'-Infinity'", None), ("1e308", 1e308), ("5e-324", 5e-324), ("NULL", None), ("'0.1'", 0.1)],
    "real": [("'NaN'", None), ("0.5", 0.5), ("'Infinity'", None)],
    "integer": [("NULL", None), ("2147483647", 2147483647.0)],
    "bigint": [("9223372036854775807", 2.0**63)],
    "numeric": [("1e400", None), ("-1e400", None), ("1e-400", 0.0), ("1e5000", None), ("'NaN'", None), ("'Infinity'", None),
                ("'-Infinity'", None), ("NULL", None), ("0.1000000000000000055511151231257827", 0.1), ("1e308", 1e308),
                ("1.7976931348623158e308", 1.7976931348623157e308), ("1.7976931348623159e308", None), ("4e-324", 5e-324), ("2e-324", 0.0)],
    "numeric(40, 20)": [("NULL", None), ("'NaN'", None), ("0.1", 0.1)],
    "boolean": [("true", 1.0), ("NULL", None)],
    "text": [(f"'{text}'".replace("'3'", "''3''"), number) for text, number in TEXTS.items()],
    "varchar(600)": [("'n/a'", None), ("'+3'", 3.0)],
}  # fmt: skip


@pytest.mark.parametrize("kind", POSTGRES)
def test_postgres_columns(kind, postgres):
    import psycopg

    base = [1, 0, 1, 1, 0, 0, 1, 1] if kind == "boolean" else [3, 1, 0, 4, 1, 2, 7, 9]
    literals = [f"'{bool(v)}'" if kind == "boolean" else f"'{v}'" for v in base]
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE neighbours (x {kind})")

        def make(records):
            connection.execute("TRUNCATE neighbours")
            connection.execute("INSERT INTO neighbours VALUES " + ", ".join(f"({value})" for value in records))
            return postgres, "x", "neighbours"

        try:
            check(make, POSTGRES[kind], literals, base)
        finally:
            connection.execute("DROP TABLE neighbours")


@pytest.mark.parametrize("kind", ["date", "interval", "integer[]", "json", "money", "uuid", "bytea"])
def test_postgres_types_that_are_refused(kind, postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE TABLE unfit (x {kind})")
        try:
            with pytest.raises(cf.ConfideError):
                total(PLAN, (postgres, "x", "unfit"))
        finally:
            connection.execute("DROP TABLE unfit")
