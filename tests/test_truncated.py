"""Truncated normal laws with a location far from their support."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats
from scipy.special import ndtri_exp

import confide as cf
from confide.population.truncated import _quantile, steady


@pytest.mark.parametrize(("low", "high"), [(0.0, 2.0), (0.0, None), (None, 2.0)])
@pytest.mark.parametrize("loc", [-200.0, -9.0, -5.0, 0.3, 5.0, 60.0])
def test_density_distribution_and_quantiles(low, high, loc):
    with jax.enable_x64(True):
        law = steady(dist.TruncatedNormal(loc, 1.3, low=low, high=high))
        ends = [(end - loc) / 1.3 for end in (-np.inf if low is None else low, np.inf if high is None else high)]
        known = stats.truncnorm(*ends, loc, 1.3)
        x = known.ppf(np.asarray([0.01, 0.3, 0.7, 0.99]))
        np.testing.assert_allclose(law.log_prob(x), known.logpdf(x), rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(law.cdf(x), known.cdf(x), rtol=1e-9)
        np.testing.assert_allclose(law.icdf(law.cdf(x)), x, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("loc", [-9.0, 0.3, 5.0])
def test_score_is_what_a_record_has_beyond_its_mean(loc):
    def log_prob(t):
        return steady(dist.TruncatedNormal(t, 1.3, low=0.0, high=2.0)).log_prob(0.4)

    mean = stats.truncnorm(-loc / 1.3, (2 - loc) / 1.3, loc, 1.3).mean()
    with jax.enable_x64(True):
        assert float(jax.grad(log_prob)(loc)) == pytest.approx((0.4 - mean) / 1.3**2, rel=1e-9)


def test_quantiles_of_tiny_probabilities():
    log_p = -np.geomspace(1.0, 1e6, 60)
    with jax.enable_x64(True):
        np.testing.assert_allclose(_quantile(jnp.asarray(log_p)), ndtri_exp(log_p), rtol=1e-11)


@pytest.mark.parametrize(
    ("statistic", "n"),
    [(cf.Mean("min(x, 2)", (-1, 0)), 2), (cf.Mean("x >= 0", (-1, 1)), 1)],
)
def test_nothing_is_learnt_of_a_location_from_a_constant(statistic, n):
    population = cf.Population(lambda loc: dist.TruncatedNormal(loc, 1.0, low=0.0, high=2.0), {"loc": constraints.real})
    release = cf.Release(cf.Channel(statistic, cf.Laplace(cf.PureDP(5.0)), n), 0.1)
    posterior = cf.infer(population, release, {"loc": dist.Normal(0.3, 1.0)}, key=0, draws=10)
    assert float(posterior.mean["loc"]) == pytest.approx(0.3, abs=1e-6)
    assert float(posterior.sd["loc"]) == pytest.approx(1.0, abs=1e-6)


def test_a_density_that_is_no_number_is_named():
    def family(loc):
        return dist.Normal(jnp.where(loc > 3.0, jnp.nan, loc), 1.0)

    population = cf.Population(family, {"loc": constraints.real})
    model = cf.Model(population, cf.Channel(cf.Mean("x", (-1, 2)), cf.Laplace(cf.PureDP(1.0)), 5))
    with pytest.raises(cf.AccuracyError, match=r"theta = \(4\) is not a number"):
        model.log_likelihood(4.0, 0.5)
