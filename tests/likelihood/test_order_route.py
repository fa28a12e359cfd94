"""Noisy order statistics against adaptive quadrature of their textbook density, incomplete beta sums, and mpmath."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from numpyro import distributions as dist
from numpyro.distributions import constraints
from scipy import integrate, special, stats

import confide as cf
from confide.errors import IncompatibleError
from confide.likelihood.rank.density import _each, log_likelihood
from confide.likelihood.rank.order import Order, noisy_order
from confide.likelihood.rank.rank_law import rank_law
from tests.likelihood.order_oracles import CASES, log_density, noise_density, x64

ROUTE = Order()
STATISTICS = {
    "minimum": cf.Minimum,
    "median": cf.Median,
    "quantile": lambda expression, bounds: cf.Quantile(expression, 0.9, bounds),
    "maximum": cf.Maximum,
}
#: every statistic with every n, ε in turn from .05 to 10
SETTINGS = [
    (statistic, n, epsilon)
    for i, statistic in enumerate(STATISTICS)
    for n, epsilon in zip((1, 2, 5, 20, 100, 10_000), np.roll((0.05, 0.3, 1.0, 3.0, 6.0, 10.0), i), strict=True)
]
#: compiling takes longer than computing: a few populations in every run, all with both kinds of noise in the long one
QUICK = {("normal_variance", "Laplace"), ("uniform", "Laplace"), ("gamma", "Laplace"), ("normal", "Gaussian")}


def cases():
    pairs = [(name, kind) for kind in ("Laplace", "Gaussian") for name in CASES]
    return [pytest.param(*pair, marks=[] if pair in QUICK else pytest.mark.slow) for pair in pairs]


def mechanism(kind, epsilon):
    return cf.Laplace(cf.PureDP(epsilon)) if kind == "Laplace" else cf.Gaussian(cf.GDP(min(epsilon, 8.0)))


def values_of_y(law, scale):
    """Inside, at an atom, and ten scales out on both sides."""
    shares = np.asarray([0.0, 0.21, 0.5, 0.83, 1.0])
    inside = law.low + (law.high - law.low) * shares
    return np.concatenate([[law.low - 10 * scale, law.low - scale], inside, [law.high + 10 * scale]])


@pytest.mark.parametrize(("name", "kind"), cases())
@x64
def test_density_against_quadrature(name, kind):
    case = CASES[name]
    law = case.law()
    for statistic, n, epsilon in SETTINGS:
        model = case.model(STATISTICS[statistic], mechanism(kind, epsilon), n)
        assert ROUTE.refuses(model) is None
        scale, rank = model.channel.law.noise.scale, model.channel.statistic.rank(n)
        y = values_of_y(law, scale)
        found = np.asarray(ROUTE.log_likelihood(model, np.asarray([case.theta]), y))[0]
        expected = log_density(law, n, rank, kind, scale, y, found)
        # one θ by itself, and what is compiled for many
        for each in (found, log_likelihood(noisy_order(model), np.asarray([case.theta]), y, few=0)[0]):
            np.testing.assert_allclose(each, expected, rtol=0, atol=1e-8, err_msg=f"{statistic}, {n}, ε = {epsilon}")


@x64
def test_narrow_noise_far_from_where_the_order_statistic_can_be():
    """The median of 10⁴ is within 0.1 of one value, and y a hundred scales of the noise away from it."""
    case = CASES["normal_variance"]
    model, y = (
        case.model(cf.Median, cf.Laplace(scale=0.01), 10_000),
        np.asarray([-0.3, 0.1, 0.9, 0.95, 1.0, 1.9, 2.2, 2.5]),
    )
    found = np.asarray(ROUTE.log_likelihood(model, np.asarray([case.theta]), y))[0]
    expected = log_density(case.law(), 10_000, 5000, "Laplace", 0.01, y, found)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
    assert np.min(found) < -100


def cell_masses(rank, n, cumulative, complement):
    """P(F_{i−1} < B ≤ F_i) of B ~ Beta(m, n−m+1), by differences of whichever tail is smaller."""
    lower = special.betainc(rank, n - rank + 1, cumulative)
    upper = special.betainc(n - rank + 1, rank, complement)
    return np.where(lower[:-1] < 0.5, np.diff(lower), -np.diff(upper))


@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
@x64
def test_poisson_records_are_a_sum(kind):
    law, low, high = stats.poisson(3.0), 1, 5
    inner = np.arange(low, high)
    levels = np.asarray([0.0, *law.cdf(inner), 1.0]), np.asarray([1.0, *law.sf(inner), 0.0])
    for statistic, n, epsilon in SETTINGS:
        channel = cf.Channel(STATISTICS[statistic]("x", (low, high)), mechanism(kind, epsilon), n)
        rank, scale = channel.statistic.rank(n), channel.law.noise.scale
        y = np.asarray([low - 10 * scale, 1.0, 2.7, 4.0, 5.0, 5.3, high + 3 * scale, high + 10 * scale])
        mass = cell_masses(rank, n, *levels)
        expected = np.log(noise_density(kind, y[:, None] - np.arange(low, high + 1), scale) @ mass)
        model = cf.Model(cf.populations.poisson(), channel)
        found = np.asarray(ROUTE.log_likelihood(model, np.asarray([[3.0]]), y))[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@x64
def test_changing_numbers_compiles_nothing():
    """Scale, bounds, n, rank, θ and the number of y are arguments of one compiled function."""

    def evaluate(statistic, epsilon, n, bound, thetas, y):
        channel = cf.Channel(statistic("abs(x)", (-bound, bound)), cf.Laplace(cf.PureDP(epsilon)), n)
        return ROUTE.log_likelihood(cf.Model(cf.populations.normal_variance(), channel), thetas, y)

    many = np.linspace(1.0, 7.0, 5)[:, None]
    evaluate(cf.Median, 1.0, 100, 3.0, many, np.linspace(0, 1, 6))
    compiled = _each._cache_size()
    evaluate(cf.Maximum, 2.5, 12_345, 4.5, many + 1.0, np.linspace(0, 3, 8))
    assert evaluate(cf.Minimum, 0.3, 1, 1.5, many, np.linspace(-1, 3, 7)).shape == (5, 7)
    assert _each._cache_size() == compiled


def _mp_log_density(n, rank, kind, scale, theta, bound, y, rough):
    """log p(y) for the rank-th of n values of |X|, X ~ N(0, θ), clipped at ±bound; scaled by e^{−rough}, to be near 1."""
    mp = mpmath.mp
    scale, theta, bound, y = (mp.mpf(v) for v in (scale, theta, bound, y))
    root, log_beta = mp.sqrt(2 * theta), mp.loggamma(rank) + mp.loggamma(n - rank + 1) - mp.loggamma(n + 1)

    def noise(t):
        density = mp.exp(-abs(t) / scale) / (2 * scale) if kind == "Laplace" else mp.npdf(t, 0, scale)
        return density * mp.exp(-rough)

    def log_order(below, above):
        return (rank - 1) * mp.log(below) + (n - rank) * mp.log(above) - log_beta

    def integrand(v):
        return mp.exp(log_order(mp.erf(v / root), mp.erfc(v / root))) * 2 * mp.npdf(v, 0, mp.sqrt(theta)) * noise(y - v)

    if n > 1000:  # all mass within sixteen standard deviations of the middle
        p = mp.mpf(rank) / (n + 1)
        middle = root * mp.erfinv(p)
        spread = mp.sqrt(p * (1 - p) / n) / (2 * mp.npdf(middle, 0, mp.sqrt(theta)))
        cuts, atom = [y, *(middle + spread * k for k in range(-16, 17, 4))], 0
        cuts = [v for v in cuts if abs(v - middle) <= 16 * spread]
    else:
        cuts = [v for v in (y, *(bound * k / 8 for k in range(9))) if 0 <= v <= bound]
        atom = mp.quad(lambda b: mp.exp(log_order(b, 1 - b)), [mp.erf(bound / root), 1])
    return rough + float(mp.log(mp.quad(integrand, sorted({*cuts})) + atom * noise(y - bound)))


@pytest.mark.parametrize("kind", ["Laplace", "Gaussian"])
@x64
def test_tails_and_large_n_against_mpmath(kind):
    """Ten scales out at n = 20, and n = 10⁹, where an interval of 1e-3 holds all mass."""
    far, near = np.asarray([-2.5, 4.7]), np.asarray([0.6, 0.9538])
    for n, statistic, y in ((20, cf.Median, far), (20, cf.Maximum, far), (10**9, cf.Median, near)):
        noise = cf.Laplace(scale=0.25) if kind == "Laplace" else cf.Gaussian(scale=0.25)
        model = cf.Model(cf.populations.normal_variance(), cf.Channel(statistic("abs(x)", (-2.2, 2.2)), noise, n))
        found = np.asarray(ROUTE.log_likelihood(model, np.asarray([[2.0]]), np.resize(y, 8)))[0, :2]
        with mpmath.workdps(20):
            rank = model.channel.statistic.rank(n)
            pairs = zip(y, found, strict=True)
            expected = [_mp_log_density(n, rank, kind, 0.25, 2.0, 2.2, *pair) for pair in pairs]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("gaussian", [False, True])
@x64
def test_noise_on_a_lattice_sums_cells(gaussian):
    """P(y) = Σ_k P(u rounds to k) P(V = y − k), with cell probabilities from incomplete beta functions."""
    step, scale, case = 0.25, 0.6, CASES["normal"]
    noise = cf.Gaussian(scale=scale, step=step) if gaussian else cf.Laplace(scale=scale, step=step)
    law = case.law()
    points = np.arange(-6, 9)  # −1.5 … 2 in steps
    edges = points[:-1] * step + 0.5 * step
    levels = np.asarray([0.0, *law.cdf(edges), 1.0]), np.asarray([1.0, *law.sf(edges), 0.0])
    y, far = np.asarray([-30, -6, -5, 0, 3, 8, 9, 40]), np.arange(-400, 401)
    log_noise = -0.5 * (far * step / scale) ** 2 if gaussian else -np.abs(far) * step / scale
    log_noise -= special.logsumexp(log_noise)
    for statistic, n in (("median", 7), ("maximum", 100), ("minimum", 1)):
        model = case.model(STATISTICS[statistic], noise, n)
        mass = cell_masses(model.channel.statistic.rank(n), n, *levels)
        expected = [special.logsumexp(log_noise[k - points + 400], b=mass) for k in y]
        found = np.asarray(ROUTE.log_likelihood(model, np.asarray([case.theta]), y * step))[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param("normal", "Laplace", marks=pytest.mark.slow),
        pytest.param("gamma", "Gaussian", marks=pytest.mark.slow),
        ("uniform", "Laplace"),
    ],
)
@x64
def test_derivatives_in_theta(name, kind):
    """Reverse and forward mode against differences of the independent density; the uniform's support moves with θ."""
    case = CASES[name]
    model = case.model(cf.Median, mechanism(kind, 3.0), 5)
    scale, theta = model.channel.law.noise.scale, np.asarray(case.theta)
    y = values_of_y(case.law(), scale)
    noisy = noisy_order(model)
    mode = jax.jacrev if name == "uniform" else jax.jacfwd
    slopes = jax.jit(mode(lambda t: noisy.log_prob(t, jnp.asarray(y))))(jnp.asarray(theta))
    rough = np.asarray(ROUTE.log_likelihood(model, theta[None], y))[0]
    for i in range(theta.size):
        step = 2e-3 * theta[i] * np.eye(theta.size)[i]
        there = [log_density(case.law(theta + k * step), 5, 3, kind, scale, y, rough) for k in (-2, -1, 1, 2)]
        expected = (there[0] - 8 * there[1] + 8 * there[2] - there[3]) / (12 * step[i])
        np.testing.assert_allclose(slopes[:, i], expected, rtol=0, atol=2e-8)


@pytest.mark.parametrize("kind", ["Laplace", pytest.param("Gaussian", marks=pytest.mark.slow)])
@x64
def test_information_against_quadrature(kind):
    """∫ (∂p)²/p dy, with ∂p by differences and p by the independent density, on panels of y of another size."""
    case, n, theta = CASES["normal_variance"], 5, np.asarray([[2.0]])
    model = case.model(cf.Median, mechanism(kind, 4.0), n)
    scale = model.channel.law.noise.scale
    far = np.linspace(0, 36 if kind == "Laplace" else 9, 9) * scale
    edges = np.concatenate([-far[:0:-1], np.linspace(0, 2.2, 6), 2.2 + far[1:]])
    x, w = np.polynomial.legendre.leggauss(16)
    half = 0.5 * np.diff(edges)[:, None]
    y, weight = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * x).ravel(), (half * w).ravel()
    rough = np.asarray(ROUTE.log_likelihood(model, theta, y))[0]
    step = 4e-3
    at = [log_density(case.law((2.0 + k * step,)), n, 3, kind, scale, y, rough) for k in (-2, -1, 0, 1, 2)]
    score = (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / (12 * step)
    found = np.asarray(ROUTE.information(model, theta))[0, 0, 0]
    assert abs(found / np.sum(weight * np.exp(at[2]) * score**2) - 1) < 1e-8
    assert found < n / (2 * 2.0**2)  # what n records hold
    # the median of 10⁹ records is a known function of θ, seen through noise whose location has information 1/scale²
    large = np.asarray(ROUTE.information(case.model(cf.Median, mechanism(kind, 4.0), 10**9), theta))[0, 0, 0]
    slope = stats.norm.ppf(0.75) / np.sqrt(2.0) / 2
    assert abs(large / (slope / scale) ** 2 - 1) < 1e-3


@x64
def test_information_of_counts_and_lattices():
    """Discrete records and lattice noise: sums over all y, with derivatives of probabilities by differences."""
    population, theta, h = cf.populations.poisson(), 3.0, 2e-3
    model = cf.Model(population, cf.Channel(cf.Median("x", (1, 5)), cf.Laplace(scale=0.9, step=0.5), 6))
    y, thetas = 0.5 * np.arange(-60, 75), theta + h * np.asarray([[-2.0], [-1.0], [0.0], [1.0], [2.0]])
    log_p = np.asarray(ROUTE.log_likelihood(model, thetas, y))
    score = (log_p[0] - 8 * log_p[1] + 8 * log_p[3] - log_p[4]) / (12 * h)
    found = np.asarray(ROUTE.information(model, np.asarray([[theta]])))[0, 0, 0]
    assert abs(found / np.sum(np.exp(log_p[2]) * score**2) - 1) < 1e-8
    # with hardly any noise: the information of the median itself
    quiet = cf.Model(population, cf.Channel(cf.Median("x", (1, 5)), cf.Laplace(scale=0.02), 6))
    levels = [np.asarray([0, *stats.poisson(t).cdf(np.arange(1, 5)), 1]) for t in thetas[:, 0]]
    mass = [np.diff(special.betainc(3, 4, level)) for level in levels]
    slope = (mass[0] - 8 * mass[1] + 8 * mass[3] - mass[4]) / (12 * h)
    found = np.asarray(ROUTE.information(quiet, np.asarray([[theta]])))[0, 0, 0]
    assert abs(found / np.sum(slope**2 / mass[2]) - 1) < 1e-8


@x64
def test_rank_law_is_accurate_for_every_n():
    """The density of the logit of Beta(m, n−m+1) against mpmath, to 1e-9 at n = 10⁹."""
    with mpmath.workdps(40):
        for n, rank in ((1, 1), (2, 2), (100, 50), (10**6, 1), (10**9, 5 * 10**8), (10**9, 10**9)):
            law = rank_law(n, rank)
            zeta = law.cuts[[3, 10, 15, 20, 27]]
            log_beta = mpmath.loggamma(rank) + mpmath.loggamma(n - rank + 1) - mpmath.loggamma(n + 1)
            for z, found in zip(zeta, np.asarray(law.log_density(jnp.asarray(zeta))), strict=True):
                log_u, log_rest = -mpmath.log1p(mpmath.exp(-mpmath.mpf(z))), -mpmath.log1p(mpmath.exp(mpmath.mpf(z)))
                assert abs(found - float(rank * log_u + (n - rank + 1) * log_rest - log_beta)) < 1e-9


def test_quantiles_beside_an_inflection_of_s():
    """F_s has a slope without end where s has none: there Newton's steps went back and forth, and log p was 6e-4 off."""
    population = cf.Population(lambda loc: dist.Cauchy(loc, 1.0), {"loc": constraints.real})
    channel = cf.Channel(cf.Minimum("x**3", bounds=(-1, 1)), cf.Gaussian(scale=1.0), n=5)
    thetas, y = np.asarray([0.7142857142857142, 4.0, 4.071428571428571]), -0.686070953341853

    def log_p(theta):
        law = stats.cauchy(theta)
        inside = [
            integrate.quad(lambda x: 5 * law.pdf(x) * law.sf(x) ** 4 * stats.norm.pdf(y, x**3), *ends, epsrel=1e-12)[0]
            for ends in ((-1, 0), (0, 1))
        ]
        atoms = -np.expm1(5 * law.logsf(-1)) * stats.norm.pdf(y, -1) + law.sf(1) ** 5 * stats.norm.pdf(y, 1)
        return np.log(atoms + sum(inside))

    found = cf.Model(population, channel).log_likelihood(thetas, y)
    np.testing.assert_allclose(found, [log_p(theta) for theta in thetas], atol=1e-9)


def test_refusals_name_what_serves():
    median, normal = cf.Median("x", (-1, 1)), cf.populations.normal()

    def reason(statistic, noise, population=normal):
        return ROUTE.refuses(cf.Model(population, cf.Channel(statistic, noise, 10)))

    assert "spectral" in reason(cf.Mean("x", (-1, 1)), cf.Laplace(cf.PureDP(1.0)))
    assert "pool" in reason(median, cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-3)))
    assert "pool" in reason(median, cf.Exponential(cf.PureDP(1.0)))
    assert "additive" in reason(median, cf.Noiseless())
    assert "expression" in reason(cf.Median(lambda x: x, (-1, 1), range=(-1, 1)), cf.Laplace(cf.PureDP(1.0)))
    assert "narrow" in reason(median, cf.Laplace(scale=1e-6))
    assert "left out" in reason(median, cf.Laplace(scale=1.0, step=1e-6))
    assert "integers" in reason(cf.Median("x", (0, 1e6)), cf.Laplace(scale=1e5), cf.populations.poisson())
    model = cf.Model(normal, cf.Channel(median, cf.Exponential(cf.PureDP(1.0)), 10))
    with pytest.raises(IncompatibleError, match="pool"):
        model.log_likelihood([0.0, 1.0], 0.1, route="order")
