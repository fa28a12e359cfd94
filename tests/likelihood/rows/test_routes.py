"""Likelihoods and information of rows against other computations: the normal route, and inversions of scalars."""

import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats

import confide as cf
from confide.errors import IncompatibleError
from tests.likelihood.rows.oracle import regression_moments
from tests.likelihood.rows.test_moments import BOUNDS, LINE, POWERS, SQUARES

THETA = np.asarray([0.2, 1.0, 0.3, 0.8, 0.7])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)
PRODUCT = cf.Mean("x * y", bounds=BOUNDS)


def panels(low, high, count):
    edges = np.linspace(low, high, count + 1)
    half = 0.5 * np.diff(edges)[:, None]
    return (0.5 * (edges[1:] + edges[:-1])[:, None] + half * NODES).ravel(), (half * WEIGHTS).ravel()


def law_of_products(theta):
    """Values and weights of clip(x)·clip(y) on dense panels."""
    m, s, a, b, r = theta
    (x0, x1), (y0, y1) = BOUNDS.values()
    parts = [panels(m - 9 * s, x0, 12), panels(x0, x1, 40), panels(x1, m + 9 * s, 12)]
    x, w = (np.concatenate(part) for part in zip(*parts, strict=True))
    w = w * stats.norm.pdf(x, m, s)
    y, v = panels(y0, y1, 40)
    mean = a + b * x[:, None]
    inner = np.concatenate(
        [v * stats.norm.pdf(y, mean, r), stats.norm.cdf(y0, mean, r), stats.norm.sf(y1, mean, r)], axis=1
    )
    values = np.clip(x, x0, x1)[:, None] * np.concatenate([y, [y0, y1]])
    return values.ravel(), (w[:, None] * inner).ravel()


def by_inversion(theta, n, noise, y):
    """log p(y) by the trapezoidal rule on the real axis, for y near the middle."""
    s, w = law_of_products(theta)
    mean, var = w @ s, w @ s**2 - (w @ s) ** 2
    spread = np.sqrt(var / n + (0.0 if noise.kinked else noise.scale**2))
    t = np.arange(1, 361) / 12.0 / spread
    phi = np.asarray([np.exp(1j * each / n * (s - mean)) @ w for each in t]) ** n
    phi = phi * (1 / (1 + (noise.scale * t) ** 2) if noise.kinked else np.exp(-0.5 * (noise.scale * t) ** 2))
    waves = np.exp(-1j * np.outer(np.asarray(y) - mean, t))
    return np.log(((waves @ phi).real + 0.5) * (t[0] / np.pi))


def test_a_vector_is_normal_with_the_moments_of_clipped_rows():
    n, scale = 1000, 0.02
    model = cf.Model(LINE, cf.Channel(SQUARES, cf.Gaussian(scale=scale), n=n))
    mean, covariance = regression_moments(THETA, *BOUNDS.values(), POWERS)
    law = stats.multivariate_normal(mean, covariance / n + scale**2 * np.eye(5))
    values = law.rvs(3, random_state=0)
    np.testing.assert_allclose(model.log_likelihood(THETA, values, route="normal"), law.logpdf(values), atol=1e-7)


def test_the_information_of_a_vector_is_that_of_its_normal_law():
    n, scale = 1000, 0.02
    model = cf.Model(LINE, cf.Channel(SQUARES, cf.Gaussian(scale=scale), n=n))
    found = cf.information(model, THETA, method="normal").matrix

    def parts(theta):
        mean, covariance = regression_moments(theta, *BOUNDS.values(), POWERS)
        return mean, covariance / n + scale**2 * np.eye(5)

    inverse = np.linalg.inv(parts(THETA)[1])
    slopes = []
    for step in 1e-4 * np.eye(5):
        (m1, h1), (m0, h0) = parts(THETA + step), parts(THETA - step)
        slopes.append(((m1 - m0) / 2e-4, (h1 - h0) / 2e-4))
    expected = [
        [dm @ inverse @ em + 0.5 * np.trace(inverse @ dh @ inverse @ eh) for em, eh in slopes] for dm, dh in slopes
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5)


@pytest.mark.parametrize(
    ("n", "mechanism"),
    [(60, cf.Gaussian(scale=0.05)), pytest.param(400, cf.Laplace(scale=0.03), marks=pytest.mark.slow)],
)
def test_a_scalar_of_two_columns_is_inverted_exactly(n, mechanism):
    model = cf.Model(LINE, cf.Channel(PRODUCT, mechanism, n=n))
    s, w = law_of_products(THETA)
    y = w @ s + np.asarray([-0.1, 0.0, 0.07])
    if mechanism.scale == 0.05:
        expected = by_inversion(THETA, n, model.channel.law.noise, y)
    else:  # the transform of Laplace noise decays slowly: the density of the sum is convolved with it instead
        expected = convolved(THETA, n, mechanism.scale, y)
    np.testing.assert_allclose(model.log_likelihood(THETA, y, route="spectral"), expected, rtol=0, atol=1e-8)


def convolved(theta, n, b, y):
    """log ∫ p(u) e^{−|y − u|/b}/2b du with p(u) of the exact mean, which is smooth for many records."""
    s, w = law_of_products(theta)
    spread = np.sqrt((w @ s**2 - (w @ s) ** 2) / n)
    found = []
    for value in y:
        pieces = [panels(value - 18 * spread, value, 40), panels(value, value + 18 * spread, 40)]
        u, v = (np.concatenate(part) for part in zip(*pieces, strict=True))

        class None_:
            kinked, scale = False, 0.0

        with np.errstate(invalid="ignore", divide="ignore"):
            p = np.nan_to_num(np.exp(by_inversion(theta, n, None_, u)), nan=0.0)
        found.append(np.log((v * p) @ np.exp(-np.abs(value - u) / b) / (2 * b)))
    return np.asarray(found)


def test_the_information_of_a_scalar_is_below_that_of_the_normal_law_and_above_zero():
    model = cf.Model(LINE, cf.Channel(PRODUCT, cf.Gaussian(scale=0.05), n=200))
    exact = cf.information(model, THETA)
    assert exact.method == "spectral"
    normal = cf.information(model, THETA, method="normal").matrix
    np.testing.assert_allclose(exact.matrix, normal, rtol=0.1, atol=0.02 * np.max(normal))
    y = np.linspace(-1.2, 1.6, 141)
    log_p = model.log_likelihood(THETA, y)
    ends = [model.log_likelihood(THETA + sign * 1e-4 * np.eye(5)[3], y) for sign in (1, -1)]
    integral = np.sum(((ends[0] - ends[1]) / 2e-4) ** 2 * np.exp(log_p)) * (y[1] - y[0])
    assert exact.matrix[3, 3] == pytest.approx(integral, rel=1e-5)


def test_a_share_of_rows_is_a_sum_over_counts():
    rows = cf.populations.logistic_regression("y", {"x": dist.Normal(0.0, 1.0)})
    model = cf.Model(
        rows, cf.Channel(cf.Mean("y * (x > 0)", bounds={"x": (-5, 5), "y": (0, 1)}), cf.Laplace(scale=0.1), n=12)
    )
    x, w = panels(0.0, 12.0, 60)
    q = w @ (stats.norm.pdf(x) / (1 + np.exp(-0.3 - 0.8 * x)))
    k = np.arange(13)
    expected = np.log(stats.binom.pmf(k, 12, q) @ (np.exp(-np.abs(0.21 - k / 12) / 0.1) / 0.2))
    assert model.log_likelihood([0.3, 0.8], 0.21) == pytest.approx(expected, abs=1e-9)


THREE = cf.Population(
    {"a": lambda m: dist.Normal(m, 1.0), "b": lambda m: dist.Normal(-m, 1.0), "c": lambda a: dist.Normal(a / 2, 1.0)},
    {"m": constraints.real},
)
WIDE = dict.fromkeys("abc", (-12.0, 12.0))
AVERAGED = cf.Channel(cf.Mean("a + b + 2*c", bounds=WIDE), cf.Gaussian(scale=0.05), n=100)


def test_what_is_averaged_over_points_is_not_called_exact():
    """a + b + 2c of three normal columns is N(m, 9), so that its mean has closed forms; 4,096 points are off by 1e-4."""
    model, sd = cf.Model(THREE, AVERAGED), np.hypot(0.05, 0.3)
    with pytest.warns(cf.ApproximationWarning, match="3 continuous columns are averaged over 4,096 points"):
        found = model.log_likelihood(0.4, [0.4, 1.0])
    expected = stats.norm.logpdf([0.4, 1.0], 0.4, sd)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    assert np.max(np.abs(found - expected)) > 1e-7
    np.testing.assert_array_equal(model.log_likelihood(0.4, [0.4, 1.0], route="spectral"), found)
    information = cf.information(model, 0.4)
    assert not information.exact
    assert "4,096 points" in str(information)
    assert information.matrix[0, 0] == pytest.approx(sd**-2, rel=5e-3)
    two = cf.Channel(cf.Mean("a + b", bounds=dict.fromkeys("ab", (-12.0, 12.0))), cf.Gaussian(scale=0.05), n=100)
    np.testing.assert_allclose(
        cf.Model(THREE, two).log_likelihood(0.4, 0.1),
        stats.norm.logpdf(0.1, 0.0, np.hypot(0.05, np.sqrt(0.02))),
        rtol=1e-8,
    )


@pytest.mark.slow
def test_a_posterior_says_so():
    posterior = cf.infer(THREE, cf.Release(AVERAGED, 0.3), {"m": dist.Normal(0.0, 1.0)}, key=0)
    assert "4,096 points" in posterior.diagnostics.warnings[0]


@pytest.mark.slow
def test_a_posterior_under_the_central_limit_theorem_says_so_too():
    several = cf.Channel(cf.Mean(["a + b + c", "a"], bounds=WIDE), cf.Gaussian(scale=0.05), n=2000)
    posterior = cf.infer(THREE, cf.Release(several, [0.2, 0.3]), {"m": dist.Normal(0.0, 1.0)}, key=0)
    assert any("4,096 points" in each for each in posterior.diagnostics.warnings)
    assert posterior.diagnostics.clt is not None


def test_a_component_that_follows_from_others_needs_noise():
    """A singular covariance is said to be one, whatever is asked; noise keeps the components apart."""
    twice = cf.Mean(["x", "1 - 2 * x", "y"], bounds={"x": (-2, 2), "y": (-3, 3)})
    theta, value = {"intercept": 0.0, "coefficients": [1.0], "variance": 1.0}, [0.1, 0.8, 0.1]
    rows = cf.populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
    channel = cf.Channel(twice, cf.Noiseless(), n=2000)
    model = cf.Model(rows, channel)
    prior = {"intercept": dist.Normal(0, 1), "coefficients": dist.Normal(0, 1), "variance": dist.InverseGamma(3, 2)}
    for ask in (
        lambda: model.log_likelihood(theta, value, route="normal"),
        lambda: cf.information(model, theta, method="normal"),
        lambda: cf.infer(rows, cf.Release(channel, value), prior),
    ):
        with pytest.raises(IncompatibleError, match=r"is singular at theta.*leave that component out"):
            ask()
    noisy = cf.Model(rows, cf.Channel(twice, cf.Gaussian(scale=0.01), n=2000))
    assert np.isfinite(noisy.log_likelihood(theta, value, route="normal"))
