"""Neighbours through every reader: one cell is replaced by whatever a cell may hold, and only its own share may move."""

import gzip
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
from confide.releasing.engine import rows_of
from confide.releasing.plan import plan_of
from confide.releasing.source import open_source
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
#: what only files of text can hold: their own marks, and bytes that are no text
MARKS = [
    '"3',
    '3"',
    '"',
    '"""',
    '"3"4"',
    '"3,4',
    "3\r",
    "3\x004",
    "\x00",
    "\r",
    "3,4,5,6",
    ",",
    ",,,,",
    "\ufeff3",
    '""3',
]
BYTES = [b"\xff\xfe3", b"\xc3", b"3\x80", b"9" * 2**21, b'"' + b"9" * 2**21]


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


def encoded(cell):
    return cell if isinstance(cell, bytes) else cell.encode()


def one_column(end=b"\n"):
    return lambda records: b"x" + end + b"".join(encoded(cell) + end for cell in texts(records))


def several_columns(separator=b",", last=b"\n"):
    def write(records):
        lines = [separator.join((b"%d" % i, encoded(cell), b"note")) for i, cell in enumerate(texts(records))]
        return separator.join((b"id", b"x", b"note")) + b"\n" + b"\n".join(lines) + last

    return write


def quoted(records):
    lines = [
        b'"%d","' % i + encoded(cell).replace(b'"', b'""') + b'","a ""b"", c"' for i, cell in enumerate(texts(records))
    ]
    return b'"id","x","note"\n' + b"\n".join(lines) + b"\n"


FILES = {
    "one.csv": one_column(), "crlf.csv": one_column(b"\r\n"), "one.txt": one_column(), "several.csv": several_columns(),
    "open.csv": several_columns(last=b""), "semicolon.csv": several_columns(b";"), "bars.txt": several_columns(b"|"),
    "several.tsv": several_columns(b"\t"), "several.csv.gz": several_columns(), "one.tsv.gz": one_column(),
}  # fmt: skip


def written(path, content):
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
    return path, "x", None


@pytest.mark.parametrize("name", FILES)
def test_files_of_text(name, tmp_path):
    separator = {"semicolon.csv": ";", "bars.txt": "|"}.get(name, "\t" if ".tsv" in name else ",")
    cells = [(text, number) for text, number in TEXTS.items() if separator not in text]
    # a separator in the cell makes another number of fields, and quotation marks that are not closed no fields at all
    cells += [(mark, 3.0 if mark == "3\r" else None) for mark in [*MARKS, *BYTES, f"3{separator}4"]]
    check(lambda records: written(tmp_path / name, FILES[name](records)), cells)


def test_quotation_marks(tmp_path):
    cells = [*TEXTS.items(), *((mark, 3.0 if mark == "3\r" else None) for mark in MARKS)]
    check(lambda records: written(tmp_path / "quoted.csv", quoted(records)), cells)


def test_files_that_go_through_many_blocks(tmp_path, monkeypatch):
    """A block may end anywhere: within a line, a quotation, or a pair of carriage return and line feed."""
    from confide.releasing import delimited

    contents = [one_column(b"\r\n")(RECORDS), several_columns(last=b"")(RECORDS), quoted(RECORDS)]
    for block in (1, 2, 3, 5, 7, 16):
        monkeypatch.setattr(delimited, "BLOCK", block)
        for content in contents:
            assert read(written(tmp_path / "blocks.csv", content)) == RECORDS
        assert total(HALF, written(tmp_path / "blocks.csv", content), cf.Rows(2, 6)) == expected(RECORDS[2:6], HALF)
    monkeypatch.setattr(delimited, "LONGEST_LINE", 410)
    long = [*RECORDS[:3], "9" * 3000, *RECORDS[4:]]
    for content in (one_column()(long), several_columns()(long)):
        assert read(written(tmp_path / "long.csv", content)) == [*RECORDS[:3], None, *RECORDS[4:]]


@pytest.mark.parametrize("content", [b"", b"x", b"\xff\xfex\x00\n\x003\x00", b"x\r3\r", b"x,x\n1,2\n", b"a,b\n1,2\n"])
def test_first_lines_that_are_none(content, tmp_path):
    (tmp_path / "bad.csv").write_bytes(content)
    with pytest.raises(cf.ConfideError, match=r"first line|column"):
        cf.release(PLAN.channel, tmp_path / "bad.csv", column="x")


def test_a_last_line_that_does_not_end_might_hide_an_empty_record(tmp_path):
    for records in (RECORDS, [*RECORDS[:-1], ""]):
        content = one_column()(records)[:-1]
        with pytest.raises(DataError):
            total(PLAN, written(tmp_path / "open.csv", content))


def test_types_are_not_found_by_sampling(tmp_path):
    """25,000 times 3 made integers of the file, and 3.5 among them or not decided about all others."""
    n = 25_002
    plan = plan_of(cf.Channel(cf.Mean("x", (0, 10)), cf.Laplace(cf.PureDP(1.0)), n))
    found = []
    for first in ("3", "3.25", "n/a"):
        (tmp_path / "people.csv").write_text("x\n" + f"{first}\n" + "3\n" * (n - 2) + "3.5\n")
        found.append(numbers(plan, tmp_path / "people.csv", "x", missing=3.0)[0])
    assert found[1] - found[0] == plan.grid.nearest(Fraction(13, 4)) - plan.grid.nearest(Fraction(3))
    assert found[2] == found[0]


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
