"""The figures that a search looks at, against the library's routes and against quadrature."""

import jax
import numpy as np
import pytest
from scipy import integrate, stats

import confide as cf
from confide.design.evaluate import by_moments
from confide.design.points import points
from confide.design.search.approximate import laplace_weights
from confide.design.search.family import from_statistics
from confide.design.search.problem import scalar_means
from confide.design.search.tabulated import tabulate

CASES = [
    (cf.populations.normal_variance(), cf.Mean("abs(x)**1.5", (-4, 4)), [0.5, 2.0, 5.0]),
    (cf.populations.normal_mean(), cf.Mean("x", (-1, 2)), [-0.5, 0.5, 1.5]),
    (cf.populations.exponential(), cf.Mean("clip(x, 0.3, 3)", (0, 5)), [0.5, 1.0, 2.0]),
    (cf.populations.uniform_width(), cf.Mean("x**2", (-2, 2)), [0.5, 1.0, 3.0]),
    (cf.populations.poisson(), cf.Mean("x", (1, 6)), [1.0, 3.0, 5.0]),
]


def normal_model(population, statistic, mechanism, thetas, n=100):
    """The normal model by the tabulated population."""
    channel = cf.Channel(statistic, mechanism, n)
    with jax.enable_x64(True):
        law = tabulate(population, points(population, thetas, None))
        values = from_statistics(law, [statistic])
        ratio = float((values.high - values.low)[0, 0]) / (n * channel.law.noise.scale)
        laplace = isinstance(mechanism, cf.Laplace)
        return scalar_means(law, n, values, ratio, laplace=laplace, normal=True)[0, :, 0, 0]


@pytest.mark.parametrize(("population", "statistic", "thetas"), CASES, ids=lambda each: getattr(each, "name", None))
def test_gaussian_noise_is_section_3_1(population, statistic, thetas):
    mechanism = cf.Gaussian(cf.GDP(1.0))
    found = normal_model(population, statistic, mechanism, thetas)
    model = cf.Model(population, cf.Channel(statistic, mechanism, n=100))
    expected = cf.information(model, thetas, method="normal").matrix[:, 0, 0]
    np.testing.assert_allclose(found, expected, rtol=2e-4)


@pytest.mark.parametrize(("population", "statistic", "thetas"), CASES[:1], ids=lambda each: getattr(each, "name", None))
def test_laplace_noise_is_the_normal_laplace_model(population, statistic, thetas):
    mechanism = cf.Laplace(cf.PureDP(1.0))
    found = normal_model(population, statistic, mechanism, thetas)
    model = cf.Model(population, cf.Channel(statistic, mechanism, n=100))
    expected = cf.information(model, thetas, method="normal").matrix[:, 0, 0]
    np.testing.assert_allclose(found, expected, rtol=2e-4)


@pytest.mark.parametrize("ratio", [0.05, 0.7, 3.0, 10.0])
def test_laplace_weights_by_brute_convolution(ratio):
    """The density of N(0, 1) + Laplace and its derivatives by quadrature."""
    b = 1.0 / ratio
    nodes, weights = np.polynomial.legendre.leggauss(24)
    edges = np.concatenate([[0, 1, 2, 3.5, 6], 6 + b * np.asarray([1, 3, 6, 12, 20])])
    half = 0.5 * np.diff(edges)[:, None]
    y, w = (edges[:-1, None] + half * (nodes + 1)).ravel(), (2 * half * weights).ravel()
    u = np.linspace(-9, 9, 12001)

    # derivatives in the location and the variance fall on the normal density
    blurred = np.exp(-np.abs(y[:, None] - u) / b) / (2 * b) * stats.norm.pdf(u)
    p, slope, heat = (np.trapezoid(blurred * part, u, axis=1) for part in (np.ones_like(u), -u, 0.5 * (u**2 - 1)))
    location, spread = w @ (slope**2 / p), w @ (heat**2 / p)
    found = laplace_weights(np.asarray([ratio]))
    assert found[0][0] == pytest.approx(location, rel=1e-3)
    assert found[1][0] == pytest.approx(spread, rel=5e-3)


def test_the_bound_by_moments_holds_for_a_noisy_bit_of_one_record():
    """n = 1 and a bit: p(y) = (1−P)g(y) + P g(y−1), whose information no quadratic can exceed."""
    population, t = cf.populations.normal_mean(), 1.0
    for mu in (0.5, 1.0, 3.0):
        channel = cf.Channel(cf.Mean(f"x > {t}", (-5, 5)), cf.Gaussian(cf.GDP(mu)), n=1)
        with jax.enable_x64(True):
            bound = by_moments(cf.Model(population, channel), points(population, 0.2, None))[0, 0, 0]
        above, slope = stats.norm.sf(t - 0.2), stats.norm.pdf(t - 0.2)
        noise = stats.norm(scale=1 / mu)

        def integrand(y, p=above, g=noise):
            return (g.pdf(y - 1) - g.pdf(y)) ** 2 / ((1 - p) * g.pdf(y) + p * g.pdf(y - 1))

        exact = slope**2 * integrate.quad(integrand, -12 / mu, 1 + 12 / mu, limit=200)[0]
        assert bound <= exact * 1.01  # the threshold lies within a cell of the table
        assert bound >= 0.75 * exact


@pytest.mark.slow
@pytest.mark.parametrize("statistic", ["abs(x)", "x**2", "clip(x**2, 0.4, 9.8)", "x**4"])
def test_the_bound_by_moments_is_below_the_exact_information_and_closer_than_the_normal_model(statistic):
    population = cf.populations.normal_variance()
    channel = cf.Channel(cf.Mean(statistic, (-4, 4)), cf.Gaussian(cf.GDP(1.0)), n=30)
    model = cf.Model(population, channel)
    exact = cf.information(model, 2.0).matrix[0, 0]
    normal = cf.information(model, 2.0, method="normal").matrix[0, 0]
    with jax.enable_x64(True):
        bound = by_moments(model, points(population, 2.0, None))[0, 0, 0]
    assert bound <= exact * (1 + 2e-4)
    assert abs(bound - exact) < abs(normal - exact)
