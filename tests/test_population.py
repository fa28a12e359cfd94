"""`Population`: the conventions for θ, what it refuses, populations of one's own, and the special functions beneath."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import numpyro.distributions as dist
import pytest
import scipy.stats as stats
from numpyro.distributions import constraints

from confide import populations
from confide.errors import AccuracyError, IncompatibleError, InvalidArgument, ParameterError
from confide.population import Population, tails
from confide.population.special import beta_tails, gamma_tails

ALPHA = 1e-6
POSITIVE = {"scale": constraints.positive}


# The conventions for θ


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (2.0, (1,)),
        (2, (1,)),
        ([2.0], (1,)),
        ([1.0, 2.0, 3.0], (3, 1)),
        (np.ones((4, 1)), (4, 1)),
        (np.ones((2, 3, 1)), (2, 3, 1)),
        (np.float32(1.5), (1,)),
    ],
)
def test_one_parameter_may_go_without_its_axis(value, shape):
    theta = populations.normal_variance().theta(value)
    assert theta.shape == shape
    assert theta.dtype == np.float64


@pytest.mark.parametrize(
    ("value", "shape"), [([0.0, 1.0], (2,)), (np.ones((5, 2)), (5, 2)), (np.ones((3, 5, 2)), (3, 5, 2))]
)
def test_several_parameters_are_on_the_last_axis(value, shape):
    assert populations.normal().theta(value).shape == shape


@pytest.mark.parametrize("value", [[], np.ones((2, 3)), np.ones((0,)), "two", None, {"mean": 1.0}, [[1.0], [1.0, 2.0]]])
def test_a_wrong_shape_or_type_for_one_parameter_is_refused(value):
    with pytest.raises(ParameterError, match="theta"):
        populations.normal_variance().theta(value)


@pytest.mark.parametrize("value", [1.0, [1.0], [1.0, 2.0, 3.0], np.ones((2, 3))])
def test_a_wrong_shape_for_two_parameters_is_refused(value):
    with pytest.raises(ParameterError, match="last axis 2 long"):
        populations.normal().theta(value)


@pytest.mark.parametrize(
    ("population", "value"),
    [
        (populations.normal_variance(), 0.0),
        (populations.normal_variance(), -1.0),
        (populations.normal_variance(), [1.0, 2.0, -0.5]),
        (populations.bernoulli(), 0.0),
        (populations.bernoulli(), 1.0),
        (populations.bernoulli(), 1.5),
        (populations.normal(), [0.0, 0.0]),
        (populations.gamma(), [[1.0, 1.0], [1.0, -1.0]]),
        (populations.categorical(3), [0.5, 0.5, 0.5]),
        (populations.categorical(3), [1.2, -0.1, -0.1]),
    ],
)
def test_a_theta_outside_the_space_is_refused_by_every_method(population, value):
    with pytest.raises(ParameterError, match="outside the parameter space") as caught:
        population.theta(value)
    assert caught.value.argument == "theta"
    assert any(name in caught.value.problem for name in population.names)
    for method in (population.distribution, population.support, population.fisher, population.unconstrain):
        with pytest.raises(ParameterError):
            method(value)
    for method in (population.log_prob, population.score, population.cdf, population.survival, population.quantile):
        with pytest.raises(ParameterError):
            method(0.5, value)
    with pytest.raises(ParameterError):
        population.sample(0, value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, [1.0, np.nan]])
def test_a_theta_that_is_not_finite_is_refused(value):
    with pytest.raises(ParameterError, match="not finite"):
        populations.normal_mean().theta(value)


def test_traced_values_pass_unchecked():
    population = populations.normal_variance()
    with jax.enable_x64(True):
        assert jnp.isnan(jax.jit(lambda t: population.log_prob(0.5, t))(-1.0))
        grid = jax.vmap(lambda t: population.log_prob(0.5, t))(jnp.array([1.0, 2.0]))
    np.testing.assert_allclose(np.asarray(grid), stats.norm(0, np.sqrt([1, 2])).logpdf(0.5), rtol=1e-14)


def test_a_known_theta_is_checked_inside_a_trace_too():
    population = populations.categorical(3)
    with pytest.raises(ParameterError):
        jax.jit(lambda x: population.log_prob(x, [0.5, 0.5, 0.5]))(1.0)


def test_records_broadcast_against_the_batch_of_theta():
    population = populations.normal()
    thetas = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])
    x = np.linspace(-1, 1, 5)
    assert population.log_prob(x[:, None], thetas).shape == (5, 3)
    assert population.score(x[:, None], thetas).shape == (5, 3, 2)
    assert population.cdf(x[:3], thetas).shape == (3,)
    assert population.fisher(thetas).shape == (3, 2, 2)
    low, high = population.support(thetas)
    assert low.shape == high.shape == (3,)
    assert population.breaks(thetas).shape == (3, 0)
    with pytest.raises(ValueError, match=r"broadcast|Incompatible"):
        population.log_prob(x, thetas)


def test_samples_have_the_batch_first():
    population = populations.normal()
    thetas = np.array([[0.0, 1e-6], [100.0, 1e-6]])
    x = population.sample(0, thetas, (1000,))
    assert x.shape == (2, 1000)
    np.testing.assert_allclose(x.mean(axis=1), [0.0, 100.0], atol=1e-3)
    assert len(np.unique(x[0] - x[1] + 100)) > 990  # the batch is independent
    assert population.sample(0, [0.0, 1.0], (3, 2)).shape == (3, 2)
    assert population.sample(0, [0.0, 1.0]).shape == ()


def test_the_same_key_gives_the_same_draws():
    population = populations.normal()
    draws = [population.sample(key, [2.0, 1.0], 5) for key in (7, jax.random.key(7), 8)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert not np.array_equal(draws[0], draws[2])
    np.testing.assert_array_equal(population.draw_noise(7, 5), population.draw_noise(7, (5,)))
    with pytest.raises(InvalidArgument, match="key"):
        population.draw_noise(0.5, 3)


def test_a_level_that_is_not_a_probability_is_refused():
    for q in (-0.1, 1.1, np.nan):
        with pytest.raises(InvalidArgument, match="not a probability"):
            populations.normal().quantile(q, [0.0, 1.0])


def test_results_are_double_precision_and_the_configuration_is_untouched():
    assert jax.config.jax_enable_x64 is False
    population = populations.normal()
    x = population.sample(0, [0.0, 1.0], 3)
    for value in (x, population.log_prob(x, [0.0, 1.0]), population.draw_noise(0, 3), population.fisher([0.0, 1.0])):
        assert isinstance(value, np.ndarray)
        assert value.dtype == np.float64
    assert population.cdf(-20.0, [0.0, 1.0]) == pytest.approx(stats.norm.cdf(-20.0), rel=1e-12)
    assert jax.config.jax_enable_x64 is False
    assert jnp.ones(1).dtype == jnp.float32


def test_gradients_are_had_in_single_precision_too():
    slope = jax.grad(lambda t: populations.normal_variance().log_prob(1.0, t))(2.0)
    assert float(slope) == pytest.approx(-1 / 4 + 1 / 8, rel=1e-6)


# The value object


def test_what_a_population_says_of_itself():
    population = populations.gamma()
    assert repr(population).startswith("Population('gamma', {'concentration': Positive")
    assert str(population) == "gamma: concentration, rate"
    assert population.names == ("concentration", "rate")
    assert population.dimension == 2
    assert list(population.parameters) == ["concentration", "rate"]
    assert (population.discrete, population.moving, population.regular) == (False, False, True)
    assert populations.categorical(4).dimension == 4
    assert populations.categorical(4).unconstrained_dimension == 3


def test_populations_are_frozen_and_compared_by_their_parts():
    first = Population(dist.HalfNormal, POSITIVE)
    assert first == Population(dist.HalfNormal, dict(POSITIVE))
    assert hash(first) == hash(Population(dist.HalfNormal, POSITIVE))
    assert first != Population(dist.HalfNormal, POSITIVE, name="other")
    assert first != Population(dist.HalfCauchy, POSITIVE)
    assert Population(lambda scale: dist.HalfNormal(2 * scale), POSITIVE).name == "population"
    with pytest.raises(AttributeError):
        first.name = "else"


def test_the_distribution_is_numpyro_s():
    distribution = populations.normal().distribution([1.0, 4.0])
    assert isinstance(distribution, dist.Normal)
    assert float(distribution.scale) == 2.0


@pytest.mark.parametrize(
    ("family", "parameters", "message"),
    [
        ("normal", POSITIVE, "not callable"),
        (dist.HalfNormal, {}, "names no parameter"),
        (dist.HalfNormal, {"width": constraints.positive}, "cannot be called"),
        (lambda scale: 3.0, POSITIVE, "cannot be called"),
        (dist.HalfNormal, {"scale": 1.0}, "not a constraint"),
        (dist.HalfNormal, {"scale": constraints.positive_integer}, "not a space"),
        (dist.HalfNormal, {"scale": constraints.simplex}, "unknown length"),
        (lambda scale: dist.HalfNormal(scale * jnp.ones(3)), POSITIVE, r"shape \(3,\)"),
        (lambda scale: dist.Dirichlet(scale * jnp.ones(3)), POSITIVE, r"shape \(3,\)"),
    ],
)
def test_what_cannot_be_a_population_is_refused_in_words(family, parameters, message):
    with pytest.raises(InvalidArgument, match=message):
        Population(family, parameters)


def test_options_that_do_not_fit_are_refused():
    with pytest.raises(InvalidArgument, match="names no parameter"):
        Population(dist.HalfNormal, POSITIVE, sizes={"width": 2})
    with pytest.raises(InvalidArgument, match="gives a length to the scalar"):
        Population(dist.HalfNormal, POSITIVE, sizes={"scale": 2})
    with pytest.raises(InvalidArgument, match="without what turns it"):
        Population(dist.HalfNormal, POSITIVE, noise=dist.Normal(0.0, 1.0))
    with pytest.raises(InvalidArgument, match="not hashable"):
        Population(dist.HalfNormal, POSITIVE, breaks=_Unhashable())


class _Unhashable:
    __hash__ = None

    def __call__(self, scale):
        return scale


# Populations of one's own


def without_closed_forms(family):
    """A subclass of a numpyro family that has only a density and a sampler."""

    def missing(self, value):
        raise NotImplementedError

    return type("Bare" + family.__name__, (family,), {"cdf": missing, "icdf": missing})


def test_a_family_with_a_cdf_but_no_inverse():
    population = Population(
        dist.Weibull, {"scale": constraints.positive, "concentration": constraints.positive}, name="weibull"
    )
    theta, reference = (2.0, 1.7), stats.weibull_min(1.7, scale=2.0)
    x = reference.ppf([1e-6, 0.1, 0.5, 0.9, 1 - 1e-9])
    np.testing.assert_allclose(population.cdf(x, theta), reference.cdf(x), atol=1e-14)
    np.testing.assert_allclose(population.survival(x, theta), reference.sf(x), rtol=1e-9)
    noise = population.draw_noise(0, 20_000)
    records = population.transform(noise, theta)  # the quantile function, as no other transform is given
    np.testing.assert_allclose(reference.cdf(records), noise, atol=1e-13)
    assert stats.kstest(records, reference.cdf).pvalue > ALPHA
    assert stats.kstest(population.sample(0, theta, 20_000), reference.cdf).pvalue > ALPHA
    euler = float(mp.euler)
    expected = [  # the known information of (scale, shape)
        [(1.7 / 2) ** 2, -(1 - euler) / 2],
        [-(1 - euler) / 2, (np.pi**2 / 6 + (1 - euler) ** 2) / 1.7**2],
    ]
    np.testing.assert_allclose(population.fisher(theta), expected, rtol=1e-9)


def test_a_cdf_whose_derivative_numpyro_lacks():
    population = Population(dist.StudentT, {"df": constraints.positive, "loc": constraints.real}, name="student")
    assert population.facts.cdf and not population.facts.cdf_gradient
    theta, x = np.array([3.0, 1.0]), np.array([-6.0, 0.5, 1.0, 2.5])
    with jax.enable_x64(True):
        slope = np.asarray(jax.jit(jax.jacrev(lambda t: population.cdf(x, t)))(jnp.array(theta)))

    def density(t, df):
        return mp.gamma((df + 1) / 2) / (mp.gamma(df / 2) * mp.sqrt(df * mp.pi)) * (1 + t * t / df) ** (-(df + 1) / 2)

    by_df = [float(mp.diff(lambda df, z=z: mp.quad(lambda t: density(t, df), [0, z]), 3)) for z in x - 1]
    np.testing.assert_allclose(slope[:, 0], by_df, atol=1e-10)
    np.testing.assert_allclose(slope[:, 1], -stats.t(3).pdf(x - 1), atol=1e-10)


def _two_bumps(weight, gap):
    bumps = dist.Normal(jnp.array([0.0, gap]), jnp.array([1.0, 0.01]))
    return without_closed_forms(dist.MixtureSameFamily)(dist.Categorical(probs=jnp.array([weight, 1 - weight])), bumps)


def test_a_density_alone_with_two_modes_far_apart():
    population = Population(_two_bumps, {"weight": constraints.open_interval(0.0, 1.0), "gap": constraints.real})
    theta = (0.3, 50.0)
    x = np.array([-6.0, 0.0, 1.0, 49.98, 50.005, 50.02])
    lower = 0.3 * stats.norm.cdf(x) + 0.7 * stats.norm.cdf(x, 50, 0.01)
    np.testing.assert_allclose(population.quantile(lower, theta), x, rtol=1e-10, atol=1e-12)


def test_a_density_alone_on_a_moving_support():
    family = without_closed_forms(dist.Uniform)
    population = Population(lambda width: family(-width, 2 * width), {"width": constraints.positive})
    assert population.moving
    x = np.array([-1.5, 0.0, 3.0])
    with jax.enable_x64(True):
        value, slope = jax.jit(lambda w: jax.jvp(lambda w: population.cdf(x, w), (w,), (1.0,)))(2.0)
    np.testing.assert_allclose(np.asarray(value), (x + 2) / 6, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(slope), -x / 12, atol=1e-10)
    with pytest.raises(IncompatibleError, match="depends on its parameters"):
        population.fisher(2.0)


def test_a_declared_kink_and_declared_motion():
    family = without_closed_forms(dist.Laplace)
    parameters = {"loc": constraints.real}
    population = Population(lambda loc: family(loc, 1.0), parameters, breaks=lambda loc: loc, moving=True)
    assert population.moving and not population.facts.moving
    x = np.array([-1.0, 0.3, 2.0])
    with jax.enable_x64(True):
        slope = np.asarray(jax.jit(jax.jacfwd(lambda t: population.cdf(x, t)))(0.3))
    np.testing.assert_allclose(slope, -stats.laplace(0.3).pdf(x), atol=1e-10)


def test_a_discrete_family_is_summed():
    population = Population(lambda p: dist.Binomial(10, p), {"p": constraints.open_interval(0.0, 1.0)}, "binomial")
    reference, x = stats.binom(10, 0.3), np.arange(-1.0, 12.0)
    assert population.discrete and not population.moving
    np.testing.assert_allclose(population.cdf(x, 0.3), reference.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(population.survival(x, 0.3), reference.sf(x), rtol=1e-12)
    np.testing.assert_allclose(population.cdf(x + 0.5, 0.3), reference.cdf(x), rtol=1e-12)
    np.testing.assert_array_equal(population.log_prob([0.5, 11.0, -1.0], 0.3), -np.inf)
    q = np.linspace(0.01, 0.99, 13)
    np.testing.assert_array_equal(population.quantile(q, 0.3), reference.ppf(q))
    np.testing.assert_allclose(population.fisher(0.3), [[10 / 0.21]], rtol=1e-10)


def test_a_population_may_supply_its_noise():
    population = Population(
        lambda loc: dist.Cauchy(loc, 2.0),
        {"loc": constraints.real},
        noise=dist.Cauchy(0.0, 2.0),
        transform=lambda z, loc: loc + z,
    )
    records = population.transform(population.draw_noise(3, 20_000), 5.0)
    assert stats.kstest(records, stats.cauchy(5, 2).cdf).pvalue > ALPHA
    with jax.enable_x64(True):
        assert jax.grad(lambda t: population.transform(0.7, t))(5.0) == 1.0


def test_a_sum_that_misses_mass_is_an_error_and_not_an_answer():
    spread = Population(dist.Geometric, {"probs": constraints.open_interval(0.0, 1.0)})
    with pytest.raises(AccuracyError, match="sums to one only within"):
        spread.cdf(3.0, 1e-5)
    steep = Population(lambda b: dist.Kumaraswamy(2.0, b), {"b": constraints.positive})  # singular at 1, not at 0
    with pytest.raises(AccuracyError, match="supply its cdf"):
        steep.fisher(0.05)


class _DensityOnly(dist.Distribution):
    support = constraints.real

    def __init__(self, scale):
        self.scale = scale
        super().__init__(batch_shape=jnp.shape(scale), event_shape=())

    def log_prob(self, value):
        return -0.5 * (value / self.scale) ** 2 - jnp.log(self.scale) - 0.5 * jnp.log(2 * jnp.pi)


def test_a_density_without_draws_says_what_is_missing():
    population = Population(_DensityOnly, POSITIVE)
    assert population.log_prob(0.0, 1.0) == pytest.approx(stats.norm.logpdf(0))
    for attempt in (population.cdf, population.survival, population.quantile):
        with pytest.raises(IncompatibleError, match="cannot be sampled"):
            attempt(0.5, 1.0)
    with pytest.raises(IncompatibleError, match="cannot be sampled"):
        population.fisher(1.0)
    with pytest.raises(IncompatibleError, match="cannot be sampled"):
        population.sample(0, 1.0)
    supplied = Population(_DensityOnly, POSITIVE, cdf=lambda x, scale: jax.scipy.special.ndtr(x / scale))
    assert supplied.cdf(1.0, 1.0) == pytest.approx(stats.norm.cdf(1))
    assert supplied.survival(1.0, 1.0) == pytest.approx(stats.norm.sf(1))


def test_records_must_be_numbers_in_an_interval():
    class Odd(_DensityOnly):
        support = constraints.sphere

    with pytest.raises(IncompatibleError, match="not numbers in an interval"):
        Population(Odd, POSITIVE)


# Special functions


@pytest.fixture(scope="module")
def gamma_grid():
    shapes = [0.01, 0.5, 1.0, 2.0, 2.5, 10.0, 50.0, 1000.0]  # integers too, at which the fraction terminates
    a, ratio = (grid.ravel() for grid in np.meshgrid(shapes, [1e-3, 0.5, 0.9, 1.0, 1.1, 2.0, 10.0]))
    x = a * ratio

    def everything(a, x):
        return (*gamma_tails(a, x), jax.grad(lambda s: gamma_tails(s, x)[0])(a))

    with jax.enable_x64(True):
        return a, x, [np.asarray(part) for part in jax.jit(jax.vmap(everything))(a, x)]


def test_incomplete_gamma_values(gamma_grid):
    a, x, (lower, upper, _) = gamma_grid
    with mp.workdps(40):
        for i in range(len(a)):
            exact = mp.gammainc(a[i], 0, x[i], regularized=True), mp.gammainc(a[i], x[i], mp.inf, regularized=True)
            assert abs(lower[i] - exact[0]) < 1e-12 and abs(upper[i] - exact[1]) < 1e-12
            smaller, value = min(exact), min(lower[i], upper[i])
            if smaller > 1e-280:
                assert abs(value / smaller - 1) < 2e-12, (a[i], x[i])


def test_incomplete_gamma_derivatives_in_the_shape(gamma_grid):
    a, x, (_, _, slope) = gamma_grid
    with mp.workdps(40):
        for i in range(len(a)):
            exact = mp.diff(lambda s, i=i: mp.gammainc(s, 0, x[i], regularized=True), a[i])
            assert abs(slope[i] - exact) < 1e-12 * max(1, abs(exact)), (a[i], x[i])


def test_incomplete_beta_values_and_derivatives():
    shapes = [0.05, 0.5, 1.0, 3.0, 40.0, 800.0]
    a, b, level = (grid.ravel() for grid in np.meshgrid(shapes, [0.1, 1.0, 2.0, 60.0], [0.02, 0.5, 0.97]))
    x = np.clip(stats.beta(a, b).ppf(level), 1e-8, 1 - 1e-8)

    def everything(a, b, x):
        slopes = jax.grad(lambda a, b: beta_tails(a, b, x, 1 - x)[0], argnums=(0, 1))(a, b)
        return (*beta_tails(a, b, x, 1 - x), *slopes)

    with jax.enable_x64(True):
        lower, upper, by_a, by_b = (np.asarray(part) for part in jax.jit(jax.vmap(everything))(a, b, x))
    np.testing.assert_allclose(lower + upper, 1.0, atol=1e-15)
    with mp.workdps(30):
        step = mp.mpf(10) ** -9

        def exact(a, b, x):
            return mp.betainc(a, b, 0, x, regularized=True)

        for i in range(len(a)):
            assert abs(lower[i] - exact(a[i], b[i], x[i])) < 1e-11
            slope_a = (exact(a[i] * (1 + step), b[i], x[i]) - exact(a[i] * (1 - step), b[i], x[i])) / (2 * a[i] * step)
            slope_b = (exact(a[i], b[i] * (1 + step), x[i]) - exact(a[i], b[i] * (1 - step), x[i])) / (2 * b[i] * step)
            assert abs(by_a[i] - slope_a) < 1e-11 * max(1, abs(slope_a)), (a[i], b[i], x[i])
            assert abs(by_b[i] - slope_b) < 1e-11 * max(1, abs(slope_b)), (a[i], b[i], x[i])


def test_survival_at_many_records_keeps_its_digits_in_the_tail():
    population = Population(lambda loc: dist.Cauchy(loc, 1.0), {"loc": constraints.real})
    with jax.enable_x64(True):
        for x in ([-3.0, 0.0, 40.0], [-3.0, 0.0, 1e7]):  # without, and with, a record in the upper tail
            found = tails.survivals(population, jnp.asarray(x), jnp.asarray([0.5]))
            np.testing.assert_allclose(found, stats.cauchy(0.5).sf(x), rtol=1e-10)
