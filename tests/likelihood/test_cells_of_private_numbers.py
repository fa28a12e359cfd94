"""Noisy counts of a private number of records: the integral over means against sums over every n and every table."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.special import logsumexp

import confide as cf
from confide.likelihood.totals.cells import PrivateCells
from confide.likelihood.totals.number import NumberPrior
from tests.likelihood.cells_oracle import by_enumeration, count_noise

THREE = cf.populations.categorical(3)
PUBLISHED = [([3.0, 2.0, 1.0], [0.2, 0.5, 0.3]), ([-2.0, 0.0, -1.0], [0.2, 0.5, 0.3]),
             ([9.0, 0.0, 1.0], [0.05, 0.15, 0.8]), ([2.0, 0.0, 0.0], [0.5, 0.5, 0.0])]  # fmt: skip


def law(mechanism, y, prior=None, population=THREE):
    channel = cf.Channel(cf.Histogram("x", categories=["a", "b"]), mechanism)
    return PrivateCells(cf.Model(population, channel), y, NumberPrior.of(prior))


def enumerated(noise, y, q, last):
    """log p_n(y | q) of every n up to the last."""
    none = np.sum(noise.log_g(np, np.asarray(y), 0.0))
    return np.asarray([none, *(by_enumeration(noise, np.asarray(y), np.asarray(q), n) for n in range(1, last))])


@pytest.mark.parametrize(
    ("kind", "scale", "step"),
    [("laplace", 0.5, 1), ("laplace", 1.5, None), ("gaussian", 2.0, 1), ("gaussian", 0.3, None)],
)
def test_a_flat_number_is_summed_over(kind, scale, step):
    mechanism = (cf.Laplace if kind == "laplace" else cf.Gaussian)(scale=scale, step=step)
    for y, q in PUBLISHED:
        each = enumerated(count_noise(kind, scale, step), y, q, 56)
        assert law(mechanism, y).log_likelihood([q])[0] == pytest.approx(logsumexp(each), abs=1e-10), y


def test_a_proper_prior_and_a_known_number():
    y, q = PUBLISHED[0]
    each = enumerated(count_noise("laplace", 1.5, 1), y, q, 50)
    noise = cf.Laplace(scale=1.5, step=1)
    expected = logsumexp(each + stats.poisson.logpmf(np.arange(50), 8.0))
    assert law(noise, y, dist.Poisson(8.0)).log_likelihood([q])[0] == pytest.approx(expected, abs=1e-9)
    assert law(noise, y, 7).log_likelihood([q])[0] == pytest.approx(each[7], abs=1e-10)
    assert law(noise, y, 0).log_likelihood([q])[0] == pytest.approx(each[0], abs=1e-10)


@pytest.mark.slow
def test_posterior_of_a_share_and_of_n():
    """Two cells, against sums over both counts on a line of shares."""
    channel = cf.Channel(cf.Histogram("x", edges=[0.5]), cf.Laplace(scale=2.0, step=1))
    found = cf.infer(
        cf.populations.bernoulli(), cf.Release(channel, [30.0, 12.0]), {"probability": dist.Beta(1.0, 1.0)}
    )
    theta, a, b = (np.arange(1000) + 0.5) / 1000, np.arange(90)[:, None], np.arange(70)[None, :]
    log_w = -np.abs(30 - a) / 2 - np.abs(12 - b) / 2
    p = np.exp([logsumexp(log_w + stats.binom.logpmf(b, a + b, t)) for t in theta])
    mean = p @ theta / p.sum()
    assert found.mean["probability"] == pytest.approx(mean, rel=1e-5)
    assert found.sd["probability"] == pytest.approx(np.sqrt(p @ (theta - mean) ** 2 / p.sum()), rel=1e-4)
    # a flat number and a flat share: every n is as probable beforehand, and 42 with its noise afterwards
    assert found.mean["n"] == pytest.approx(42.0, abs=0.6)


def test_what_has_no_likelihood_is_said():
    noise = cf.Laplace(scale=1.5, step=1)
    cells = cf.Release(cf.Channel(cf.Histogram("x", edges=[0.5]), noise), [3.0, 4.0])
    count = cf.Release(cf.Channel(cf.Count(), noise), 6.0)
    prior = {"probability": dist.Beta(1.0, 1.0)}
    with pytest.raises(cf.IncompatibleError, match="no joint law"):
        cf.infer(cf.populations.bernoulli(), [cells, count], prior, same_records=True)
    four = cf.Release(cf.Channel(cf.Histogram("x", categories=["a", "b", "c"]), noise), [3.0, 4.0, 5.0, 6.0])
    with pytest.raises(cf.IncompatibleError, match="number of records in the prior"):
        cf.infer(cf.populations.categorical(4), four, {"probabilities": dist.Dirichlet(np.ones(4))})


@pytest.mark.parametrize("scale", [1e-4, 3.0])
def test_information_at_an_assumed_number_is_that_of_the_best_linear_combination(scale):
    """The inverse of what is left of θ and n together; and without noise the information of a multinomial."""
    rate, n = 1.3, 80
    model = cf.Model(
        cf.populations.exponential(), cf.Channel(cf.Histogram("x", edges=[1, 2]), cf.Gaussian(scale=scale))
    )
    ends = np.array([0.0, 1.0, 2.0, np.inf])
    above = np.exp(-rate * ends)
    q, slope = -np.diff(above), np.diff(np.append(ends[:-1], 0.0) * above)
    terms = np.stack([n * slope, q], axis=1)
    covariance = n * (np.diag(q) - np.outer(q, q)) + scale**2 * np.eye(3)
    variance = np.linalg.inv(terms.T @ np.linalg.inv(covariance) @ terms)[0, 0]
    found = cf.information(model, rate, n=n)
    assert float(found.matrix[0, 0]) == pytest.approx(1 / variance, rel=1e-6)
    assert not found.exact
    if scale < 1:
        assert float(found.matrix[0, 0]) == pytest.approx(n * np.sum(slope**2 / q), rel=1e-6)
