"""An unknown share of imputed records: the likelihood against enumeration and closed forms, and what is learnt."""

import tracemalloc
import warnings

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.special import logsumexp

import confide as cf
from confide.likelihood.record_law.levels import _summed
from confide.missing import with_missing
from confide.reporting import learning  # noqa: F401  # registers what is said of a posterior
from confide.reporting.content import content


def seen(population, channel, missing):
    value = np.ones(channel.value_shape)
    both, (release,) = with_missing(population, [cf.Release(channel, value, missing=missing)])
    return cf.Model(both, release.channel)


def test_normal_records_and_normal_noise_in_closed_form():
    n, c, tau = 30, 3.0, 0.2
    model = seen(
        cf.populations.normal_mean(variance=1.5), cf.Channel(cf.Mean("x", (-12, 12)), cf.Gaussian(scale=tau), n=n), c
    )
    k = np.arange(n + 1)
    for mean, share, y in ((0.0, 0.1, 0.5), (1.0, 0.3, 1.2), (-0.5, 0.02, -0.4), (0.2, 0.6, 2.0)):
        deviation = np.sqrt((n - k) * 1.5 / n**2 + tau**2)
        given_count = stats.norm.logpdf(y, ((n - k) * mean + k * c) / n, deviation)
        wanted = logsumexp(stats.binom.logpmf(k, n, share) + given_count)
        assert model.log_likelihood([mean, share], y) == pytest.approx(wanted, abs=1e-9)


def test_clipped_records_by_a_grid_of_cells():
    """The exact law of two exponential records, clipped at 2 and missing with some probability, on a fine grid."""
    model = seen(cf.populations.exponential(), cf.Channel(cf.Mean("x", (0, 2)), cf.Gaussian(scale=0.1), n=2), 0.5)
    rate, share, cells = 0.8, 0.15, 4000
    x = (np.arange(cells) + 0.5) * 2 / cells
    points = np.concatenate([x, [2.0, 0.5]])
    inside = np.diff(stats.expon.cdf(np.linspace(0, 2, cells + 1), scale=1 / rate))
    mass = np.concatenate([(1 - share) * inside, [(1 - share) * np.exp(-2 * rate), share]])
    for y in (0.4, 0.9, 1.7):
        wanted = sum(
            (mass * p) @ stats.norm.pdf(y, (points + at) / 2, 0.1) for at, p in zip(points, mass, strict=True) if p > 0
        )
        assert model.log_likelihood([rate, share], y) == pytest.approx(np.log(wanted), abs=1e-6)


def test_counts_by_enumeration():
    model = seen(cf.populations.bernoulli(), cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(scale=0.05), n=12), 1.0)
    for probability, share, y in ((0.3, 0.1, 0.4), (0.7, 0.5, 0.8)):
        ones = stats.binom.pmf(np.arange(13), 12, (1 - share) * probability + share)
        wanted = np.log(ones @ stats.laplace.pdf(y, np.arange(13) / 12, 0.05))
        assert model.log_likelihood([probability, share], y) == pytest.approx(wanted, abs=1e-9)


def _of_rank(m, n, law, share, c, values, y, scale):
    """log p(y) of the m-th smallest of n clipped or missing records, with Laplace noise, on many cells of values."""
    below = (1 - share) * np.where(values >= values[-1], 1.0, law.cdf(values)) + share * (values >= c)
    mass = np.diff(stats.binom.sf(m - 1, n, below), prepend=0.0)
    return np.log(mass @ stats.laplace.pdf(y, values, scale))


@pytest.mark.parametrize(
    ("statistic", "m"),
    [
        (cf.Median("x", (0, 4)), 11),
        (cf.Maximum("x", (0, 4)), 21),
        (cf.Quantile("x", 0.25, (0, 4)), 6),
    ],
)
def test_order_statistics_by_many_cells(statistic, m):
    law, values = stats.expon(scale=1 / 0.8), np.linspace(0, 4, 400_001)
    for c in (0.5, 4.0):
        model = seen(cf.populations.exponential(), cf.Channel(statistic, cf.Laplace(scale=0.3), n=21), c)
        for share, y in ((0.1, 0.7), (0.6, 2.5)):
            wanted = _of_rank(m, 21, law, share, c, values, y, 0.3)
            assert model.log_likelihood([0.8, share], y) == pytest.approx(wanted, abs=2e-5)  # half a cell


def test_order_statistics_of_counts_by_enumeration():
    model = seen(cf.populations.poisson(), cf.Channel(cf.Median("x", (0, 20)), cf.Laplace(scale=0.7), n=21), 5.0)
    for share, y in ((0.1, 3.7), (0.4, 4.0)):
        wanted = _of_rank(11, 21, stats.poisson(3.0), share, 5.0, np.arange(21.0), y, 0.7)
        assert model.log_likelihood([3.0, share], y) == pytest.approx(wanted, abs=1e-11)


def test_the_exponential_mechanism_by_simulated_records():
    n, c, rng = 21, 3.0, np.random.default_rng(0)
    channel = cf.Channel(cf.Median("x", (0, 4)), cf.Exponential(cf.PureDP(1.0)), n=n)
    model = seen(cf.populations.exponential(), channel, c)
    for share, y in ((0.1, 0.7), (0.4, 1.5)):
        x = np.clip(rng.exponential(1 / 0.8, (20_000, n)), 0, 4)
        x = np.sort(np.where(rng.random(x.shape) < share, c, x))
        ends = np.pad(x, [(0, 0), (1, 1)], constant_values=(0.0, 4.0))
        # an interval whose lower end has rank r is |r − 10| or so from the median, and the rate is half of ε
        far = np.abs(np.arange(n + 1) - 10.5) - 0.5
        height = np.exp(-0.5 * far)
        density = height[(x < y).sum(axis=1)] / (np.diff(ends) @ height)
        given = model.log_likelihood([0.8, share], y)
        error = density.std() / density.mean() / np.sqrt(len(x))
        assert given == pytest.approx(np.log(density.mean()), abs=4.9 * np.hypot(error, 2 * error))  # α = 1e-6


def test_vectors_are_normal_with_the_moments_of_both():
    channel = cf.Channel(cf.Mean(["x", "x**2"], (0, 4)), cf.Gaussian(scale=0.05), n=1000)
    model, law = seen(cf.populations.exponential(), channel, 3.0), stats.expon(scale=1 / 0.8)
    for share, y in ((0.1, [1.2, 2.6]), (0.3, [1.6, 4.0])):
        moment = [(1 - share) * (law.expect(lambda x: x**k, ub=4) + law.sf(4) * 4.0**k) + share * 3.0**k  # noqa: B023
                  for k in range(5)]  # fmt: skip
        mean = np.asarray(moment[1:3])
        covariance = np.asarray([moment[2:4], moment[3:5]]) - np.outer(mean, mean)
        wanted = stats.multivariate_normal(mean, covariance / 1000 + 0.05**2 * np.eye(2)).logpdf(y)
        assert model.log_likelihood([0.8, share], y, route="normal") == pytest.approx(wanted, abs=1e-9)


def test_many_levels_need_no_matrix_of_members():
    rng, levels = np.random.default_rng(0), np.arange(3000.0)
    places, weights = rng.integers(0, 3000, (2, 4000)), rng.random((2, 3, 4000))
    tracemalloc.start()
    found = _summed(levels[places], weights, levels)
    assert tracemalloc.get_traced_memory()[1] < 20 * weights.nbytes
    tracemalloc.stop()
    for row in range(2):
        for part in range(3):
            np.testing.assert_allclose(
                found[row, part, :3000], [weights[row, part][places[row] == i].sum() for i in range(3000)], atol=1e-13
            )


@pytest.mark.slow
def test_large_counts_by_a_fast_transform():
    """Nine thousand levels took 32 GB, and these eight."""
    n, c, high = 8, 2500, 5000
    channel = cf.Channel(cf.Mean("x", (0, high)), cf.Laplace(scale=7.0), n=n)
    model, x = seen(cf.populations.poisson(), channel, float(c)), np.arange(high + 1)
    share, y = 0.1, 2950.0
    mass = (1 - share) * stats.poisson(3000).pmf(x)
    mass[c] += share
    sums = np.fft.irfft(np.fft.rfft(mass, 2**16) ** n, 2**16)[: high * n + 1]
    wanted = np.log(sums @ stats.laplace.pdf(y, np.arange(high * n + 1) / n, 7.0))
    assert model.log_likelihood([3000.0, share], y) == pytest.approx(wanted, abs=1e-9)


def test_one_value_per_record_in_closed_form():
    n, share = 3, 0.2
    channel = cf.Channel(cf.Each("x", (0, 4)), cf.Laplace(scale=0.5), n=n)
    law, y = stats.expon(scale=1 / 0.8), np.asarray([1.0, 2.0, 3.5])
    cells = np.linspace(0, 4, 400_001)
    middle, mass = 0.5 * (cells[1:] + cells[:-1]), np.diff(law.cdf(cells))
    noise = lambda x: np.exp(-np.abs(y[:, None] - x) / 0.5)  # noqa: E731
    each = (1 - share) * (noise(middle) @ mass + noise(np.full(1, 4.0))[:, 0] * law.sf(4))
    wanted = np.sum(np.log(each + share * noise(np.full(1, 3.0))[:, 0]))
    given = seen(cf.populations.exponential(), channel, 3.0).log_likelihood([0.8, share], y)
    assert given == pytest.approx(wanted, abs=1e-8)


def test_the_law_of_a_record_is_one_law():
    model = seen(cf.populations.exponential(), cf.Channel(cf.Mean("x", (0, 2)), cf.Laplace(scale=0.1), n=5), 0.5)
    population, theta = model.population, [0.8, 0.15]
    at = np.asarray([0.3, 1.9, 2.7, 4.5, 6.5, 7.9])
    np.testing.assert_allclose(population.cdf(at, theta) + population.survival(at, theta), 1.0, rtol=1e-12)
    for q in (0.1, 0.5, 0.75, 0.95):
        assert population.cdf(population.quantile(q, theta), theta) == pytest.approx(q, rel=1e-9)
    draws = np.asarray(population.sample(0, theta, 20_000))
    for x in (0.5, 2.0, 4.0, 7.0):
        share = float(population.cdf(x, theta))
        assert abs((draws <= x).mean() - share) <= 4.9 * np.sqrt(share * (1 - share) / 20_000)  # α = 1e-6


def test_posteriors_are_calibrated():
    """θ from the prior, records made by NumPy: posterior probabilities of θ and of the share are uniform."""
    n, c, replicates, rng = 60, 4.0, 400, np.random.default_rng(5)
    channel = cf.Channel(cf.Mean("x", (0, 4)), cf.Laplace(scale=0.05), n=n)
    model = seen(cf.populations.exponential(), channel, c)
    rates, shares = rng.gamma(8, 1 / 8, replicates), rng.beta(2, 18, replicates)
    records = np.clip(rng.exponential(1 / rates[:, None], (replicates, n)), 0, 4)
    records = np.where(rng.random((replicates, n)) < shares[:, None], c, records)
    y = records.mean(axis=1) + rng.laplace(0, 0.05, replicates)
    rate, share = np.linspace(0.15, 3.2, 62), np.linspace(0.004, 0.5, 32)
    grid = np.stack(np.meshgrid(rate, share, indexing="ij"), axis=-1).reshape(-1, 2)
    log_prior = stats.gamma.logpdf(grid[:, 0], 8, scale=1 / 8) + stats.beta.logpdf(grid[:, 1], 2, 18)
    log_post = np.asarray(model.log_likelihood(grid, y, route="normal")) + log_prior[:, None]
    weights = np.exp(log_post - log_post.max(axis=0)).reshape(rate.size, share.size, replicates)
    weights /= weights.sum(axis=(0, 1))
    for axis, line, truth in ((1, rate, rates), (0, share, shares)):
        marginal = weights.sum(axis=axis)
        level = np.stack([np.interp(t, line, np.cumsum(p) - 0.5 * p) for t, p in zip(truth, marginal.T, strict=True)])
        assert stats.kstest(level, "uniform").pvalue > 1e-6, line


@pytest.mark.slow
def test_the_truth_is_found_where_ignoring_missing_records_loses_it():
    """A fifth of the records is missing and was imputed: without the share the posterior excludes the truth."""
    n, rate = 4000, 0.5
    channel = cf.Channel(cf.Mean("x", (0, 20)), cf.Laplace(scale=0.005), n=n)
    value = 0.8 * stats.expon.expect(lambda x: min(x, 20), scale=1 / rate) + 0.2 * 10.0
    release = cf.Release(channel, value, missing=10.0)
    prior = {"rate": dist.Gamma(2.0, 4.0)}
    with pytest.warns(cf.ImputationWarning, match='"missing": dist.Beta'):
        ignorant = cf.infer(cf.populations.exponential(), release, prior, route="normal")
    assert ignorant.quantile(0.9999)["rate"] < rate
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = cf.infer(
            cf.populations.exponential(), release, prior | {"missing": dist.Beta(4.0, 16.0)}, route="normal"
        )
    assert found.names == ("rate", "missing")
    told = content(found)
    assert "the share of missing records is 0." in told.answer
    assert told.warnings == ()
    assert "Missing values were replaced by 10" in told.notes[-1]
    assert set(found.to_arviz(predictive=True).posterior_predictive.data_vars) == {"release_0"}
    low, high = found.interval(0.9)["rate"]
    assert low < rate < high


def test_what_cannot_be_modelled_is_refused_in_words():
    channel = cf.Channel(cf.Mean("x", (0, 2)), cf.Laplace(scale=0.1), n=5)
    prior = {"rate": dist.Gamma(2.0, 2.0), "missing": dist.Beta(1.0, 19.0)}
    with pytest.raises(cf.IncompatibleError, match="needs releases that replaced them by a number"):
        cf.infer(cf.populations.exponential(), cf.Release(channel, 1.0), prior)
    responses = cf.Channel(cf.Each("x", (0, 1)), cf.RandomizedResponse(cf.PureDP(1.0)), n=3)
    with pytest.raises(cf.IncompatibleError, match="missing records cannot be modelled for each record's x"):
        with_missing(cf.populations.bernoulli(), [cf.Release(responses, [1.0, 0.0, 1.0], missing=1.0)])
    with pytest.raises(cf.IncompatibleError, match="support depends on its parameters"):
        with_missing(cf.populations.uniform_width(), [cf.Release(channel, 1.0, missing=1.0)])
