"""Studies of a private number of records, and the classical ratio, against formulas that are written down again."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.design.studies.numbers import Numbers, published
from confide.prior import Prior

BERNOULLI = cf.populations.bernoulli()
CHANNEL = cf.Channel(cf.Sum(["1", "x"], bounds=(0, 1)), cf.Laplace(scale=4.0, step=1))
FLAT = {"probability": dist.Beta(1.0, 1.0)}
DRAWN = FLAT | {"n": dist.Poisson(200.0)}


def test_the_ratio_has_the_interval_of_the_delta_method():
    values = np.asarray([[200.0, 50.0], [40.0, 39.0], [3.0, 20.0], [-2.0, 1.0], [100.0, -7.0], [50.0, 0.0]])
    with jax.enable_x64(True):
        found = cf.ClassicalRatio(CHANNEL).summaries(BERNOULLI, Prior.of(BERNOULLI, FLAT), values, (0.5, 0.95))
    decay = np.exp(-1 / 4.0)
    noise = 2 * decay / (1 - decay) ** 2  # of the discrete Laplace law
    for i, (count, total) in enumerate(values[:2]):
        r = total / count
        spread = np.sqrt(r * (1 - r) / count + noise * (1 + r**2) / count**2)
        assert found.mean[i] == pytest.approx([r, count], abs=1e-5)
        assert found.sd[i] == pytest.approx([spread, np.sqrt(noise)], rel=1e-4)
        for j, z in enumerate((0.6744897501960817, 1.959963984540054)):
            ends = np.clip([r - z * spread, r + z * spread], 0, 1)
            assert [found.lower[j, i, 0], found.upper[j, i, 0]] == pytest.approx(ends, abs=1e-3)
            assert found.upper[j, i, 1] - count == pytest.approx(z * np.sqrt(noise))
    assert np.all(np.isnan(found.mean[2:5, 0]))  # more than all, of nobody, and less than none
    assert np.all(np.isnan(found.lower[:, 2:5, 0]))
    assert found.mean[5, 0] == pytest.approx(0.0, abs=1e-3)  # none at all is an answer
    assert found.upper[1, 5, 0] == pytest.approx(1.959964 * np.sqrt(noise) / 50, abs=1e-3)


def test_the_ratio_covers_as_often_as_it_does_in_numpy():
    """θ, n, records and noise drawn again; 8,000 releases, and a probability of 1e-6 to be off by five errors."""
    rng, size = np.random.default_rng(0), 200_000
    theta, n = rng.uniform(size=size), rng.poisson(200, size)
    decay = np.exp(-1 / 4.0)
    noise = rng.geometric(1 - decay, (2, size)) - rng.geometric(1 - decay, (2, size))
    count, total = n + noise[0], rng.binomial(n, theta) + noise[1]
    r = total / count
    spread = np.sqrt(r.clip(0, 1) * (1 - r.clip(0, 1)) / count + 2 * decay / (1 - decay) ** 2 * (1 + r**2) / count**2)
    expected = np.mean((r >= 0) & (r <= 1) & (np.abs(r - theta) <= 1.959964 * spread))
    found = cf.study(BERNOULLI, {"ratio": cf.ClassicalRatio(CHANNEL)}, prior=DRAWN, releases=8000).table
    assert abs(found["coverage_95"][0] - expected) < 5 * np.sqrt(expected * (1 - expected) / 8000)


@pytest.mark.parametrize(
    "statistic", [cf.Sum(["1", "x"], (0, 1)), cf.Count(), cf.Histogram("x", categories=["0", "1"])]
)
def test_each_release_is_about_as_many_records_as_it_should_be(statistic):
    numbers = np.asarray([0, 1, 7, 20_000, 131])
    model = cf.Model(BERNOULLI, cf.Channel(statistic, cf.Gaussian(scale=1e-6)))
    with jax.enable_x64(True):
        values = published(model, jax.random.key(0), np.full((5, 1), 0.3), numbers)
    count = values.sum(axis=-1) if statistic.tallies else values if statistic.counts else values[:, 0]
    assert count == pytest.approx(numbers, abs=1e-4)
    if values.ndim > 1:
        ones = values[:, 1]
        assert abs(ones[3] - 6000) < 6 * np.sqrt(20_000 * 0.21)


def test_a_study_says_how_theta_and_n_are_found():
    strategies = {"exact": CHANNEL, "ratio": cf.ClassicalRatio(CHANNEL)}
    found = cf.study(BERNOULLI, strategies, prior=FLAT, theta=0.3, n=200, releases=2)
    table = found.table
    assert list(table["parameter"]) == ["probability", "n"] * 2
    assert list(table["theta"]) == [0.3, 200.0] * 2
    assert table["choice"][2] == "0.0% without an answer"
    f = cf.information(cf.Model(BERNOULLI, CHANNEL), 0.3, n=200).matrix[0, 0]
    assert table["predicted_variance"][0] == pytest.approx(1 / f, rel=1e-6)
    assert np.all(table["mse"] < [0.03, 2000, 0.03, 2000])


def test_numbers_are_drawn_from_their_prior():
    found = cf.study(BERNOULLI, {"ratio": cf.ClassicalRatio(CHANNEL)}, prior=DRAWN, releases=2000).table
    assert found["theta"].isna().all()
    assert abs(found["coverage_95"][1] - 0.95) < 0.04  # the count's own interval, of the noise alone
    numbers, alone = Numbers.of(DRAWN, None)
    assert list(alone) == ["probability"]
    with jax.enable_x64(True):
        drawn = numbers.drawn(jax.random.key(1), 4000)
    assert abs(drawn.mean() - 200) < 6 * np.sqrt(200 / 4000)


def test_what_a_study_lacks_is_said():
    with pytest.raises(cf.InvalidArgument, match="must be assumed"):
        cf.study(BERNOULLI, {"exact": CHANNEL}, prior=FLAT, releases=2)
    public = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0)), n=50)
    with pytest.raises(cf.InvalidArgument, match="make the number of records public"):
        cf.study(BERNOULLI, {"mean": public}, prior=FLAT, releases=2, n=50)
    with pytest.raises(cf.InvalidArgument, match="a count and one sum"):
        cf.ClassicalRatio(cf.Channel(cf.Sum("x", (0, 1)), cf.Laplace(cf.PureDP(1.0))))
    with pytest.raises(cf.InvalidArgument, match="a count and one sum"):
        cf.ClassicalRatio(public)
