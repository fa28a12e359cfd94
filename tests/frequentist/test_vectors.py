"""Confidence sets of the entries of vectors, and matrices that are maximised over."""

import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import optimize, stats

import confide as cf

SHARES = cf.Channel(cf.Mean(["x == 0", "x == 1", "x == 2"], bounds=(0, 2)), cf.Gaussian(scale=0.02), n=400)
PUBLISHED = np.asarray([0.32, 0.5, 0.19])
MOMENTS = cf.Channel(
    cf.Mean(["x", "x**2", "y", "x*y", "y**2"], bounds={"x": (-3, 3), "y": (-3, 3)}), cf.Gaussian(scale=0.02), n=2000
)


def log_likelihood(p):
    """The normal law of three noisy shares, by hand."""
    covariance = (np.diag(p) - np.outer(p, p)) / 400 + 0.02**2 * np.eye(3)
    return stats.multivariate_normal.logpdf(PUBLISHED, p, covariance)


def best(index=None, held=None):
    """The largest log-likelihood, one share held or none, over two coordinates of the simplex."""

    def shares(v):
        if index is None:
            return np.exp([0.0, *v]) / np.exp([0.0, *v]).sum()
        first = 1 / (1 + np.exp(-v[0]))
        return np.insert((1 - held) * np.asarray([first, 1 - first]), index, held)

    start = np.zeros(2 if index is None else 1)
    found = optimize.minimize(lambda v: -log_likelihood(shares(v)), start, method="BFGS", options={"gtol": 1e-9})
    return -found.fun


def test_each_share_has_a_set_of_its_own():
    found = cf.estimate(cf.populations.categorical(3), cf.Release(SHARES, PUBLISHED), method="ratio", route="normal")
    assert list(found.entries) == ["probabilities[0]", "probabilities[1]", "probabilities[2]"]
    assert found.theta["probabilities"].sum() == pytest.approx(1.0, abs=1e-12)
    for index, label in enumerate(found.entries):
        deviance = 2 * (best() - best(index, 0.3))
        assert found.deviance(label, 0.3)[0] == pytest.approx(deviance, rel=1e-4, abs=1e-5)
        for end in found.interval[label]:
            assert 2 * (best() - best(index, end)) == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-4)
    with pytest.raises(cf.ParameterError, match=r"probabilities\[1\]"):
        found.p_value({"probabilities[1]": 1.2})


def test_two_shares_are_one():
    channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=200)
    one = cf.estimate(cf.populations.bernoulli(), cf.Release(channel, 0.31), method="ratio")
    two = cf.estimate(cf.populations.categorical(2), cf.Release(channel, 0.31), method="ratio")
    np.testing.assert_allclose(two.interval["probabilities[1]"], one.interval["probability"], atol=1e-7)
    np.testing.assert_allclose(
        two.interval["probabilities[0]"], 1 - np.asarray(one.interval["probability"])[::-1], atol=1e-7
    )


@pytest.fixture(scope="module")
def regression():
    """One release, and the same model with its coefficient as a scalar."""
    law = dist.Normal(0.5, 1.0)
    plain = cf.Population(
        {
            "x": lambda: law,
            "y": lambda x, intercept, slope, variance: dist.Normal(intercept + slope * x, variance**0.5),
        },
        {"intercept": constraints.real, "slope": constraints.real, "variance": constraints.positive},
    )
    value = np.asarray(cf.Model(plain, MOMENTS).simulate(1, [-0.5, 0.4, 0.25]))
    return cf.populations.linear_regression("y", {"x": law}), plain, cf.Release(MOMENTS, value)


@pytest.mark.slow
def test_coefficients(regression):
    population, plain, release = regression
    found, scalars = (cf.estimate(each, release, method="ratio", route="normal") for each in (population, plain))
    assert found.theta["coefficients"].shape == (1,)
    for label, name, held in (("intercept", "intercept", -0.52), ("coefficients[0]", "slope", 0.37)):
        assert found.deviance(label, held)[0] == pytest.approx(scalars.deviance(name, held)[0], rel=1e-4)
    assert found.p_value({"coefficients[0]": 0.38}) == pytest.approx(scalars.p_value({"slope": 0.38}), abs=1e-4)
    assert "coefficients[0] = 0." in str(found)


def test_a_covariance_is_maximised_over(regression):
    _, _, release = regression
    found = cf.estimate(cf.populations.linear_regression("y", ["x"]), release, method="wald", route="normal")
    assert found.theta["covariate_covariance"].shape == (1, 1)
    assert "covariate_mean[0]" in found.interval and len(found.entries) == 4
    assert "covariate_covariance = [[" in str(found)
    low, high = found.interval["coefficients[0]"]
    assert low < 0.4 < high and high - low < 0.15
