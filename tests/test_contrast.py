"""`contrast`: two groups, a release each, against closed forms and integrals of two densities."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate, optimize, stats

import confide as cf

SHARE, MEAN = cf.populations.bernoulli(), cf.populations.normal_mean()
LAPLACE = cf.Laplace(cf.PureDP(1.0))


def share(y, n=60):
    return cf.Release(cf.Channel(cf.Mean("x", bounds=(0, 1)), LAPLACE, n=n), y)


def mean(y, n):
    return cf.Release(cf.Channel(cf.Mean("x", bounds=(-30, 30)), cf.Gaussian(scale=0.2), n=n), y)


def density(y, n):
    """The unnormalised posterior of a share under a flat prior, by its sum."""
    k = np.arange(n + 1)
    noise = stats.laplace.pdf(y - k / n, scale=1 / n)
    return lambda p: stats.binom.pmf(k, n, np.asarray(p)[..., None]) @ noise


@pytest.fixture(scope="module")
def posteriors():
    return [cf.infer(SHARE, share(y), {"probability": dist.Beta(1.0, 1.0)}) for y in (0.41, 0.24)]


def test_the_difference_of_two_shares(posteriors):
    found = cf.contrast(*posteriors)
    p = (np.arange(4000) + 0.5) / 4000
    one, two = (density(y, 60)(p) for y in (0.41, 0.24))
    one, two = one / one.sum(), two / two.sum()
    below = np.cumsum(one) - 0.5 * one
    means = [weight @ p for weight in (one, two)]
    assert found.mean == pytest.approx(means[0] - means[1], abs=1e-7)
    variance = sum(weight @ (p - m) ** 2 for weight, m in zip((one, two), means, strict=True))
    assert found.sd == pytest.approx(np.sqrt(variance), abs=1e-6)
    for t in (-0.05, 0.0, 0.1, 0.25):  # P(a − b ≤ t) = Σ_b P(a ≤ b + t)
        expected = two @ np.interp(p + t, p, below, left=0.0, right=1.0)
        assert found.probability(f"difference < {t}") == pytest.approx(expected, abs=1e-5)
    low, high = found.interval(0.9)
    assert found.probability(f"(difference > {low}) * (difference < {high})") == pytest.approx(0.9, abs=1e-9)


def test_the_ratio_of_two_shares(posteriors):
    found = cf.contrast(*posteriors, kind="ratio")
    p = (np.arange(4000) + 0.5) / 4000
    one, two = (density(y, 60)(p) for y in (0.41, 0.24))
    one, two = one / one.sum(), two / two.sum()
    below = np.cumsum(one) - 0.5 * one
    for t in (0.8, 1.0, 2.0):
        expected = two @ np.interp(p * t, p, below, left=0.0, right=1.0)
        assert found.probability(f"ratio < {t}") == pytest.approx(expected, abs=1e-5)
    assert found.mean == pytest.approx((one @ p) * (two @ (1 / p)), rel=1e-4)


def test_by_draws_where_there_are_several_parameters():
    prior = {"mean": dist.Normal(0.0, 2.0), "variance": dist.InverseGamma(4.0, 6.0)}
    two = cf.infer(cf.populations.normal(), mean(0.9, 25), prior)
    one = cf.infer(MEAN, mean(0.1, 50), {"mean": dist.Normal(0.0, 2.0)})
    found = cf.contrast(two, one, of="mean")
    assert found.mean == pytest.approx(two.mean["mean"] - one.mean["mean"], abs=1e-9)
    assert found.probability("difference > 0.8") == pytest.approx(0.5, abs=0.05)


def test_estimates_of_normal_means_are_closed():
    """Variances add: the ratio's set is that of one normal difference."""
    found = cf.contrast(*(cf.estimate(MEAN, mean(y, n), method="ratio") for y, n in ((0.9, 25), (0.1, 50))))
    spread = np.sqrt(1 / 25 + 1 / 50 + 2 * 0.04)
    half = stats.norm.ppf(0.975) * spread
    np.testing.assert_allclose(found.interval, [0.8 - half, 0.8 + half], atol=1e-5)
    assert found.p_value() == pytest.approx(2 * stats.norm.sf(0.8 / spread), abs=1e-6)


def test_the_ratio_profile_of_two_shares():
    """The likelihood with all but the difference maximised out, by a search of its own."""
    found = cf.contrast(*(cf.estimate(SHARE, share(y), method="ratio") for y in (0.41, 0.24)))
    one, two = (density(y, 60) for y in (0.41, 0.24))
    top = sum(
        -optimize.minimize_scalar(lambda p, f=f: -np.log(f(p)), bounds=(0.01, 0.9), method="bounded", options={"xatol": 1e-9}).fun
        for f in (one, two)
    )  # fmt: skip

    def deviance(c):
        held = optimize.minimize_scalar(
            lambda b: -np.log(one(b + c)) - np.log(two(b)),
            bounds=(0.02, 0.8),
            method="bounded",
            options={"xatol": 1e-9},
        )
        return 2 * (top + held.fun)

    for end in found.interval:
        assert deviance(end) == pytest.approx(stats.chi2.ppf(0.95, 1), abs=2e-3)
    assert found.p_value(0.1) == pytest.approx(stats.chi2.sf(deviance(0.1), 1), abs=1e-3)


def test_exact_sets_make_a_conservative_one():
    both = [cf.estimate(SHARE, share(y), level=np.sqrt(0.95)).interval["probability"] for y in (0.41, 0.24)]
    found = cf.contrast(*(cf.estimate(SHARE, share(y)) for y in (0.41, 0.24)))
    assert found.conservative
    np.testing.assert_allclose(found.interval, [both[0][0] - both[1][1], both[0][1] - both[1][0]], atol=1e-9)
    assert "at least 95%" in str(found)
    # the p-value is 5% where the set ends
    assert found.p_value(found.interval[1]) == pytest.approx(0.05, abs=2e-3)


@pytest.mark.slow
def test_coverage_of_a_posterior_contrast():
    """Drawn from the prior, 90% intervals hold the truth in 90% of 400 pairs."""
    rng, held = np.random.default_rng(5), 0
    channel = share(0.0).channel
    prior = {"probability": dist.Beta(1.0, 1.0)}
    for _ in range(400):
        truth = rng.uniform(size=2)
        values = [cf.Model(SHARE, channel).simulate(int(rng.integers(2**31)), p) for p in truth]
        one, two = (cf.infer(SHARE, cf.Release(channel, float(y)), prior, draws=10, chains=1) for y in values)
        low, high = cf.contrast(one, two).interval(0.9)
        held += low <= truth[0] - truth[1] <= high
    assert abs(held / 400 - 0.9) < 5 * np.sqrt(0.9 * 0.1 / 400)


def test_what_has_no_contrast(posteriors):
    estimate = cf.estimate(SHARE, share(0.3), method="ratio")
    with pytest.raises(cf.InvalidArgument, match="not of one kind"):
        cf.contrast(posteriors[0], estimate)
    with pytest.raises(cf.InvalidArgument, match="is no contrast"):
        cf.contrast(*posteriors, kind="odds")
    with pytest.raises(cf.InvalidArgument, match="share probability"):
        cf.contrast(*posteriors, of="mean")
    with pytest.raises(cf.IncompatibleError, match="levels"):
        cf.contrast(estimate, cf.estimate(SHARE, share(0.3), method="ratio", level=0.9))
    channel = share(0.0).channel
    twice = [cf.Release(channel, y, dataset="people") for y in (0.3, 0.31)]
    with pytest.raises(cf.IncompatibleError, match="same records"):
        cf.contrast(*(cf.infer(SHARE, each, {"probability": dist.Beta(1.0, 1.0)}) for each in twice))


def test_the_integral_of_a_contrast_is_whole(posteriors):
    found = cf.contrast(*posteriors)
    assert found.cdf[0] == pytest.approx(0.0, abs=1e-8)
    assert found.cdf[-1] == pytest.approx(1.0, abs=1e-8)
    middle = integrate.trapezoid(1.0 - found.cdf, found.values) + found.values[0]
    assert middle == pytest.approx(found.mean, abs=1e-6)
