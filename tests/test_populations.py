"""The families of `confide.populations` against SciPy and 40-digit arithmetic, and their samplers against both."""

import pickle
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats as stats
from numpyro.distributions import constraints

import confide.populations as populations
from confide.errors import IncompatibleError, InvalidArgument
from confide.population import Population
from confide.population.information import fisher_by_rule

ALPHA = 1e-6
DRAWS = 40_000
LEVELS = np.array([1e-4, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-4])


@dataclass(frozen=True)
class Case:
    """A family, a θ, and two independent versions of its law: SciPy's, and the cdf in arbitrary precision."""

    population: Population
    theta: tuple
    reference: object
    exact_cdf: object  # (x, *theta) -> P(X ≤ x) in mpmath
    breaks: tuple = ()

    def points(self):
        return self.reference.ppf(LEVELS)


def _normal_cdf(x, mean, variance):
    return mp.ncdf((x - mean) / mp.sqrt(variance))


def _laplace_cdf(x, loc, scale):
    z = (x - loc) / scale
    return mp.exp(z) / 2 if z < 0 else 1 - mp.exp(-z) / 2


CASES = {
    "normal_mean": Case(
        populations.normal_mean(2.0), (0.3,), stats.norm(0.3, np.sqrt(2)), lambda x, m: _normal_cdf(x, m, 2)
    ),
    "normal_variance": Case(
        populations.normal_variance(0.5),
        (2.0,),
        stats.norm(0.5, np.sqrt(2)),
        lambda x, v: _normal_cdf(x, mp.mpf("0.5"), v),
    ),
    "normal": Case(populations.normal(), (-1.0, 0.25), stats.norm(-1, 0.5), _normal_cdf),
    "lognormal": Case(
        populations.lognormal(),
        (0.3, 0.7),
        stats.lognorm(0.7, scale=np.exp(0.3)),
        lambda x, loc, scale: mp.ncdf((mp.log(x) - loc) / scale),
    ),
    "laplace": Case(populations.laplace(), (0.3, 2.0), stats.laplace(0.3, 2), _laplace_cdf, breaks=(0.3,)),
    "uniform_width": Case(populations.uniform_width(), (3.0,), stats.uniform(-3, 6), lambda x, w: (x + w) / (2 * w)),
    "exponential": Case(populations.exponential(), (0.7,), stats.expon(scale=1 / 0.7), lambda x, r: 1 - mp.exp(-r * x)),
    "gamma": Case(
        populations.gamma(),
        (2.5, 1.5),
        stats.gamma(2.5, scale=1 / 1.5),
        lambda x, a, r: mp.gammainc(a, 0, r * x, regularized=True),
    ),
    "beta": Case(
        populations.beta(),
        (2.5, 4.0),
        stats.beta(2.5, 4),
        lambda x, a, b: mp.betainc(a, b, 0, x, regularized=True),
    ),
    "bernoulli": Case(populations.bernoulli(), (0.3,), stats.bernoulli(0.3), lambda x, p: 1 - p if x < 1 else 1),
    "poisson": Case(
        populations.poisson(),
        (3.3,),
        stats.poisson(3.3),
        lambda x, r: mp.gammainc(mp.floor(x) + 1, r, mp.inf, regularized=True),
    ),
    "negative_binomial": Case(
        populations.negative_binomial(concentration=0.7),
        (2.9,),
        stats.nbinom(0.7, 0.7 / 3.6),
        lambda x, m: mp.betainc(0.7, mp.floor(x) + 1, 0, mp.mpf(0.7) / (mp.mpf(0.7) + m), regularized=True),
    ),
    "categorical": Case(
        populations.categorical(3),
        (0.2, 0.3, 0.5),
        stats.rv_discrete(values=(range(3), (0.2, 0.3, 0.5))),
        lambda x, *p: sum(p[: int(x) + 1]) / sum(p),
    ),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    """A family; the scope makes pytest run all tests of one family together, so that compiled code is shared."""
    return CASES[request.param]


def continuous(case):
    if case.population.discrete:
        pytest.skip("for continuous records")
    return case


def goodness_of_fit(case, records):
    """The p-value of records as draws from the reference: Kolmogorov–Smirnov, or chi-square over the counts."""
    if not case.population.discrete:
        return stats.kstest(records, case.reference.cdf).pvalue
    codes = np.arange(case.reference.ppf(1e-3), case.reference.ppf(1 - 1e-3) + 1)
    edges = np.concatenate([[-np.inf], codes[:-1], [np.inf]])  # the tails join the outermost counts
    expected = np.diff(case.reference.cdf(edges)) * len(records)
    observed = np.histogram(records, np.concatenate([[-np.inf], codes[:-1] + 0.5, [np.inf]]))[0]
    return stats.chisquare(observed, expected).pvalue


def test_samples_follow_the_law(case):
    assert goodness_of_fit(case, case.population.sample(1, case.theta, DRAWS)) > ALPHA


def test_transformed_noise_follows_the_law(case):
    records = case.population.transform(case.population.draw_noise(2, DRAWS), case.theta)
    assert goodness_of_fit(case, records) > ALPHA


def test_a_wrong_scale_is_caught(case):
    if case.population.discrete:
        wrong = np.array(case.theta) * np.array([1.1] + [1.0] * (len(case.theta) - 1))
        records = case.population.sample(1, wrong / wrong.sum() if len(wrong) > 1 else wrong, DRAWS)
    else:
        centre = case.reference.median() if "loc" in case.population.names or "mean" in case.population.names else 0
        records = centre + 1.1 * (case.population.sample(1, case.theta, DRAWS) - centre)
    assert goodness_of_fit(case, records) < ALPHA


def test_log_prob_agrees_with_scipy(case):
    x = case.points()
    expected = case.reference.logpmf(x) if case.population.discrete else case.reference.logpdf(x)
    np.testing.assert_allclose(case.population.log_prob(x, case.theta), expected, rtol=1e-11, atol=1e-12)


@pytest.fixture(scope="module")
def panels(case):
    """A rule over the support made without the package: 20-point panels between quantiles, split at the breaks."""
    if case.population.discrete:
        x = np.arange(0.0, 300.0)
        return x, np.ones_like(x)
    tiny = np.logspace(-14, -2, 60)
    quantiles = case.reference.ppf(np.concatenate([tiny, np.linspace(0.01, 0.99, 60)[1:-1], 1 - tiny[::-1]]))
    edges = np.unique(np.concatenate([quantiles, case.breaks]))
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = 0.5 * np.diff(edges)[:, None]
    return (edges[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()


def test_log_prob_integrates_to_one(case, panels):
    x, w = panels
    assert np.exp(case.population.log_prob(x, case.theta)) @ w == pytest.approx(1.0, abs=1e-10)


def test_the_score_has_mean_zero_and_variance_fisher(case, panels):
    x, w = panels
    scores = case.population.score(x, case.theta)
    assert scores.shape == (len(x), case.population.dimension)
    if not case.population.regular:
        with pytest.raises(IncompatibleError, match="depends on its parameters"):
            case.population.fisher(case.theta)
        return
    mass = np.exp(case.population.log_prob(x, case.theta)) * w
    scores = np.where((mass > 0)[:, None], scores, 0.0)
    np.testing.assert_allclose(mass @ scores, 0.0, atol=1e-9)
    variance = (scores * mass[:, None]).T @ scores
    np.testing.assert_allclose(variance, case.population.fisher(case.theta), rtol=1e-8, atol=1e-8)


def test_cdf_survival_and_quantile_agree_with_scipy(case):
    x = case.points()
    cdf, survival = case.population.cdf(x, case.theta), case.population.survival(x, case.theta)
    np.testing.assert_allclose(cdf, case.reference.cdf(x), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(survival, case.reference.sf(x), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(case.population.quantile(LEVELS, case.theta), x, rtol=1e-9)


def test_outside_the_support(case):
    low, high = case.population.support(case.theta)
    below, above = [low - 1, -np.inf, -np.inf], [high + 1, high + 2, np.inf, np.inf]
    x = np.array(below + above)
    np.testing.assert_array_equal(case.population.cdf(x, case.theta), [0] * 3 + [1] * 4)
    np.testing.assert_array_equal(case.population.survival(x, case.theta), [1] * 3 + [0] * 4)
    np.testing.assert_array_equal(case.population.log_prob(x, case.theta), -np.inf)
    ends = case.population.quantile(np.array([0.0] * 3 + [1.0] * 4), case.theta)
    np.testing.assert_array_equal(ends, [low] * 3 + [high] * 4)


@pytest.fixture(scope="module")
def derivatives(case):
    """Levels q, points x, and the derivatives of cdf, survival and quantile in x, q and θ, run backwards."""
    q = np.array([0.01, 0.3, 0.8])
    x = case.reference.ppf(q)

    def values(x, q, theta):
        population = case.population
        return population.cdf(x, theta), population.survival(x, theta), population.quantile(q, theta)

    with jax.enable_x64(True):
        slopes = jax.jit(jax.jacrev(values, argnums=(0, 1, 2)))(x, q, jnp.array(case.theta))
    return q, x, jax.tree.map(np.asarray, slopes)


def test_derivatives_of_cdf_and_survival_in_theta(case, derivatives):
    _, x, (cdf, survival, _) = derivatives
    units = np.eye(len(case.theta), dtype=int).tolist()
    with mp.workdps(40):
        expected = [
            [float(mp.diff(lambda *t, x=x: case.exact_cdf(mp.mpf(x), *t), case.theta, tuple(unit))) for unit in units]
            for x in x
        ]
    np.testing.assert_allclose(cdf[2], expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(survival[2], -np.array(expected), rtol=1e-10, atol=1e-12)


def test_derivatives_of_the_quantile_in_theta(case, derivatives):
    q, x, (_, _, quantile) = derivatives
    if case.population.discrete:
        assert not np.any(quantile[1]) and not np.any(quantile[2])  # a step function
        return

    def exact_quantile(level, start, theta):
        return mp.findroot(lambda point: case.exact_cdf(point, *theta) - level, mp.mpf(start))

    with mp.workdps(30):
        step = mp.mpf(10) ** -8
        for i, (level, start) in enumerate(zip(q, x, strict=True)):
            for j in range(len(case.theta)):
                shift = [step if k == j else 0 for k in range(len(case.theta))]
                up = exact_quantile(level, start, [t + s for t, s in zip(case.theta, shift, strict=True)])
                down = exact_quantile(level, start, [t - s for t, s in zip(case.theta, shift, strict=True)])
                assert quantile[2][i, j] == pytest.approx(float((up - down) / (2 * step)), rel=1e-9, abs=1e-11)


def test_derivatives_in_x_and_q_are_the_density_and_its_reciprocal(case, derivatives):
    _, x, (cdf, survival, quantile) = derivatives
    density = np.diag(continuous(case).reference.pdf(x))
    np.testing.assert_allclose(cdf[0], density, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(survival[0], -density, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(np.diag(quantile[1]), 1 / np.diag(density), rtol=1e-10)


def test_unconstrain_and_constrain_are_inverses(case):
    free = case.population.unconstrain(case.theta)
    assert free.shape == (case.population.unconstrained_dimension,)
    np.testing.assert_allclose(case.population.constrain(free), case.theta, rtol=1e-12)


def test_batches_agree_with_single_values(case):
    thetas = np.stack([np.array(case.theta)] * 2)
    if case.population.dimension < 3:
        thetas[1] *= 1.2
    x = case.points()
    table = case.population.log_prob(x[:, None], thetas)
    assert table.shape == (7, 2)
    for j, theta in enumerate(thetas):
        np.testing.assert_allclose(table[:, j], case.population.log_prob(x, theta), rtol=1e-14)


@pytest.mark.parametrize("name", ["laplace", "bernoulli"])
def test_closed_information_agrees_with_the_package_s_own_sum_over_the_support(name):
    case = CASES[name]
    with jax.enable_x64(True):
        by_rule = np.asarray(jax.jit(lambda t: fisher_by_rule(case.population, t)[0])(jnp.array(case.theta)))
    np.testing.assert_allclose(by_rule, case.population.fisher(case.theta), rtol=1e-9, atol=1e-9)


def _upper_tail(name, x, theta):
    if name == "normal":
        return mp.ncdf((theta[0] - x) / mp.sqrt(theta[1]))
    if name == "gamma":
        return mp.gammainc(theta[0], theta[1] * x, mp.inf, regularized=True)
    return mp.exp(-theta[0] * x)


@pytest.mark.parametrize("name", ["normal", "exponential", "gamma"])
def test_tails_are_accurate_down_to_1e_minus_100(name):
    case = CASES[name]
    targets = np.array([1e-10, 1e-20, 1e-30, 1e-50, 1e-70, 1e-80, 1e-100])
    with mp.workdps(150):
        theta = [mp.mpf(t) for t in case.theta]
        x = case.reference.ppf(targets)
        exact = [case.exact_cdf(mp.mpf(point), *theta) for point in x]
        errors = [abs(value / e - 1) for value, e in zip(case.population.cdf(x, case.theta), exact, strict=True)]
        assert max(errors) < 1e-11
        x = case.reference.isf(targets)
        exact = [_upper_tail(name, mp.mpf(point), theta) for point in x]
        errors = [abs(v / e - 1) for v, e in zip(case.population.survival(x, case.theta), exact, strict=True)]
        assert max(errors) < 1e-11


@pytest.mark.parametrize(("name", "theta"), [("gamma", (0.05, 2.0)), ("gamma", (500.0, 2.0)), ("beta", (0.3, 40.0))])
def test_quantiles_in_extreme_shapes(name, theta):
    population = CASES[name].population
    q = np.array([1e-14, 1e-5, 0.3, 0.5, 0.7, 0.99, 1 - 1e-5])
    x = population.quantile(q, theta)
    assert np.all(np.diff(x) > 0)
    np.testing.assert_allclose(population.cdf(x, theta), q, rtol=1e-11)
    np.testing.assert_allclose(population.survival(x, theta), 1 - q, rtol=1e-10)


def test_poisson_quantile_is_scipy_s_over_a_wide_range_of_rates():
    q = np.concatenate([np.linspace(0.001, 0.999, 500), [1e-300, 1e-20, 1 - 1e-12]])
    for rate in (0.01, 0.7, 40.0, 3000.0):
        np.testing.assert_array_equal(populations.poisson().quantile(q, rate), stats.poisson(rate).ppf(q))


def test_second_derivatives_in_theta():
    case = CASES["gamma"]
    x = case.reference.ppf(0.7)
    with jax.enable_x64(True):
        hessian = np.asarray(jax.jit(jax.hessian(lambda t: case.population.cdf(x, t)))(jnp.array(case.theta)))
    with mp.workdps(40):
        expected = [
            [float(mp.diff(lambda *t: case.exact_cdf(mp.mpf(x), *t), case.theta, order)) for order in row]
            for row in (((2, 0), (1, 1)), ((1, 1), (0, 2)))
        ]
    np.testing.assert_allclose(hessian, expected, rtol=1e-9)


MAKERS = {name: getattr(populations, name) for name in CASES if name != "categorical"}
MAKERS["categorical"] = lambda: populations.categorical(4)


@pytest.mark.parametrize("name", MAKERS)
def test_two_calls_return_equal_hashable_populations(name):
    first, second = MAKERS[name](), MAKERS[name]()
    assert first == second
    assert hash(first) == hash(second)
    assert pickle.loads(pickle.dumps(first)) == first


def test_different_arguments_give_different_populations():
    assert populations.normal_mean(1) == populations.normal_mean(1.0) != populations.normal_mean(2.0)
    assert populations.categorical(3) != populations.categorical(4)
    assert len({make() for make in MAKERS.values()}) == len(MAKERS)


def test_equal_populations_share_compiled_code():
    traces = []

    def record(population, x):
        traces.append(population.name)
        return x

    compiled = jax.jit(record, static_argnums=0)
    compiled(populations.gamma(), 1.0)
    compiled(populations.gamma(), 1.0)
    assert traces == ["gamma"]


def test_only_the_uniform_moves():
    assert [name for name, case in CASES.items() if case.population.moving] == ["uniform_width"]


def test_the_transform_of_a_moving_support_moves_with_it():
    with jax.enable_x64(True):
        slope = jax.grad(lambda width: populations.uniform_width().transform(0.25, width))(3.0)
    assert float(slope) == pytest.approx(0.25)


def test_categorical_information_is_singular_along_theta():
    p = np.array([0.2, 0.3, 0.5])
    information = populations.categorical(3).fisher(p)
    np.testing.assert_allclose(information, np.diag(1 / p) - 1, rtol=1e-12)
    np.testing.assert_allclose(information @ p, 0, atol=1e-12)


def test_the_kink_of_the_laplace_is_declared_and_differentiated_through():
    population = populations.laplace()
    np.testing.assert_array_equal(population.breaks([[0.3, 2.0], [1.0, 1.0]]), [[0.3], [1.0]])
    with jax.enable_x64(True):
        slope = jax.grad(lambda x: population.cdf(x, jnp.array([0.3, 2.0])))(0.3)
    assert float(slope) == pytest.approx(0.25, rel=1e-14)  # at the kink itself


@pytest.mark.parametrize("variance", [0.0, -1.0, np.inf, np.nan])
def test_a_known_variance_must_be_one(variance):
    with pytest.raises(InvalidArgument, match="variance"):
        populations.normal_mean(variance)


@pytest.mark.parametrize("k", [1, 0, 2.5, "three"])
def test_categories_must_be_counted(k):
    with pytest.raises(InvalidArgument, match="k = "):
        populations.categorical(k)


def test_a_known_mean_must_be_finite():
    with pytest.raises(InvalidArgument, match="mean"):
        populations.normal_variance(np.inf)


@pytest.mark.parametrize(
    ("name", "theta"),
    [("gamma", (40.0, 3.0)), ("gamma", (1e6, 1e5)), ("beta", (20.0, 15.0)), ("beta", (1e5, 1e5)), ("beta", (3.0, 1e6))],
)
def test_densities_of_large_shapes_keep_their_digits(name, theta):
    """The logarithms of a density at shape 1e6 are differences of 1e7, where seven digits were lost."""
    population = getattr(populations, name)()
    a, b = map(mp.mpf, theta)
    if name == "gamma":
        points = (theta[0] + np.asarray([-4.0, 0.0, 2.0]) * theta[0] ** 0.5) / theta[1]
    else:
        mean = theta[0] / sum(theta)
        points = mean + np.asarray([-1.0, 0.0, 2.0]) * (mean * (1 - mean) / sum(theta)) ** 0.5
    with mp.workdps(40):

        def exact(x):
            if name == "gamma":
                return a * mp.log(b) + (a - 1) * mp.log(x) - b * x - mp.loggamma(a), mp.log(b * x) - mp.digamma(a)
            log_beta = mp.loggamma(a) + mp.loggamma(b) - mp.loggamma(a + b)
            score = mp.log(x) - mp.digamma(a) + mp.digamma(a + b)
            return (a - 1) * mp.log(x) + (b - 1) * mp.log(1 - x) - log_beta, score

        expected = np.asarray([[float(part) for part in exact(mp.mpf(float(x)))] for x in points])
    np.testing.assert_allclose(population.log_prob(points, theta), expected[:, 0], atol=2e-12)
    score = np.asarray(population.score(points, theta))[:, 0]
    np.testing.assert_allclose(score, expected[:, 1], atol=1e-12 * np.abs(expected[:, 1]).max())


def test_a_tail_that_falls_off_at_once():
    """Beyond 3000.7 a Weibull law of concentration 1e4 loses all its mass within a thousandth, and survival said none."""
    weibull = Population(
        dist.Weibull, {"scale": constraints.positive, "concentration": constraints.positive}, "weibull"
    )
    x = 3000.0 * (-np.log([1e-3, 1e-7, 1e-12])) ** 1e-4
    np.testing.assert_allclose(weibull.survival(x, [3000.0, 1e4]), [1e-3, 1e-7, 1e-12], rtol=1e-6)
