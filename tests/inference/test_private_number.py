"""Posteriors where the number of records is private, against enumeration of every n and every sum."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.special import logsumexp

import confide as cf

BERNOULLI, FLAT = cf.populations.bernoulli(), {"probability": dist.Beta(1.0, 1.0)}
LAPLACE = cf.Laplace(scale=4.0, step=1.0)
ONE_OR_BOTH = {
    "one vector": [cf.Release(cf.Channel(cf.Sum(["1", "x"], (0, 1)), LAPLACE), [80.0, 31.0])],
    "two releases": [
        cf.Release(cf.Channel(cf.Count(), LAPLACE), 80.0),
        cf.Release(cf.Channel(cf.Sum("x", (0, 1)), LAPLACE), 31.0),
    ],
}


def enumerated(log_prior):
    """E[θ], sd of θ, E[n] and sd of n, on a fine line of θ."""
    theta = (np.arange(1500) + 0.5) / 1500
    n, k = np.arange(301)[:, None], np.arange(301)[None, :]
    log_w = -np.abs(80 - n) / 4.0 - np.abs(31 - k) / 4.0 + log_prior(n)
    log_p = np.stack([logsumexp(log_w + stats.binom.logpmf(k, n, t), axis=1) for t in theta])
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    on_theta, on_n = p.sum(axis=1), p.sum(axis=0)
    moments = []
    for weight, at in ((on_theta, theta), (on_n, np.arange(301.0))):
        mean = weight @ at
        moments += [mean, np.sqrt(weight @ (at - mean) ** 2)]
    return moments


@pytest.mark.parametrize("releases", ONE_OR_BOTH.values(), ids=ONE_OR_BOTH)
@pytest.mark.parametrize("prior", [None, "Poisson"])
def test_posterior_of_a_share_and_of_n(releases, prior):
    given = FLAT if prior is None else FLAT | {"n": dist.Poisson(70.0)}
    log_prior = (lambda n: 0.0 * n) if prior is None else stats.poisson(70.0).logpmf
    found = cf.infer(BERNOULLI, releases, given, same_records=True if len(releases) > 1 else None, draws=4000)
    expected = enumerated(log_prior)
    told = [found.mean["probability"], found.sd["probability"]]
    assert told == pytest.approx(expected[:2], rel=1e-5)
    # conditional means averaged over 16,000 draws of θ
    assert [found.mean["n"], found.sd["n"]] == pytest.approx(expected[2:], rel=0.02)
    assert found.draws["n"].mean() == pytest.approx(expected[2], abs=6 * expected[3] / np.sqrt(16_000))
    assert np.all(found.draws["n"] == np.round(found.draws["n"]))
    assert found.names == ("probability", "n")
    assert list(found.summary().index) == ["probability", "n"]


def test_a_known_number_is_a_public_one():
    private = [cf.Release(cf.Channel(cf.Sum("x", (0, 20)), cf.Laplace(scale=9.0)), 130.0)]
    public = cf.Release(cf.Channel(cf.Sum("x", (0, 20)), cf.Laplace(scale=9.0), n=60), 130.0)
    prior = {"rate": dist.Gamma(2.0, 1.0)}
    one = cf.infer(cf.populations.poisson(), private, prior | {"n": 60})
    two = cf.infer(cf.populations.poisson(), public, prior)
    assert [one.mean["rate"], one.sd["rate"]] == pytest.approx([two.mean["rate"], two.sd["rate"]], rel=1e-6)
    assert np.all(one.draws["n"] == 60)


def test_what_cannot_be_known_is_said():
    total = cf.Release(cf.Channel(cf.Sum("x", (0, 1)), LAPLACE), 31.0)
    with pytest.raises(cf.IncompatibleError, match="proper prior"):
        cf.infer(BERNOULLI, total, FLAT)
    both = ONE_OR_BOTH["two releases"]
    with pytest.raises(cf.InvalidArgument, match="same_records"):
        cf.infer(BERNOULLI, both, FLAT)
    with pytest.raises(cf.IncompatibleError, match="different records"):
        cf.infer(BERNOULLI, both, FLAT, same_records=False)
    with pytest.raises(cf.IncompatibleError, match="simulates the records"):
        cf.infer(BERNOULLI, both, FLAT, same_records=True, method="mhaar")
    with pytest.raises(cf.InvalidArgument, match="law of a number of records"):
        cf.infer(BERNOULLI, both, FLAT | {"n": -3}, same_records=True)
    public = cf.Release(cf.Channel(cf.Mean("x", (0, 1)), LAPLACE, n=80), 0.0)
    with pytest.raises(cf.IncompatibleError, match="make the number of records public"):
        cf.infer(BERNOULLI, [both[0], public], FLAT, same_records=True)


@pytest.mark.slow
def test_the_unknown_number_of_awan_and_wang():
    """Bernoulli .2, n = 100, (X, n − X) + N(0, 1): they report coverage .949 and width .164 of 95% intervals."""
    channel = cf.Channel(cf.Sum(["x", "1 - x"], (0, 1)), cf.Gaussian(scale=1.0))
    values = np.asarray(cf.Model(BERNOULLI, channel).simulate(1, 0.2, (400,), n=100))
    ends = np.asarray([
        cf.infer(BERNOULLI, cf.Release(channel, value), FLAT, draws=250).interval(0.95)["probability"] for value in values
    ])  # fmt: skip
    covered = np.mean((ends[:, 0] < 0.2) & (ends[:, 1] > 0.2))
    assert covered >= 0.94 - 3 * np.sqrt(0.95 * 0.05 / 400)
    assert np.mean(ends[:, 1] - ends[:, 0]) <= 0.164


@pytest.mark.slow
def test_ranks_are_uniform_where_n_has_a_proper_prior():
    """Simulation-based calibration of θ and of n, with n drawn from its prior."""
    rng = np.random.default_rng(0)
    channel = cf.Channel(cf.Sum(["1", "x"], (0, 1)), cf.Laplace(scale=5.0, step=1.0))
    prior, ranks = FLAT | {"n": dist.Poisson(60.0)}, []
    for i in range(300):
        n, theta = int(rng.poisson(60.0)), rng.uniform()
        value = np.asarray(cf.Model(BERNOULLI, channel).simulate(i, theta, n=n))
        found = cf.infer(BERNOULLI, cf.Release(channel, value), prior, draws=50, key=i)
        drawn_n, drawn = found.draws["n"].ravel(), found.draws["probability"].ravel()
        ties = rng.uniform() * np.sum(drawn_n == n)
        ranks.append([np.mean(drawn < theta), (np.sum(drawn_n < n) + ties) / drawn_n.size])
    for column in np.asarray(ranks).T:
        assert stats.kstest(column, "uniform").pvalue > 1e-6


def test_sums_that_add_up_to_a_count_say_what_n_is():
    """X and n − X, as Awan and Wang have it: against binomials summed over every n and X."""
    channel = cf.Channel(cf.Sum(["x", "1 - x"], (0, 1)), cf.Gaussian(scale=1.0))
    found = cf.infer(BERNOULLI, cf.Release(channel, [20.4, 79.1]), FLAT)
    theta = (np.arange(1500) + 0.5) / 1500
    n, k = np.arange(60, 141)[:, None], np.arange(80)[None, :]
    log_w = stats.norm.logpdf(20.4 - k) + stats.norm.logpdf(79.1 - (n - k))
    log_p = np.asarray([logsumexp(log_w + stats.binom.logpmf(k, n, t)) for t in theta])
    p = np.exp(log_p - log_p.max())
    mean = p @ theta / p.sum()
    # the central limit theorem stands in for 100 bits
    assert found.mean["probability"] == pytest.approx(mean, abs=2e-3)
    assert found.mean["n"] == pytest.approx(99.5, abs=0.3)
