"""Releases of histograms: exact counts in one pass by every reader, and no more than the noise is for between neighbours."""

import math
from fractions import Fraction

import numpy as np
import pytest

import confide as cf
from confide.releasing.plan import plan_of
from confide.releasing.quantise import grid_of
from tests.releasing.exactly import numbers

AGES = [1, 18, 17.999, 30, 70, -4, 65, 50]
WARDS = ["a", "b", "A", "", "b", None, "other", "a"]
TABLE = cf.Histogram(["ward", "age"], categories={"ward": ["a", "b"]}, edges={"age": [18, 65]})
LAPLACE = cf.Laplace(cf.PureDP(1.0), step=1)
EXPECTED = [1, 1, 0, 0, 1, 1, 2, 1, 1]
EXPECTED_AGES = [3, 3, 2]


def csv(folder):
    path = folder / "people.csv"
    lines = [f"{age},{'' if ward is None else ward}" for age, ward in zip(AGES, WARDS, strict=True)]
    path.write_text("\n".join(["age,ward", *lines]))
    return path


def parquet(folder):
    import pandas

    pandas.DataFrame({"age": AGES, "ward": WARDS}).to_parquet(folder / "people.parquet")
    return folder / "people.parquet"


def frame(_):
    import pandas

    return pandas.DataFrame({"age": AGES, "ward": WARDS})


def arrow(_):
    import pyarrow

    return pyarrow.table({"age": pyarrow.array(AGES, pyarrow.float64()), "ward": WARDS})


def counts(statistic, data, mechanism=LAPLACE, n=8, **told):
    """The exact counts, in grid steps, before noise."""
    plan = plan_of(cf.Channel(statistic, mechanism, n))
    return [count * plan.grid.step for count in numbers(plan, data, **told)]


@pytest.mark.parametrize("reader", [csv, parquet, frame, arrow, lambda _: {"age": AGES, "ward": WARDS}])
@pytest.mark.parametrize("n", [len(AGES), None])
def test_every_reader_counts_the_same(reader, n, tmp_path):
    assert counts(TABLE, reader(tmp_path), n=n) == EXPECTED
    assert counts(cf.Histogram("age", edges=[18, 65]), reader(tmp_path), n=n) == EXPECTED_AGES


def test_a_database_counts_the_same(postgres):
    import ibis
    import pandas

    ibis.connect(postgres).create_table("cells", pandas.DataFrame({"age": AGES, "ward": WARDS}))
    assert counts(TABLE, postgres, table="cells") == EXPECTED


def test_counts_are_those_of_the_model():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 10, 5000), [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308]])
    edges = np.unique(np.concatenate([rng.choice(x, 70), np.arange(-9.0, 9.0)]))
    statistic = cf.Histogram("x", edges=edges)
    found = counts(statistic, x, cf.Gaussian(cf.ZCDP(0.1)), n=x.size)
    assert found == np.bincount(np.searchsorted(edges, x, side="right"), minlength=edges.size + 1).tolist()


@pytest.mark.parametrize("mechanism", [LAPLACE, cf.Gaussian(cf.ZCDP(0.5), step=0.4), cf.Gaussian(cf.ZCDP(0.5)),
                                       cf.Laplace(cf.PureDP(1.0)), cf.Laplace(cf.PureDP(1.0), step=5)], ids=str)  # fmt: skip
@pytest.mark.parametrize("n", [None, 4])
def test_no_record_moves_the_whole_numbers_by_more_than_the_noise_is_for(mechanism, n):
    """All pairs of cells: the centres that get noise, against the guarantee that noise of this scale keeps."""
    channel = cf.Channel(cf.Histogram("x", edges=[0.0, 1.0]), mechanism, n)
    plan, cells = plan_of(channel), [-1.0, 0.0, 1.0]
    base = [0.5, 0.5, 2.0]
    tables = [[*base, cell] for cell in cells] if n else [base, *([*base, cell] for cell in cells)]
    centres = [np.asarray(plan.centre(numbers(plan, table)), dtype=object) for table in tables]
    norm = 1 if mechanism.norm == 1 else 2
    pairs = [(a, b) for a in centres for b in centres] if n else [(centres[0], b) for b in centres]
    most = max(sum(abs(int(v)) ** norm for v in a - b) for a, b in pairs)
    scale = Fraction(plan.scale)
    kept = Fraction(most) / scale if norm == 1 else Fraction(most) / (2 * scale**2)
    assert kept <= Fraction(1 if norm == 1 else 0.5)
    step = mechanism.step
    tight = most if step is None or step == 0.4 else None
    if tight is not None and step is None:
        assert most == math.floor((2 if n else 1) / grid_of(channel).step ** norm)


def test_what_is_missing_is_refused_imputed_or_left_out():
    ages = {"age": [1, 20, None, math.inf, 70]}
    cells = cf.Histogram("age", edges=[18, 65])
    for n in (5, None):
        with pytest.raises(cf.DataError, match="missing"):
            counts(cells, ages, n=n)
        assert counts(cells, ages, n=n, missing={"age": 20.0}) == [1, 3, 1]
    assert counts(cells, ages, n=3, missing="public") == [1, 1, 1]
    with pytest.raises(cf.DataError, match="n is public"):
        counts(cells, ages, n=6, missing={"age": 20.0})
    with pytest.raises(cf.InvalidArgument, match="texts, which are never missing"):
        cf.release(cf.Channel(TABLE, LAPLACE, 8), frame(None), missing={"ward": 1})


def test_an_empty_table_of_private_size_is_a_table():
    released = cf.release(cf.Channel(TABLE, LAPLACE), {"age": np.zeros(0), "ward": np.zeros(0, dtype=str)})
    assert released.value.shape == (9,)


def test_a_release_is_saved_denoised_reported_and_paid_for(tmp_path):
    book = cf.Ledger(tmp_path / "budget.db")
    book.open("people", budget=cf.PureDP(2.0))
    made = cf.release(cf.Channel(TABLE, LAPLACE, 8), csv(tmp_path), ledger=book, dataset="people")
    made.save(tmp_path / "release.json")
    assert cf.Release.load(tmp_path / "release.json") == made
    assert book.spent("people").epsilon == 1.0
    assert cf.denoise(made).mean.sum() == pytest.approx(8)
    assert "ward=a, age=below 18" in cf.report(made, tmp_path / "page.html").read_text()


def test_groups_have_histograms_of_their_own(tmp_path):
    ages = cf.Histogram("age", edges=[18, 65])
    found = cf.release(cf.Channel(ages, LAPLACE), csv(tmp_path), by="ward", groups=["a", "b", "c"])
    assert [each.value.shape for each in found.values()] == [(3,)] * 3
