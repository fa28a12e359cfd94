"""The law of a clipped record: total mass, moments and derivatives against scipy's quadrature."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import integrate, special, stats

import confide as cf
from confide.likelihood.record_law.fixed import record_law
from tests.likelihood.oracles import CASES

FIXED = [case for case in CASES if not case.population.moving and case.population.closed.breaks is None]


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def expectation(case, function, distribution):
    """E f(clip X) by scipy's adaptive quadrature, atoms added by hand."""
    low, high = case.bounds
    a, b = max(low, distribution.support()[0]), min(high, distribution.support()[1])
    edges = sorted({a, b, *(cut for cut in case.cuts if a < cut < b)})
    inside = sum(
        integrate.quad(lambda x: function(x) * distribution.pdf(x), left, right, epsabs=1e-13, epsrel=1e-13, limit=200)[
            0
        ]
        for left, right in zip(edges[:-1], edges[1:], strict=True)
    )
    return inside + function(low) * distribution.cdf(low) + function(high) * distribution.sf(high)


@pytest.mark.parametrize("case", FIXED, ids=lambda case: case.name)
def test_moments_agree_with_adaptive_quadrature(case):
    law = record_law(case.population, cf.Mean(case.expression, case.bounds), [case.theta])
    weights = law.weights_at(np.asarray([case.theta], dtype=float))[0]
    assert abs(weights.sum() - 1) < 1e-12
    for power in (1, 2, 3):
        expected = expectation(case, lambda x, k=power: float(case.function(np.float64(x))) ** k, case.scipy)
        assert abs(weights @ law.s[0] ** power - expected) < 1e-11 * max(1, abs(expected))


def test_one_rule_serves_a_wide_range_of_theta():
    thetas = np.geomspace(1e-3, 1e3, 60)[:, None]
    law = record_law(cf.populations.normal_variance(), cf.Mean("abs(x)", (-10, 10)), thetas)
    weights = law.weights_at(thetas)
    sd = np.sqrt(thetas[:, 0])
    z = 10 / sd
    # E min(|X|, 10) for X ~ N(0, sd²), in closed form
    expected = sd * np.sqrt(2 / np.pi) * -np.expm1(-0.5 * z**2) + 10 * special.erfc(z / np.sqrt(2))
    np.testing.assert_allclose(weights @ law.s[0], expected, rtol=1e-11)


def test_the_derivative_of_the_weights_is_weight_times_score_inside_and_the_cdfs_at_the_atoms():
    population = cf.populations.normal_variance()
    law = record_law(population, cf.Mean("x", (-1, 2)), [[2.0]])
    slopes = np.asarray(jax.jacfwd(law.weights)(jnp.asarray([2.0])))[:, 0]
    weights = np.asarray(law.weights(jnp.asarray([2.0])))
    score = np.asarray(law.x) ** 2 / 8 - 0.25
    np.testing.assert_allclose(slopes[:-2], weights[:-2] * score, rtol=1e-12, atol=1e-16)
    h = 1e-5
    for atom, tail in ((-2, lambda v: stats.norm.cdf(-1, 0, v**0.5)), (-1, lambda v: stats.norm.sf(2, 0, v**0.5))):
        assert abs(slopes[atom] - (tail(2 + h) - tail(2 - h)) / (2 * h)) < 1e-9
    assert abs(slopes.sum()) < 1e-13


@pytest.mark.parametrize("exponent", [0.01, 0.1, 0.5])
def test_singular_powers_grade_the_panels(exponent):
    """E |X|^a of a standard normal is 2^{a/2} Γ((a+1)/2)/√π."""
    law = record_law(cf.populations.normal_variance(), cf.Mean(f"abs(x)**{exponent}", (-30, 30)), [[1.0]])
    found = float(law.weights(jnp.asarray([1.0])) @ law.s[0])
    expected = 2 ** (exponent / 2) * special.gamma((exponent + 1) / 2) / np.sqrt(np.pi)
    assert abs(found - expected) < 1e-11


@pytest.mark.parametrize(("a", "b"), [(0.3, 2.0), (0.5, 0.5), (5.0, 0.4)])
def test_singular_densities_keep_their_mass(a, b):
    law = record_law(cf.populations.beta(), cf.Mean("x", (0, 1)), [[a, b]])
    weights = np.asarray(law.weights(jnp.asarray([a, b])))
    assert abs(weights.sum() - 1) < 1e-11
    assert abs(weights @ law.s[0] - a / (a + b)) < 1e-11


def test_discrete_populations_use_their_support():
    law = record_law(cf.populations.poisson(), cf.Mean("x", (0.5, 4)), [[2.0]])
    weights = np.asarray(law.weights(jnp.asarray([2.0])))
    expected = [*stats.poisson.pmf([1, 2, 3], 2.0), stats.poisson.pmf(0, 2.0), stats.poisson.sf(3, 2.0)]
    np.testing.assert_allclose(weights, expected, rtol=1e-12)
    np.testing.assert_array_equal(law.s[0], [1, 2, 3, 0.5, 4])


def test_too_many_points_are_refused_in_words():
    with pytest.raises(cf.AccuracyError, match="narrow"):
        record_law(cf.populations.poisson(), cf.Mean("x", (0, 1e9)), [[1e7]])


def test_a_wide_part_of_a_mixture_beyond_the_bounds():
    """A tail of 1% is a complement that has all its digits: 0.9 N(0, 1) + 0.1 N(0, 10²) on (−13, 13)."""
    population = cf.Population(
        lambda m: dist.MixtureSameFamily(
            dist.Categorical(probs=jnp.array([0.9, 0.1])), dist.Normal(jnp.stack([m, m]), jnp.array([1.0, 10.0]))
        ),
        {"m": constraints.real},
    )
    weights = np.asarray(record_law(population, cf.Mean("x", (-13, 13)), [[0.0]]).weights(jnp.zeros(1)))
    np.testing.assert_allclose(weights[-2:], 0.1 * stats.norm.sf(1.3) + 0.9 * stats.norm.sf(13), rtol=1e-12)
    assert abs(weights.sum() - 1) < 1e-13


#: round shapes, at which the density is a polynomial and the score a logarithm; with E x and E x² in closed form
ROUND = [
    pytest.param(
        cf.populations.beta(),
        (0.0, 1.0),
        [(1.0, 1.0), (2.0, 1.0), (2.0, 3.0)],
        lambda t: [t[0] / t.sum(), t[0] * (t[0] + 1) / (t.sum() * (t.sum() + 1))],
        marks=pytest.mark.slow,
    ),
    (
        cf.populations.gamma(),
        (0.0, 200.0),
        [(1.0, 2.0), (2.0, 1.0), (3.0, 1.0)],
        lambda t: [t[0] / t[1], t[0] * (t[0] + 1) / t[1] ** 2],
    ),
]


@pytest.mark.parametrize(("population", "bounds", "thetas", "moments"), ROUND, ids=["beta", "gamma"])
def test_the_score_is_resolved_where_only_it_is_singular(population, bounds, thetas, moments):
    for theta in thetas:
        law = record_law(population, cf.Mean("x", bounds), [theta])
        slopes = np.asarray(jax.jacfwd(law.weights)(jnp.asarray(theta)))
        expected = jax.jacfwd(lambda t: jnp.stack(moments(t)))(jnp.asarray(theta))
        assert np.max(np.abs(slopes.sum(axis=0))) < 1e-11
        np.testing.assert_allclose(np.stack([law.s[0], law.s[0] ** 2]) @ slopes, expected, rtol=1e-10)


def test_a_density_that_is_infinite_where_the_support_ends_at_a_bound():
    """All records are clipped to 1, where p is infinite: y is 1/2 and noise."""
    channel = cf.Channel(cf.Mean("x / (1 + x**2)", bounds=(1, 2)), cf.Laplace(scale=0.1), n=2)
    found = cf.Model(cf.populations.beta(), channel).log_likelihood((0.5, 0.5), [0.5, 0.7])
    np.testing.assert_allclose(found, [np.log(5), np.log(5) - 2], rtol=1e-9)


@pytest.mark.parametrize(("loc", "scale"), [(0.0, 0.05), (2.0, 1e-3), (8.0, 1e-4)])
def test_a_law_far_narrower_than_its_bounds_is_found_wherever_it_lies(loc, scale):
    """No node of the first panels saw it, so that nothing was halved and it was refused.

    Above all that the mean can be Laplace noise of scale b has the density e^{−y/b} (E e^{X/nb})ⁿ/2b.
    """
    channel = cf.Channel(cf.Mean("x", (0, 60_000)), cf.Laplace(cf.PureDP(1.0)), 1000)
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    b, y = 60.0, 1.2 * np.exp(loc + scale**2 / 2) + 100.0
    each = (weight / weight.sum()) @ np.expm1(np.exp(loc + scale * z) / (1000 * b))
    expected = 1000 * np.log1p(each) - y / b - np.log(2 * b)
    found = cf.Model(cf.populations.lognormal(), channel).log_likelihood([loc, scale], y, route="spectral")
    assert float(found) == pytest.approx(expected, abs=1e-8)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_comes_back_a_period_away_is_bounded_with_weights_next_to_nothing():
    """Scipy's weighted sum of exponentials divides by the weight of the largest: infinity less infinity was let through."""
    channel = cf.Channel(cf.Mean("x", (0, 60_000)), cf.Laplace(cf.PureDP(1.0)), 1000)
    thetas = np.stack([np.linspace(8.89, 8.98, 7), np.full(7, 1.37e-4)], axis=-1)
    b, y = 60.0, 7200.0
    z, weight = np.polynomial.hermite_e.hermegauss(80)
    x = np.exp(thetas[:, :1] + thetas[:, 1:] * z)
    expected = 1000 * np.log1p(np.expm1(-x / (1000 * b)) @ (weight / weight.sum())) + y / b - np.log(2 * b)
    found = cf.Model(cf.populations.lognormal(), channel).log_likelihood(thetas, y, route="spectral")
    np.testing.assert_allclose(found, expected, atol=1e-8)


@pytest.mark.parametrize(
    ("population", "theta", "bounds"),
    [
        (cf.populations.gamma(), (1e5, 1e4), (0, 6000)),
        (cf.populations.beta(), (2e4, 1e4), (-100, 1000)),
        (cf.populations.normal(), (777.0, 1e-2), (-10_000, 100_000)),
    ],
    ids=str,
)
def test_what_is_told_by_a_law_that_is_a_point_beside_the_noise(population, theta, bounds):
    """Records that hardly differ have a normal mean: its mean and variance say all of its information."""
    channel = cf.Channel(cf.Mean("x", bounds), cf.Gaussian(cf.GDP(1.0)), 1000)
    model = cf.Model(population, channel)
    noise = channel.law.added.scale

    def moments(theta):
        if population.name == "gamma":
            return np.stack([theta[0] / theta[1], theta[0] / theta[1] ** 2])
        if population.name == "beta":
            total = theta[0] + theta[1]
            return np.stack([theta[0] / total, theta[0] * theta[1] / (total**2 * (total + 1))])
        return theta

    theta = np.asarray(theta)
    mean, variance = moments(theta)
    total = variance / 1000 + noise**2
    y = mean + 1.3 * noise
    expected = -0.5 * (y - mean) ** 2 / total - 0.5 * np.log(2 * np.pi * total)
    assert float(model.log_likelihood(theta, y, route="spectral")) == pytest.approx(expected, abs=1e-9)
    slope = np.stack([(moments(theta + h) - moments(theta - h)) / (2 * h.sum()) for h in np.diag(1e-5 * theta)])
    told = slope[:, :1] * slope[:, 0] / total + slope[:, 1:] * slope[:, 1] / (2 * total**2 * 1000**2)
    np.testing.assert_allclose(cf.information(model, theta).matrix, told, rtol=2e-3, atol=1e-3 * told[0, 0])


def test_many_laws_far_apart_that_are_all_narrow():
    """As many as a scan asks for: each must be found, however few are looked at closely."""
    thetas = np.linspace(100.0, 49_900.0, 200)[:, None]
    population, statistic = cf.populations.normal_mean(), cf.Mean("x", (0, 50_000))
    law = record_law(population, statistic, thetas)
    np.testing.assert_allclose(law.masses_at(thetas).sum(axis=1), 1.0, atol=1e-11)
    np.testing.assert_allclose(law.weights_at(thetas) @ law.s[0], thetas[:, 0], rtol=1e-14)
    slopes = law.slopes_at(thetas)
    np.testing.assert_allclose(law.s[0] @ slopes[5], 1.0, rtol=1e-8)
    assert np.max(np.abs(slopes.sum(axis=1))) < 1e-11
