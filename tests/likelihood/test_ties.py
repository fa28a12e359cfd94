"""Derivatives in θ where an end of the support, or a kink of the density, meets a bound: θ = 3 with bounds (0, 3).

The reference is made from scipy's densities (`oracles`): laws by Gauss–Legendre quadrature on hand-given pieces, the
density of a noisy mean by inverting its characteristic function, and derivatives in θ by differences on one side, from
the left and from the right, which must agree with each other before they are compared with anything.
"""

import math
from functools import cache
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import integrate, stats

import confide as cf
from confide import populations
from confide.likelihood.record_law.fixed import record_law
from confide.likelihood.record_law.traced import moving_law
from tests.likelihood.oracles import Case, inverted

UNIFORM = populations.uniform_width()
USERS_LAPLACE = cf.Population(lambda loc: dist.Laplace(loc, 1.0), {"loc": constraints.real})
LOCATION = cf.Population(lambda c: dist.Uniform(c - 1.0, c + 1.0), {"c": constraints.real})
PARETO = cf.Population(lambda s: dist.Pareto(s, 2.0), {"s": constraints.positive})
SHIFTED = cf.Population(
    lambda c: dist.TransformedDistribution(dist.Exponential(1.0), dist.transforms.AffineTransform(c, 1.0)),
    {"c": constraints.real},
)
TRUNCATED = cf.Population(lambda a: dist.TruncatedNormal(0.0, 1.0, low=a), {"a": constraints.real})
WIDTH = cf.Population(lambda w: dist.Uniform(0.0, w), {"w": constraints.positive})


def _mixed(w):
    parts = [dist.Uniform(0.0, w, validate_args=False), dist.Exponential(1.0, validate_args=False)]
    return dist.MixtureGeneral(dist.Categorical(probs=jnp.array([0.5, 0.5])), parts, support=constraints.positive)


def _mixed_cdf(x, w):
    return 0.5 * jnp.where(x < w, x / w, 1.0) - 0.5 * jnp.expm1(-x)


MIXTURE = cf.Population(_mixed, {"w": constraints.positive}, cdf=_mixed_cdf, breaks=lambda w: w)


class _Mixture:
    """Half uniform on (0, w), half exponential, as far as `Case` asks."""

    def __init__(self, w):
        self.parts = stats.uniform(0, w), stats.expon()

    def support(self):
        return 0.0, math.inf

    def pdf(self, x):
        return 0.5 * sum(part.pdf(x) for part in self.parts)

    def cdf(self, x):
        return 0.5 * sum(part.cdf(x) for part in self.parts)

    def sf(self, x):
        return 0.5 * sum(part.sf(x) for part in self.parts)

    def ppf(self, q):
        return self.parts[1].ppf(q)


SCIPY = {
    UNIFORM: lambda w: stats.uniform(-w, 2 * w),
    USERS_LAPLACE: lambda m: stats.laplace(m, 1.0),
    LOCATION: lambda c: stats.uniform(c - 1, 2.0),
    PARETO: lambda s: stats.pareto(2.0, scale=s),
    SHIFTED: lambda c: stats.expon(c, 1.0),
    TRUNCATED: lambda a: stats.truncnorm(a, np.inf),
    MIXTURE: _Mixture,
    WIDTH: lambda w: stats.uniform(0, w),
}
FUNCTIONS = {"x": lambda x: x, "abs(x)": np.abs, "x**2": lambda x: x**2}


def case(population, expression, bounds, theta):
    """One clipped record at θ, whose density is not smooth at θ itself, nor is |x| at 0."""
    return Case(
        "", population, (theta,), SCIPY[population](theta), expression, FUNCTIONS[expression], bounds, (0, theta)
    )


#: f′(0) from f(0), f(h), …, f(6h): error h⁶ f⁽⁷⁾/7
ONE_SIDED = np.array([-49 / 20, 6, -15 / 2, 20 / 3, -15 / 4, 6 / 5, -1 / 6])


def slope(f, theta, step):
    """∂f/∂θ from the left and from the right, which agree; next to a tie, at whole numbers, from the side away from it."""
    beside = int(np.sign(theta - round(theta)))
    sides = (beside,) if beside else (-1, 1)
    found = [sum(c * f(theta + k * side * step) for k, c in enumerate(ONE_SIDED)) / (side * step) for side in sides]
    np.testing.assert_allclose(found[0], found[-1], rtol=1e-6, atol=1e-7 * np.max(np.abs(found[0])))
    return found[0]


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@cache
def moments_and_slopes(population, statistic):
    """E s, E s², E cos 2s and their derivatives on nodes that may move, in a trace."""

    def expect(theta):
        s, weights = moving_law(population, statistic, theta)
        return jnp.stack([s[0], s[0] ** 2, jnp.cos(2.0 * s[0])]) @ weights

    return jax.jit(lambda theta: (expect(theta), jax.jacrev(expect)(theta)[:, 0]))


TIES = [
    (UNIFORM, "abs(x)", (0, 3), [3.0, 3 - 1e-6, 3 + 1e-6, 2.0, 6.0]),
    (UNIFORM, "x**2", (-3, 3), [3.0]),
    (LOCATION, "x", (-1, 1), [0.0, 1e-6, -0.5, 1.0]),
    (PARETO, "x", (1, 5), [1.0, 1.5, 5.0 - 1e-6]),
    (SHIFTED, "x", (0, 5), [0.0, 1.0, -1.0]),
    pytest.param(TRUNCATED, "x", (0, 3), [0.0, 1.0, -1e-6], marks=pytest.mark.slow),
    (MIXTURE, "x", (0, 3), [3.0, 1.0, 3 + 1e-6]),
    (USERS_LAPLACE, "x", (0, 3), [0.0, 3.0, 1.0]),
]


@pytest.mark.parametrize(("population", "expression", "bounds", "thetas"), TIES)
def test_the_law_of_a_record_at_a_tie(population, expression, bounds, thetas):
    def reference(theta):
        s, w = case(population, expression, bounds, theta).record()
        return np.array([w @ s, w @ s**2, w @ np.cos(2 * s)])

    compute = moments_and_slopes(population, cf.Mean(expression, bounds))
    for theta in thetas:
        value, slopes = compute(jnp.asarray([theta]))
        np.testing.assert_allclose(value, reference(theta), atol=1e-11)
        np.testing.assert_allclose(slopes, slope(reference, theta, 0.004), rtol=1e-7, atol=1e-8, err_msg=str(theta))


def test_a_users_laplace_on_fixed_nodes():
    """The atom's derivative is the distribution function's, whose code has |x − loc| in it: 0 at a tie."""
    statistic = cf.Mean("x", (0, 3))
    law = record_law(USERS_LAPLACE, statistic, [[0.0]])  # as for a family whose kinks nobody knows
    slopes = jax.jacfwd(law.weights)(jnp.asarray([0.0]))[:, 0]
    assert float(slopes[-2]) == pytest.approx(-0.5, rel=1e-12)
    assert float(jnp.sum(slopes)) == pytest.approx(0.0, abs=1e-12)
    assert float(jax.grad(lambda t: USERS_LAPLACE.quantile(0.5, t))(2.0)) == pytest.approx(1.0, rel=1e-12)


def information_of_mean(population, expression, bounds, noise, scale, n, theta, step=0.004):
    """∫ (∂p)²/p dy for a noisy mean, by the trapezoidal rule."""
    at = case(population, expression, bounds, theta)
    s, w = at.record()
    spread = math.sqrt(w @ (s - w @ s) ** 2 / n + scale**2 * (2 if noise == "laplace" else 1))
    y = w @ s + spread * np.linspace(-14, 14, 1201)
    density = lambda t: inverted(case(population, expression, bounds, t), noise, scale, n, y)  # noqa: E731
    p = density(theta)
    change = slope(density, theta, step)
    inside = p > 1e-11 * p.max()
    return np.sum(change[inside] ** 2 / p[inside]) * (y[1] - y[0])


def found(population, statistic, mechanism, n, thetas, method="auto"):
    model = cf.Model(population, cf.Channel(statistic, mechanism, n))
    return cf.information(model, np.asarray(thetas, dtype=float), method=method).matrix.ravel()


GAUSSIAN, LAPLACE = cf.Gaussian(scale=0.1), cf.Laplace(scale=0.1)


@pytest.mark.parametrize("n", [1, 2, pytest.param(3, marks=pytest.mark.slow), 100])
def test_information_of_a_mean_whose_support_ends_at_the_bounds(n):
    thetas = [3.0, 3 - 1e-6, 3 + 1e-6, 2.5]
    expected = [information_of_mean(UNIFORM, "abs(x)", (0, 3), "gaussian", 0.1, n, theta, 0.001) for theta in thetas]
    exact = found(UNIFORM, cf.Mean("abs(x)", (0, 3)), GAUSSIAN, n, thetas)
    np.testing.assert_allclose(exact, expected, rtol=1e-6)
    if n == 100:
        np.testing.assert_allclose(exact[:3], [3.261345, 3.261346, 3.261340], atol=1e-6)


@pytest.mark.parametrize(
    ("population", "expression", "bounds", "noise", "n", "theta"),
    [
        (UNIFORM, "abs(x)", (-3, 3), "gaussian", 100, 3.0),
        pytest.param(LOCATION, "x", (-1, 1), "gaussian", 100, 0.0, marks=pytest.mark.slow),
        (PARETO, "x", (0, 5), "laplace", 50, 1.5),
        (USERS_LAPLACE, "x", (0, 3), "gaussian", 100, 0.0),
        (SHIFTED, "x", (0, 5), "laplace", 50, 0.0),
    ],
)
def test_information_of_means_at_round_numbers(population, expression, bounds, noise, n, theta):
    expected = information_of_mean(population, expression, bounds, noise, 0.1, n, theta)
    mechanism = GAUSSIAN if noise == "gaussian" else LAPLACE
    exact = found(population, cf.Mean(expression, bounds), mechanism, n, [theta])
    np.testing.assert_allclose(exact, expected, rtol=1e-6)


def test_information_by_the_normal_approximation():
    """∂μᵀ H⁻¹ ∂μ + ½ tr (H⁻¹ ∂H)² from the moments of |x| and x² of a uniform record, clipped to (−2, 2), at θ = 2."""
    n, scale = 100, 0.1

    def moments(theta):
        s, w = case(UNIFORM, "abs(x)", (-2, 2), theta).record()
        both = np.stack([s, s**2])
        mean = both @ w
        return np.concatenate([mean, ((both - mean[:, None]) * w @ (both - mean[:, None]).T).ravel()])

    value, change = moments(2.0), slope(moments, 2.0, 0.01)
    h, dh = value[2:].reshape(2, 2) / n + scale**2 * np.eye(2), change[2:].reshape(2, 2) / n
    product = np.linalg.solve(h, dh)
    expected = change[:2] @ np.linalg.solve(h, change[:2]) + 0.5 * np.trace(product @ product)
    vector = found(UNIFORM, cf.Mean(["abs(x)", "x**2"], (-2, 2)), cf.Gaussian(scale=scale), n, [2.0], "normal")
    np.testing.assert_allclose(vector, expected, rtol=1e-8)
    single = change[0] ** 2 / h[0, 0] + 0.5 * (dh[0, 0] / h[0, 0]) ** 2
    scalar = found(UNIFORM, cf.Mean("abs(x)", (-2, 2)), cf.Gaussian(scale=scale), n, [2.0], "normal")
    np.testing.assert_allclose(scalar, single, rtol=1e-8)


@pytest.mark.parametrize(("noise", "mechanism"), [(stats.norm(0, 0.1), GAUSSIAN), (stats.laplace(0, 0.1), LAPLACE)])
def test_information_of_noisy_records(noise, mechanism):
    """p(y) = [G(y) − G(y − θ)]/θ for θ ≤ 3, clipped to (−3, 3); ∂p = (g(y − θ) − p)/θ, the same at θ = 3 from above."""

    def integrand(y, theta):
        p = (noise.cdf(y) - noise.cdf(y - theta) if y < theta / 2 else noise.sf(y - theta) - noise.sf(y)) / theta
        return (noise.pdf(y - theta) - p) ** 2 / p / theta**2 if p > 0 else 0.0

    def expected(theta):
        edges = [-3.0, -1.0, -0.3, 0.0, 0.3, 1.0, 2.0, 2.7, theta, 3.3, 4.0, 6.0]
        return 10 * sum(integrate.quad(integrand, a, b, (theta,), epsrel=1e-12)[0] for a, b in pairwise(edges))

    thetas = [3.0, 3 - 1e-6]
    exact = found(UNIFORM, cf.Each("abs(x)", (-3, 3)), mechanism, 10, thetas)
    np.testing.assert_allclose(exact, [expected(theta) for theta in thetas], rtol=1e-7)


def test_information_of_a_maximum():
    """The largest of n uniform records on (0, θ), clipped at 3 = θ: u has density n uⁿ⁻¹/θⁿ, noise is Gaussian."""
    n, scale, y = 5, 0.1, np.linspace(-0.5, 4.2, 2001)
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def density(theta):
        top = min(theta, 3.0)
        edges = np.linspace(0, top, 9)
        u = np.concatenate([0.5 * (a + b) + 0.5 * (b - a) * nodes for a, b in pairwise(edges)])
        w = np.tile(0.5 * (edges[1] - edges[0]) * weights, 8) * n * u ** (n - 1) / theta**n
        atom = 1 - (top / theta) ** n
        return stats.norm.pdf(y[:, None], u, scale) @ w + atom * stats.norm.pdf(y, 3.0, scale)

    p, change = density(3.0), slope(density, 3.0, 0.002)
    inside = p > 1e-11 * p.max()
    expected = np.sum(change[inside] ** 2 / p[inside]) * (y[1] - y[0])
    exact = found(WIDTH, cf.Maximum("x", (0, 3)), cf.Gaussian(scale=scale), n, [3.0])
    np.testing.assert_allclose(exact, expected, rtol=1e-6)


def test_the_gradient_of_a_likelihood_at_a_tie():
    model = cf.Model(UNIFORM, cf.Channel(cf.Mean("abs(x)", (0, 3)), GAUSSIAN, 100))
    y = np.array([0.7, 1.4])
    log_p = lambda t: np.log(inverted(case(UNIFORM, "abs(x)", (0, 3), t), "gaussian", 0.1, 100, y))  # noqa: E731
    gradient = jax.jacrev(lambda t: model.log_likelihood(t, y))(3.0)
    np.testing.assert_allclose(gradient, slope(log_p, 3.0, 0.004), rtol=1e-6)


JUMPS = [
    (cf.Mean("x > 1", (0, 2)), LAPLACE, 1.0, "x = 1,"),
    (cf.Mean("x >= 2", (0, 2)), LAPLACE, 2.0, "x = 2,"),
    (cf.Each("x > 1", (0, 2)), cf.RandomizedResponse(cf.PureDP(1.0)), 1.0, "x = 1,"),
    (cf.Each("x", (0, 2)), cf.Laplace(scale=0.5, step=0.5), 1.25, "x = 1.25,"),
    (cf.Maximum("x > 1", (0, 2)), LAPLACE, 1.0, "x = 1,"),
]


@pytest.mark.parametrize(("statistic", "mechanism", "theta", "point"), JUMPS)
def test_two_derivatives_are_said_to_be_two(statistic, mechanism, theta, point):
    model = cf.Model(WIDTH, cf.Channel(statistic, mechanism, 10))
    with pytest.raises(cf.ParameterError, match="two derivatives") as refusal:
        cf.information(model, theta)
    assert point in str(refusal.value)


def test_a_jump_away_from_the_end_has_one_derivative():
    """P(X > 1) = 1 − 1/θ: n α² (∂P)²/(τ(1 − τ)) for one bit."""
    keep = math.e / (1 + math.e)
    tau = (1 - keep) + (2 * keep - 1) * 0.5
    expected = 10 * (2 * keep - 1) ** 2 * 0.25**2 / (tau * (1 - tau))
    exact = found(WIDTH, cf.Each("x > 1", (0, 2)), cf.RandomizedResponse(cf.PureDP(1.0)), 10, [2.0])
    np.testing.assert_allclose(exact, expected, rtol=1e-12)


def test_the_gradient_is_no_number_where_there_are_two():
    model = cf.Model(WIDTH, cf.Channel(cf.Each("x > 1", (0, 2)), cf.RandomizedResponse(cf.PureDP(1.0)), 2))
    gradient = jax.jit(jax.grad(lambda t: model.log_likelihood(t, np.array([0.0, 1.0]))))
    assert math.isnan(gradient(1.0))
    assert math.isfinite(gradient(1.5))


def test_second_derivatives_are_refused_where_the_support_moves():
    model = cf.Model(UNIFORM, cf.Channel(cf.Each("abs(x)", (0, 3)), GAUSSIAN, 1))
    with pytest.raises(cf.IncompatibleError, match="second derivatives"):
        jax.hessian(lambda t: model.log_likelihood(t, np.array([1.0])))(3.0)


def test_a_constant_tells_nothing():
    """All records are clipped to one value, on a bound at which the support begins, or below it."""
    uniform = cf.Population(lambda loc: dist.Uniform(loc, loc + 1.0), {"loc": dist.constraints.real})
    each = cf.Channel(cf.Each("x**2", bounds=(-0.5, 0.5)), cf.Gaussian(cf.ZCDP(12.5)), n=30)
    assert cf.information(cf.Model(uniform, each), 0.5).matrix.item() < 1e-12
    one = cf.Channel(cf.Mean("x", bounds=(-1, 0)), cf.Gaussian(scale=1.0), n=1)
    assert cf.information(cf.Model(cf.populations.bernoulli(), one), 0.1).matrix.item() == 0.0


def test_information_of_a_median_at_a_jump_that_the_mean_of_the_records_meets():
    """P(X ≤ 1) = ½ is an end of the panels of the median's rank, and moves with θ: the atom at 0 grows or shrinks."""
    channel = cf.Channel(cf.Median("x * (x > 1)", bounds=(0.231, 1.308)), cf.Gaussian(scale=0.5), n=5)
    v = np.concatenate([[0.0], np.linspace(1.0, 1.308, 4001)])
    y = np.linspace(-4.0, 5.5, 2001)
    kernel = stats.norm.pdf(y[:, None], np.append(0.5 * (v[1:-1] + v[2:]), [0.0, 1.308]), 0.5)

    def density(theta):
        below = stats.beta.cdf(stats.norm.cdf(v[1:], theta, 2.0), 3, 3)  # P(median ≤ v), and of 0 up to v = 1
        return kernel @ np.append(np.diff(below), [below[0], 1.0 - below[-1]])

    p, change = density(1.0), slope(density, 1.0, 0.01)
    expected = np.sum(change**2 / p) * (y[1] - y[0])
    found = cf.information(cf.Model(cf.populations.normal(), channel), [1.0, 4.0]).matrix
    np.testing.assert_allclose(found[0, 0], expected, rtol=1e-6)


@pytest.mark.parametrize(
    "name", ["a maximum that is always at its bound", pytest.param("a quantile of signs", marks=pytest.mark.slow)]
)
def test_information_that_is_next_to_nothing_is_no_reason_to_refuse(name):
    """1e-61 and 1e-22: no two rules agree on rounding."""
    if name.startswith("a maximum"):
        own = cf.Population(lambda loc: dist.StudentT(1.5, loc, 1.0), {"loc": constraints.real})
        model = cf.Model(own, cf.Channel(cf.Maximum("x**3", (-1, 0.5)), cf.Laplace(cf.PureDP(1.0)), 100))
        theta = 0.5
    else:
        channel = cf.Channel(cf.Quantile("sign(x - 1)", 0.9, (-1, 1)), cf.Laplace(scale=0.01), 100)
        model, theta = cf.Model(cf.populations.gamma(), channel), [2.0, 1.0]
    assert np.all(np.abs(cf.information(model, theta).matrix) < 1e-15)
