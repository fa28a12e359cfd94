"""Tables that differ in one row, through every reader: no pair can be told apart by more than the noise hides."""

import math
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import confide as cf
from confide.errors import ConfideError
from confide.releasing import aggregate
from confide.releasing.auditing.movement import movement_of
from confide.releasing.plan import plan_of
from confide.releasing.readers.engine import rows_of
from confide.releasing.readers.source import open_source
from confide.releasing.readers.table.asked import asked_of
from tests.releasing.exactly import numbers

BOUNDS = {"age": (18, 90), "cost": (10, 5000)}
TEXTS = ["age", "log(cost)", "age * log(cost)", "(ward == 1) * cost", "where(age > 65, ward, 0)"]
WARDS = {"ward": ["surgery", "7"]}
#: what one row may hold in each column; the others are ordinary
ODD = {
    "age": [18, 90.0, 65, np.nextafter(65, 66), -1e308, 1e308, math.nan, math.inf, None, "n/a", "65", "1e400", "0x10", "", "6,5", '"', True, 2**70],
    "cost": [10, 5000, 9.999999999999999, 1e-308, 0.0, -0.0, None, "3_0", "+-3", " 12 ", "\x00", -math.inf, "9" * 500],
    "ward": ["surgery", "7", 7, 7.0, "Surgery", " surgery", "", None, "\udcff", "é", "'; DROP TABLE people; --", "0", True],
}  # fmt: skip
PLAIN = {
    "age": [20, 40, 66, 80, 33.5],
    "cost": [10.0, 70.5, 4999.0, 800.0, 12.25],
    "ward": ["7", "surgery", "x", "7", "x"],
}


def csv(folder, data, separator=",", ending=".csv"):
    """Cells as somebody's export left them: nothing is quoted."""
    path = folder / f"people{ending}"
    lines = [separator.join(data)] + [
        separator.join("" if cell is None else str(cell) for cell in row) for row in zip(*data.values(), strict=True)
    ]
    path.write_bytes(("\n".join(lines) + "\n").encode("utf-8", "replace"))
    return str(path)


def as_texts(cells):
    return [None if cell is None else str(cell).encode("utf-8", "replace").decode() for cell in cells]


def as_doubles(cells):
    return [float(cell) if isinstance(cell, int | float) else math.nan for cell in cells]


def parquet(folder, data):
    table = pa.table({"age": as_doubles(data["age"]), "cost": as_texts(data["cost"]), "ward": as_texts(data["ward"])})
    pq.write_table(table, folder / "people.parquet")
    return str(folder / "people.parquet")


def glob(folder, data):
    """One record decides the types of its own file alone."""
    for index in range(len(data["age"])):
        row = {name: [cells[index]] for name, cells in data.items()}
        path = folder / f"part{index}.parquet"
        try:
            pd.DataFrame(row).to_parquet(path)
        except (pa.ArrowException, UnicodeError, OverflowError):
            pq.write_table(pa.table({name: as_texts(cells) for name, cells in row.items()}), path)
    return str(folder / "part*.parquet")


READERS = {
    "dict": lambda folder, data: data,
    "objects": lambda folder, data: pd.DataFrame(data, dtype=object),
    "inferred": lambda folder, data: pd.DataFrame(data | {name: as_texts(data[name]) for name in data if name == "ward"}),
    "polars": lambda folder, data: pl.DataFrame(
        {"age": as_doubles(data["age"]), "cost": pl.Series(as_texts(data["cost"])), "ward": pl.Series(data["ward"], dtype=pl.Object)}
    ),
    "arrow": lambda folder, data: pa.table({name: as_texts(cells) for name, cells in data.items()}),
    "csv": csv,
    "tsv": lambda folder, data: csv(folder, data, "\t", ".tsv"),
    "parquet": parquet,
    "glob": glob,
}  # fmt: skip


def tables(generator, count):
    """The same table, of which row 2 holds other cells."""
    for _ in range(count):
        data = {name: list(cells) for name, cells in PLAIN.items()}
        for name, cells in data.items():
            cells[2] = ODD[name][int(generator.integers(len(ODD[name])))]
        yield data


def outcome(plan, data, missing):
    try:
        return tuple(numbers(plan, data, missing=missing)), None
    except ConfideError as error:
        return None, f"{type(error).__name__}: {error}"


def whole_rows(plan, data, missing):
    """The whole numbers of each row, which are summed: how often each occurs."""
    asked = asked_of(plan.channel.statistic, None)
    with open_source(data, asked, None, stop=plan.channel.n) as source:
        table = aggregate._records(plan, source, None, missing)
        names = [f"q{index}" for index in range(plan.channel.statistic.dimension)]
        return Counter(tuple(row[name] for name in names) for row in rows_of(source.connection, table.select(*names)))


@pytest.mark.parametrize("reader", READERS)
def test_one_row_changes_and_all_others_are_what_they_were(reader, tmp_path):
    """A sum may move by as much as it must not exceed and hide that others moved as well."""
    plan = plan_of(cf.Channel(cf.Mean(TEXTS, bounds=BOUNDS, categories=WARDS), cf.Laplace(cf.PureDP(0.5)), n=5))
    generator, missing = np.random.default_rng(len(reader) + 1), {"age": 30.0, "cost": 100.0}
    first, *others = [whole_rows(plan, READERS[reader](tmp_path, data), missing) for data in tables(generator, 6)]
    assert [(first - other).total() for other in others if (first - other).total() > 1] == []


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("mechanism", [cf.Laplace(cf.PureDP(0.5)), cf.Gaussian(cf.ZCDP(0.1))], ids=["L1", "L2"])
def test_no_two_neighbours_can_be_told_apart(reader, mechanism, tmp_path):
    statistic = cf.Mean(TEXTS, bounds=BOUNDS, categories=WARDS)
    plan = plan_of(cf.Channel(statistic, mechanism, n=5))
    check, generator = movement_of(plan), np.random.default_rng(len(reader))

    found = []
    for data in tables(generator, 14):
        made = READERS[reader](tmp_path, data)
        found.append(outcome(plan, made, {"age": 30.0, "cost": 100.0}))
    assert all(said is None for _, said in found), found
    moved = [check(one, two) for (one, _), (two, _) in combinations(found, 2)]
    assert moved == [None] * len(moved)
    assert len({one for one, _ in found}) > 3


@pytest.mark.parametrize("reader", ["dict", "csv", "glob"])
def test_a_refusal_does_not_depend_on_which_cell_is_missing(reader, tmp_path):
    plan = plan_of(cf.Channel(cf.Mean(TEXTS, bounds=BOUNDS, categories=WARDS), cf.Gaussian(cf.ZCDP(0.1)), n=5))
    words = {outcome(plan, READERS[reader](tmp_path, data), None)[1] for data in tables(np.random.default_rng(5), 14)}
    assert len(words - {None}) == 1
    assert "n/a" not in str(words)


@pytest.mark.parametrize("cell", ODD["cost"])
def test_a_row_of_one_group_changes_nothing_in_another(cell, tmp_path):
    statistic = cf.Mean(["log(cost)", "age"], bounds=BOUNDS)
    plan = plan_of(cf.Channel(statistic, cf.Gaussian(cf.ZCDP(0.1)), n=3))
    found = set()
    for odd in (cell, 50):
        data = {"sex": ["f", "m", "m", "f", "f"], **{name: list(PLAIN[name]) for name in ("age", "cost")}}
        data["cost"][2] = odd
        for reader in ("dict", "csv", "inferred"):
            made = READERS[reader](tmp_path, data)
            found.add(tuple(numbers(plan, made, part=cf.Grouped("sex", "f"), missing={"age": 18.0, "cost": 10.0})))
    assert len(found) == 1


def test_engines_agree_within_a_step_for_a_million_rows():
    """Logarithms and exponentials of NumPy and of DuckDB differ in the last bit: a rounding in a million tells them apart."""
    n, generator = 1_000_000, np.random.default_rng(0)
    age, cost = generator.uniform(18, 90, n), np.exp(generator.uniform(2, 9, n))
    texts = ["log(cost)", "age * log(cost)", "exp(age / 30)", "age * age - 3 * age"]
    plan = plan_of(cf.Channel(cf.Mean(texts, bounds=BOUNDS), cf.Gaussian(cf.ZCDP(0.5)), n=n))
    found = numbers(plan, {"age": age, "cost": cost})
    clipped = {"age": age, "cost": np.clip(cost, *BOUNDS["cost"])}
    for index, transform in enumerate(plan.channel.statistic.transforms):
        values = transform(clipped)
        doubled = np.floor(values * float(2 / plan.grid.step))
        whole = np.clip(np.floor((doubled + 1) * 0.5), plan.grid.low[index], plan.grid.high[index])
        apart = abs(int(whole.astype(np.int64).sum()) - found[index])
        assert apart <= (0 if index == 3 else 1), (texts[index], apart)
