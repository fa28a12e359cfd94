"""Choosing among statistics of rows: which bounds of each column, before anything is spent."""

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf

ROWS = cf.populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
TRUTH = {"intercept": 0.2, "coefficients": [0.5], "variance": 0.6}
PRIOR = {"intercept": dist.Normal(0, 1), "coefficients": dist.Normal(0, 1), "variance": dist.InverseGamma(3, 2)}
TEXTS = ["x", "x**2", "y", "x * y", "y**2"]


def statistic(x, y):
    return cf.Mean(TEXTS, bounds={"x": (-x, x), "y": (-y, y)})


def model(x, y, mechanism, n=2000):
    return cf.Model(ROWS, cf.Channel(statistic(x, y), mechanism, n=n))


@pytest.mark.slow
def test_wide_bounds_and_little_noise_say_what_least_squares_do():
    """Five moments are as good as the rows: sds of σ/√n, σ/√n and σ²·√(2/n)."""
    n = 2_000_000  # what the normal law finds in its own variance is of order 1/n
    both = {"wide": model(8.0, 8.0, cf.Gaussian(scale=1e-7), n), "noisy": model(8.0, 8.0, cf.Gaussian(scale=0.1), n)}
    row = cf.compare(both, theta=TRUTH, unequal=True).table.loc["wide"]
    expected = np.asarray([0.6**0.5, 0.6**0.5, 0.6 * 2**0.5]) / n**0.5
    found = [row["sd intercept"], row["sd coefficients[0]"], row["sd variance"]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    assert row["clipped"] < 1e-8


def test_bounds_of_columns_are_compared():
    """Too narrow loses what is clipped; the share of rows that are is told."""
    gaussian = cf.Gaussian(cf.ZCDP(0.05))
    ends = {"narrow": (0.2, 0.2), "good": (2.5, 3.0)}
    found = cf.compare({name: model(*each, gaussian) for name, each in ends.items()}, theta=TRUTH)
    assert found.best == "good"
    shares = found.table["clipped"]
    assert shares["narrow"] > 0.9 > 0.1 > shares["good"] > 0


@pytest.mark.slow
def test_a_pilot_chooses_bounds_by_its_posterior():
    options = [statistic(0.2, 0.2), statistic(2.5, 3.0), statistic(50.0, 50.0)]
    plan = cf.pilot(ROWS, prior=PRIOR, privacy=cf.ZCDP(0.05), n=20_000, first=options[1], candidates=options)
    value = cf.Model(ROWS, plan.channel).simulate(0, TRUTH)
    assert plan.choose(cf.Release(plan.channel, value)).statistic == options[1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::confide.errors.ApproximationWarning")
def test_a_study_of_rows(tmp_path):
    """Posterior variances are near those that the information predicts, and cells are found again on disk."""
    channel = model(2.5, 3.0, cf.Gaussian(cf.ZCDP(0.5))).channel
    options = {"prior": PRIOR, "theta": TRUTH, "releases": 3, "path": tmp_path}
    found = cf.study(ROWS, {"good": channel}, **options)
    assert list(found.table["parameter"]) == ["intercept", "coefficients[0]", "variance"]
    np.testing.assert_allclose(found.table["posterior_variance"], found.table["predicted_variance"], rtol=0.25)
    assert cf.study(ROWS, {"good": channel}, **options).found == 1
