"""Releases of different quantities are not combined silently, and imputed values are not taken for records silently."""

import warnings

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide.statistic.drowned import unexplained

BITS = cf.populations.bernoulli()
PRIOR = {"probability": dist.Beta(1.0, 1.0)}
CHANNEL = cf.Channel(cf.Mean("x", (0, 1)), cf.Gaussian(scale=0.01), n=400)


def published(value, **told):
    return cf.Release(CHANNEL, value, **told)


def test_two_columns_are_refused_until_the_reader_says_that_they_measure_one_thing():
    both = [published(0.3, dataset="ward", column="readmitted"), published(0.4, dataset="ward", column="cost")]
    with pytest.raises(cf.InvalidArgument, match=r"column 'readmitted' of 'ward' and column 'cost' of 'ward'"):
        cf.infer(BITS, both, PRIOR, same_records=False)
    apart = [published(0.3, dataset="a", column="x"), published(0.4, dataset="b", column="y")]
    with pytest.raises(cf.InvalidArgument, match="same_quantity"):
        cf.infer(BITS, apart, PRIOR)
    assert cf.infer(BITS, apart, PRIOR, same_quantity=True, route="normal").mean["probability"] < 0.4


def test_two_data_sets_need_a_column_in_common_or_the_readers_word():
    apart = [published(0.3, dataset="a"), published(0.4, dataset="b")]
    with pytest.raises(cf.InvalidArgument, match="an unnamed column of 'a'"):
        cf.infer(BITS, apart, PRIOR)
    named = [published(0.3, dataset="a", column="x"), published(0.4, dataset="b", column="x")]
    assert cf.infer(BITS, named, PRIOR, route="normal").names == ("probability",)
    by_hand = [published(0.3), published(0.4, dataset="b", column="x")]
    assert cf.infer(BITS, by_hand, PRIOR, route="normal", same_records=False).names == ("probability",)


def of_column(name, value, **told):
    statistic = cf.Mean(name, bounds={name: (0, 1)})
    return cf.Release(cf.Channel(statistic, CHANNEL.mechanism, n=400), value, **told)


def test_the_one_column_of_a_table_is_what_a_population_of_numbers_describes():
    """By its name as by x: the same posterior, with imputed values, and one word for it in two releases."""
    found = cf.infer(BITS, of_column("readmitted", 0.3), PRIOR)
    assert found.mean == cf.infer(BITS, published(0.3), PRIOR).mean
    both = [of_column("readmitted", 0.3), of_column("died", 0.1)]
    with pytest.raises(cf.InvalidArgument, match="column 'readmitted' and column 'died'"):
        cf.infer(BITS, both, PRIOR, same_records=False)
    with pytest.warns(cf.ImputationWarning, match="every 1% of the records that was missing .* up to 0.01"):
        taken = cf.infer(BITS, of_column("readmitted", 0.3, missing={"readmitted": 0.0}), PRIOR, route="normal")
    assert taken.mean["probability"] == pytest.approx(0.3, abs=0.01)
    known = of_column("readmitted", 0.3, missing={"readmitted": 0.0}).present(missing=100)
    assert (known.value, known.channel.n) == (pytest.approx(0.4), 300)
    with pytest.raises(cf.IncompatibleError, match=r"independent\(a=bernoulli, b=bernoulli\)"):
        cf.Model(BITS, cf.Channel(cf.Mean(["a", "b"], bounds={"a": (0, 1), "b": (0, 1)}), CHANNEL.mechanism, n=9))


@pytest.mark.parametrize("said", [False, "yes"])
def test_what_cannot_be_said(said):
    with pytest.raises(cf.InvalidArgument, match="same_quantity"):
        cf.infer(BITS, [published(0.3), published(0.4)], PRIOR, same_records=False, same_quantity=said)


def test_imputation_is_never_silent():
    with pytest.warns(cf.ImputationWarning, match=r"every 1% .* by up to 0.007") as said:
        cf.infer(BITS, published(0.3, missing=0.3), PRIOR, route="normal")
    assert [each.filename for each in said] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cf.infer(BITS, published(0.3, missing="public"), PRIOR, route="normal")


def test_a_known_number_of_imputed_values_is_taken_out_exactly():
    """100 of 400 bits were missing and counted as 1: the posterior of the others, by enumeration."""
    release = published(0.55, missing=1.0, column="x", dataset="ward").present(missing=100)
    assert (release.channel.n, release.column, release.dataset) == (300, "x", "ward")
    found = cf.infer(BITS, release, PRIOR)
    p, ones = np.linspace(0.0005, 0.9995, 4000), np.arange(301)[:, None]
    density = stats.binom.pmf(ones, 300, p) * stats.norm.pdf(0.55, (ones + 100) / 400, 0.01)
    weight = density.sum(axis=0)
    mean = weight @ p / weight.sum()
    assert found.mean["probability"] == pytest.approx(mean, rel=1e-6)
    assert found.sd["probability"] == pytest.approx(np.sqrt(weight @ (p - mean) ** 2 / weight.sum()), rel=1e-5)
    assert release.guarantee.mu == pytest.approx(CHANNEL.guarantee.mu)


def test_what_cannot_be_taken_out():
    with pytest.raises(cf.IncompatibleError, match="imputed nothing"):
        published(0.3).present(missing=1)
    with pytest.raises(cf.InvalidArgument, match="from 0 to 399"):
        published(0.3, missing=1.0).present(missing=400)
    median = cf.Channel(cf.Median("x", (0, 1)), cf.Laplace(scale=0.1), n=10)
    with pytest.raises(cf.IncompatibleError, match="not of"):
        cf.Release(median, 0.3, missing=1.0).present(missing=2)
    lattice = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(scale=0.1, step=0.1), n=10)
    with pytest.raises(cf.IncompatibleError, match="lattice"):
        cf.Release(lattice, 0.3, missing=1.0).present(missing=2)


def test_a_number_that_noise_does_not_explain_is_warned_of():
    """Percent where shares were meant: the posterior was as sharp as any, at the edge."""
    release = cf.Release(cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(scale=0.01), n=500), 41.72)
    told = "41.72 was published of the mean of x, which lies between 0 and 1"
    with pytest.warns(cf.NoiseWarning, match=told) as said:
        cf.infer(BITS, release, PRIOR, draws=100)
    assert [each.filename for each in said] == [__file__]


@pytest.mark.parametrize(
    ("statistic", "value", "told"),
    [
        (cf.Median("x", (0, 60)), -7.5, "-7.5 was published of the median of x, which lies between 0 and 60"),
        (cf.Mean(["x", "x**2"], (0, 2)), [1.0, 5.0], "5 was published of the mean of x**2, which lies between 0 and 4"),
        (cf.Mean(["x", "x**2"], (0, 2)), [2.4, 4.4], None),
        (cf.Sum("x", (0, 1)), 400.0, None),
        (cf.Histogram("x", edges=[0, 1]), [50.0, 40.0, 9.0], None),
    ],
)
def test_what_a_statistic_can_be(statistic, value, told):
    found = unexplained(statistic, 0.5, value)
    assert found is None if told is None else found.startswith(told)


@pytest.mark.parametrize("value", [-0.19, 0.5, 1.19])
def test_what_noise_explains_is_not_warned_of(value):
    """Beyond 20.7 scales lies a share of 1e-9 of Laplace noise."""
    release = cf.Release(cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(scale=0.01), n=500), value)
    with warnings.catch_warnings():
        warnings.simplefilter("error", cf.NoiseWarning)
        cf.infer(BITS, release, PRIOR, draws=100)
