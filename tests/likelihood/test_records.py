"""The likelihood of one noisy value per record, against scipy's quadrature of the convolution and brute-force sums."""

import math
from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats

from confide import populations
from confide.channel import Channel
from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.likelihood.local import shared_panels
from confide.likelihood.local.density import log_density
from confide.likelihood.local.noisy_record import local
from confide.likelihood.local.records import PerRecord
from confide.likelihood.record_law.skeleton import frame as frame_of
from confide.likelihood.record_law.traced import moving_law
from confide.mechanism import (
    AdditiveLaw,
    Gaussian,
    Laplace,
    LaplaceNoise,
    Law,
    Mechanism,
    Noiseless,
    RandomizedResponse,
    SmoothLaplace,
)
from confide.model import Model
from confide.population import Population
from confide.privacy import ApproxDP, PureDP
from confide.statistic import Each, Maximum, Mean, Median
from tests.likelihood.test_moving import FAMILIES, finite_difference, quad

ROUTE = PerRecord()


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


#: θ and bounds that clip between 5 and 30 per cent of the records
SETTINGS = {
    "normal_variance": ((2.0,), (-2.0, 2.0)),
    "normal": ((0.5, 1.5), (-1.5, 2.5)),
    "lognormal": ((0.2, 0.7), (0.5, 3.0)),
    "exponential": ((0.8,), (0.1, 2.5)),
    "gamma": ((1.7, 1.1), (0.3, 3.0)),
    "beta": ((0.7, 1.8), (0.05, 0.8)),
    "laplace": ((0.3, 1.1), (-2.0, 3.0)),
    "uniform_width": ((2.5,), (-2.0, 2.0)),
}
EPSILONS = [0.05, 0.4, 1.0, 3.0, 10.0]


@dataclass(frozen=True)
class Expression:
    """s as text and as a function, its kinks, and the x with s(x) = y; c is the middle of the bounds, w their width."""

    text: object
    function: object
    kinks: object
    inverse: object


EXPRESSIONS = {
    "x": Expression(lambda c, w: "x", lambda x, c, w: x, lambda c, w: [], lambda y, c, w: [y]),
    "abs": Expression(
        lambda c, w: f"abs(x - {c})", lambda x, c, w: abs(x - c), lambda c, w: [c], lambda y, c, w: [c - y, c + y]
    ),
    "square": Expression(
        lambda c, w: "x**2",
        lambda x, c, w: x * x,
        lambda c, w: [0.0],
        lambda y, c, w: [-math.sqrt(abs(y)), math.sqrt(abs(y))],
    ),
    "threshold": Expression(
        lambda c, w: f"x > {c}", lambda x, c, w: float(x > c), lambda c, w: [c], lambda y, c, w: []
    ),
    "clip": Expression(
        lambda c, w: f"clip(x, {c - 0.2 * w}, {c + 0.3 * w})",
        lambda x, c, w: min(max(x, c - 0.2 * w), c + 0.3 * w),
        lambda c, w: [c - 0.2 * w, c + 0.3 * w],
        lambda y, c, w: [y],
    ),
}


class Case:
    """A family, an expression and a noise, with the exact density of one value by quadrature."""

    def __init__(self, family, expression, noise, epsilon):
        self.family, self.noise = FAMILIES[family], noise
        self.theta, self.bounds = SETTINGS[family]
        self.shape = 0.5 * sum(self.bounds), self.bounds[1] - self.bounds[0]
        self.expression = EXPRESSIONS[expression]
        self.statistic = Each(self.expression.text(*self.shape), self.bounds)
        low, high = self.statistic.range
        self.scale = (high - low) / epsilon

    def model(self, n):
        mechanism = Laplace if self.noise == "laplace" else Gaussian
        return Model(self.family.population, Channel(self.statistic, mechanism(scale=self.scale), n))

    def values(self):
        """Inside the range, at its ends and a kink, and 1 and 10 scales beyond."""
        low, high = self.statistic.range
        inside = low + (high - low) * np.array([0.0, 0.05, 0.37, 0.6, 1.0])
        return np.array([*inside, high + self.scale, low - 10 * self.scale, high + 10 * self.scale])

    def log_density(self, y, theta):
        """log p(y | θ), the noise taken relative to the nearest end of the range so that nothing underflows."""
        low, high = self.statistic.range
        away = max(low - y, y - high, 0.0)

        def noise(x):
            gap = abs(y - self.expression.function(x, *self.shape))
            if self.noise == "laplace":
                return math.exp((away - gap) / self.scale)
            return math.exp((away**2 - gap**2) / (2 * self.scale**2))

        kinks = [*self.expression.kinks(*self.shape), *self.expression.inverse(y, *self.shape)]
        total = math.log(self.family.expect(noise, theta, self.bounds, kinks))
        if self.noise == "laplace":
            return total - away / self.scale - math.log(2 * self.scale)
        return total - 0.5 * (away / self.scale) ** 2 - math.log(self.scale * math.sqrt(2 * math.pi))


def grid():
    still = [f for f in SETTINGS if f not in ("laplace", "uniform_width")]
    cases = [(f, e, n) for f in still for e in EXPRESSIONS for n in ("laplace", "gaussian")]
    cases += [("laplace", "clip", "laplace"), ("laplace", "square", "gaussian"), ("uniform_width", "abs", "laplace")]
    return [(*case, EPSILONS[i % len(EPSILONS)]) for i, case in enumerate(cases)]


@pytest.mark.parametrize(("family", "expression", "noise", "epsilon"), grid())
def test_each_value_against_the_convolution(family, expression, noise, epsilon):
    case = Case(family, expression, noise, epsilon)
    share = case.family.cdf(case.bounds[0], *case.theta) + case.family.survival(case.bounds[1], *case.theta)
    assert 0.05 < share < 0.31
    values = case.values()
    found = np.asarray(ROUTE.log_likelihood(case.model(1), [case.theta], values[:, None]))[0]
    expected = np.array([case.log_density(y, case.theta) for y in values])
    np.testing.assert_allclose(found[:-2], expected[:-2], atol=1e-8, rtol=0)
    np.testing.assert_allclose(found[-2:], expected[-2:], atol=1e-6, rtol=0)


TRACED = [
    ("normal_variance", "abs", "laplace", 2.0),
    ("uniform_width", "abs", "laplace", 3.0),
    ("laplace", "clip", "laplace", 1.0),
    ("gamma", "square", "gaussian", 3.0),
]


@cache
def traced(family, expression, noise, epsilon):
    case = Case(family, expression, noise, epsilon)
    model = case.model(5)
    return case, jax.jit(jax.value_and_grad(lambda theta, value: ROUTE.log_prob(model, theta, value)))


@pytest.mark.parametrize("setting", TRACED, ids=str)
def test_traced_values_and_gradients(setting):
    case, compute = traced(*setting)
    y = case.values()[[1, 2, 3, 4, 7]]
    value, gradient = compute(jnp.asarray(case.theta), jnp.asarray(y))
    total = lambda theta: sum(case.log_density(v, theta) for v in y)  # noqa: E731
    assert float(value) == pytest.approx(total(case.theta), abs=1e-8)
    for index in range(len(case.theta)):
        expected = finite_difference(total, case.theta, index, 0.01)
        assert float(gradient[index]) == pytest.approx(expected, abs=1e-8, rel=1e-8)


def test_known_and_traced_theta_agree_over_orders_of_magnitude():
    case, compute = traced(*TRACED[0])
    y = case.values()[[1, 2, 3, 4, 7]]
    thetas = np.geomspace(0.003, 300, 40)[:, None]
    known = np.asarray(ROUTE.log_likelihood(case.model(5), thetas, y[None]))[:, 0]
    one_by_one = np.array([float(compute(jnp.asarray(theta), jnp.asarray(y))[0]) for theta in thetas])
    np.testing.assert_allclose(known, one_by_one, atol=1e-9, rtol=0)


def test_the_kink_must_be_split():
    """The plain rule, which ignores that Laplace noise has a kink inside a panel, is visibly wrong."""
    case = Case("normal_variance", "x", "laplace", 10.0)
    y = 0.123
    law = jax.jit(moving_law, static_argnums=(0, 1))
    s, w = law(case.family.population, case.statistic, jnp.asarray(case.theta))
    plain = float(jnp.log(w @ jnp.exp(-jnp.abs(y - s[0]) / case.scale) / (2 * case.scale)))
    exact = case.log_density(y, case.theta)
    assert abs(plain - exact) > 1e-6
    assert float(ROUTE.log_likelihood(case.model(1), [case.theta], [[y]])[0, 0]) == pytest.approx(exact, abs=1e-11)


def test_far_tails_in_high_precision():
    """A narrow normal seen through narrow noise: Φ-like tails that underflow on the way, computed with 50 digits."""
    model = Model(populations.normal_variance(), Channel(Each("x", (-10, 10)), Gaussian(scale=0.5), 1))
    theta, y = 0.01, 9.0
    with mp.workdps(50):
        v = mp.mpf("0.01") + mp.mpf("0.25")
        expected = float(-(mp.mpf(9) ** 2) / (2 * v) - mp.log(2 * mp.pi * v) / 2)
    assert float(ROUTE.log_likelihood(model, [[theta]], [[y]])[0, 0]) == pytest.approx(expected, abs=1e-6)
    laplace = Model(populations.normal_variance(), Channel(Each("x", (-10, 10)), Laplace(scale=0.01), 1))
    with mp.workdps(50):  # all mass is 900 scales away: E e^{X/b} e^{−y/b}/2b
        expected = float(-900 + mp.mpf("0.01") / (2 * mp.mpf("0.01") ** 2) - mp.log(mp.mpf("0.02")))
    assert float(ROUTE.log_likelihood(laplace, [[theta]], [[y]])[0, 0]) == pytest.approx(expected, abs=1e-6)


def test_one_compiled_core_serves_all_scales_and_values():
    population, statistic = populations.exponential(), Each("x", (0, 3))
    before = log_density._cache_size()
    for epsilon, shift in [(0.1, 0.0), (1.0, 0.3), (4.0, 0.6)]:
        model = Model(population, Channel(statistic, Laplace(PureDP(epsilon)), 3))
        one = local(model)
        y = jnp.asarray([0.1, 1.0, 2.0]) + shift
        log_density(population, statistic, one.changes, one.law, one.record, jnp.asarray([1.0]), y)
    assert log_density._cache_size() == before + 1


# ---- discrete records, lattices, other laws -------------------------------------------------------------------------


def brute(points, masses, s, scale, noise, y):
    """log Σ p g(y − s) over a discrete law."""
    law = stats.laplace(scale=scale) if noise == "laplace" else stats.norm(scale=scale)
    return np.log(sum(p * law.pdf(np.asarray(y) - s(x)) for x, p in zip(points, masses, strict=True)))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_discrete_records_by_brute_force(noise):
    mechanism = (Laplace if noise == "laplace" else Gaussian)(scale=1.3)
    y = np.array([[-4.0, 0.0, 0.7, 1.0, 3.5, 11.0]])
    counts = np.arange(60)
    settings = [
        (populations.bernoulli(), [0.3], Each("x", (0, 1)), [0, 1], [0.7, 0.3], lambda x: x),
        (
            populations.categorical(3),
            [0.2, 0.3, 0.5],
            Each("x**2", (0, 2)),
            [0, 1, 2],
            [0.2, 0.3, 0.5],
            lambda x: x * x,
        ),
        (
            populations.poisson(),
            [3.2],
            Each("abs(x - 2)", (1, 6)),
            counts,
            stats.poisson(3.2).pmf(counts),
            lambda x: abs(min(max(x, 1), 6) - 2),
        ),
    ]
    for population, theta, statistic, points, masses, s in settings:
        model = Model(population, Channel(statistic, mechanism, 6))
        expected = brute(points, masses, s, 1.3, noise, y[0]).sum()
        assert float(ROUTE.log_likelihood(model, [theta], y)[0, 0]) == pytest.approx(expected, rel=1e-12)
    value = ROUTE.log_prob(model, jnp.asarray(theta), jnp.asarray(y[0]))  # of the last one, traced
    assert float(value) == pytest.approx(expected, rel=1e-12)


def rounded_normal(variance, step, low, high):
    """The law of a clipped normal, rounded half up to multiples of the step."""
    law = stats.norm(scale=math.sqrt(variance))
    index = np.arange(math.floor(low / step + 0.5), math.floor(high / step + 0.5) + 1)
    edges = np.concatenate([[-np.inf], (index[1:] - 0.5) * step, [np.inf]])
    return index, np.where(edges[:-1] > 0, law.sf(edges[:-1]) - law.sf(edges[1:]), np.diff(law.cdf(edges)))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_noise_on_a_lattice(noise):
    """s is rounded first; the masses of the rounded record and of the noise are summed by brute force."""
    step, scale, variance = 0.25, 0.8, 2.0
    mechanism = (Laplace if noise == "laplace" else Gaussian)(scale=scale, step=step)
    model = Model(populations.normal_variance(), Channel(Each("x", (-2.1, 2.0)), mechanism, 4))
    wide = np.arange(-400, 401)
    weights = np.exp(-np.abs(wide) * step / scale) if noise == "laplace" else np.exp(-0.5 * (wide * step / scale) ** 2)
    mass = dict(zip(wide, weights / weights.sum(), strict=True))
    index, p = rounded_normal(variance, step, -2.1, 2.0)
    k = np.array([-30, -8, 1, 9])
    expected = sum(math.log(sum(q * mass[one - m] for m, q in zip(index, p, strict=True))) for one in k)
    assert float(ROUTE.log_likelihood(model, [[variance]], step * k[None])[0, 0]) == pytest.approx(expected, rel=1e-11)
    traced_value = jax.jit(lambda t, v: ROUTE.log_prob(model, t, v))(jnp.asarray([variance]), jnp.asarray(step * k))
    assert float(traced_value) == pytest.approx(expected, rel=1e-11)
    with pytest.raises(InvalidArgument, match="multiple of the step"):
        ROUTE.log_likelihood(model, [[variance]], [[0.0, 0.25, 0.3, 1.0]])

    def fisher(h=1e-4):
        everything = np.arange(-60, 61) if noise == "gaussian" else np.arange(-150, 151)
        law = lambda v: rounded_normal(v, step, -2.1, 2.0)[1]  # noqa: E731
        matrix = np.array([[mass[one - m] for m in index] for one in everything])
        slope = (law(variance + h) - law(variance - h)) / (2 * h)
        return 4 * np.sum((matrix @ slope) ** 2 / (matrix @ law(variance)))

    assert float(ROUTE.information(model, [[variance]])[0, 0, 0]) == pytest.approx(fisher(), rel=1e-6)


def test_a_lattice_that_is_too_fine_is_refused():
    model = Model(populations.normal_variance(), Channel(Each("x", (-2, 2)), Laplace(scale=1.0, step=1e-6), 1))
    with pytest.raises(AccuracyError, match="leave the step out"):
        ROUTE.log_likelihood(model, [[1.0]], [[0.5]])


def test_one_record_of_a_mean_or_an_order_statistic():
    each = Model(populations.normal_variance(), Channel(Each("x", (-2, 2)), Laplace(scale=0.7), 1))
    expected = float(ROUTE.log_likelihood(each, [[2.0]], [[0.4]])[0, 0])
    for statistic in (Mean("x", (-2, 2)), Median("x", (-2, 2)), Maximum("x", (-2, 2))):
        model = Model(populations.normal_variance(), Channel(statistic, Laplace(scale=0.7), 1))
        assert ROUTE.refuses(model) is None
        assert float(ROUTE.log_likelihood(model, [[2.0]], [0.4])[0, 0]) == expected


class LogisticLaw(Law):
    scale: float
    window = 0

    def sample(self, key, summary):
        return summary + self.scale * jax.random.logistic(key, summary.shape)

    def log_prob(self, value, summary):
        return jax.scipy.stats.logistic.logpdf(value, summary, self.scale)


@dataclass(frozen=True)
class Logistic(Mechanism):
    privacy: PureDP

    def calibrate(self, statistic, n):
        return LogisticLaw(statistic.sensitivity(n) / self.privacy.epsilon)

    def guarantee(self, statistic, n):
        return self.privacy


def test_a_mechanism_of_ones_own():
    model = Model(populations.normal_variance(), Channel(Each("x", (-2, 2)), Logistic(PureDP(2.0)), 2))
    y = [0.3, 5.0]
    density = lambda v: FAMILIES["normal_variance"].expect(  # noqa: E731
        lambda x: stats.logistic.pdf(v, x, 2.0), (1.5,), (-2.0, 2.0)
    )
    expected = sum(math.log(density(v)) for v in y)
    assert float(ROUTE.log_likelihood(model, [[1.5]], [y])[0, 0]) == pytest.approx(expected, abs=1e-9)
    with pytest.raises(IncompatibleError, match="sequential"):
        ROUTE.information(model, [[1.5]])


def test_a_python_function_as_the_statistic():
    """The same statistic as text and as a callable, inside a trace as well."""
    written = Each("abs(x - 0.3)", (-2, 2))
    called = Each(lambda x: jnp.abs(x - 0.3), (-2, 2), range=written.range)
    y = jnp.asarray([[0.2, 1.1, -3.0]])
    text, function = (
        Model(populations.normal_variance(), Channel(statistic, Laplace(scale=1.0), 3))
        for statistic in (written, called)
    )
    expected = float(ROUTE.log_likelihood(text, [[1.5]], y)[0, 0])
    assert float(ROUTE.log_likelihood(function, [[1.5]], y)[0, 0]) == pytest.approx(expected, abs=1e-9)
    inside = jax.jit(lambda theta: ROUTE.log_prob(function, theta, y[0]))(jnp.asarray([1.5]))
    assert float(inside) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("statistic", "mechanism", "n", "words"),
    [
        (Mean("x", (0, 1)), Laplace(scale=1.0), 5, "spectral"),
        (Median("x", (0, 1)), Laplace(scale=1.0), 5, "order"),
        (Mean(["x", "x**2"], (0, 1)), Gaussian(scale=1.0), 1, "normal"),
        (Each("x", (0, 1)), Noiseless(), 5, "Laplace or Gaussian"),
        (Each("x > 0.5", (0, 1)), RandomizedResponse(PureDP(1.0)), 5, "response"),
        (Median("x", (0, 1)), SmoothLaplace(ApproxDP(1.0, 1e-4)), 1, "pool"),
        (Each("x", (0, 1)), Laplace(scale=1.0), 5, None),
    ],
)
def test_refusals_name_what_would_serve(statistic, mechanism, n, words):
    reason = ROUTE.refuses(Model(populations.normal_variance(), Channel(statistic, mechanism, n)))
    assert (reason is None) if words is None else (words in reason)


# ---- information ----------------------------------------------------------------------------------------------------


def test_information_of_noisy_bits():
    """Example 4 with noise on each record: a mixture of two shifted noises, integrated by scipy."""
    for mechanism, law in [
        (Gaussian(scale=0.9), stats.norm(scale=0.9)),
        (Laplace(scale=0.7), stats.laplace(scale=0.7)),
    ]:
        model = Model(populations.bernoulli(), Channel(Each("x", (0, 1)), mechanism, 100))
        for theta in (0.05, 0.5):

            def integrand(y, theta=theta, law=law):
                zero, one = law.pdf(y), law.pdf(y - 1)
                return (one - zero) ** 2 / ((1 - theta) * zero + theta * one)

            expected = 100 * sum(quad(integrand, a, b) for a, b in [(-25, 0), (0, 1), (1, 26)])
            assert float(ROUTE.information(model, [[theta]])[0, 0, 0]) == pytest.approx(expected, rel=1e-9)


def test_information_in_closed_form_without_clipping():
    """N(m, v) plus N(0, σ²) is N(m, v + σ²)."""
    model = Model(populations.normal(), Channel(Each("x", (-60, 60)), Gaussian(scale=8.0), 50))
    thetas = np.array([[0.0, 2.0], [3.0, 9.0]])
    total = thetas[:, 1] + 64
    expected = 50 * np.stack([np.diag([1 / t, 0.5 / t**2]) for t in total])
    found = np.asarray(ROUTE.information(model, thetas))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9 * expected.max())
    assert np.all(np.linalg.eigvalsh(50 * np.asarray(populations.normal().fisher(thetas)) - found) > -1e-12)


def test_information_of_a_uniform_record():
    """Unif(−w, w) plus Laplace noise: p = [G(y + w) − G(y − w)]/2w in closed form, kinks that move with w included."""
    model = Model(populations.uniform_width(), Channel(Each("x", (-3, 3)), Laplace(scale=0.8), 10))
    w, law = 1.7, stats.laplace(scale=0.8)

    def integrand(y):
        p = (law.cdf(y + w) - law.cdf(y - w)) / (2 * w) if y < 0 else (law.sf(y - w) - law.sf(y + w)) / (2 * w)
        slope = (law.pdf(y + w) + law.pdf(y - w)) / (2 * w) - p / w
        return slope**2 / p

    expected = 10 * sum(quad(integrand, a, b) for a, b in [(-30, -w), (-w, 0), (0, w), (w, 30)])
    assert float(ROUTE.information(model, [[w]])[0, 0, 0]) == pytest.approx(expected, rel=1e-8)


def test_no_information_is_found_where_there_is_none():
    """The sign of a centred normal record says nothing about its variance."""
    model = Model(populations.normal_variance(), Channel(Each("x > 0", (-3, 3)), Laplace(scale=0.8), 10))
    assert float(ROUTE.information(model, [[0.01]])[0, 0, 0]) < 1e-20
    model = Model(populations.uniform_width(), Channel(Each("x > 0", (-3, 3)), Gaussian(scale=0.8), 10))
    assert float(ROUTE.information(model, [[1.7]])[0, 0, 0]) < 1e-20


def test_the_papers_sequential_release():
    """Sec 5.5 at ε = .5: .00244 for x² (the paper's code reports .0151); both statistics by a rule of our own here."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    theta, bound, epsilon = 2.0, 10.0, 0.5

    def panels(edges):
        a, b = np.asarray(edges[:-1])[:, None], np.asarray(edges[1:])[:, None]
        return (0.5 * (a + b) + 0.5 * (b - a) * nodes).ravel(), (0.5 * (b - a) * weights).ravel()

    for power, known in [(1, None), (2, 0.00244)]:
        scale = bound**power / epsilon

        def density(y, power=power, scale=scale):
            """p and ∂p/∂θ: twice the half-line, split at s(x) = y, and the atom |X| ≥ 10."""
            root = min(max(y, 0.0), bound**power) ** (1 / power)
            x, w = panels(np.unique([0.0, 0.5, 1.0, 2.0, 3.5, 5.0, 7.0, bound, root]))
            noise = lambda s: np.exp(-np.abs(y - s) / scale) / (2 * scale)  # noqa: E731
            f = 2 * stats.norm.pdf(x, scale=math.sqrt(theta)) * noise(x**power) * w
            z = bound / math.sqrt(theta)
            tail, tail_slope = 2 * stats.norm.sf(z), stats.norm.pdf(z) * z / theta
            atom = noise(bound**power)
            return np.sum(f) + tail * atom, np.sum(f * (x * x / theta - 1) / (2 * theta)) + tail_slope * atom

        y, w = panels(bound**power * np.array([0, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1, 0.2, 0.5, 1.0]))
        p, slope = np.array([density(v) for v in y]).T
        ends = np.array([density(0.0), density(bound**power)])
        expected = 100 * (np.sum(w * slope**2 / p) + scale * np.sum(ends[:, 1] ** 2 / ends[:, 0]))
        statistic = Each("abs(x)" if power == 1 else "x**2", (-bound, bound))
        model = Model(populations.normal_variance(), Channel(statistic, Laplace(PureDP(epsilon)), 100))
        found = float(ROUTE.information(model, [[theta]])[0, 0, 0])
        assert found == pytest.approx(expected, rel=1e-8)
        assert known is None or found == pytest.approx(known, abs=5e-6)


def test_panels_of_a_round_range_serve_as_well_as_their_own(monkeypatch):
    population = populations.normal_variance()
    channel = Channel(Each("abs(x)", bounds=(-10, 10)), Laplace(PureDP(5.0)), n=20)
    model = Model(population, channel)
    values = np.asarray(model.simulate(0, 2.0, (3,)))
    ranges = [np.linspace(0.3, 5.0, 60), np.linspace(0.31, 4.7, 50), np.geomspace(0.02, 50.0, 40)]
    shared_panels._round_panels.cache_clear()
    shared = [ROUTE.log_likelihood(model, thetas[:, None], values) for thetas in ranges]
    built = shared_panels._round_panels.cache_info()
    assert (built.misses, built.hits) == (2, 1)
    shared_panels._panels.cache_clear()
    monkeypatch.setattr(shared_panels, "_round_range", lambda population, thetas: None)
    for thetas, found in zip(ranges, shared, strict=True):
        np.testing.assert_allclose(found, ROUTE.log_likelihood(model, thetas[:, None], values), rtol=1e-10)
    shared_panels._panels.cache_clear()


@pytest.mark.parametrize(
    "thetas", [np.linspace(1.0, 2.0, 5), np.geomspace(1e-20, 1e20, 64), np.full(64, np.inf), np.linspace(0.0, 1.0, 64)]
)
def test_no_round_range_for_few_or_far(thetas):
    assert shared_panels._round_range(populations.normal_variance(), thetas[:, None]) is None


@pytest.mark.parametrize("width", [0.05, 0.3, 1.0])
def test_a_look_at_a_few_points_finds_the_panels_that_are_too_wide(width):
    """A narrow bump at a positive location: panels made for some locations are too wide for those between them."""
    population = Population(lambda location: dist.Normal(location, width), {"location": constraints.positive}, "a bump")
    frame = frame_of(population, Each("x", bounds=(0, 70)), 7)
    made, asked = np.geomspace(32.0, 64.0, 9)[:, None], np.random.default_rng(0).uniform(32.0, 64.0, (64, 1))
    with jax.enable_x64(True):
        panels, _ = shared_panels._refined(population, frame, made, 50.0)
        few, _, missing = shared_panels._looked_at(panels, asked, 50.0, shared_panels._FEW)
        full, *_ = shared_panels._looked_at(panels, asked, 50.0)
    assert np.any(full) or width == 1.0
    np.testing.assert_array_equal(few.any(axis=1), full.any(axis=1))
    # the total mass alone would not tell
    assert np.any(full[missing <= shared_panels._LARGEST_DEFECT]) or width == 1.0


def test_a_scale_that_is_a_number_of_jax():
    """A user's mechanism may compute its scale with JAX, whose numbers have no hash."""

    class Own(Laplace):
        def calibrate(self, statistic, n):
            with jax.enable_x64(True):
                return AdditiveLaw(LaplaceNoise(jnp.asarray(super().calibrate(statistic, n).noise.scale)))

    values, thetas = np.asarray([[0.3, 2.0, -1.0]]), np.linspace(0.5, 4.0, 40)[:, None]
    found = [
        ROUTE.log_likelihood(
            Model(populations.normal_variance(), Channel(Each("abs(x)", (-3, 3)), kind(PureDP(2.0)), 3)), thetas, values
        )
        for kind in (Own, Laplace)
    ]
    np.testing.assert_array_equal(*found)
