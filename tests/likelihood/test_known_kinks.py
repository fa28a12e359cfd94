"""A user's own Laplace population: the kink of its density is known without being declared."""

import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints
from scipy import stats

import confide as cf

POPULATION = cf.Population(lambda loc: dist.Laplace(loc, 1.0), {"loc": constraints.real})


def test_the_kink_is_at_the_location():
    assert POPULATION.breaks(0.7).tolist() == [0.7]


def test_posterior_of_one_record_under_wide_noise():
    channel = cf.Channel(cf.Mean("abs(x)", (-50, 50)), cf.Laplace(cf.PureDP(1.0)), 1)
    found = cf.infer(POPULATION, cf.Release(channel, 1.0), {"loc": dist.Normal(0.3, 1.0)}, key=0, draws=10)
    # nothing but sums: y is within the noise of all that |x| is likely to be
    loc, x = np.linspace(-9.0, 9.0, 1801), np.linspace(-50.0, 50.0, 20_001)
    noise = stats.laplace.pdf(1.0, np.abs(x), 50.0)
    likelihood = np.asarray([stats.laplace.pdf(x, each) @ noise for each in loc])
    p = likelihood * stats.norm.pdf(loc, 0.3, 1.0)
    mean = p @ loc / p.sum()
    np.testing.assert_allclose(float(found.mean["loc"]), mean, atol=1e-5)
    np.testing.assert_allclose(float(found.sd["loc"]), np.sqrt(p @ (loc - mean) ** 2 / p.sum()), atol=1e-5)
