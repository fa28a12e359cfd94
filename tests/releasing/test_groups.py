"""Releases by group: public sizes, fixed members, in parallel; a list of groups that is never read from the data."""

import numpy as np
import pandas as pd
import pytest

import confide as cf
from confide.errors import InvalidArgument
from confide.published import BudgetError, DataError, FileError
from confide.releasing.plan import plan_of
from tests.releasing.exactly import numbers
from tests.releasing.test_rows import READERS

GROUPS = {"f": 3, "m": 2}
PEOPLE = {"sex": ["f", "m", "d", "f", "m", None, "f"], "x": [1.0, 2.0, 9.0, 3.0, 4.0, 9.0, 5.0]}
CHANNEL = cf.Channel(cf.Mean("x", bounds=(0, 8)), cf.Laplace(cf.PureDP(1.0)), n=5)


def sums(part, data, n, column="cost"):
    plan = plan_of(cf.Channel(CHANNEL.statistic, CHANNEL.mechanism, n))
    return float(numbers(plan, data, column, part=part)[0] * plan.grid.step)


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_the_members_of_a_group(reader, tmp_path):
    data = {**PEOPLE, "age": [30] * 7, "cost": PEOPLE["x"], "ward": PEOPLE["sex"]}
    if reader == "glob":
        data = {name: cells * 10 for name, cells in data.items()}
    times = len(data["x"]) // 7
    made = READERS[reader](tmp_path, data)
    assert sums(cf.Grouped("ward", "f"), made, 3 * times) == 9 * times
    assert sums(cf.Grouped("ward", "m"), made, 2 * times) == 6 * times
    assert sums(cf.Grouped("ward", "d"), made, times) == 8 * times


def test_releases_by_group(tmp_path):
    made = cf.release(CHANNEL, PEOPLE, column="x", by="sex", groups=GROUPS, purpose="a test")
    assert list(made) == ["f", "m"]
    for name, release in made.items():
        assert release.part == cf.Grouped("sex", name)
        assert release.channel == cf.Channel(CHANNEL.statistic, CHANNEL.mechanism, GROUPS[name])
        path = tmp_path / f"{name}.json"
        release.save(path)
        assert cf.Release.load(path) == release
        assert cf.verify(path)
        assert '"version": 3' in path.read_text()
    path.write_text(path.read_text().replace('"value": "m"', '"value": ""'))
    with pytest.raises(FileError):
        cf.Release.load(path)


def test_groups_are_charged_in_parallel(tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(2.5))
    frame = pd.DataFrame(PEOPLE)
    frame.to_parquet(tmp_path / "people.parquet")
    ask = {"column": "x", "ledger": book, "dataset": "people"}
    made = cf.release(CHANNEL, tmp_path / "people.parquet", by="sex", groups=GROUPS, **ask)
    assert book.spent("people") == cf.PureDP(1.0)
    assert cf.release(CHANNEL, tmp_path / "people.parquet", by="sex", groups=GROUPS, **ask) == made
    assert book.spent("people") == cf.PureDP(1.0)
    cf.release(CHANNEL, tmp_path / "people.parquet", by="sex", groups={"m": 2, "f": 3}, fresh=True, **ask)
    assert book.spent("people") == cf.PureDP(2.0)
    # groups by another attribute say nothing about who is in these
    half = cf.Channel(CHANNEL.statistic, cf.Laplace(cf.PureDP(0.5)), n=1)
    cf.release(half, tmp_path / "people.parquet", part=cf.Grouped("sex", "d"), **ask)
    assert book.spent("people") == cf.PureDP(2.0)
    with pytest.raises(BudgetError):
        cf.release(CHANNEL, tmp_path / "people.parquet", by="sex", groups=GROUPS, fresh=True, **ask)
    cf.release(cf.Channel(CHANNEL.statistic, cf.Laplace(cf.PureDP(0.5)), n=7), tmp_path / "people.parquet", **ask)
    assert book.spent("people") == cf.PureDP(2.5)
    book.check()
    assert all(book.confirms(release) for release in book.releases("people"))


def test_all_groups_are_refused_before_any_is_paid_for(tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0))
    with pytest.raises(DataError, match="there are 2 records of which 'sex' is 'm'"):
        cf.release(
            CHANNEL, PEOPLE, column="x", by="sex", groups={"f": 2 + 1, "m": 1, "d": 1}, ledger=book, dataset="people"
        )
    assert book.spent("people") is None
    with pytest.raises(DataError, match="there are no records of which 'sex' is 'q'"):
        cf.release(CHANNEL, PEOPLE, column="x", by="sex", groups={"f": 3, "q": 2})


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"by": "sex"}, "how many records"),
        ({"groups": GROUPS}, "not the name of a column"),
        ({"by": "sex", "groups": ["f", "m"]}, "how many records"),
        ({"by": "sex", "groups": {}}, "are none"),
        ({"by": "sex", "groups": {"f": 3, "m": 1}}, "4 records in all"),
        ({"by": "sex", "groups": {"f": 3, "m": 2.5}}, "no number of records"),
        ({"by": "sex", "groups": {"f": 5, "m": 0}}, "no number of records"),
        ({"by": "sex", "groups": {1: 3, "m": 2}}, "no text"),
        ({"by": "sex", "groups": GROUPS, "part": cf.Rows(0, 5)}, "beside groups"),
        ({"by": "x", "groups": GROUPS}, "values decide who is in it"),
        ({"by": "age", "groups": GROUPS}, "not a column of the data"),
    ],
)
def test_groups_that_do_not_fit_are_refused_in_words(given, words):
    with pytest.raises(InvalidArgument, match=words):
        cf.release(CHANNEL, PEOPLE, column="x", **given)


def test_a_group_between_the_values_of_a_csv_file_is_refused(tmp_path):
    """In a line with a separator too many a value would decide who it is about."""
    statistic = cf.Mean("a * b", bounds={"a": (0, 9), "b": (0, 9)})
    channel = cf.Channel(statistic, cf.Gaussian(cf.ZCDP(1.0)), n=2)
    for names, fine in (("a,sex,b", False), ("sex,a,b", True), ("a,b,sex", True)):
        places = names.split(",")
        lines = [["f" if name == "sex" else str(i + 1) for name in places] for i in range(2)]
        spoilt = ["f" if name == "sex" else "1,1" if name == "b" else "3" for name in places]
        path = tmp_path / "people.csv"
        path.write_text("\n".join([names, *(",".join(line) for line in [*lines[:1], spoilt])]) + "\n")
        ask = {"by": "sex", "groups": {"f": 2}, "missing": {"a": 0.0, "b": 0.0}}
        if fine:
            assert list(cf.release(channel, path, **ask)) == ["f"]
        else:
            with pytest.raises(DataError, match="between the columns"):
                cf.release(channel, path, **ask)


def test_releases_of_groups_are_about_different_records():
    """So that an analyst of one quantity need not say it."""
    data = {"sex": ["f"] * 60 + ["m"] * 40, "x": list(np.linspace(0, 4, 100))}
    channel = cf.Channel(cf.Mean("x", bounds=(0, 8)), cf.Laplace(cf.PureDP(5.0)), n=100)
    made = cf.release(channel, data, column="x", by="sex", groups={"f": 60, "m": 40}, dataset="people")
    from confide.inference.problem import recorded

    assert recorded(list(made.values())) is False
    assert recorded([made["f"], made["f"]]) is True


def test_groups_of_private_sizes(tmp_path):
    """A group without records has the sum 0; in a budget for replaced records one that moves is paid for."""
    total = cf.Channel(cf.Sum("x", bounds=(0, 8)), cf.Laplace(cf.PureDP(0.5)))
    for relation, spent in (("add-remove", 0.5), ("replace-one", 1.0)):
        book = cf.Ledger(tmp_path / f"{relation}.db")
        book.open("people", budget=cf.PureDP(3.0), neighbours=relation)
        made = cf.release(total, PEOPLE, column="x", by="sex", groups=["f", "m", "q"], ledger=book, dataset="people")
        assert list(made) == ["f", "m", "q"]
        assert book.spent("people") == cf.PureDP(spent)
        assert all(release.channel.n is None for release in made.values())
        book.check()
    plan = plan_of(total)
    found = [numbers(plan, PEOPLE, "x", part=cf.Grouped("sex", name))[0] * plan.grid.step for name in ("f", "m", "q")]
    assert found == [9, 6, 0]
    with pytest.raises(InvalidArgument, match="private and so are they"):
        cf.release(total, PEOPLE, column="x", by="sex", groups=GROUPS)
    with pytest.raises(InvalidArgument, match="more than once"):
        cf.release(total, PEOPLE, column="x", by="sex", groups=["f", "f"])


def _in_groups(data, table, values):
    plan = plan_of(cf.Channel(cf.Sum("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0))))
    sums = [numbers(plan, data, "x", table, part=cf.Grouped("sex", value))[0] for value in values]
    return [float(total * plan.grid.step) for total in sums]


@pytest.mark.parametrize("kind", ["varchar COLLATE NOCASE", "varchar COLLATE NOCASE.NOACCENT", "varchar", "blob"])
@pytest.mark.parametrize("default", ["", "NOCASE"])
def test_nobody_is_in_two_groups_that_duckdb_takes_for_equal(kind, default):
    """f and F are charged in parallel, so no record may be in both, whatever the table's collation."""
    import ibis

    connection = ibis.duckdb.connect()
    connection.raw_sql(f"SET default_collation = '{default}'")
    connection.raw_sql(f"CREATE TABLE people (x double, sex {kind})")
    connection.raw_sql("INSERT INTO people VALUES (1, 'f'), (1, 'f'), (1, 'F'), (0.5, 'm')")
    assert _in_groups(connection, "people", ["f", "F", "m", "M"]) == [2.0, 1.0, 0.5, 0.0]


@pytest.mark.parametrize("kind", ["char(4)", "varchar(4)", "text", "text COLLATE blind"])
def test_nobody_is_in_two_groups_that_postgres_takes_for_equal(kind, postgres):
    import ibis

    connection = ibis.connect(postgres)
    try:
        if "blind" in kind:
            query = "CREATE COLLATION IF NOT EXISTS blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            connection.raw_sql(query).close()
    except Exception:
        connection.disconnect()
        pytest.skip("this server has no ICU")
    connection.raw_sql("DROP TABLE IF EXISTS people_in_groups").close()
    connection.raw_sql(f"CREATE TABLE people_in_groups (x double precision, sex {kind})").close()
    connection.raw_sql("INSERT INTO people_in_groups VALUES (1, 'f'), (1, 'f'), (0.5, 'F')").close()
    connection.con.commit()
    connection.disconnect()
    assert _in_groups(postgres, "people_in_groups", ["f", "F", "f ", "m"]) == [2.0, 0.5, 0.0, 0.0]
