"""The spectral route against brute-force inversion, high precision, enumeration and closed forms."""

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest
from scipy import integrate, stats

import confide as cf
from tests.likelihood.oracles import CASES, high_precision, inverted, log_noise, peeled, sum_law

EPSILONS = [0.05, 1.0, 10.0]


def mechanism(kind, epsilon, **options):
    return cf.Laplace(cf.PureDP(epsilon), **options) if kind == "laplace" else cf.Gaussian(cf.GDP(epsilon), **options)


def marked(case):
    """Kinks that move with two parameters take long to compile."""
    return pytest.param(case, marks=[pytest.mark.slow] if case.name.startswith("laplace") else [], id=case.name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_cases_clip_between_5_and_30_percent_or_more(case):
    assert 0.04 < case.clipped_share() < 0.45


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("case", [marked(case) for case in CASES])
def test_bulk_agrees_with_brute_force_inversion(case, kind):
    for n in (20, 100, 10**4):
        for epsilon in EPSILONS:
            model = case.model(mechanism(kind, epsilon), n)
            scale = model.channel.law.noise.scale
            s, w = case.record()
            width = np.sqrt(w @ (s - s @ w) ** 2 / n + scale**2)
            y = s @ w + width * np.asarray([-3.0, -1.2, -0.3, 0.0, 0.8, 2.0, 3.0])
            found = model.log_likelihood(np.asarray(case.theta), y, route="spectral")
            expected = (peeled if n == 20 else inverted)(case, kind, scale, n, y)
            np.testing.assert_allclose(np.exp(found), expected, rtol=1e-8, err_msg=f"n={n} epsilon={epsilon}")


def mp_normal(variance):
    return lambda x: mp.npdf(x, 0, mp.sqrt(variance)), lambda x: mp.ncdf(x, 0, mp.sqrt(variance))


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("n", [20, 100, 10**9])
def test_tails_agree_with_sixty_digits(kind, n):
    case = CASES[0]
    model = case.model(mechanism(kind, 1.0), n)
    scale = model.channel.law.noise.scale
    s, w = case.record()
    width = max(np.sqrt(w @ (s - s @ w) ** 2 / n), scale)
    for z in (-10.0, 10.0):
        y = s @ w + z * width
        expected = high_precision(case, *mp_normal(2), abs, kind, scale, n, y)
        found = float(model.log_likelihood(2.0, y, route="spectral"))
        assert abs(found - expected) < 1e-6, (z, found, expected)


def test_few_records_with_gaussian_noise():
    for n in (2, 5):
        case = CASES[4]
        model = case.model(cf.Gaussian(cf.GDP(2.0)), n)
        scale = model.channel.law.noise.scale
        y = np.linspace(-0.2, 1.6, 9)
        found = np.exp(model.log_likelihood(np.asarray(case.theta), y, route="spectral"))
        np.testing.assert_allclose(found, inverted(case, "gaussian", scale, n, y), rtol=1e-8)


@pytest.mark.parametrize("n", [2, 7, 10**9])
def test_unclipped_normal_mean_is_normal(n):
    scale = 0.3 / np.sqrt(n)
    model = cf.Model(cf.populations.normal(), cf.Channel(cf.Mean("x", (-100, 100)), cf.Gaussian(scale=scale), n))
    spread = np.sqrt(2 / n + scale**2)
    y = 0.5 + spread * np.linspace(-10, 10, 9)
    found = model.log_likelihood([0.5, 2.0], y, route="spectral")
    np.testing.assert_allclose(found, stats.norm.logpdf(y, 0.5, spread), rtol=1e-9, atol=2e-9)


def test_unclipped_exponential_mean_is_gamma_convolved_with_laplace():
    n, rate = 30, 1.3
    model = cf.Model(cf.populations.exponential(), cf.Channel(cf.Mean("x", (0, 60)), cf.Laplace(scale=0.1), n))
    for y in (0.3, 0.77, 1.4):

        def integrand(u, y=y):
            return stats.gamma.pdf(u, n, scale=1 / (n * rate)) * stats.laplace.pdf(y - u, scale=0.1)

        expected = sum(integrate.quad(integrand, a, b, epsabs=1e-14)[0] for a, b in [(0, y), (y, 2), (2, 6)])
        assert abs(np.exp(model.log_likelihood(rate, y)) / expected - 1) < 1e-9


LATTICES = [
    ("bernoulli", cf.populations.bernoulli(), 0.3, "x", (0, 1), [0, 1], [0.7, 0.3]),
    ("poisson", cf.populations.poisson(), 1.4, "x", (0, 3), [0, 1, 2, 3],
     [*stats.poisson.pmf([0, 1, 2], 1.4), stats.poisson.sf(2, 1.4)]),
    ("poisson 2x+1", cf.populations.poisson(), 1.4, "2*x + 1", (0, 2), [1, 3, 5],
     [*stats.poisson.pmf([0, 1], 1.4), stats.poisson.sf(1, 1.4)]),
    ("categorical", cf.populations.categorical(3), [0.2, 0.5, 0.3], "x", (0, 2), [0, 1, 2], [0.2, 0.5, 0.3]),
    ("threshold", cf.populations.normal_variance(), 2.0, "x > 1", (-5, 5), [0, 1],
     [stats.norm.cdf(1, 0, 2**0.5), stats.norm.sf(1, 0, 2**0.5)]),
    ("two bits", cf.populations.normal_variance(), 2.0, "(x > 1) + (x > 2)", (-5, 5), [0, 1, 2],
     [stats.norm.cdf(1, 0, 2**0.5), stats.norm.cdf(2, 0, 2**0.5) - stats.norm.cdf(1, 0, 2**0.5),
      stats.norm.sf(2, 0, 2**0.5)]),
]  # fmt: skip


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("name", "population", "theta", "text", "bounds", "values", "masses"),
    LATTICES,
    ids=lambda p: p if isinstance(p, str) and len(p) > 8 else None,
)
def test_lattice_statistics_agree_with_enumeration(name, population, theta, text, bounds, values, masses, kind):
    for n in (2, 5, 100, 1000):
        points, law = sum_law(values, masses, n)
        for epsilon in EPSILONS:
            model = cf.Model(population, cf.Channel(cf.Mean(text, bounds), mechanism(kind, epsilon), n))
            scale = model.channel.law.noise.scale
            mean = points @ law / n
            width = np.sqrt((points / n - mean) ** 2 @ law) + scale
            y = mean + width * np.linspace(-5, 5, 11)
            with np.errstate(divide="ignore"):
                terms = np.log(law) + log_noise(kind, scale, y[:, None] - points / n)
            expected = np.logaddexp.reduce(terms, axis=1)
            found = model.log_likelihood(theta, y)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-8, err_msg=f"n={n} epsilon={epsilon}")


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_published_counts_with_discrete_noise_agree_with_enumeration(kind, epsilon):
    """Counts on their own lattice: the exact discrete law, not a density."""
    n = 40
    model = cf.Model(
        cf.populations.bernoulli(), cf.Channel(cf.Mean("x", (0, 1)), mechanism(kind, epsilon, step=1 / n), n)
    )
    scale = model.channel.law.noise.scale * n
    k = np.arange(-4000, 4001)
    log_noise_mass = -np.abs(k) / scale if kind == "laplace" else -0.5 * (k / scale) ** 2
    log_noise_mass -= np.logaddexp.reduce(log_noise_mass)
    count = np.arange(n + 1)
    y = np.asarray([-3, 0, 7, 12, 20, 40, 55])
    binomial = stats.binom.logpmf(count, n, 0.3)
    expected = np.logaddexp.reduce(binomial + log_noise_mass[y[:, None] - count + 4000], axis=1)
    np.testing.assert_allclose(model.log_likelihood(0.3, y / n), expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_continuous_mean_rounded_to_a_lattice_with_discrete_noise(kind):
    """A normal mean, rounded to multiples of a quarter of its spread, plus discrete noise: cells from the normal cdf."""
    n, spread = 25, np.sqrt(2 / 25)
    step = spread / 4
    channel = cf.Channel(
        cf.Mean("x", (-60, 60)),
        cf.Laplace(scale=1.7 * step, step=step) if kind == "laplace" else cf.Gaussian(scale=1.7 * step, step=step),
        n,
    )
    model = cf.Model(cf.populations.normal(), channel)
    cells = np.arange(-200, 201)
    mass = np.diff(stats.norm.cdf((np.append(cells, 201) - 0.5) * step, 0.1, spread))
    noise = np.arange(-600, 601)
    law = np.exp(-np.abs(noise) / 1.7 if kind == "laplace" else -0.5 * (noise / 1.7) ** 2)
    law /= law.sum()
    y = np.asarray([-15, -3, 0, 1, 6, 20])
    expected = [np.sum(mass * law[j - cells + 600]) for j in y]
    np.testing.assert_allclose(np.exp(model.log_likelihood([0.1, 2.0], y * step)), expected, rtol=1e-8)


@pytest.mark.parametrize("case", [marked(CASES[k]) for k in (0, 6, 10)])
def test_gradients_in_theta_inside_a_trace(case):
    """jax.grad of the public function against differences of the concrete route, which uses other nodes."""
    model = case.model(cf.Laplace(cf.PureDP(1.0)), 50)
    s, w = case.record()
    y = float(s @ w + 0.05)
    theta = np.asarray(case.theta)
    with jax.enable_x64(True):
        value, gradient = jax.value_and_grad(lambda t: model.log_likelihood(t, y, route="spectral"))(jnp.asarray(theta))
    assert abs(float(value) - float(model.log_likelihood(theta, y, route="spectral"))) < 1e-9
    for i in range(theta.size):
        h = 1e-4 * theta[i]
        steps = [np.where(np.arange(theta.size) == i, k * h, 0.0) for k in (-2, -1, 1, 2)]
        a, b, c, d = (float(model.log_likelihood(theta + step, y, route="spectral")) for step in steps)
        assert abs((a - 8 * b + 8 * c - d) / (12 * h) - float(gradient[i])) < 1e-6 * (1 + abs(float(gradient[i])))


def test_a_wide_range_of_theta_is_split_and_stays_accurate():
    model = CASES[0].model(cf.Laplace(cf.PureDP(1.0)), 100)
    grid = np.geomspace(0.01, 50, 40)
    together = model.log_likelihood(grid, 0.7)
    alone = [float(model.log_likelihood(theta, 0.7)) for theta in grid[::8]]
    np.testing.assert_allclose(together[::8], alone, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "channel",
    [
        cf.Channel(cf.Mean(["x", "x**2"], (-1, 1)), cf.Laplace(cf.PureDP(1.0)), 10),
        cf.Channel(cf.Median("x", (-1, 1)), cf.Laplace(cf.PureDP(1.0)), 10),
        cf.Channel(cf.Mean("x", (-1, 1)), cf.Laplace(cf.PureDP(1.0)), 1),
        cf.Channel(cf.Mean("x", (-1, 1)), cf.Noiseless(), 10),
    ],
)
def test_what_the_route_does_not_serve(channel):
    with pytest.raises(cf.IncompatibleError, match="spectral"):
        cf.Model(cf.populations.normal_variance(), channel).log_likelihood(
            1.0, np.zeros(channel.value_shape), "spectral"
        )


def test_bad_values():
    model = CASES[0].model(cf.Laplace(cf.PureDP(1.0)), 100)
    for value in ([np.nan], np.inf, "one", None, [1 + 2j]):
        with pytest.raises(cf.InvalidArgument, match="value"):
            model.log_likelihood(2.0, value)
    counts = cf.Model(
        cf.populations.bernoulli(), cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(cf.PureDP(1.0), step=0.1), 10)
    )
    with pytest.raises(cf.InvalidArgument, match="multiple"):
        counts.log_likelihood(0.3, 0.123)
    with pytest.raises(cf.InvalidArgument, match="route"):
        model.log_likelihood(2.0, 1.0, route="spectrum")
