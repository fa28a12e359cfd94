"""A user's own family of two parameters, of which numpyro knows a density and a sampler but no quantile function."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import special, stats

import confide as cf
from confide.likelihood.record_law.moments import moments
from confide.likelihood.record_law.traced import moving_law
from confide.population import tails

POSITIVE = constraints.positive
WEIBULL = cf.Population(dist.Weibull, {"scale": POSITIVE, "concentration": POSITIVE})
GAMMA = cf.Population(dist.Gamma, {"concentration": POSITIVE, "rate": POSITIVE})


@pytest.fixture(autouse=True)
def no_search(monkeypatch):
    """Quantiles that are searched for, at every theta, took the minutes."""

    def refuse(*_):
        raise AssertionError("a quantile was searched for")

    monkeypatch.setattr(tails, "_search", refuse)


def clipped(law, low, high, power):
    """E of a power of a record clipped to bounds; the cut points are the law's own quantiles."""
    cuts = np.unique(np.clip(np.concatenate([[low, high], law.ppf(np.linspace(0.0, 1.0, 40)[1:-1])]), low, high))
    x, w = np.polynomial.legendre.leggauss(40)
    half = 0.5 * np.diff(cuts)[:, None]
    at = 0.5 * (cuts[1:] + cuts[:-1])[:, None] + half * x
    return np.sum(half * w * at**power * law.pdf(at)) + low**power * law.cdf(low) + high**power * law.sf(high)


LAWS = {
    "weibull": (WEIBULL, lambda t: stats.weibull_min(t[1], scale=t[0]), [[2.0, 1.5], [0.3, 0.6], [8.0, 12.0]]),
    "gamma": (GAMMA, lambda t: stats.gamma(t[0], scale=1 / t[1]), [[2.0, 0.5], [0.4, 3.0], [400.0, 50.0]]),
}


@pytest.mark.parametrize("name", LAWS)
def test_the_law_of_a_clipped_record_is_right_without_quantiles(name):
    population, law, thetas = LAWS[name]
    statistic = cf.Mean(["x", "x**2"], bounds=(0.01, 20))
    with jax.enable_x64(True):
        at = jax.jit(lambda theta: moments(*moving_law(population, statistic, theta)))
        for theta in np.asarray(thetas):
            mean, covariance = at(theta)
            powers = [clipped(law(theta), 0.01, 20.0, power) for power in (1, 2, 3, 4)]
            np.testing.assert_allclose(mean, powers[:2], rtol=1e-9)
            wanted = [powers[1] - powers[0] ** 2, powers[2] - powers[0] * powers[1], powers[3] - powers[1] ** 2]
            np.testing.assert_allclose(np.asarray(covariance)[[0, 0, 1], [0, 1, 1]], wanted, rtol=1e-7)


def test_far_tails_of_a_distribution_function_keep_their_digits():
    real = {"loc": constraints.real, "scale": POSITIVE}
    logistic = cf.Population(dist.Logistic, real)
    for population, law in [(WEIBULL, stats.weibull_min(1.5, scale=2.0)), (logistic, stats.logistic(2.0, 1.5))]:
        x = law.isf([9e-6, 1e-8, 1e-13])
        np.testing.assert_allclose(population.survival(x, [2.0, 1.5]), law.sf(x), rtol=1e-11)


def weibull_moments(scale, shape, low, high):
    """E clip(X)^p, p = 1 … 4, in closed form by incomplete gamma functions, at many theta."""
    ends = [(end / scale) ** shape for end in (low, high)]
    found = []
    for power in (1, 2, 3, 4):
        a = 1 + power / shape
        inside = scale**power * special.gamma(a) * np.diff([special.gammainc(a, end) for end in ends], axis=0)[0]
        found.append(inside + low**power * -np.expm1(-ends[0]) + high**power * np.exp(-ends[1]))
    return found


def test_a_weibull_of_two_parameters_from_two_moments():
    channel = cf.Channel(cf.Mean(["x", "x**2"], bounds=(0.01, 20)), cf.Gaussian(cf.ZCDP(0.5)), n=1000)
    y = np.asarray([1.634, 5.009])
    prior = {"scale": dist.LogNormal(0.0, 1.0), "concentration": dist.LogNormal(0.0, 0.5)}
    found = cf.infer(WEIBULL, cf.Release(channel, y), prior)
    assert found.method == "grid"
    log_theta = np.stack(np.meshgrid(np.linspace(-4, 3, 500), np.linspace(-2.5, 3, 500)), axis=-1).reshape(-1, 2)
    theta = np.exp(log_theta)
    one, two, three, four = weibull_moments(*theta.T, 0.01, 20.0)
    noise = float(channel.law.noise.scale) ** 2
    a, b, c = (two - one**2) / 1000 + noise, (three - one * two) / 1000, (four - two**2) / 1000 + noise
    first, second, det = y[0] - one, y[1] - two, a * c - b**2
    log_p = -0.5 * (c * first**2 - 2 * b * first * second + a * second**2) / det - 0.5 * np.log(det)
    log_p -= 0.5 * log_theta[:, 0] ** 2 + 0.5 * (log_theta[:, 1] / 0.5) ** 2
    share = np.exp(log_p - log_p.max())
    share /= share.sum()
    mean = share @ theta
    sd = np.sqrt(share @ (theta - mean) ** 2)
    np.testing.assert_allclose(list(found.mean.values()), mean, atol=0.005 * sd.min())
    np.testing.assert_allclose(list(found.sd.values()), sd, rtol=0.005)
