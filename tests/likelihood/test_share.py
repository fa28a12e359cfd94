"""Shares against sums and integrals written out with SciPy, at ties, for impossible events and for one record."""

import itertools

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide.likelihood import ROUTES, choose_route

NORMAL = cf.populations.normal_mean()
BETA = cf.populations.beta()


def mixture(n, q, noise, *, low=0.0, high=1.0):
    """p(y) and ∂p/∂q of a binomial share with noise, by summing over all counts."""
    k = np.arange(n + 1)
    u = low + (high - low) * k / n

    def p(y):
        return noise.pdf(np.asarray(y)[..., None] - u) @ stats.binom.pmf(k, n, q)

    def slope(y):
        fewer = stats.binom.pmf(np.arange(-1, n + 1), n - 1, q)
        return n * noise.pdf(np.asarray(y)[..., None] - u) @ (fewer[:-1] - fewer[1:])

    return p, slope, u


def model(statistic, bounds, mechanism, n, population=NORMAL):
    return cf.Model(population, cf.Channel(cf.Mean(statistic, bounds=bounds), mechanism, n))


NOISES = {"laplace": (cf.Laplace, stats.laplace), "gaussian": (cf.Gaussian, stats.norm)}


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize("n", [1, 2, 3, 40, 1000])
@pytest.mark.parametrize("scale", [0.3, 0.01])
def test_likelihood_is_the_sum_over_counts(kind, n, scale):
    mechanism, law = NOISES[kind]
    one = model("x > 1", (-9, 9), mechanism(scale=scale), n)
    thetas, values = np.asarray([-0.5, 1.0, 2.5]), np.asarray([-0.1, 0.0, 0.31, 0.5, 1.2])
    found = one.log_likelihood(thetas, values, route="share")
    expected = [[mixture(n, stats.norm.sf(1 - t), law(scale=scale))[0](y) for y in values] for t in thetas]
    np.testing.assert_allclose(np.exp(found), expected, rtol=1e-9, atol=1e-290)


@pytest.mark.parametrize("kind", NOISES)
@pytest.mark.parametrize(("n", "scale"), [(1, 0.3), (2, 0.02), (3, 1.0), (30, 0.1), (30, 0.01), (400, 0.01)])
def test_information_is_the_integral_of_the_squared_score(kind, n, scale):
    mechanism, law = NOISES[kind]
    one, theta = model("x > 1", (-9, 9), mechanism(scale=scale), n), 0.4
    p, slope, u = mixture(n, stats.norm.sf(1 - theta), law(scale=scale))

    around = u[np.abs(u - stats.norm.sf(1 - theta)) < 12 / np.sqrt(n)]
    ends = [around[0] - 40 * scale, *around, around[-1] + 40 * scale]
    # eighty panels of ten nodes between neighbouring kinks: wasteful, and without a thought
    panels = 80 if n < 100 else 4
    edges = np.concatenate([np.linspace(a, b, panels, endpoint=False) for a, b in itertools.pairwise(ends)])
    nodes, weights = np.polynomial.legendre.leggauss(10)
    half = 0.5 * np.diff(edges)[:, None]
    y = (edges[:-1, None] + half * (1 + nodes)).ravel()
    density = p(y)
    told = slope(y) ** 2 / np.where(density > 1e-280, density, np.inf)
    total = np.sum((half * weights).ravel() * told)
    found = cf.information(one, theta, method="share").matrix.item()
    np.testing.assert_allclose(found, total * stats.norm.pdf(1 - theta) ** 2, rtol=1e-8)


def test_narrow_noise_tells_all_that_the_count_tells():
    q, n = stats.norm.sf(0.6), 50
    found = cf.information(model("x > 1", (-9, 9), cf.Laplace(scale=1e-6), n), 0.4).matrix.item()
    np.testing.assert_allclose(found, n * stats.norm.pdf(0.6) ** 2 / (q * (1 - q)), rtol=1e-10)


@pytest.mark.parametrize(("bounds", "low", "high"), [((-5, 5), -1, 1), ((0, 1), -1, 0), ((1, 2), 0, 1)])
def test_values_that_are_taken_at_one_point_only_do_not_count(bounds, low, high):
    one = model("sign(x - 1)", bounds, cf.Laplace(scale=0.1), 5)
    assert choose_route(one).name == "share"
    p, _, _ = mixture(5, stats.norm.sf(0.7), stats.laplace(scale=0.1), low=low, high=high)
    np.testing.assert_allclose(np.exp(one.log_likelihood(0.3, 0.2)), p(0.2), rtol=1e-10)


@pytest.mark.parametrize("statistic", ["x > 1", "x >= 0", "x > -1"])
@pytest.mark.parametrize("theta", [(1.0, 1.0), (2.0, 3.0)])
def test_an_event_that_is_certain_or_impossible_tells_nothing(statistic, theta):
    one = model(statistic, (-3, 3), cf.Laplace(scale=0.1), 20, BETA)
    level = 0.0 if statistic == "x > 1" else 1.0
    np.testing.assert_allclose(one.log_likelihood(theta, 0.3), stats.laplace.logpdf(0.3, level, 0.1), rtol=1e-12)
    assert np.all(cf.information(one, theta).matrix == 0.0)


@pytest.mark.parametrize("step", [0.25, 0.1, 0.0125, 0.3])
@pytest.mark.parametrize("n", [2, 3, 40])
def test_lattice_noise_of_any_step(step, n):
    one = model("x > 1", (-9, 9), cf.Laplace(scale=0.2, step=step), n)
    index, q = np.arange(-60, 61), stats.norm.sf(0.6)
    # in whole numbers: which multiple of the step k/n is nearest to, halves up
    k, whole = np.arange(n + 1), round(1 / step * 10000)
    centre = (2 * k * whole + 10000 * n) // (2 * 10000 * n)
    mass = np.exp(-np.abs(index[:, None] - centre) * step / 0.2) * np.tanh(0.5 * step / 0.2)
    if whole == 33333:  # 1/0.3 is no multiple of 1e-4; no half is near it either
        centre = np.floor(k / n / step + 0.5)
        mass = np.exp(-np.abs(index[:, None] - centre) * step / 0.2) * np.tanh(0.5 * step / 0.2)
    expected = mass @ stats.binom.pmf(k, n, q)
    np.testing.assert_allclose(np.exp(one.log_likelihood(0.4, step * index)), expected, rtol=1e-10)
    fewer = stats.binom.pmf(np.arange(-1, n + 1), n - 1, q)
    wide = np.arange(-400, 401)
    mass = np.exp(-np.abs(wide[:, None] - centre) * step / 0.2) * np.tanh(0.5 * step / 0.2)
    slope = n * mass @ (fewer[:-1] - fewer[1:]) * stats.norm.pdf(0.6)
    told = np.sum(slope**2 / (mass @ stats.binom.pmf(k, n, q)))
    np.testing.assert_allclose(cf.information(one, 0.4).matrix.item(), told, rtol=1e-9)


def test_agrees_with_the_spectral_route():
    one = model("x", (0, 1), cf.Laplace(cf.PureDP(1.0)), 100, cf.populations.bernoulli())
    thetas, values = np.asarray([0.05, 0.5, 0.9]), np.asarray([0.0, 0.31, 1.3])
    here, there = (one.log_likelihood(thetas, values, route=name) for name in ("share", "spectral"))
    np.testing.assert_allclose(here, there, rtol=1e-8)


def test_far_tails_keep_their_digits():
    one = model("x > 1", (-9, 9), cf.Gaussian(scale=0.001), 100)
    found = one.log_likelihood(np.asarray([-6.0, 0.0, 9.0]), np.asarray([0.5, 3.0]), route="share")
    k = np.arange(101)
    for row, theta in zip(found, (-6.0, 0.0, 9.0), strict=True):
        log_q, log_rest = stats.norm.logsf(1 - theta), stats.norm.logcdf(1 - theta)
        ways = stats.binom.logpmf(k, 100, 0.5) + 100 * np.log(2)
        for value, y in zip(row, (0.5, 3.0), strict=True):
            terms = ways + k * log_q + (100 - k) * log_rest + stats.norm.logpdf(y, k / 100, 0.001)
            np.testing.assert_allclose(value, np.logaddexp.reduce(terms), rtol=1e-12)


def test_inside_a_trace_with_derivatives():
    one = model("x > 1", (-9, 9), cf.Laplace(cf.PureDP(1.0)), 30)
    with jax.enable_x64(True):
        value, slope = jax.value_and_grad(lambda t: one.log_likelihood(t, 0.3))(0.4)
    p, dp, _ = mixture(30, stats.norm.sf(0.6), stats.laplace(scale=1 / 30))
    np.testing.assert_allclose([value, slope], [np.log(p(0.3)), dp(0.3) / p(0.3) * stats.norm.pdf(0.6)], rtol=1e-9)


def test_posterior_of_a_share():
    one = model("x", (0, 1), cf.Laplace(cf.PureDP(1.0)), 50, cf.populations.bernoulli())
    prior = {"probability": dist.Beta(2.0, 2.0)}
    posterior = cf.infer(one.population, cf.Release(one.channel, 0.31), prior)
    q = np.linspace(0, 1, 4001)
    k = np.arange(51)
    likelihood = stats.binom.pmf(k, 50, q[:, None]) @ stats.laplace.pdf(0.31, k / 50, 1 / 50)
    weight = stats.beta.pdf(q, 2, 2) * likelihood
    np.testing.assert_allclose(posterior.mean["probability"], np.sum(q * weight) / np.sum(weight), rtol=1e-6)
    assert "share" in str(posterior)


@pytest.mark.parametrize(
    ("one", "word"),
    [
        (model("x", (-1, 1), cf.Laplace(scale=0.1), 10), "two values"),
        (model("x > 1", (-9, 9), cf.Laplace(scale=0.1), 10**5), "records"),
        (model("x > 1", (-9, 9), cf.Laplace(scale=0.1, step=1e-7), 10), "lattices"),
        (cf.Model(NORMAL, cf.Channel(cf.Median("x > 1", (-9, 9)), cf.Laplace(scale=0.1), 5)), "scalar Mean"),
    ],
)
def test_refusals_say_what_would_serve(one, word):
    assert word in ROUTES["share"].refuses(one)
