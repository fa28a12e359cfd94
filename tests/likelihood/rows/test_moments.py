"""The law of a clipped row against other computations: quadrature, enumeration, closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import integrate, stats

import confide as cf
from confide.clipping import clipped_share
from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.record_law.moments import law_for, moments_at
from confide.likelihood.record_law.rows import points
from confide.likelihood.record_law.rows.axis import Fineness
from confide.likelihood.record_law.rows.law import row_moments
from confide.likelihood.record_law.rows.nodes import row_law
from tests.likelihood.rows.oracle import regression_moments

REAL, POSITIVE = constraints.real, constraints.positive
LINE = cf.Population(
    {"x": lambda m, s: dist.Normal(m, 1.0 * s), "y": lambda x, a, b, r: dist.Normal(a + b * x, r)},
    {"m": REAL, "s": POSITIVE, "a": REAL, "b": REAL, "r": POSITIVE},
)
BOUNDS = {"x": (-1.2, 1.5), "y": (-2.0, 1.0)}
POWERS = [(1, 0), (0, 1), (1, 1), (2, 0), (0, 2)]
SQUARES = cf.Mean(["x", "y", "x * y", "x**2", "y**2"], bounds=BOUNDS)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def moments(population, statistic, theta):
    theta = np.atleast_2d(np.asarray(theta, dtype=float))
    mean, covariance = moments_at(law_for(population, statistic, theta), theta)
    return mean[0], covariance[0]


@pytest.mark.parametrize(
    "theta",
    [
        (0.2, 1.0, 0.3, 0.8, 0.7),
        (0.2, 1.0, 0.3, 3.0, 0.05),  # sharp: y passes from bound to bound within a tenth of x's spread
        (0.0, 1.0, 0.0, 1.0, 0.005),  # sharper, and round
        (5.0, 1.0, 0.0, 1.0, 0.5),  # nearly all rows are clipped, and drive y by what they were
        (0.0, 10.0, 0.0, 0.2, 0.5),
    ],
)
def test_moments_are_those_of_independent_quadrature(theta):
    mean, covariance = moments(LINE, SQUARES, theta)
    first, second = regression_moments(theta, *BOUNDS.values(), POWERS)
    np.testing.assert_allclose(mean, first, rtol=0, atol=1e-8)
    np.testing.assert_allclose(covariance, second, rtol=0, atol=1e-8)


def test_a_very_sharp_case_is_refined_until_it_holds():
    theta = (0.2, 1.0, 0.3, 10.0, 0.002)
    mean, covariance = moments(LINE, SQUARES, theta)
    first, second = regression_moments(theta, *BOUNDS.values(), POWERS)
    np.testing.assert_allclose(mean, first, rtol=0, atol=1e-8)
    np.testing.assert_allclose(covariance, second, rtol=0, atol=1e-8)


def test_a_coarse_rule_is_caught():
    """A planted bug: panels that are not halved where the outcome turns are off by a thousandth."""
    theta = (0.2, 1.0, 0.3, 3.0, 0.05)
    coarse, _ = row_moments(*row_law(LINE, SQUARES, jnp.asarray(theta), Fineness(14, 0)))
    first, _ = regression_moments(theta, *BOUNDS.values(), POWERS)
    assert np.max(np.abs(coarse - first)) > 1e-4


def test_derivatives_are_those_of_the_oracle():
    theta = np.asarray([0.2, 1.0, 0.3, 0.8, 0.7])
    found = jax.jit(jax.jacfwd(lambda t: row_moments(*row_law(LINE, SQUARES, t))[0]))(theta)
    for k in range(5):
        step = 1e-4 * np.eye(5)[k]
        ends = [regression_moments(theta + sign * step, *BOUNDS.values(), POWERS)[0] for sign in (1, -1)]
        np.testing.assert_allclose(found[:, k], (ends[0] - ends[1]) / 2e-4, rtol=0, atol=2e-8)


def test_moments_without_clipping_are_those_of_bernstein_and_sheldon():
    """Bernstein and Sheldon (2019): covariances of (x x, x y, y²) from η = E xx and ξ = Cov(xx, xx), here with x ~ N."""
    slope, sd, m, s = 1.5, 0.7, 0.4, 1.3
    wide = {"x": (-40.0, 40.0), "y": (-60.0, 60.0)}
    mean, covariance = moments(LINE, cf.Mean(["x**2", "x * y", "y**2"], bounds=wide), (m, s, 0.0, slope, sd))
    eta = m**2 + s**2
    xi = (m**4 + 6 * m**2 * s**2 + 3 * s**4) - eta**2
    expected = [
        [xi, slope * xi, slope**2 * xi],
        [slope * xi, sd**2 * eta + slope**2 * xi, 2 * sd**2 * slope * eta + slope**3 * xi],
        [
            slope**2 * xi,
            2 * sd**2 * slope * eta + slope**3 * xi,
            2 * sd**4 + 4 * sd**2 * slope**2 * eta + slope**4 * xi,
        ],
    ]
    np.testing.assert_allclose(mean, [eta, slope * eta, sd**2 + slope**2 * eta], rtol=2e-9)
    np.testing.assert_allclose(covariance, expected, rtol=1e-8)


def test_kinks_that_depend_on_two_columns_are_found():
    """The larger of two clipped normals, and a comparison of them, against an integral over one of the two."""
    pair = cf.populations.independent(a=cf.populations.normal(), b=cf.populations.normal())
    bounds = {"a": (-1.0, 2.0), "b": (-1.5, 1.0)}
    mean, _ = moments(pair, cf.Mean(["max(a, b)", "(a > b) * a"], bounds=bounds), (0.2, 1.0, 0.1, 0.25))
    at, normal_b = stats.norm(0.2, 1.0), stats.norm(0.1, 0.5)

    def cdf_b(t):  # of clip(b)
        return np.where(t >= 1.0, 1.0, np.where(t < -1.5, 0.0, normal_b.cdf(t)))

    def cdf_a(t):
        return np.where(t >= 2.0, 1.0, np.where(t < -1.0, 0.0, at.cdf(t)))

    larger = 2.0 - integrate.quad(lambda t: cdf_a(t) * cdf_b(t), -1.0, 1.0, epsabs=1e-13)[0]
    larger -= integrate.quad(cdf_a, 1.0, 2.0, epsabs=1e-13)[0]
    above = integrate.quad(lambda t: t * at.pdf(t) * normal_b.cdf(t), -1.0, 1.0, epsabs=1e-13)[0]
    above += integrate.quad(lambda t: t * at.pdf(t), 1.0, 2.0, epsabs=1e-13)[0]
    above += 2.0 * at.sf(2.0) - at.cdf(-1.0) * normal_b.cdf(-1.0)
    np.testing.assert_allclose(mean, [larger, above], rtol=0, atol=1e-10)


def test_discrete_columns_are_enumerated():
    rows = cf.Population(
        {
            "smokes": lambda p: dist.Bernoulli(1.0 * p),
            "visits": lambda smokes, rate: dist.Poisson(rate * (1 + smokes)),
            "cost": lambda visits, smokes, sd: dist.Normal(visits + smokes, sd),
        },
        {"p": constraints.unit_interval, "rate": POSITIVE, "sd": POSITIVE},
    )
    bounds = {"smokes": (0, 1), "visits": (0, 4)}
    mean, covariance = moments(rows, cf.Mean(["smokes", "visits", "smokes * visits"], bounds=bounds), (0.3, 1.5, 1.0))
    capped = np.minimum(np.arange(80), 4)
    p0, p1 = 0.7 * stats.poisson.pmf(np.arange(80), 1.5), 0.3 * stats.poisson.pmf(np.arange(80), 3.0)
    np.testing.assert_allclose(mean, [0.3, (p0 + p1) @ capped, p1 @ capped], rtol=1e-13)
    assert covariance[1, 1] == pytest.approx((p0 + p1) @ capped**2 - ((p0 + p1) @ capped) ** 2, rel=1e-12)
    with pytest.raises(AccuracyError, match="more than 1,024 whole numbers"):
        moments(rows, cf.Mean("cost * smokes", bounds={"cost": (0, 1), "smokes": (0, 1)}), (0.3, 1.5, 1.0))


def test_logistic_regression_against_quadrature():
    population = cf.populations.logistic_regression("y", {"x": dist.Normal(0.5, 2.0)})
    mean, _ = moments(population, cf.Mean(["y", "x * y"], bounds={"x": (-1, 3), "y": (0, 1)}), (0.3, -1.2))
    expected = [
        integrate.quad(
            lambda x, k=k: np.clip(x, -1, 3) ** k * stats.norm.pdf(x, 0.5, 2) / (1 + np.exp(-0.3 + 1.2 * x)),
            -20,
            20,
            points=[-1, 3],
            epsabs=1e-13,
            limit=200,
        )[0]
        for k in (0, 1)
    ]
    np.testing.assert_allclose(mean, expected, rtol=0, atol=1e-10)


def test_missing_values_are_an_atom_and_later_columns_follow_what_there_would_have_been():
    rows = cf.populations.with_missing(LINE, "x", 9.0)
    assert rows.names[-1] == "x_missing"
    theta = (0.2, 1.0, 0.3, 0.8, 0.7)
    mean, _ = moments(rows, SQUARES, (*theta, 0.25))
    first, _ = regression_moments(theta, *BOUNDS.values(), POWERS)
    gone = np.asarray([1.5, first[1], 1.5 * first[1], 1.5**2, first[4]])  # 9 is clipped to 1.5
    np.testing.assert_allclose(mean, 0.75 * first + 0.25 * gone, rtol=0, atol=2e-9)


def test_heavy_and_singular_columns():
    rows = cf.Population(
        {"a": lambda k: dist.Gamma(k, 2.0), "b": lambda a, s: dist.Cauchy(1.0 * a, s)}, {"k": POSITIVE, "s": POSITIVE}
    )
    mean, _ = moments(rows, cf.Mean(["a", "b", "a * b"], bounds={"a": (0, 2), "b": (-3, 3)}), (0.5, 0.5))
    gamma = stats.gamma(0.5, scale=0.5)

    def inner(a):  # E clip(b) given a, by the integral of its distribution function
        def integral(t):
            z = (t - a) / 0.5
            return 0.5 * (z * (0.5 + np.arctan(z) / np.pi) - np.log1p(z * z) / (2 * np.pi))

        return 3.0 - (integral(3.0) - integral(-3.0))

    nodes, weights = np.polynomial.legendre.leggauss(400)
    found = []  # over v with a = v⁴, which takes the singularity away
    for f in (lambda a: np.minimum(a, 2), inner, lambda a: np.minimum(a, 2) * inner(a)):
        total = 0.0
        for low, high in ((0.0, 2.0**0.25), (2.0**0.25, 30.0**0.25)):
            v = 0.5 * (low + high) + 0.5 * (high - low) * nodes
            total += 0.5 * (high - low) * weights @ (4 * v**3 * gamma.pdf(v**4) * f(v**4))
        found.append(total)
    np.testing.assert_allclose(mean, found, rtol=0, atol=1e-9)


def test_more_than_two_continuous_columns_are_sampled_and_their_error_is_small():
    """Without clipping moments are known; the scatter of independent scramblings says how far they are off."""
    population = cf.populations.linear_regression("y", ["x1", "x2"])
    theta = {
        "intercept": 1.0,
        "coefficients": [1.0, -0.5],
        "variance": 0.5,
        "covariate_mean": [0.0, 1.0],
        "covariate_covariance": [[1.0, 0.5], [0.5, 2.0]],
    }
    wide = dict.fromkeys(("x1", "x2", "y"), (-50.0, 50.0))
    mean, covariance = moments(population, cf.Mean(["y", "x1 * x2", "x1 * y"], bounds=wide), population.theta(theta))
    np.testing.assert_allclose(mean, [0.5, 0.5, 0.75], atol=3e-3)
    assert covariance[0, 0] == pytest.approx(0.5 + 1.0 + 0.5 - 0.5, rel=5e-3)
    assert points.SIZE == 2**12


def test_a_moving_density_under_a_statistic_that_jumps_is_refused():
    rows = cf.Population({"a": lambda w: dist.Uniform(0.0, w), "b": lambda a: dist.Normal(a, 1.0)}, {"w": POSITIVE})
    bounds = {"a": (0, 1), "b": (-1, 1)}
    with pytest.raises(IncompatibleError, match="the statistic jumps"):
        moments(rows, cf.Mean(["(a > 0.5) * b", "b"], bounds=bounds), (2.0,))
    found = jax.jit(jax.jacfwd(lambda t: row_moments(*row_law(rows, cf.Mean(["a", "b"], bounds=bounds), t))[0]))
    assert found(jnp.asarray([2.0]))[0, 0] == pytest.approx(1 / 8, abs=1e-9)  # E min(a, 1) = 1 − 1/(2w)


def test_the_share_of_clipped_rows():
    """Any column beyond its own bounds: against products of scipy's tails, and counts of draws where columns depend."""
    rows = cf.populations.independent(
        a=cf.populations.normal(), visits=cf.populations.poisson(), b=cf.populations.exponential()
    )
    gaps = cf.populations.with_missing(rows, "b", 0.0)
    statistic = cf.Mean("a * visits * b", bounds={"a": (-1, 2), "visits": (1, 4), "b": (0, 3)})
    theta = np.asarray([0.2, 1.0, 2.5, 0.4])
    inside = np.diff(stats.norm(0.2, 1.0).cdf([-1, 2]))[0] * np.diff(stats.poisson(2.5).cdf([0, 4]))[0]
    expected = 1.0 - inside * stats.expon(scale=2.5).cdf(3.0)
    assert clipped_share(rows, statistic, theta) == pytest.approx(expected, abs=1e-9)
    with_gaps = 1.0 - inside * (0.7 * stats.expon(scale=2.5).cdf(3.0) + 0.3)
    assert clipped_share(gaps, statistic, np.append(theta, 0.3)) == pytest.approx(with_gaps, abs=1e-9)
    theta = np.asarray([0.2, 1.0, 0.3, 0.8, 0.7])
    draws = LINE.sample(0, theta, (200_000,))
    beyond = (draws["x"] < -1.2) | (draws["x"] > 1.5) | (draws["y"] < -2.0) | (draws["y"] > 1.0)
    found = clipped_share(LINE, SQUARES, np.stack([theta, theta]))
    assert found.shape == (2,)
    assert abs(found[0] - np.mean(beyond)) < 5 * np.sqrt(0.25 / 200_000)
