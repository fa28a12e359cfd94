"""Rules that average over a prior, against scipy's distributions and integrals."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide.design.criteria import CRITERIA
from confide.design.points import Points, points, prior_points, quantiles
from confide.errors import InvalidArgument, ParameterError
from confide.prior import Prior

LEVELS = np.asarray([1e-6, 1e-3, 0.05, 0.5, 0.9, 0.999, 1 - 1e-6])

PAIRS = [
    (dist.LogNormal(0.7, 0.5), stats.lognorm(0.5, scale=np.exp(0.7))),
    (dist.InverseGamma(2.0, 3.0), stats.invgamma(2.0, scale=3.0)),
    (dist.Cauchy(1.0, 2.0), stats.cauchy(1.0, 2.0)),
    (dist.Uniform(0.01, 60.0), stats.uniform(0.01, 59.99)),
    (dist.Beta(0.5, 2.0), stats.beta(0.5, 2.0)),
]


@pytest.mark.parametrize(("ours", "scipys"), PAIRS, ids=lambda each: type(each).__name__)
def test_quantiles_are_scipys(ours, scipys):
    with jax.enable_x64(True):
        found = quantiles(jax.tree.map(np.float64, ours), LEVELS)
    np.testing.assert_allclose(scipys.cdf(found)[:4], LEVELS[:4], rtol=1e-3)
    np.testing.assert_allclose(scipys.sf(found)[3:], 1 - LEVELS[3:], rtol=1e-3)


def averages(part, function):
    population = cf.populations.normal_mean() if part.support is dist.constraints.real else cf.populations.exponential()
    rule = prior_points(Prior.of(population, {population.names[0]: part}))
    return rule.average(function(rule.thetas[:, 0]))


@pytest.mark.parametrize("power", [-2, -1, 1, 2, 3])
def test_averages_over_a_lognormal_are_its_moments(power):
    found = averages(dist.LogNormal(0.7, 0.5), lambda theta: theta**power)
    assert found == pytest.approx(np.exp(0.7 * power + 0.125 * power**2), rel=2e-3)


def test_heavy_tails_are_extended():
    # E θ of an inverse gamma with shape 2.5 has a tenth of its value beyond the last panel
    found = averages(dist.InverseGamma(2.5, 3.0), lambda theta: theta)
    assert found == pytest.approx(2.0, rel=2e-3)


@pytest.mark.parametrize(("power", "exists"), [(1, True), (2, False), (3, False), (-3, True)])
def test_averages_that_do_not_exist_are_infinite(power, exists):
    found = averages(dist.InverseGamma(2.0, 2.0), lambda theta: theta**power)
    assert np.isfinite(found) == exists


def test_several_parameters_are_averaged_by_a_sequence():
    prior = Prior.of(cf.populations.normal(), {"mean": dist.Normal(1.0, 2.0), "variance": dist.LogNormal(0.0, 0.3)})
    rule = prior_points(prior)
    assert rule.thetas.shape == (256, 2)
    assert rule.average(rule.thetas[:, 0]) == pytest.approx(1.0, abs=0.03)
    assert rule.average(rule.thetas[:, 1]) == pytest.approx(np.exp(0.045), rel=0.01)
    assert np.isinf(rule.average(np.exp(rule.thetas[:, 0] ** 2)))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({}, InvalidArgument),
        ({"theta": 1.0, "prior": {"rate": dist.Gamma(1.0, 1.0)}}, InvalidArgument),
        ({"theta": []}, ParameterError),
        ({"theta": -1.0}, ParameterError),
        ({"theta": [1.0, np.nan]}, ParameterError),
        ({"prior": {"speed": dist.Gamma(1.0, 1.0)}}, InvalidArgument),
    ],
)
def test_bad_points_are_refused(given, error):
    with pytest.raises(error):
        points(cf.populations.exponential(), given.get("theta"), given.get("prior"))


def test_variances_that_a_prior_bounds_have_a_mean():
    """At some of 256 θ so little is told that variances run up to the prior's, 1000: a heavy tail that has an end."""
    values = np.minimum(0.01 * (257 / np.arange(1, 257)) ** 2, 1000.0)
    each = np.full(256, 1 / 256)
    rule = Points(np.zeros((256, 2)), each, prior=True, precision=np.full(2, 1e-3))
    assert np.isinf(rule.average(values))
    assert rule.average(values, bounded=True) == pytest.approx(values.mean(), rel=1e-12)
    judged = np.stack([np.diag([1 / value, 1.0]) for value in values])
    assert CRITERIA["expected_variance"].total(judged, rule) == pytest.approx(values.mean() + 1.0, rel=1e-12)
    # information has no such end, nor has a variance without a prior's own knowledge
    assert np.isinf(CRITERIA["information"].total(np.linalg.inv(judged), rule))
    assert np.isinf(CRITERIA["expected_variance"].total(judged, Points(np.zeros((256, 2)), each, prior=True)))
