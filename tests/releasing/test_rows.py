"""Releases of rows: every reader finds the same exact whole numbers, text is read by a public list, gaps by column."""

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
from confide.errors import IncompatibleError, InvalidArgument, RangeError
from confide.published import DataError, FileError
from confide.releasing.gaps import check_missing
from confide.releasing.plan import plan_of, squared_sensitivity
from tests.releasing.exactly import numbers, row_numbers

GAUSSIAN = cf.Gaussian(cf.ZCDP(0.05))
BOUNDS = {"age": (18, 90), "cost": (10, 5000)}
WARDS = {"ward": ["surgery", "Säuglinge", "7"]}
TEXTS = ["age", "age * cost", "(ward == 1) * cost", "where(ward == 3, age - 50, 0)", "max(age, cost / 64)"]
N = 60


def table(n=N):
    generator = np.random.default_rng(3)
    return {
        "age": [int(each) for each in generator.integers(10, 99, n)],
        "name": [f"p{i}" for i in range(n)],
        "cost": [float(each) / 8 for each in generator.integers(0, 60_000, n)],
        "ward": [
            ["surgery", "Säuglinge", "7", "attic, left", "", "Surgery"][each] for each in generator.integers(0, 6, n)
        ],
    }


def channel(texts=TEXTS, mechanism=GAUSSIAN, n=N, bounds=BOUNDS, categories=WARDS):
    return cf.Channel(cf.Mean(texts, bounds=bounds, categories=categories), mechanism, n=n)


def expected(plan, data):
    """By exact fractions, row by row."""
    places = {text: code for code, text in enumerate(WARDS["ward"])}
    rows = zip(data["age"], data["cost"], (places.get(each, 3) for each in data["ward"]), strict=True)
    each = [row_numbers(plan.channel, plan.grid, {"age": a, "cost": c, "ward": w}) for a, c, w in rows]
    return [sum(column) for column in zip(*each, strict=True)]


def duckdb_table(folder, data):
    import duckdb

    path = folder / "people.duckdb"
    connection = duckdb.connect(str(path))
    frame = pd.DataFrame(data)
    connection.register("frame", frame)
    connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    connection.execute("CREATE VIEW seen AS SELECT age, ward, cost FROM people WHERE age > -1")
    connection.close()
    return f"duckdb://{path}"


def ibis_table(folder, data):
    import ibis

    connection = ibis.duckdb.connect(duckdb_table(folder, data).removeprefix("duckdb://"))
    return connection.table("people").mutate(age=ibis._.age + 0)


def file(folder, data, name, **options):
    path = folder / name
    frame = pd.DataFrame(data)
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False, **options)
    return str(path)


def pieces(folder, data):
    """Files with other types, and another order of columns, for the same columns."""
    frame = pd.DataFrame(data)
    frame[:20].to_parquet(folder / "part1.parquet")
    frame[20:45].astype({"age": "float64", "ward": "category"})[["ward", "cost", "age"]].to_parquet(
        folder / "part2.parquet"
    )
    frame[45:].astype({"age": "str"}).to_parquet(folder / "part3.parquet")
    return str(folder / "part*.parquet")


READERS = {
    "dict of lists": lambda folder, data: data,
    "dict of arrays": lambda folder, data: {name: np.asarray(cells) for name, cells in data.items()},
    "frame": lambda folder, data: pd.DataFrame(data),
    "objects": lambda folder, data: pd.DataFrame(data, dtype=object),
    "categorical": lambda folder, data: pd.DataFrame(data).astype({"ward": "category"}),
    "polars": lambda folder, data: pl.DataFrame(data),
    "lazy": lambda folder, data: pl.DataFrame(data).lazy(),
    "arrow": lambda folder, data: pa.table(data),
    "dictionary": lambda folder, data: pa.table({**data, "ward": pa.array(data["ward"]).dictionary_encode()}),
    "csv": lambda folder, data: file(folder, data, "people.csv"),
    "tsv": lambda folder, data: file(folder, data, "people.tsv", sep="\t"),
    "quoted": lambda folder, data: file(folder, data, "people.csv.gz", quoting=1),
    "parquet": lambda folder, data: file(folder, data, "people.parquet"),
    "glob": pieces,
    "ibis": ibis_table,
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_finds_the_same_whole_numbers(reader, tmp_path):
    plan, data = plan_of(channel()), table()
    assert numbers(plan, READERS[reader](tmp_path, data)) == expected(plan, data)


def test_tables_and_views_of_databases(tmp_path):
    plan, data = plan_of(channel()), table()
    url = duckdb_table(tmp_path, data)
    for name in ("people", "seen"):
        assert numbers(plan, url, table=name) == expected(plan, data)


def test_columns_may_have_other_names_in_the_data(tmp_path):
    plan, data = plan_of(channel()), table()
    renamed = {"Age at entry": data["age"], "WARD": data["ward"], "cost": data["cost"], "age": ["?"] * N}
    found = numbers(plan, renamed, column={"age": "Age at entry", "ward": "WARD"})
    assert found == expected(plan, data)
    release = cf.release(channel(), renamed, column={"age": "Age at entry", "ward": "WARD", "cost": "cost"})
    assert release.column == {"age": "Age at entry", "ward": "WARD"}
    release.save(tmp_path / "release.json")
    assert cf.Release.load(tmp_path / "release.json") == release
    assert cf.verify(tmp_path / "release.json")
    single = plan_of(cf.Channel(cf.Mean("age", bounds={"age": (18, 90)}), GAUSSIAN, n=N))
    assert numbers(single, renamed, column="Age at entry") == numbers(single, data) == numbers(single, data["age"])


def test_any_other_text_is_other():
    """Neither an error nor a list that is read from the data: texts that nobody listed, none, and what is no text."""
    plan = plan_of(channel(["ward == 0", "ward == 3"], n=6, bounds=None))
    step = round(1 / plan.grid.step)
    for cells in (["surgery", "x", None, "", "surgery ", "SURGERY"], pd.Series(["surgery", *"abcde"], dtype="category"),
                  ["surgery", 8, math.nan, b"surgery", object(), True]):  # fmt: skip
        assert numbers(plan, {"ward": cells}) == [
            step,
            5 * step,
        ]
    truth = plan_of(cf.Channel(cf.Mean("smokes == 0", categories={"smokes": ["true"]}), GAUSSIAN, n=3))
    for cells in (
        [True, False, None],
        pd.Series([True, False, None], dtype="boolean"),
        ["true", "True", np.bool_(False)],
    ):
        assert numbers(truth, {"smokes": cells}) == [round(1 / truth.grid.step)]
    codes = plan_of(cf.Channel(cf.Mean("ward == 0", categories={"ward": ["7"]}), GAUSSIAN, n=3))
    one = round(1 / codes.grid.step)
    for cells in ([7, 8, 7], [7.0, 7.5, 7.0], ["7", "7.0", "7"], np.array([7, 9, 7], dtype="uint8"), ["7", "٧", 7]):
        assert numbers(codes, {"ward": cells}) == [2 * one]


def test_bytes_that_are_no_text_are_other(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b'ward;age\nsurgery;30\n"sur""gery";40\n\xff\xfe;50\nsurgery;60;1\nsurgery;70\n')
    statistic = cf.Mean(
        ["(ward == 0) * age", "ward == 1", "age"], bounds={"age": (0, 100)}, categories={"ward": ["surgery"]}
    )
    plan = plan_of(cf.Channel(statistic, GAUSSIAN, n=5))
    found = numbers(plan, path, missing={"age": 0.0})
    # the line with a field too many has no values: its age is imputed and its ward is none of the list
    assert [float(each * plan.grid.step) for each in found] == [100.0, 3.0, 190.0]


def test_missing_cells_are_imputed_by_column():
    plan = plan_of(channel(["age", "cost"], categories=None, n=4))
    data = {"age": [20, "n/a", 40, 50], "cost": [100.0, math.inf, None, 80.0]}
    step = plan.grid.step
    found = numbers(plan, data, missing={"age": 30.0, "cost": 10.0})
    assert [each * step for each in found] == [140, 200]
    for missing in (None, {"cost": 10.0}, {"age": 20.0}):
        with pytest.raises(DataError, match=r"some values are missing.*for each column") as refused:
            numbers(plan, data, missing=missing)
        assert "40" not in str(refused.value)
    two = plan_of(channel(["age", "cost"], categories=None, n=2))
    assert [each * step for each in numbers(two, data, missing="public")] == [70, 180]
    for missing, words in ((3.0, "of which column"), ({"cost": 5.0}, "within the bounds"), ({"name": 1.0}, "no column"),
                           ({"ward": 0.0}, "texts"), ({"cost": "x"}, "within the bounds")):  # fmt: skip
        with pytest.raises(InvalidArgument, match=words):
            check_missing(missing, channel().statistic)
    assert check_missing({"x": 1}, cf.Mean("x", (0, 2))) == 1.0
    assert check_missing({}, channel().statistic) is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"age": [1.0] * 3}, "is not a column of the data"),
        ([[1, 2]] * 3, "has no columns by name"),
        (pd.DataFrame([[1, 2, 3]] * 3, columns=["age", "cost", "cost"]), "names several columns"),
        ({"age": [1, 2], "cost": [1, 2, 3]}, "not equally long"),
        (pd.DataFrame({"age": pd.to_datetime(["2020-01-01"] * 3), "cost": 1.0}), "holds timestamp"),
    ],
)
def test_tables_that_do_not_fit_are_refused_in_words(data, words):
    with pytest.raises((DataError, InvalidArgument), match=words):
        cf.release(channel(["age * cost"], categories=None, n=3), data)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ("age", "which is which"),
        ({"sex": "s"}, "is no column"),
        ({"age": "cost"}, "two columns"),
        ({"age": 3}, "not a name"),
    ],
)
def test_names_of_columns_that_do_not_fit(column, words):
    with pytest.raises(InvalidArgument, match=words):
        cf.release(channel(), table(), column=column)


@pytest.mark.parametrize(
    ("categories", "words"),
    [
        ({"ward": []}, "are none"),
        ({"ward": ["a", "b", "a"]}, "more than once"),
        ({"ward": "ab"}, "no list"),
        ({"ward": ["a", 3]}, "no text"),
        ({"ward": ["a\0"]}, "no text"),
        ({"age": ["a"]}, "has bounds"),
        ({"exp": ["a"]}, "not a name"),
        ({"x": ["a"]}, "column of numbers"),
        (["a"], "no mapping"),
        ({"unused": ["a"]}, "not used"),
    ],
)
def test_lists_of_categories_that_are_none(categories, words):
    with pytest.raises(InvalidArgument, match=words):
        cf.Mean("age", bounds={"age": (18, 90)}, categories=categories)


def test_what_may_overflow_on_the_way_is_refused():
    bounds = {"a": (0.0, 1000.0), "b": (0.0, 1.0)}
    with pytest.raises(RangeError, match="overflows on the way"):
        plan_of(cf.Channel(cf.Mean("min(exp(a * b), 5)", bounds=bounds), GAUSSIAN, n=10))
    plan_of(cf.Channel(cf.Mean("min(exp(a * b / 2), 5)", bounds=bounds), GAUSSIAN, n=10))


def test_other_statistics_of_rows():
    data = {"age": [20, 30, 40, 50, 60], "cost": [50.0, 40.0, 30.0, 20.0, 10.0]}
    bounds = {"age": (0, 100), "cost": (0, 100)}
    median = plan_of(cf.Channel(cf.Median("age - cost", bounds=bounds), cf.Laplace(cf.PureDP(50.0)), n=5))
    assert numbers(median, data)[0] * median.grid.step == 10
    each = cf.Channel(cf.Each("age > 2 * cost", bounds=bounds), cf.RandomizedResponse(cf.PureDP(30.0)), n=5)
    assert sorted(cf.release(each, data).value) == [0, 0, 0, 1, 1]


def test_the_sensitivity_of_whole_numbers_covers_what_engines_round():
    """The most that two rows of a grid are apart, as DuckDB computes them, for components that move together."""
    texts, bounds = ["log(cost)", "age * log(cost)", "exp(age / 50)"], {"age": (18, 90), "cost": (10, 5000)}
    for norm, mechanism in ((1, cf.Laplace(cf.PureDP(0.5))), (2, GAUSSIAN)):
        plan = plan_of(cf.Channel(cf.Mean(texts, bounds=bounds), mechanism, n=1))
        rows = [(age, cost) for age in (0, 18, 18.1, 49, 90, 99) for cost in (0, 10, 11.5, 700, 5000, 9e9)]
        found = np.array([numbers(plan, {"age": [age], "cost": [cost]}) for age, cost in rows], dtype=float)
        apart = np.linalg.norm(found[:, None] - found[None], ord=norm, axis=2).max()
        most = math.sqrt(squared_sensitivity(plan.channel, plan.grid, norm))
        assert apart <= most
        assert apart >= 0.999 * most


def test_files_of_rows(tmp_path):
    release = cf.release(channel(), table(), missing={"cost": 10.0})
    release.save(tmp_path / "release.json")
    text = (tmp_path / "release.json").read_text()
    assert '"version": 3' in text
    loaded = cf.Release.load(tmp_path / "release.json")
    assert loaded == release
    assert loaded.missing == {"cost": 10.0}
    assert loaded.channel.statistic == release.channel.statistic
    assert hash(loaded) == hash(release)
    for old, new in (('"version": 3', '"version": 1'), ('"Säuglinge"', '"surgery"'), ('"cost": 10.0', '"sex": 10.0'),
                     ('"age": [\n          18.0,', '"exp": [\n          18.0,')):  # fmt: skip
        assert text != text.replace(old, new)
        (tmp_path / "edited.json").write_text(text.replace(old, new))
        with pytest.raises(FileError):
            cf.Release.load(tmp_path / "edited.json")
    plain = cf.release(cf.Channel(cf.Mean("x", (0, 1)), GAUSSIAN, n=2), [0.0, 1.0])
    plain.save(tmp_path / "plain.json")
    assert '"version": 2' in (tmp_path / "plain.json").read_text()


def test_what_imputation_did_to_rows_is_told():
    from confide.published.imputation import effect

    one = cf.release(channel(["age"], categories=None, bounds={"age": (18, 90)}), table(), missing={"age": 20.0})
    assert "by 20 before the mean of age" in effect(one)
    assert "up to 0.7;" in effect(one)  # one column of numbers: all of them are known to have been 20
    assert one.present(missing=2).channel.n == one.channel.n - 2
    two = channel(["age", "cost"], categories=None, bounds={"age": (18, 90), "cost": (0, 100)})
    rows = cf.release(two, table(), missing={"age": 20.0, "cost": 1.0})
    assert "age by 20 and cost by 1" in effect(rows)
    assert "the mean of age by up to 0.72, of cost by up to 1" in effect(rows)
    with pytest.raises(IncompatibleError, match="rows"):
        rows.present(missing=2)


def test_the_ledger_knows_the_same_rows_again(tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.ZCDP(1.0))
    data = table()
    path = file(tmp_path, data, "people.parquet")
    ask = {"ledger": book, "dataset": "people", "missing": {"cost": 10.0}}
    first = cf.release(channel(), path, **ask)
    assert cf.release(channel(), path, **ask) == first
    assert book.spent("people") == cf.ZCDP(0.05)
    other = cf.release(channel(), path, ledger=book, dataset="people", missing={"cost": 11.0})
    assert other != first
    assert book.spent("people") == cf.ZCDP(0.1)
    book.check()
    assert book.confirms(first)
    cf.release(channel(), {**data, "AGE": data["age"]}, column={"age": "AGE"}, ledger=book, dataset="people")
    told = book.listing("people")
    assert "on age [18, 90], cost [10, 5000], ward" in told[0].what
    assert (told[0].column, told[2].column) == (None, "age: AGE")
    assert book.statement("people").releases[0] == first
    memory = cf.release(channel(), {"ward": data["ward"], "age": data["age"], "cost": data["cost"]}, **ask)
    assert cf.release(channel(), {**{k: data[k] for k in ("ward", "age")}, "cost": data["cost"]}, **ask) == memory


def test_sums_wider_than_64_bits():
    """Doubles of 2⁶⁰ steps: five of them are more than 64 bits hold."""
    plan = plan_of(
        cf.Channel(cf.Mean("a * b", bounds={"a": (0, 2**20), "b": (0, 2**20)}), cf.Laplace(cf.PureDP(1.0)), n=9)
    )
    data = {"a": [2**20] * 9, "b": [2**20] * 9}
    assert numbers(plan, data) == [9 * plan.grid.high[0]]
    assert Fraction(plan.grid.high[0]) * plan.grid.step == 2**40


def test_parquet_of_many_types_is_read_by_declared_types(tmp_path):
    plan = plan_of(channel(["age", "ward == 2"], n=2, bounds={"age": (18, 90)}))
    step = plan.grid.step
    for ages in (pa.array([20, 30], pa.int8()), pa.array(["20", "30"]), pa.array([Decimal(20), Decimal(30)])):
        for wards in (pa.array(["7", "x"]), pa.array([7, 8]), pa.array([7.0, None]), pa.array([b"7", b"\xff"])):
            pq.write_table(pa.table({"age": ages, "ward": wards}), tmp_path / "p.parquet")
            assert [each * step for each in numbers(plan, tmp_path / "p.parquet")] == [50, 1]


def test_texts_are_compared_byte_by_byte_whatever_the_collation(tmp_path):
    """By a column that ignores case a record would be in two groups, each charged as if it were the only one."""
    import duckdb

    with duckdb.connect(str(tmp_path / "p.duckdb")) as connection:
        connection.execute("CREATE TABLE people (sex VARCHAR COLLATE NOCASE, kind VARCHAR, x DOUBLE)")
        connection.execute("INSERT INTO people VALUES ('f', 'a', 1), ('F', 'A', 1), ('m', NULL, 1), (NULL, 'b', 1)")
        connection.execute(
            "CREATE TABLE enums AS SELECT sex::VARCHAR::ENUM ('f', 'F', 'm') AS sex, kind, x FROM people"
        )
    for table in ("people", "enums"):
        url = f"duckdb://{tmp_path}/p.duckdb"
        for name, count in (("f", 1), ("F", 1), ("m", 1)):
            plan = plan_of(cf.Channel(cf.Mean("x", bounds=(0, 1)), GAUSSIAN, n=count))
            found = numbers(plan, url, "x", table=table, part=cf.Grouped("sex", name))
            assert found == [round(count / plan.grid.step)]
        statistic = cf.Mean(["sex == 0", "kind == 1"], categories={"sex": ["f", "m"], "kind": ["A", "a"]})
        plan = plan_of(cf.Channel(statistic, GAUSSIAN, n=4))
        assert [each * plan.grid.step for each in numbers(plan, url, table=table)] == [1, 1]


def test_sums_of_rows_with_a_private_number_of_records():
    statistic = cf.Sum(["age", "log(cost)", "ward == 3"], bounds=BOUNDS, categories=WARDS)
    plan, data = plan_of(cf.Channel(statistic, GAUSSIAN)), table()
    found = [float(each * plan.grid.step) for each in numbers(plan, data)]
    exact = [np.clip(data["age"], 18, 90).sum(), np.log(np.clip(data["cost"], 10, 5000)).sum()]
    assert found[:2] == pytest.approx(exact, rel=1e-8)
    assert found[2] == sum(ward not in WARDS["ward"] for ward in data["ward"])
    assert numbers(plan, {name: [] for name in data}) == [0, 0, 0]
    assert cf.release(plan.channel, data).channel.n is None


def test_tables_with_many_columns():
    names = [f"c{index}" for index in range(60)]
    bounds, data = dict.fromkeys(names, (-1.0, 1.0)), {name: [1.0, -1.0] for name in names}
    for texts in (
        [" + ".join(names)],
        [f"{one} * {two}" for one, two in zip(names, names[1:] + names[:1], strict=True)],
    ):
        plan = plan_of(cf.Channel(cf.Mean(texts, bounds=bounds), GAUSSIAN, n=2))
        found = [float(each * plan.grid.step) for each in numbers(plan, data)]
        assert found == ([0.0] if len(texts) == 1 else [2.0] * 60)
