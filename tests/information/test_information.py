"""Fisher information: closed forms of the paper's examples, its reported numbers, and inequalities that must hold."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import integrate, special

import confide as cf

NORMAL = cf.populations.normal_variance()


def model(expression, bounds, mechanism, n=100, population=NORMAL, kind=cf.Mean):
    return cf.Model(population, cf.Channel(kind(expression, bounds), mechanism, n))


def gaussian_information(mean, variance, d_mean, d_variance, n, noise):
    """F of N(μ, Σ/n + σ²) for scalar μ, Σ."""
    h = variance / n + noise
    return d_mean**2 / h + 0.5 * (d_variance / n / h) ** 2


@pytest.mark.parametrize("theta", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("a", [1, 3])
def test_example_1_the_mean_of_a_normal(theta, a):
    """s = x and x³ of N(θ, 1); the noise is given by its scale and the bounds are wide."""
    scale = 10.0**a / 100
    found = cf.information(
        model("x" if a == 1 else "x**3", (-60, 60), cf.Gaussian(scale=scale), population=cf.populations.normal_mean()),
        theta, method="normal",
    )  # fmt: skip
    if a == 1:
        expected = gaussian_information(theta, 1.0, 1.0, 0.0, 100, scale**2)
    else:
        variance, slope = 9 * theta**4 + 36 * theta**2 + 15, 36 * theta**3 + 72 * theta
        expected = gaussian_information(theta**3 + 3 * theta, variance, 3 * theta**2 + 3, slope, 100, scale**2)
    assert abs(found.matrix[0, 0] / expected - 1) < 1e-10


@pytest.mark.parametrize("theta", [0.3, 2.0])
@pytest.mark.parametrize("a", [1, 2, 3])
def test_example_2_the_variance_of_a_normal(theta, a):
    scale = 10.0**a / 100
    found = cf.information(model(f"abs(x)**{a}", (-40, 40), cf.Gaussian(scale=scale)), theta, method="normal")
    c1 = special.gamma((a + 1) / 2) / np.sqrt(np.pi)
    c2 = special.gamma((2 * a + 1) / 2) / np.sqrt(np.pi) - c1**2
    mean, variance = (2 * theta) ** (a / 2) * c1, (2 * theta) ** a * c2
    expected = gaussian_information(mean, variance, a / 2 * mean / theta, a * variance / theta, 100, scale**2)
    assert abs(found.matrix[0, 0] / expected - 1) < 1e-10


@pytest.mark.parametrize("theta", [0.05, 0.8, 2.0])
@pytest.mark.parametrize("a", [0.1, 0.5, 1, 2])
def test_example_3_the_width_of_a_uniform(theta, a):
    """F exists though the uniform's own information does not, and no efficiency is claimed."""
    scale = 10.0**a / 100
    population = cf.populations.uniform_width()
    found = cf.information(
        model(f"abs(x)**{a}", (-10, 10), cf.Gaussian(scale=scale), population=population), theta, method="normal"
    )
    mean, variance = theta**a / (a + 1), theta ** (2 * a) * a**2 / ((a + 1) ** 2 * (2 * a + 1))
    expected = gaussian_information(mean, variance, a * mean / theta, 2 * a * variance / theta, 100, scale**2)
    assert abs(found.matrix[0, 0] / expected - 1) < 1e-9
    assert found.efficiency is None


def test_example_4_binary_responses():
    """F1 exactly; F2's and F3's normal approximations with the factor ½ that the paper lacks (erratum 4)."""
    theta, epsilon, n = 0.25, 1.0, 100
    bernoulli = cf.populations.bernoulli()
    alpha = np.tanh(epsilon / 2)
    tau = (theta * np.exp(epsilon) + 1 - theta) / (1 + np.exp(epsilon))
    response = model("x", (0, 1), cf.RandomizedResponse(cf.PureDP(epsilon)), n, bernoulli, cf.Each)
    assert abs(cf.information(response, theta).matrix[0, 0] / (n * alpha**2 / (tau * (1 - tau))) - 1) < 1e-10
    noisy_mean = model("x", (0, 1), cf.Gaussian(cf.GDP(epsilon)), n, bernoulli)
    variance, slope = theta * (1 - theta), 1 - 2 * theta
    expected = gaussian_information(theta, variance, 1.0, slope, n, (1 / (n * epsilon)) ** 2)
    assert abs(cf.information(noisy_mean, theta, method="normal").matrix[0, 0] / expected - 1) < 1e-10


REPORTED = {
    1: {0.5: 1.2630, 1: 3.3577, 2: 6.6699, 5: 9.9653, 10: 10.7746},
    2: {0.5: 0.2141, 1: 0.7375, 2: 2.2227, 5: 6.6316, 10: 10.3273},
}


@pytest.mark.parametrize("a", [1, 2])
def test_section_5_2_under_the_normal_model_to_four_digits(a):
    for epsilon, expected in REPORTED[a].items():
        found = cf.information(model(f"abs(x)**{a}", (-10, 10), cf.Laplace(cf.PureDP(epsilon))), 2.0, method="normal")
        assert round(float(found.matrix[0, 0]), 4) == expected
        assert "approximation" in str(found)


def test_the_normal_method_agrees_with_its_own_integral():
    """Under the normal–Laplace density: ∫ (∂ log p)² p dy by scipy, differences for the derivative."""
    import jax

    from confide.likelihood.mean.normal import normal_laplace

    def log_p(y, theta):
        mean, variance = np.sqrt(2 * theta / np.pi), theta * (1 - 2 / np.pi)
        with jax.enable_x64(True):
            return float(normal_laplace(np.float64(y - mean), np.float64(np.sqrt(variance / 100)), 0.02))

    def integrand(y, h=1e-4):
        score = (log_p(y, 2 + h) - log_p(y, 2 - h)) / (2 * h)
        return score**2 * np.exp(log_p(y, 2.0))

    expected = integrate.quad(integrand, 0.3, 2.0, limit=200, epsrel=1e-7)[0]
    found = cf.information(model("abs(x)", (-40, 40), cf.Laplace(scale=0.02)), 2.0, method="normal").matrix[0, 0]
    assert abs(found / expected - 1) < 1e-5


def test_the_exact_information_integrates_the_exact_score():
    """`spectral` against a plain Riemann sum of differences of its log-likelihood."""
    exact = model("abs(x)", (-2.5, 2.5), cf.Laplace(cf.PureDP(2.0)), 50)
    y = np.linspace(-0.5, 3.0, 4001)
    h = 1e-3
    a, b, c, d = exact.log_likelihood(np.asarray([2 - 2 * h, 2 - h, 2 + h, 2 + 2 * h]), y)
    score = (a - 8 * b + 8 * c - d) / (12 * h)
    expected = np.trapezoid(score**2 * np.exp(exact.log_likelihood(2.0, y)), y)
    assert abs(cf.information(exact, 2.0).matrix[0, 0] / expected - 1) < 1e-7


def test_counts_with_discrete_noise_by_enumeration():
    n, epsilon, theta = 30, 0.7, 0.3
    from scipy import stats

    scale = 1 / epsilon
    k = np.arange(-300, 301)
    noise = np.exp(-np.abs(k) / scale)
    noise /= noise.sum()
    count = np.arange(n + 1)

    def masses(p):
        return np.convolve(stats.binom.pmf(count, n, p), noise)

    slope = (masses(theta - 2e-4) - 8 * masses(theta - 1e-4) + 8 * masses(theta + 1e-4) - masses(theta + 2e-4)) / 1.2e-3
    expected = np.sum(slope**2 / masses(theta))
    counts = model("x", (0, 1), cf.Laplace(cf.PureDP(epsilon), step=1 / n), n, cf.populations.bernoulli())
    assert abs(cf.information(counts, theta).matrix[0, 0] / expected - 1) < 1e-8


def test_two_parameters_from_two_noisy_moments():
    two = cf.Model(cf.populations.normal(), cf.Channel(cf.Mean(["x", "x**2"], (-9, 9)), cf.Gaussian(cf.GDP(2.0)), 1000))
    found = cf.information(two, [[0.5, 1.0], [1.0, 2.0]])
    assert found.matrix.shape == (2, 2, 2)
    assert found.method == "normal"
    np.testing.assert_allclose(found.matrix, np.swapaxes(found.matrix, 1, 2), rtol=1e-12)
    assert np.all(found.efficiency < 1)


REGULAR = [
    (cf.populations.normal_variance(), 1.5, "abs(x)", (-2.0, 2.0)),
    (cf.populations.normal_mean(), 0.4, "x", (-1.0, 2.0)),
    (cf.populations.exponential(), 1.2, "x", (0.0, 2.0)),
    (cf.populations.poisson(), 1.7, "x", (0, 4)),
    (cf.populations.bernoulli(), 0.3, "x", (0, 1)),
    (cf.populations.normal_variance(), 1.0, "x > 0.7", (-5.0, 5.0)),
]


@pytest.mark.slow  # tests/information/test_properties.py has a quicker one
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(REGULAR), st.sampled_from([20, 100, 3000]), st.floats(0.1, 4.0), st.booleans())
def test_information_never_exceeds_that_of_the_records_and_grows_with_epsilon(case, n, epsilon, laplace):
    population, theta, expression, bounds = case
    before = 0.0
    for level in (epsilon, 1.5 * epsilon, 4 * epsilon):
        mechanism = cf.Laplace(cf.PureDP(level)) if laplace else cf.Gaussian(cf.GDP(level))
        found = cf.information(model(expression, bounds, mechanism, n, population), theta)
        assert found.standard_error[0, 0] == 0
        assert before < found.matrix[0, 0]
        assert found.efficiency <= 1 + 1e-9
        before = found.matrix[0, 0]


def test_a_sufficient_statistic_that_is_not_clipped_tends_to_full_efficiency():
    for level, least in ((10.0, 0.4), (1e3, 0.9998)):
        found = cf.information(model("x**2", (-15, 15), cf.Laplace(cf.PureDP(level))), 2.0)
        assert found.efficiency > least


def test_post_processing_never_increases_information():
    """Rounding to a coarse lattice before the same discrete noise, or thresholding, tells less than the finer statistic."""
    fine = cf.information(model("x", (0, 1), cf.Laplace(scale=0.05), 40, cf.populations.bernoulli()), 0.3).matrix[0, 0]
    with_more = cf.information(model("x", (0, 1), cf.Laplace(scale=0.06), 40, cf.populations.bernoulli()), 0.3).matrix[
        0, 0
    ]
    assert with_more < fine


def test_results_print_and_carry_their_grid():
    grid = cf.information(model("abs(x)", (-10, 10), cf.Laplace(cf.PureDP(1.0))), np.linspace(1, 3, 5))
    assert grid.matrix.shape == (5, 1, 1)
    assert grid.efficiency.shape == (5,)
    assert grid.method == "spectral"
    assert str(grid).count("theta =") == 5
    assert "efficiency" in repr(grid)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"method": "exact"}, "method"),
        ({"method": "importance", "outer": 1}, "outer"),
        ({"method": "importance", "inner": 0}, "inner"),
        ({"method": "importance", "sampler": "gibbs"}, "sampler"),
        ({"method": "spectral", "sampler": "mcmc"}, "options"),
        ({"theta": 0.0}, "theta"),
        ({"theta": [1.0, -1.0]}, "theta"),
    ],
)
def test_bad_input(arguments, match):
    call = {"theta": 2.0, **arguments}
    with pytest.raises(cf.InvalidArgument, match=match):
        cf.information(model("abs(x)", (-10, 10), cf.Laplace(cf.PureDP(1.0))), **call)
    with pytest.raises(cf.InvalidArgument, match="model"):
        cf.information("model", 2.0)
