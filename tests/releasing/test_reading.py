"""What reading must not do: move others between parts, tell in an exception, spill in the open, take all memory, set options."""

import hashlib
import math
import os
import stat
import subprocess
import sys
import textwrap
import threading
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.published import DataError
from confide.releasing.plan import plan_of
from confide.releasing.readers import engine as engines
from confide.releasing.readers.engine import rows_of
from confide.releasing.readers.source import open_source
from tests.releasing.exactly import numbers

LAPLACE = cf.Laplace(cf.PureDP(1.0))
PART = cf.Hashed("id", 0, 0.5)
IDS = list(range(1, 40))


def place(text):
    return int(hashlib.md5(text.encode()).hexdigest()[:8], 16) < 2**31


def members(source, monkeypatch=None):
    """The values of the records in the part, which number the records."""
    from confide.releasing.aggregate import _select

    data, table = source
    with open_source(data, "x", table, "id") as opened:
        return sorted(int(row["x"]) for row in rows_of(opened.connection, _select(opened, PART).select("x")))


def chosen(ids):
    return [index for index, text in enumerate(ids) if place(text)]


def frame(ids, dtype=None):
    return pd.DataFrame({"id": pd.Series(ids, dtype=dtype), "x": np.arange(len(ids))})


def test_one_identifier_does_not_move_the_others(tmp_path):
    """Integers become doubles by one missing value, and objects by one text; everybody else stays where they were."""
    plain = [str(i) for i in IDS]
    for cell, text in (
        (None, ""),
        ("p7", "p7"),
        ("007", "007"),
        (7.5, ""),
        (2**70, str(2**70)),
        (math.nan, ""),
        (True, ""),
    ):
        ids = [*IDS[:5], cell, *IDS[6:]]
        expected = chosen([*plain[:5], text, *plain[6:]])
        for dtype in (None, object):
            if not (isinstance(cell, bool | int) and dtype is None):
                assert members((frame(ids, dtype), None)) == expected, cell
        assert members(({"id": ids, "x": list(range(len(ids)))}, None)) == expected, cell
        assert members((pl.DataFrame({"id": pl.Series(ids, dtype=pl.Object), "x": range(len(ids))}), None)) == expected
    whole = chosen(plain)
    for dtype in ("int64", "float64", "Int64", "str", "category", "uint8", "float32"):
        assert members((frame(IDS, dtype), None)) == whole, dtype
    kinds = [pa.array(IDS), pa.array(IDS, pa.float64()), pa.array(plain), pa.array(plain).dictionary_encode(),
             pa.array(IDS).cast(pa.decimal128(30, 0))]  # fmt: skip
    x = np.arange(len(IDS))
    for first in kinds:
        for second in (kinds[0], kinds[2]):
            pq.write_table(pa.table({"id": first[:20], "x": x[:20]}), tmp_path / "a.parquet")
            pq.write_table(pa.table({"id": second[20:], "x": x[20:]}), tmp_path / "b.parquet")
            assert members((f"{tmp_path}/*.parquet", None)) == whole
    for bad in (pa.array([1.5] * 39).cast(pa.decimal128(9, 2)), pa.array([True] * 39), pa.array([[1]] * 39)):
        with pytest.raises(DataError, match="whole numbers or texts"):
            members((pa.table({"id": bad, "x": x}), None))


@pytest.mark.parametrize("cell", ["", "007", "p,7", 'p"7', "ü", '"', "p\x007", "3.0", " 3"])
def test_one_identifier_of_a_csv_file_does_not_move_the_others(cell, tmp_path):
    ids = [*map(str, IDS[:5]), cell, *map(str, IDS[6:])]
    quoted = [text if text.isdigit() else '"' + text.replace('"', '""') + '"' for text in ids]
    for texts in (quoted, ['"' + text.replace('"', '""') + '"' for text in ids]):
        lines = [f"{text},{index}" for index, text in enumerate(texts)]
        (tmp_path / "ids.csv").write_text("id,x\n" + "\n".join(lines) + "\n", newline="")
        assert members((tmp_path / "ids.csv", None)) == chosen(ids)
    (tmp_path / "ids.csv").write_bytes(b"id,x\n" + b"".join(b"\xff%d,%d\n" % (i, i) for i in range(9)))
    assert members((tmp_path / "ids.csv", None)) == [
        i for i in range(9) if int(hashlib.md5(b"\xff%d" % i).hexdigest()[:8], 16) < 2**31
    ]


def test_one_identifier_of_a_database_does_not_move_the_others(postgres):
    import psycopg

    with psycopg.connect(postgres, autocommit=True) as connection:
        for kind in ("integer", "double precision", "text", "numeric(20, 0)"):
            connection.execute(f"CREATE TABLE identified (id {kind}, x integer)")
            rows = ", ".join(f"('{i}', {index})" for index, i in enumerate(IDS))
            connection.execute(f"INSERT INTO identified VALUES {rows}, (NULL, 39)")
            if kind == "double precision":
                connection.execute(
                    "INSERT INTO identified VALUES ('NaN', 40), ('Infinity', 41), (1e300, 42), (0.5, 43)"
                )
            found = members((postgres, "identified"))
            connection.execute("DROP TABLE identified")
            others = range(39, 44 if kind == "double precision" else 40) if place("") else ()
            assert found == [*chosen(map(str, IDS)), *others]


SECRET = "48151623"


def chain(error):
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("counted", [False, True], ids=["", "with a ledger"])
@pytest.mark.parametrize("engine", ["duckdb", "each", "parquet", "polars", "url"])
def test_refusals_hold_nothing_of_what_the_engine_said(engine, counted, tmp_path):
    import ibis

    account = {}
    if counted:
        account = {"ledger": cf.Ledger(tmp_path / "budget.db"), "dataset": "people"}
        account["ledger"].open("people", budget=cf.PureDP(10.0))

    channel = cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, 2)
    column = "x"
    if engine in ("duckdb", "each"):
        data = ibis.duckdb.connect()
        data.con.execute(f"CREATE TABLE t AS SELECT * FROM (VALUES ('1'), ('{SECRET}n')) AS v(a)")
        data.con.execute("CREATE VIEW v AS SELECT a::DOUBLE AS x FROM t")
        data = data.table("v")
        channel = cf.Channel(cf.Each("x", (0, 1)), LAPLACE, 2) if engine == "each" else channel
    elif engine == "parquet":
        data = tmp_path / f"{engine}.parquet"
        data.write_bytes(f"PAR1{SECRET}PAR1".encode())
    elif engine == "polars":
        data = pl.LazyFrame({"x": ["1", f"{SECRET}n"]}).select(pl.col("x").cast(pl.Float64, strict=True))
    else:
        data = f"postgresql://user:{SECRET}@localhost:1/nowhere"
    with pytest.raises(DataError) as error:
        cf.release(channel, data, column=column, table="t", missing=0.5, **account)
    seen = list(chain(error.value))
    assert len(seen) == 1
    assert not any(SECRET in str(each) for each in seen)


@pytest.mark.parametrize(
    "use",
    [lambda url: cf.release(cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, 2), url, table="t"), cf.Ledger],
    ids=["data", "ledger"],
)
def test_a_url_that_python_refuses_to_read_is_quoted_nowhere(use):
    """Python's own message has all of the URL up to its path, the password included."""
    with pytest.raises(cf.ConfideError) as error:
        use(f"postgresql://user:{SECRET}\u2100@localhost/nowhere")
    assert not any(SECRET in str(each) for each in chain(error.value))


def test_what_does_not_fit_in_memory_is_written_to_the_private_folder(monkeypatch):
    monkeypatch.setattr(engines, "_shared", [])  # others keep their memory
    connection = engines.duckdb()
    connection.con.execute("SET memory_limit = '40MB'; SET threads = 1")
    folder = connection.con.sql("SELECT current_setting('temp_directory')").fetchall()[0][0]
    from confide.releasing.readers.workspace import workspace

    assert folder.startswith(str(workspace()))
    seen = []

    def watch():
        while not done.wait(0.001):
            seen.extend(entry.path for entry in os.scandir(folder)) if os.path.isdir(folder) else None  # noqa: PTH112

    done = threading.Event()
    watcher = threading.Thread(target=watch)
    watcher.start()
    query = "SELECT max(r) FROM (SELECT x, row_number() OVER (ORDER BY x) r FROM (SELECT hash(i) x FROM range(4000000) t(i)))"
    try:
        connection.con.sql(query).fetchall()
    finally:
        done.set()
        watcher.join()
        connection.disconnect()
    assert seen
    assert stat.S_IMODE(workspace().stat().st_mode) == 0o700
    assert not os.path.exists(".tmp")  # noqa: PTH110


BOMB = """
import sys
import confide as cf
channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=10)
try:
    cf.release(channel, sys.argv[1], column="x")
except cf.ConfideError as error:
    print(error)
print(int(dict(line.split(":", 1) for line in open("/proc/self/status"))["VmHWM"].split()[0]) / 2**20)
"""


def test_a_small_file_of_many_records_is_refused_before_it_is_read(tmp_path):
    """One page that holds 800 megabytes of zeros in a few bytes."""
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"x": np.zeros(10**8)}), path, compression="zstd", use_dictionary=False,
                   row_group_size=10**8, data_page_size=2**30, max_rows_per_page=10**8)  # fmt: skip
    assert path.stat().st_size < 10**6
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(BOMB), str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    message, memory = done.stdout.strip().splitlines()
    assert "there are 100000000 records" in message
    assert float(memory) < 0.7


def test_threads_leave_the_options_of_ibis_as_they_were():
    import ibis

    plan = plan_of(cf.Channel(cf.Mean("x**2", (0, 1)), LAPLACE, 4))
    results = []
    threads = [threading.Thread(target=lambda: results.append(numbers(plan, [0.5] * 4))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ibis.options.sql.fuse_selects is True
    assert results == [numbers(plan, [0.5] * 4)] * 8


def test_order_statistics_and_records_of_text_files(tmp_path):
    values = np.random.default_rng(0).permutation(np.arange(2000.0))
    (tmp_path / "people.csv").write_text("id,x\n" + "".join(f"p{i},{value}\n" for i, value in enumerate(values)))
    median = plan_of(cf.Channel(cf.Median("x", (0, 2000)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6)), 2000))
    np.testing.assert_array_equal(numbers(median, tmp_path / "people.csv", "x"), numbers(median, values))
    each = cf.Channel(cf.Each("x", (0, 2000)), cf.Laplace(cf.PureDP(3e6)), n=2000)
    published = cf.release(each, tmp_path / "people.csv", column="x")
    np.testing.assert_array_equal(np.sort(np.round(published.value)), np.sort(values))


@pytest.mark.parametrize("data", [[2**63, 1], [Decimal("NaN"), 1], [Decimal("1e45"), 1], [10**400, 1]])
def test_numbers_that_no_engine_holds(data):
    """Beyond the bounds is beyond the bounds, and what is no double is missing."""
    channel = cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, 2)
    beyond = data[0] < 10**300 if data[0] == data[0] else False
    assert numbers(plan_of(channel), data, missing=0.5) == numbers(plan_of(channel), [1.0 if beyond else 0.5, 1.0])


@pytest.mark.parametrize("names", ["id,x", "x,id", "id,note,x", "x,note,id"])
@pytest.mark.parametrize("cell", ['"3', "3,4", '3"', '"', ",,", '"3,', ""])
def test_a_value_that_spoils_its_line_does_not_move_its_record_to_another_part(tmp_path, names, cell):
    """Membership by an identifier is public and fixed: the count of a part must not depend on a value."""
    order = names.split(",")

    def line(number, value):
        return ",".join({"id": f"p{number}", "x": value, "note": '"Smith, J"'}[name] for name in order)

    inside = [hashlib.md5(f"p{i}".encode()).hexdigest() < "8" for i in range(12)]
    channel = cf.Channel(cf.Mean("x", (0, 10)), cf.Laplace(cf.PureDP(1.0)), n=sum(inside))
    for spoilt in (inside.index(True), inside.index(False)):
        rows = [line(i, cell if i == spoilt else "3") for i in range(12)]
        (tmp_path / "people.csv").write_text("\n".join([names, *rows]) + "\n")
        found = numbers(plan_of(channel), tmp_path / "people.csv", "x", part=cf.Hashed("id", 0, 0.5), missing=3.0)
        assert found == numbers(plan_of(channel), [3.0] * sum(inside))


@pytest.mark.parametrize("names", ["id,x", "x,id", "x,note,id"])
def test_a_long_value_does_not_move_its_record_to_another_part(tmp_path, monkeypatch, names):
    """Of a line that is too long both ends are kept, wherever it was cut into blocks: an identifier is at one of them."""
    from confide.releasing.readers import delimited
    from confide.releasing.readers.files import File

    monkeypatch.setattr(delimited, "LONGEST_LINE", 40)
    layout = delimited.layout_of(f"{names}\n".encode(), File("people.csv", "people.csv"), "x", "id")
    for block in (5, 7, 16, 100):
        monkeypatch.setattr(delimited, "BLOCK", block)
        for size in range(30, 130):
            fields = {"id": "p123456", "x": "9" * size, "note": '"Smith, J"'}
            line = ",".join(fields[name] for name in names.split(","))
            path = str(tmp_path / "people.csv")
            (tmp_path / "people.csv").write_text(f"{names}\n{line}\n{line}\n")
            blocks = delimited.blocks_of(File(path, path), layout)
            found = [cell for each in blocks for cell in delimited._columns(each, layout)[1].to_pylist()]
            assert found == [b"p123456"] * 2


@pytest.mark.parametrize("reader", ["csv", "parquet", "frame", "duckdb"])
def test_values_do_not_decide_who_is_in_a_part(reader, tmp_path):
    """Parts by the values that are released would be charged in parallel, though a record moves from one to the other."""
    import ibis

    data = frame = pl.DataFrame({"x": [0.25, 0.5], "name": ["a", "b"]})
    if reader in ("csv", "parquet"):
        data = tmp_path / f"people.{reader}"
        (frame.write_csv if reader == "csv" else frame.write_parquet)(data)
    elif reader == "duckdb":
        data = ibis.duckdb.connect()
        data.con.execute("CREATE TABLE t AS SELECT 0.25::DOUBLE AS x, 'a' AS name")
        data = data.table("t")
    with pytest.raises(cf.InvalidArgument, match="is the column that is released"):
        cf.release(
            cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, 2), data, column="x", part=cf.Hashed("x", 0, 0.5), missing=0.5
        )
