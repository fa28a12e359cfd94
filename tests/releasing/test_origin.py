"""Which content was read: parts by position and stored answers belong to one content, and nothing tells which."""

import sqlite3
import warnings

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.published import LedgerError, Rows
from confide.releasing import release
from confide.releasing.ledger.ledger import Ledger
from confide.releasing.plan import plan_of
from confide.releasing.readers.content import content_of
from confide.releasing.readers.held import holding

HALF = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(0.5)), n=2)
ALL = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(0.5)), n=4)
X = np.array([0.1, 0.2, 0.3, 0.4])


@pytest.fixture
def book(tmp_path):
    made = Ledger(tmp_path / "budget.db")
    made.open("people", budget=cf.PureDP(20.0))
    return made


def parts(book, *calls, **options):
    """Releases from parts by position; what the ledger says was spent."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for data, start in calls:
            release(HALF, data, ledger=book, dataset="people", part=Rows(start, start + 2), **options)
    return book.spent("people").epsilon


def test_one_record_rolled_through_all_positions_pays_each_time(book):
    """Ten releases of one record at ε = 0.5 are 5, whatever position it was given."""
    data = np.linspace(0, 1, 20)
    calls = [(np.roll(data, 2 * index), 2 * index) for index in range(10)]
    assert parts(book, *calls) == 5.0


@pytest.mark.parametrize(
    "form",
    [list, tuple, np.asarray, pd.Series, lambda x: pd.DataFrame({"x": x}), lambda x: {"x": x}, np.ma.asarray],
    ids=["list", "tuple", "array", "series", "frame", "dict", "masked"],
)
def test_positions_in_memory_compose_within_one_content(form, book):
    options = {"column": "x"} if isinstance(form(X), dict | pd.DataFrame) else {}
    assert parts(book, (form(X), 0), (form(X.copy()), 2), **options) == 0.5
    assert parts(book, (form(X[::-1]), 0), **options) == 1.0


def test_arrow_and_polars_too(book):
    import pyarrow as pa

    polars = pytest.importorskip("polars")
    assert parts(book, (pa.array(X), 0), (pa.array(X), 2)) == 0.5
    frame = polars.DataFrame({"x": X})
    assert parts(book, (frame, 0), (frame.lazy(), 2), column="x") == 1.0
    other = polars.DataFrame({"x": X[::-1]})
    assert parts(book, (other.lazy(), 2), column="x") == 1.5


def test_people_exchanged_within_equal_values_are_seen(book):
    """A column of zeros and ones looks the same after its people were exchanged; the table does not."""
    frame = pd.DataFrame({"name": list("abcd"), "x": [1.0, 1.0, 1.0, 1.0]})
    assert parts(book, (frame, 0), (frame, 2), column="x") == 0.5
    assert parts(book, (frame.iloc[::-1].reset_index(drop=True), 2), column="x") == 1.0
    assert parts(book, (frame[["x"]].set_index(pd.Index(list("dcba"))), 0), column="x") == 1.5


def test_a_file_sorted_in_place_is_another_one(book, tmp_path):
    path = tmp_path / "people.parquet"
    pd.DataFrame({"x": X}).to_parquet(path)
    assert parts(book, (path, 0), (path, 2)) == 0.5
    pd.DataFrame({"x": X[::-1]}).to_parquet(path)
    assert parts(book, (path, 2)) == 1.0
    # the first again, under another name: the same people at the same positions
    pd.DataFrame({"x": X}).to_parquet(tmp_path / "again.parquet")
    assert parts(book, (tmp_path / "again.parquet", 2)) == 1.0


def test_a_glob_that_gains_a_file_is_another_one(book, tmp_path):
    for name in "bc":
        pd.DataFrame({"x": X}).to_csv(tmp_path / f"{name}.csv", index=False)
    assert parts(book, (str(tmp_path / "*.csv"), 0), (str(tmp_path / "*.csv"), 4)) == 0.5
    pd.DataFrame({"x": X}).to_csv(tmp_path / "a.csv", index=False)
    assert parts(book, (str(tmp_path / "*.csv"), 6)) == 1.0


def test_names_decide_the_order_of_files(tmp_path):
    for index, name in enumerate("ab"):
        (tmp_path / f"{name}.csv").write_text(f"x\n{index}\n")
    pattern, found = str(tmp_path / "*.csv"), []
    for _ in range(2):
        with holding(pattern) as held:
            found.append(content_of(pattern, None, [], held).digest)
        if len(found) == 1:
            (tmp_path / "a.csv").rename(tmp_path / "c.csv")
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("https://u@h/people.parquet?version=1", "https://u@h/people.parquet?version=2"),
        ("https://h/a.parquet", "https://h/b.parquet"),
        ("postgresql://a@h/db", "postgresql://b@h/db"),
    ],
)
def test_what_cannot_be_digested_has_no_positions(one, two):
    found = [content_of(url, "t", []) for url in (one, two)]
    assert found[0].digest != found[1].digest
    assert not found[0].whole
    assert content_of("postgresql://u:old@h/db", "t", []) == content_of("postgresql://u:new@h/db", "t", [])
    assert content_of("postgresql://u@h/db", "t", []) != content_of("postgresql://u@h/db", "s", [])


def test_objects_that_may_look_different_each_time_are_never_the_same(book):
    class Rolling:
        """An array that turns each time it is looked at."""

        def __init__(self):
            self.turned = 0

        def __array__(self, *_, **__):
            self.turned += 1
            return np.roll(X, self.turned)

    rolling = Rolling()
    assert parts(book, (rolling, 0), (rolling, 2), (rolling, 0)) == 1.5


@pytest.mark.parametrize("cell", [0.4, "n/a", 2**70, "\ud800", [1], None])
@pytest.mark.parametrize(
    "form",
    [list, lambda x: {"x": x}, lambda x: pd.Series(x, dtype=object), lambda x: pd.DataFrame({"x": X, "note": x})],
    ids=["list", "dict", "series", "frame"],
)
def test_what_one_record_holds_does_not_decide_what_all_are_charged(form, cell, book):
    try:
        data = [form([0.1, "b", 0.3, last]) for last in (cell, cell, "b")]
    except UnicodeEncodeError:
        return  # what pandas refuses to hold is nobody's record
    options = {"column": "x"} if isinstance(data[0], dict | pd.DataFrame) else {}
    options |= {"missing": 0.5}
    assert parts(book, (data[0], 0), (data[1], 2), (data[0], 0), **options) == 0.5
    assert parts(book, (data[2], 0), **options) == 1.0


def test_the_same_request_on_another_table_is_another_release(book, tmp_path):
    """The answer of `patients` is not the answer of `controls`."""
    import duckdb

    with duckdb.connect(str(tmp_path / "clinic.db")) as connection:
        for name, value in (("patients", 1.0), ("controls", 0.0)):
            connection.execute(f"CREATE TABLE {name} AS SELECT {value}::DOUBLE AS x FROM range(4)")
    sharp = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(8.0)), n=4)
    url = f"duckdb://{tmp_path}/clinic.db"
    first, second, again = (
        release(sharp, url, table=table, column="x", ledger=book, dataset="people")
        for table in ("patients", "controls", "patients")
    )
    assert first == again
    assert first != second
    assert book.spent("people") == cf.PureDP(16.0)


def test_stored_answers_belong_to_their_data(book, tmp_path):
    first = release(ALL, X, ledger=book, dataset="people")
    assert release(ALL, X.copy(), ledger=book, dataset="people") == first
    assert release(ALL, X[::-1], ledger=book, dataset="people") != first
    paths = [tmp_path / name for name in ("one.csv", "copy.csv", "other.csv")]
    for path, values in zip(paths, (X, X, X / 2), strict=True):
        pd.DataFrame({"x": values}).to_csv(path, index=False)
    made = [release(ALL, path, ledger=book, dataset="people") for path in paths]
    assert made[0] == made[1]
    assert made[0] != made[2]
    pd.DataFrame({"x": X / 2}).to_csv(paths[0], index=False)
    assert release(ALL, paths[0], ledger=book, dataset="people") == made[2]
    assert book.spent("people") == cf.PureDP(2.0)


def test_no_release_tells_the_digest_of_its_data(book, tmp_path):
    """A digest of records would let a reader try out who is in them; the ledger has it only under its own key."""
    made = release(HALF, X, ledger=book, dataset="people", part=Rows(0, 2))
    made.save(tmp_path / "release.json")
    digest = content_of(X, None, []).digest.hex()
    text = (tmp_path / "release.json").read_text() + "".join(sqlite3.connect(tmp_path / "budget.db").iterdump())
    assert digest not in text
    twin = Ledger(tmp_path / "twin.db")
    twin.open("people", budget=cf.PureDP(20.0))
    release(HALF, X, ledger=twin, dataset="people", part=Rows(0, 2))
    rows = [
        sqlite3.connect(tmp_path / name).execute("SELECT content, scheme, seal FROM confide_releases").fetchone()
        for name in ("budget.db", "twin.db")
    ]
    assert not set(rows[0]) & set(rows[1])
    assert not any(value in (tmp_path / "release.json").read_text() for value in rows[0][:2])


def test_an_unpaid_number_is_nowhere_in_the_error(tmp_path, book, monkeypatch):
    """Not in its text, its context, its parameters, nor in a local variable of a frame that it keeps."""
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute(
            "CREATE TRIGGER stop BEFORE INSERT ON confide_releases BEGIN SELECT RAISE(ABORT, 'disk is full'); END"
        )
    drawn = []
    publish = plan_of(ALL).publish
    monkeypatch.setattr(
        "confide.releasing.plan.Additive.publish", lambda self, exact: drawn.append(publish(exact)) or drawn[-1]
    )
    with pytest.raises(LedgerError, match="full") as caught:
        release(ALL, X, ledger=book, dataset="people")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    assert str(drawn[0][0]) not in told(caught.value)
    monkeypatch.setattr(
        "confide.releasing.ledger.book.Book.change_dataset", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with sqlite3.connect(tmp_path / "budget.db") as connection:
        connection.execute("DROP TRIGGER stop")
    with pytest.raises(KeyboardInterrupt) as interrupted:
        release(ALL, X, ledger=book, dataset="people")
    assert str(drawn[1][0]) not in told(interrupted.value)


def told(error):
    """All that can be read in an exception: texts, attributes, and the local variables of its frames in this package."""
    text, trace = [repr(error), str(vars(error))], error.__traceback__
    while trace is not None:
        if "/confide/" in trace.tb_frame.f_code.co_filename:
            text += [repr(value) for value in trace.tb_frame.f_locals.values()]
        trace = trace.tb_next
    return " ".join(text)
