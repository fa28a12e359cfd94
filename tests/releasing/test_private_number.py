"""Releases of a private number of records: attacks on whatever might tell it."""

import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest

import confide as cf
from confide.published.errors import BudgetError, DataError
from confide.releasing.plan import plan_of, squared_sensitivity
from confide.releasing.quantise import grid_of

LAPLACE, WHOLE = cf.Laplace(cf.PureDP(1.0)), cf.Laplace(cf.PureDP(1.0), step=1.0)
COUNT = cf.Channel(cf.Count(), WHOLE)
TOTAL = cf.Channel(cf.Sum("x", bounds=(0, 10)), LAPLACE)
BOTH = cf.Channel(cf.Sum(["1", "x / 10"], bounds=(0, 10)), LAPLACE)


@pytest.fixture(params=["memory", "csv", "parquet"])
def table(request, tmp_path):
    """A table of so many records, in memory or as a file, and how its column is called."""
    import pandas as pd

    def of(values):
        frame = pd.DataFrame({"age": np.asarray(values, dtype=float)})
        if request.param == "memory":
            return frame
        path = tmp_path / f"people.{request.param}"
        frame.to_csv(path, index=False) if request.param == "csv" else frame.to_parquet(path)
        return path

    return of


@pytest.mark.parametrize("records", [[], [3.0], [3.0, 40.0]])
def test_empty_and_tiny_tables_are_tables(table, records):
    for channel in (COUNT, TOTAL, BOTH):
        made = cf.release(channel, table(records), column="age")
        exact = np.asarray(channel.summary(np.asarray(records))) if records else np.zeros(channel.value_shape)
        # noise beyond 60 scales has a probability of e^{-60}
        assert np.all(np.abs(np.asarray(made.value) - exact) < 60 * channel.law.noise.scale)


def test_sums_are_exact_before_noise(table):
    wide = cf.Channel(cf.Sum(["1", "x", "x > 5"], bounds=(0, 10)), cf.Gaussian(scale=0.03))
    records = np.linspace(-1, 12, 500)
    made = cf.release(wide, table(records), column="age")
    assert np.asarray(made.value) == pytest.approx(np.asarray(wide.summary(records)), abs=0.4)


@pytest.mark.parametrize("statistic", [
    cf.Count(), cf.Sum("x", (0, 10)), cf.Sum("x - 5", (0, 10)), cf.Sum("x", (0.1, 0.7)),
    cf.Sum(["1", "x / 10"], (0, 10)), cf.Sum(["x < 1", "x >= 1"], (0, 10)), cf.Sum(["x", "x**2"], (-3, 2)),
])  # fmt: skip
@pytest.mark.parametrize("mechanism", [
    LAPLACE, WHOLE, cf.Laplace(cf.PureDP(1.0), step=0.3), cf.Gaussian(cf.ZCDP(0.5)),
    cf.Gaussian(cf.GDP(1.0), step=0.25),
])  # fmt: skip
def test_no_record_moves_the_whole_numbers_by_more_than_the_noise_is_for(statistic, mechanism):
    """Every record that rounding and clamping can make, added to any exact sum, on the grid and on a lattice."""
    plan = plan_of(cf.Channel(statistic, mechanism))
    norm = mechanism.norm
    allowed = squared_sensitivity(plan.channel, plan.grid, norm)
    kept = mechanism.guarantee(statistic, None)
    if norm == 1:
        assert math.isqrt(allowed) / plan.scale <= kept.epsilon * (1 + 1e-12)
    values = np.linspace(*statistic.bounds, 41)
    rng = np.random.default_rng(0)
    parts = [[transform(float(x)) for transform in statistic.transforms] for x in values]
    for part in parts:
        q = [plan.grid.nearest(Fraction(float(s)), j) for j, s in enumerate(part)]
        for _ in range(5):
            base = [int(b) for b in rng.integers(-(2**58), 2**58, len(q))]
            if statistic.counts or "<" in str(statistic):  # sums of whole numbers are whole
                unit = int(1 / plan.grid.step)
                base = [b // unit * unit for b in base]
            before, after = plan.centre(base), plan.centre([b + each for b, each in zip(base, q, strict=True)])
            moved = [abs(int(b) - int(a)) for a, b in zip(before, after, strict=True)]
            assert (sum(moved) ** 2 if norm == 1 else sum(m * m for m in moved)) <= allowed


def told(release, tmp_path, channel):
    """Everything that is published of a release, with its noisy value taken out."""
    release.save(tmp_path / "release.json")
    form = json.loads((tmp_path / "release.json").read_text())
    for name in ("value", "integers", "provenance"):
        form.pop(name)
    page = cf.report(release, tmp_path / "page.html")
    del page, channel
    return json.dumps(form), re.sub(r"[-+]?\d[\d.,e+-]*", "#", str(release))


def test_nothing_that_is_told_depends_on_the_number_of_records(table, tmp_path):
    for channel in (COUNT, TOTAL, BOTH):
        alike = [
            told(cf.release(channel, table(np.full(n, 3.0)), column="age"), tmp_path, channel) for n in (999, 1000)
        ]
        assert alike[0] == alike[1]


def test_a_column_that_lacks_values_is_refused_in_the_same_words(table):
    messages = set()
    for n in (10, 11):
        with pytest.raises(DataError) as refused:
            cf.release(TOTAL, table([np.nan, *np.ones(n)]), column="age")
        messages.add(str(refused.value))
    assert len(messages) == 1
    assert not re.search(r"\d", messages.pop())


def test_a_count_counts_rows_whatever_is_in_them(table):
    made = cf.release(
        cf.Channel(cf.Count(), cf.Laplace(scale=1e-3, step=1.0)), table([np.nan, 1.0, np.inf]), column="age"
    )
    assert made.value == 3


def test_more_records_than_foreseen_cost_accuracy_and_nothing_else():
    """The step follows from 2**32 records; 2**33 of them are summed in 128 bits all the same."""
    import ibis

    plan = plan_of(TOTAL)
    connection = ibis.duckdb.connect()
    largest = max(plan.grid.sizes)
    found = connection.raw_sql(f"SELECT (SUM({largest}::BIGINT) * {2**23})::VARCHAR FROM range({2**10})").fetchone()
    assert int(found[0]) == largest * 2**33
    assert plan.publish([largest * 2**33])[0] > largest * 2**32


def test_positions_are_no_parts_where_a_record_shifts_them():
    with pytest.raises(cf.IncompatibleError, match="part by position"):
        cf.release(TOTAL, np.ones(10), part=cf.Rows(0, 5))


def test_hashed_parts_compose_in_parallel(tmp_path):
    import pandas as pd

    people = tmp_path / "people.csv"
    pd.DataFrame({"id": [f"p{i}" for i in range(50)], "age": np.arange(50.0)}).to_csv(people, index=False)
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(1.0), neighbours="add-remove")
    for low, high in ((0, 0.5), (0.5, 1)):
        cf.release(COUNT, people, column="age", ledger=book, dataset="people", part=cf.Hashed("id", low, high))
    assert book.spent("people") == cf.PureDP(1.0)
    with pytest.raises(BudgetError):
        cf.release(COUNT, people, column="age", ledger=book, dataset="people", part=cf.Hashed("id", 0, 0.1))
    book.check()


def test_a_budget_for_replacing_pays_what_replacing_costs(tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(3.0))
    centred = cf.Channel(cf.Sum("x - 5", bounds=(0, 10)), LAPLACE)
    cf.release(centred, [1.0, 2.0], ledger=book, dataset="people")
    assert book.spent("people") == cf.PureDP(2.0)
    cf.release(TOTAL, [1.0, 2.0], ledger=book, dataset="people")
    assert book.spent("people") == cf.PureDP(3.0)
    assert [each.n for each in book.listing("people")] == [None, None]
    book.check()


@pytest.mark.parametrize("epsilon", [1.0, 1e-3, 1e-9])
@pytest.mark.parametrize(
    ("text", "bounds"), [("x", (-1, 1 / 3)), ("x - 0.1", (0, 0.7)), ("x", (-0.3, 0.1)), ("x - 5", (0, 10))]
)
def test_what_is_promised_to_a_replaced_record_holds_for_whole_numbers(text, bounds, epsilon):
    """The ends are rounded outward to the grid, which widens a difference by more of itself than the largest number."""
    channel = cf.Channel(cf.Sum(text, bounds=bounds), cf.Laplace(cf.PureDP(epsilon)))
    plan = plan_of(channel)
    kept = Fraction(plan.grid.widths[0]) / Fraction(plan.scale)
    assert kept <= Fraction(channel.guarantee_between("replace-one").epsilon) <= 2 * Fraction(epsilon)


def test_parts_by_identifier_of_a_private_number_pay_for_two_where_a_record_is_replaced(tmp_path):
    """Somebody with another identifier leaves one part and comes into another: each of them was charged once."""
    book = cf.Ledger(tmp_path / "budget.db")
    data = {"id": list(range(50)), "cost": [1.0] * 50}
    channel = cf.Channel(cf.Sum("cost", bounds={"cost": (0, 10)}), cf.Laplace(cf.PureDP(1.0)))
    for neighbours, spent in (("replace-one", 2.0), ("add-remove", 1.0)):
        book.open(neighbours, budget=cf.PureDP(9.0), neighbours=neighbours)
        for part in (cf.Hashed("id", 0, 0.5), cf.Hashed("id", 0.5, 1)):
            cf.release(channel, data, ledger=book, dataset=neighbours, part=part)
        assert book.spent(neighbours) == cf.PureDP(spent)


@pytest.mark.parametrize("scale", [2.0, 2.5])
def test_whole_numbers_keep_what_is_said_of_a_record_that_is_replaced(scale):
    """Ends of ranges are rounded outward: nine steps of a third were ten, and ε a twentieth more than was charged."""
    texts = ["1.4285714285714286 * x", "0.3333333333333333 - x"]
    channel = cf.Channel(cf.Sum(texts, bounds=(-1.5, 1.5)), cf.Laplace(scale=scale, step=1 / 3))
    grid = grid_of(channel)
    moved = sum(-(-width // grid.per_lattice) for width in grid.widths)
    promised = channel.guarantee_between("replace-one").epsilon
    assert moved / 3 / scale > promised * 1.04
    with pytest.raises(cf.ConfideError, match="another step"):
        plan_of(channel)
    thirds = cf.Channel(cf.Sum(["x", "1"], bounds=(-1.5, 1.5)), cf.Laplace(scale=scale, step=0.5))
    assert plan_of(thirds).scale >= scale
