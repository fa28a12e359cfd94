"""The law of a noisy count and a noisy sum, against sums over every number of records and every value of the sum."""

import functools
import math

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats
from scipy.special import logsumexp

import confide as cf
from confide.likelihood.totals import inversion, terms
from confide.likelihood.totals.number import NumberPrior
from confide.likelihood.totals.private import PrivateNumber

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
NOISE = {
    "Laplace": cf.Laplace(scale=3.0),
    "Gaussian": cf.Gaussian(scale=3.0),
    "discrete Laplace": cf.Laplace(scale=3.0, step=1.0),
    "discrete Gaussian": cf.Gaussian(scale=0.7, step=1.0),
}
COUNTS = [
    cf.Laplace(scale=0.5, step=1.0), cf.Laplace(scale=5.0), cf.Laplace(scale=50.0, step=1.0),
    cf.Gaussian(scale=0.5, step=1.0), cf.Gaussian(scale=20.0, step=1.0), cf.Gaussian(scale=5.0),
]  # fmt: skip
PRIORS = {None: lambda n: 0.0 * n, 50: lambda n: np.where(n == 50, 0.0, -np.inf), "Poisson": stats.poisson(60.0).logpmf}


def log_noise(mechanism, v):
    """The laws of noise, written down again."""
    v, b = np.asarray(v, dtype=float), mechanism.scale
    if mechanism.step is None:
        return stats.laplace.logpdf(v, scale=b) if mechanism.norm == 1 else stats.norm.logpdf(v, scale=b)
    log_mass = -np.abs(v) / b if mechanism.norm == 1 else -0.5 * (v / b) ** 2
    return np.where(np.abs(v - np.round(v)) < 1e-9, log_mass - log_total(mechanism), -np.inf)


@functools.cache
def log_total(mechanism):
    k = np.arange(-3000, 3001) / mechanism.scale
    return logsumexp(-np.abs(k) if mechanism.norm == 1 else -0.5 * k**2)


def bernoulli(n, theta, mechanism, y):
    k = np.arange(n + 1.0)
    return logsumexp(stats.binom.logpmf(k, n, theta) + log_noise(mechanism, y - k))


def poisson(n, theta, mechanism, y):
    k = np.arange(900.0)
    return logsumexp(stats.poisson.logpmf(k, n * theta) + log_noise(mechanism, y - k))


def exponential(n, theta, mechanism, y):
    """A sum of n exponential records is gamma; panels around y, where the noise has a kink."""
    if n == 0:
        return float(log_noise(mechanism, y))
    middle, spread, scale = n / theta, math.sqrt(n) / theta, mechanism.scale
    ends = np.concatenate([np.linspace(0, middle + 14 * spread + 20 / theta, 160), [0.001, 0.1, y]])
    ends = np.unique(np.maximum(np.concatenate([ends, y + np.linspace(-12, 12, 81) * scale]), 0.0))
    a, b = ends[:-1, None], ends[1:, None]
    u = (a + b) / 2 + (b - a) / 2 * NODES
    log_f = stats.gamma.logpdf(u, n, scale=1 / theta) + log_noise(mechanism, y - u) + np.log((b - a) / 2 * WEIGHTS)
    return logsumexp(log_f.ravel())


FAMILIES = {
    "bernoulli": (cf.populations.bernoulli(), (0, 1), bernoulli),
    "poisson": (cf.populations.poisson(), (0, 60), poisson),
    "exponential": (cf.populations.exponential(), (0, 60), exponential),
}


def compared(family, theta, count, total, y0, y1, prior=None):
    """log p(y₀, y₁ | θ) as it is computed, and by brute force."""
    population, bounds, law = FAMILIES[family]
    models = (cf.Model(population, cf.Channel(cf.Count(), count)),
              cf.Model(population, cf.Channel(cf.Sum("x", bounds), total)))  # fmt: skip
    given = NumberPrior.of(dist.Poisson(60.0) if prior == "Poisson" else prior)
    with jax.enable_x64(True):
        found = PrivateNumber(models, (np.float64(y0), np.float64(y1)), given).log_likelihood(np.asarray([[theta]]))[0]
    n = np.arange(0.0, 3000.0)
    log_w = log_noise(count, y0 - n) + PRIORS[prior](n)
    each = [w + law(int(k), theta, total, y1) for k, w in zip(n, log_w, strict=True) if w > log_w.max() - 110]
    return found, logsumexp(each)


@pytest.mark.parametrize("total", NOISE.values(), ids=NOISE)
@pytest.mark.parametrize("count", COUNTS, ids=str)
def test_bernoulli(count, total):
    for theta, y0, y1, prior in [(0.4, 50, 20, None), (0.4, 50, 20, 50), (0.4, 50, 20, "Poisson"), (0.02, 3, 1, None),
                                 (0.3, -4, 2, None), (0.3, 0, 0, None)]:  # fmt: skip
        found, exact = compared("bernoulli", theta, count, total, y0, y1, prior)
        assert found == pytest.approx(exact, abs=1e-8), (theta, y0, y1, prior)


@pytest.mark.parametrize("total", NOISE.values(), ids=NOISE)
def test_poisson(total):
    for count in (COUNTS[0], COUNTS[4]):
        for y0, y1, prior in [(50, 70, None), (50, 70, "Poisson"), (2, 0, None)]:
            found, exact = compared("poisson", 1.5, count, total, y0, y1, prior)
            assert found == pytest.approx(exact, abs=1e-8), (y0, y1, prior)


@pytest.mark.parametrize("total", [NOISE["Laplace"], NOISE["Gaussian"], cf.Laplace(scale=40.0)], ids=str)
@pytest.mark.parametrize(("y0", "y1", "prior"), [(50, 45, None), (50, -45, None), (50, 60, "Poisson")])
def test_sums_of_exponential_records(total, y0, y1, prior):
    found, exact = compared("exponential", 1.0, cf.Laplace(scale=2.0, step=1.0), total, y0, y1, prior)
    assert found == pytest.approx(exact, abs=1e-8)


def clipped_exponential(numbers, theta, end, sigma, y):
    """p_n(y) of sums of records clipped to (0, end), with Gaussian noise: the transform of one in closed form.

    With a = θ/(θ − it) and q = e^{−(θ − it)·end} a clipped record has the transform a(1 − q) + q. Noise makes that of a
    sum fall like a normal density, and the trapezoidal rule is then right to rounding.
    """
    step = 2 * math.pi / (2 * (numbers.max() * end + 15 * sigma))
    t = step * np.arange(1, math.ceil(9.5 / sigma / step))
    a, q = theta / (theta - 1j * t), np.exp(-(theta - 1j * t) * end)
    log_m = np.log(a * (1 - q) + q)
    rest = -0.5 * (sigma * t) ** 2 - 1j * t * y
    found = [np.sum(np.exp(n * log_m + rest).real) for n in numbers]
    return step / math.pi * (0.5 + np.asarray(found))


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("count", [*COUNTS, cf.Gaussian(scale=50.0)], ids=str)
def test_sums_of_clipped_exponential_records(count, prior):
    """A quarter of the records at an atom; a count that says next to nothing, and one that says all."""
    theta, end, sigma, y1 = 1.0, 1.4, 3.0, 37.0
    population, given = (
        cf.populations.exponential(),
        NumberPrior.of(dist.Poisson(60.0) if prior == "Poisson" else prior),
    )
    models = (cf.Model(population, cf.Channel(cf.Count(), count)),
              cf.Model(population, cf.Channel(cf.Sum("x", (0, end)), cf.Gaussian(scale=sigma))))  # fmt: skip
    with jax.enable_x64(True):
        law = PrivateNumber(models, (np.float64(51.0), np.float64(y1)), given)
        found = law.log_likelihood(np.asarray([[theta]]))[0]
    numbers = np.arange(0.0, 200.0)  # 200 clipped records have a sum that is 25 standard deviations off
    log_w = log_noise(count, 51.0 - numbers) + PRIORS[prior](numbers)
    exact = np.log(np.exp(log_w) @ clipped_exponential(numbers, theta, end, sigma, y1))
    assert found == pytest.approx(exact, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("total", [NOISE["Laplace"], NOISE["Gaussian"]], ids=str)
@pytest.mark.parametrize("count", [cf.Gaussian(scale=5.0, step=1.0), cf.Laplace(scale=20.0, step=1.0)], ids=str)
def test_few_exponential_records(count, total):
    for y0, y1 in ((3, 4.0), (0, 0.0), (12, 2.0)):
        found, exact = compared("exponential", 1.0, count, total, y0, y1)
        assert found == pytest.approx(exact, abs=1e-7)


def test_a_sum_that_lies_far_from_what_the_count_says():
    """The window of n follows both: 136 nats are lost by one that follows the count (y₀ = 100, mean 1, y₁ = 500)."""
    count, total = cf.Laplace(scale=5.0, step=1.0), cf.Laplace(scale=1.0)
    found, exact = compared("poisson", 1.0, count, total, 100, 500)
    assert found == pytest.approx(exact, abs=1e-6)
    found, exact = compared("bernoulli", 0.4, count, total, 100, 150)
    assert found == pytest.approx(exact, abs=1e-6)


def test_one_vector_release_is_a_count_and_a_sum():
    population, noise = cf.populations.bernoulli(), cf.Laplace(scale=4.0)
    both = cf.Model(population, cf.Channel(cf.Sum(["1", "x"], (0, 1)), noise))
    one = cf.Model(population, cf.Channel(cf.Count(), noise))
    two = cf.Model(population, cf.Channel(cf.Sum("x", (0, 1)), noise))
    theta = np.asarray([[0.2], [0.5]])
    with jax.enable_x64(True):
        expected = PrivateNumber((one, two), (40.3, 11.1), NumberPrior()).log_likelihood(theta)
    assert np.asarray(both.log_likelihood([0.2, 0.5], [40.3, 11.1])) == pytest.approx(expected, abs=1e-12)


def test_without_a_count_n_needs_a_proper_prior():
    model = cf.Model(cf.populations.bernoulli(), cf.Channel(cf.Sum("x", (0, 1)), cf.Laplace(scale=4.0)))
    with pytest.raises(cf.IncompatibleError, match="proper prior"):
        model.log_likelihood(0.2, 11.0)


def test_several_sums_are_jointly_normal_given_n():
    """Against the normal law written down again, summed over n."""
    population, sigma = cf.populations.exponential(), 2.0
    model = cf.Model(population, cf.Channel(cf.Sum(["1", "x", "x**2"], (0, 3)), cf.Gaussian(scale=sigma)))
    y, theta = np.asarray([200.0, 150.0, 190.0]), 1.1
    x, w = (NODES + 1) * 1.5, WEIGHTS * 1.5 * theta * np.exp(-theta * (NODES + 1) * 1.5)
    x, w = np.append(x, 3.0), np.append(w, math.exp(-3 * theta))
    s = np.stack([x, x**2])
    mean, second = s @ w, (s * w) @ s.T
    covariance = second - np.outer(mean, mean)
    expected = logsumexp([
        stats.norm.logpdf(y[0] - n, scale=sigma)
        + stats.multivariate_normal.logpdf(y[1:], n * mean, n * covariance + sigma**2 * np.eye(2))
        for n in range(150, 251)
    ])  # fmt: skip
    with pytest.warns(cf.ApproximationWarning, match="the normal law stands in"):
        found = float(model.log_likelihood(theta, y))
    assert found == pytest.approx(expected, abs=1e-8)


def test_noise_whose_poles_are_close_together_beside_the_spread_of_few_records():
    """No contour is far from both poles: one between them serves, and nothing is warned of."""
    noise, y = cf.Laplace(scale=4.0), (-4.99, 8.96)
    model = cf.Model(cf.populations.exponential(), cf.Channel(cf.Sum(["1", "x"], (0, 60)), noise))
    each = [stats.laplace.logpdf(y[0], n, noise.scale) + exponential(n, 1.0, noise, y[1]) for n in range(60)]
    assert float(model.log_likelihood(1.0, y)) == pytest.approx(logsumexp(each), abs=1e-8)


@pytest.mark.parametrize("noise", [cf.Laplace(cf.PureDP(1.0)), cf.Gaussian(cf.GDP(0.1))], ids=str)
def test_where_all_records_are_clipped_no_transform_is_needed(noise, monkeypatch):
    """A point of mass m leaves |M| ≥ 2m − 1 at all frequencies: the answer is the one of the transform, and sooner."""
    channel = cf.Channel(cf.Sum(["1", "x"], bounds=(-2, 2)), noise)
    release = PrivateNumber((cf.Model(cf.populations.normal_mean(), channel),), ([60.0, 3.0],), NumberPrior.of(None))
    counts, thetas = [], np.asarray([[-9.0], [0.0]])
    transform = inversion.TiltedSum.log_phase

    def counted(self, records, t):
        counts[-1] += len(records.s)
        return transform(self, records, t)

    monkeypatch.setattr(inversion.TiltedSum, "log_phase", counted)
    found = []
    for _ in range(2):
        counts.append(0)
        with jax.enable_x64(True):
            found.append([release.with_approximate(each[None]) for each in thetas])
        monkeypatch.setattr(terms, "_never_decays", lambda *_: False)
    assert found[0] == found[1]
    assert [bool(approximate[0]) for _, approximate in found[0]][1] is False
    # Gaussian noise decays by itself, whatever is clipped
    assert counts[0] < counts[1] if noise.norm == 1 else counts[0] == counts[1]
