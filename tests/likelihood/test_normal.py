"""The normal route: closed forms, high precision, and its place as an approximation."""

import mpmath as mp
import numpy as np
import pytest
from jax import enable_x64
from scipy import integrate, stats

import confide as cf
from confide.likelihood.mean.normal import normal_laplace
from confide.population.mills import log_mills


@pytest.mark.parametrize("x", [-40.0, -8.0, -1.0, 0.0, 0.5, 5.0, 11.9, 12.1, 30.0, 1e4, 1e9])
def test_log_mills_ratio_and_its_slope(x):
    import jax

    with mp.workdps(60), enable_x64(True):
        # erfc in 60 digits; beyond its reach the asymptotic series is exact to double precision
        exact = mp.log(mp.erfc(x / mp.sqrt(2)) / 2) + mp.mpf(x) ** 2 / 2 + mp.log(2 * mp.pi) / 2 if x < 1e3 else None
        ratio = mp.exp(exact) if exact is not None else (1 - 1 / mp.mpf(x) ** 2 + 3 / mp.mpf(x) ** 4) / x
        value, slope = jax.value_and_grad(log_mills)(x)
        assert abs(float(value) - float(mp.log(ratio))) < 2e-14 * max(1.0, abs(float(mp.log(ratio))))
        expected = float(x - 1 / ratio)
        assert abs(float(slope) - expected) < 1e-9 * abs(expected) + 1e-300


@pytest.mark.parametrize(("spread", "scale"), [(1.0, 1.0), (0.1, 2.0), (3.0, 0.05), (1.0, 1e-5)])
@pytest.mark.parametrize("z", [0.0, 0.7, -3.0, 10.0, -10.0])
def test_normal_laplace_agrees_with_quadrature_in_high_precision(spread, scale, z):
    y = z * max(spread, scale)
    with mp.workdps(40):

        def integrand(u):
            return mp.npdf(u, 0, spread) * mp.exp(-abs(y - u) / scale) / (2 * scale)

        cuts = sorted({-15 * spread, y - 40 * scale, y - 4 * scale, y, y + 4 * scale, y + 40 * scale, 15 * spread, 0.0})
        exact = float(mp.log(mp.quad(integrand, [mp.mpf(c) for c in cuts])))
    with enable_x64(True):
        assert abs(float(normal_laplace(np.float64(y), np.float64(spread), scale)) - exact) < 1e-8 * max(1, abs(exact))


def test_vector_moments_with_gaussian_noise():
    """(x, x²) of a normal: mean (m, m² + v), covariance [[v, 2mv], [2mv, 2v² + 4m²v]]."""
    m, v, n = 0.4, 1.3, 50
    channel = cf.Channel(cf.Mean(["x", "x**2"], (-40, 40)), cf.Gaussian(scale=0.2), n)
    covariance = np.asarray([[v, 2 * m * v], [2 * m * v, 2 * v**2 + 4 * m**2 * v]]) / n + 0.04 * np.eye(2)
    y = np.asarray([[0.5, 1.2], [0.1, 2.0]])
    found = cf.Model(cf.populations.normal(), channel).log_likelihood([m, v], y, route="normal")
    np.testing.assert_allclose(found, stats.multivariate_normal([m, m**2 + v], covariance).logpdf(y), rtol=1e-10)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_noise_on_a_lattice_is_summed_over_rounding_cells(kind):
    n, step = 16, 0.05
    mechanism = cf.Laplace(scale=0.11, step=step) if kind == "laplace" else cf.Gaussian(scale=0.11, step=step)
    model = cf.Model(cf.populations.normal(), cf.Channel(cf.Mean("x", (-60, 60)), mechanism, n))
    cells = np.arange(-400, 401)
    mass = np.diff(stats.norm.cdf((np.append(cells, 401) - 0.5) * step, 0.2, 0.25))
    noise = np.arange(-1200, 1201)
    law = np.exp(-np.abs(noise) * step / 0.11 if kind == "laplace" else -0.5 * (noise * step / 0.11) ** 2)
    law /= law.sum()
    y = np.asarray([-6, 0, 4, 11])
    expected = [np.sum(mass * law[j - cells + 1200]) for j in y]
    np.testing.assert_allclose(np.exp(model.log_likelihood([0.2, 1.0], y * step, route="normal")), expected, rtol=1e-8)


def test_the_approximation_is_off_where_the_design_says():
    """At n = 100, abs(x), Laplace ε = 5, θ = 2 the CLT is off by 0.14 nats at y = 0.9 and 1.4 nats at y = 1.8."""
    channel = cf.Channel(cf.Mean("abs(x)", (-10, 10)), cf.Laplace(cf.PureDP(5.0)), 100)
    model = cf.Model(cf.populations.normal_variance(), channel)
    gap = model.log_likelihood(2.0, [0.9, 1.8], route="spectral") - model.log_likelihood(
        2.0, [0.9, 1.8], route="normal"
    )
    np.testing.assert_allclose(np.abs(gap), [0.14, 1.4], rtol=0.05)


def test_convolution_agrees_with_scipy_at_ordinary_values():
    channel = cf.Channel(cf.Mean("x", (0, 60)), cf.Laplace(scale=0.1), 30)
    model = cf.Model(cf.populations.exponential(), channel)
    y, mean, spread = 0.9, 1 / 1.3, 1 / 1.3 / np.sqrt(30)
    expected = sum(
        integrate.quad(lambda u: stats.norm.pdf(u, mean, spread) * stats.laplace.pdf(y - u, scale=0.1), a, b)[0]
        for a, b in [(-1, y), (y, 3)]
    )
    assert abs(np.exp(model.log_likelihood(1.3, y, route="normal")) / expected - 1) < 1e-9


def test_what_it_does_not_serve():
    channel = cf.Channel(cf.Median("x", (-1, 1)), cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6)), 10)
    with pytest.raises(cf.IncompatibleError, match="normal"):
        cf.Model(cf.populations.normal(), channel).log_likelihood([0.0, 1.0], 0.0, route="normal")


def test_a_vector_with_laplace_noise_tells_at_least_what_its_best_linear_combination_does():
    """∂mᵀ(Σ/n + 2b²)⁻¹∂m in closed form; of components apart the truth is the exact information of each by itself."""
    b, n, alone = 0.3, 20, cf.populations.normal_mean()
    apart = cf.populations.independent(a=alone, c=alone)
    channel = cf.Channel(cf.Mean(["a", "c"], bounds={"a": (-12, 12), "c": (-12, 12)}), cf.Laplace(scale=b), n)
    found = cf.information(cf.Model(apart, channel), [0.2, -0.1], method="normal").matrix
    assert np.allclose(found, np.eye(2) / (1 / n + 2 * b**2), rtol=1e-7, atol=1e-9)
    each = cf.Model(alone, cf.Channel(cf.Mean("x", bounds=(-12, 12)), cf.Laplace(scale=b), n))
    exact = [cf.information(each, mean).matrix.item() for mean in (0.2, -0.1)]
    assert np.all(np.asarray(exact) > np.diag(found)) and np.allclose(exact, np.diag(found), rtol=0.35)


def test_of_dependent_numbers_with_laplace_noise_the_slope_of_the_mean_counts():
    """x and x² of a centred normal law: Cov(x, x²) = 0, and E x² = θ has slope 1 and variance 2θ²/n + 2b²."""
    theta, b, n = 1.7, 0.05, 50
    channel = cf.Channel(cf.Mean(["x", "x**2"], bounds=(-30, 30)), cf.Laplace(scale=b), n)
    found = cf.information(cf.Model(cf.populations.normal_variance(), channel), theta, method="normal").matrix.item()
    assert found == pytest.approx(1 / (2 * theta**2 / n + 2 * b**2), rel=1e-9)
