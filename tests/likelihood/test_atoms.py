"""Means of few records, clipped records and narrow noise: against laws by finite sums and fast transforms on a lattice.

The oracles share no code with the library: the law of a clipped record as differences of scipy's distribution function
on a fine lattice, its n-th convolution by NumPy's fast transform, the noise summed at every point, and Richardson's
extrapolation in the spacing. Good to 1e-9 or so for y on the lattice.
"""

import tracemalloc

import jax
import numpy as np
import pytest
from scipy import stats

import confide as cf


def record_on_lattice(law, inverse, low, high, points):
    """Masses of s(clip X) at so many points of its range, for increasing s with the given inverse."""
    s = np.linspace(low, high, points)
    between = law.cdf(inverse(0.5 * (s[1:] + s[:-1])))
    return np.diff(np.concatenate([[0.0], between, [1.0]]))


def convolved(masses, n, low, high, b, y):
    """p(y) of the mean of n records with these masses, plus Laplace noise."""
    size = n * (masses.size - 1) + 1
    total = np.fft.irfft(np.fft.rfft(masses, 2 * size) ** n, 2 * size)[:size]
    means = np.linspace(low, high, size)
    return np.asarray([np.sum(total * np.exp(-np.abs(v - means) / b)) / (2 * b) for v in y])


def oracle(law, inverse, low, high, n, b, y, points=2**14):
    """log p(y), extrapolated from two lattices; y must lie on both."""
    coarse, fine = (
        convolved(record_on_lattice(law, inverse, low, high, m + 1), n, low, high, b, y) for m in (points // 2, points)
    )
    p = (4.0 * fine - coarse) / 3.0
    return np.log(np.where(p > 1e-6 * p.max(), p, np.nan))  # transforms have an absolute error


def assert_close(found, expected, tolerance):
    known = ~np.isnan(expected)
    assert known.sum() >= 3
    np.testing.assert_allclose(np.asarray(found)[known], expected[known], rtol=0, atol=tolerance)


def on_lattice(low, high, n, points, shares):
    """Values near these shares of the range that are means of n points of the lattice."""
    return low + (high - low) * np.round(np.asarray(shares) * n * points // 2) / (n * points // 2)


SHARES = [-0.2, 0.0, 0.13, 0.3, 0.5, 0.77, 1.0, 1.4]


@pytest.mark.parametrize("n", [2, 3, 7, 30])
@pytest.mark.parametrize(
    ("theta", "low", "high"), [(0.5, 0.231, 1.308), (-2.0, 0.0, 1.0), (1.0, 0.0, 1.0), (6.0, -1.0, 2.0)]
)
def test_few_clipped_records(n, theta, low, high):
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (low, high)), cf.Laplace(cf.PureDP(1.0)), n))
    b, points = float(model.channel.law.noise.scale), 2**17 // n
    points -= points % 2
    y = on_lattice(low, high, n, points, SHARES)
    expected = oracle(stats.norm(theta), lambda s: s, low, high, n, b, y, points)
    assert_close(model.log_likelihood(theta, y, route="spectral"), expected, 2e-8)


@pytest.mark.parametrize("n", [40, 100])
@pytest.mark.parametrize("theta", [-3.0, -2.0, 4.0])
def test_nearly_every_record_clipped(n, theta):
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (-1, 2)), cf.Laplace(cf.PureDP(1.0)), n))
    b, points = float(model.channel.law.noise.scale), 2**12
    y = on_lattice(-1.0, 2.0, n, points, [0.0, 0.02, 0.05, 0.1, 0.9, 0.95, 0.98, 1.0])
    expected = oracle(stats.norm(theta), lambda s: s, -1.0, 2.0, n, b, y, points)
    assert_close(model.log_likelihood(theta, y, route="spectral"), expected, 2e-8)


def test_a_cube_beside_its_atom():
    """The density of x³ has a pole at 0, next to half of the mass."""
    population, statistic = cf.populations.normal_variance(), cf.Mean("x**3", (0, 3))
    model = cf.Model(population, cf.Channel(statistic, cf.Laplace(cf.PureDP(5.0)), 7))
    expected = [-0.82981508, -0.86143156, -1.25277114, -3.35231741]
    found = model.log_likelihood(0.7, np.asarray([0.4, 0.466224, 1.0, 3.0]))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


def test_a_value_at_the_atom_itself():
    """Two records, y = 0: there is no kink in the range, and Gauss' rule serves."""
    model = cf.Model(
        cf.populations.normal_variance(), cf.Channel(cf.Mean("x**3", (0, 3)), cf.Laplace(cf.PureDP(5.0)), 2)
    )
    b, law = float(model.channel.law.noise.scale), stats.norm(0, 0.7**0.5)
    x, w = np.polynomial.legendre.leggauss(200)
    s = np.concatenate([[0.0, 27.0], (1.5 * (x + 1)) ** 3])
    mass = np.concatenate([[0.5, law.sf(3)], 1.5 * w * law.pdf(1.5 * (x + 1))])
    expected = np.log(mass @ np.exp(-np.add.outer(s, s) / (2 * b)) @ mass / (2 * b))
    np.testing.assert_allclose(model.log_likelihood(0.7, 0.0), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("n", [7, 8, pytest.param(30, marks=pytest.mark.slow)])
def test_a_cube_is_not_said_to_underflow(n):
    model = cf.Model(
        cf.populations.normal_variance(), cf.Channel(cf.Mean("x**3", (0, 3)), cf.Laplace(cf.PureDP(5.0)), n)
    )
    b, points = float(model.channel.law.noise.scale), (2**22 if n == 30 else 2**20) // n
    points -= points % 2
    y = on_lattice(0.0, 27.0, n, points, [0.0151, 0.0173, 0.0371, 0.1113])
    expected = oracle(stats.norm(0, 0.7**0.5), np.cbrt, 0.0, 27.0, n, b, y, points)
    assert_close(model.log_likelihood(0.7, y), expected, 1e-6)


def test_atoms_that_come_back():
    """A normal of sd 300 clipped to (0, 1): nearly a coin, whose transform comes back at every 2π."""
    n, b = 100, 0.003
    model = cf.Model(cf.populations.normal(), cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(scale=b), n))
    y = on_lattice(0.0, 1.0, n, 2**12, [0.42, 0.5, 0.505, 0.61])
    expected = oracle(stats.norm(0.5, 300.0), lambda s: s, 0.0, 1.0, n, b, y, 2**12)
    assert_close(model.log_likelihood([0.5, 300.0**2], y), expected, 1e-7)


def discrete(values, masses, n):
    """The law of the sum of n values on the lattice of whole numbers, from the least on."""
    law, one = np.ones(1), np.zeros(max(values) - min(values) + 1)
    for value, mass in zip(values, masses, strict=True):
        one[value - min(values)] += mass
    for _ in range(n):
        law = np.convolve(law, one)
    return n * min(values) + np.arange(law.size), law


def test_rare_middle_category():
    n, b, p = 100, 0.005, [0.4995, 0.001, 0.4995]
    model = cf.Model(cf.populations.categorical(3), cf.Channel(cf.Mean("x", (0, 2)), cf.Laplace(scale=b), n))
    points, law = discrete([0, 1, 2], p, n)
    y = np.asarray([0.9, 0.995, 1.0, 1.01, 1.2])
    expected = np.log(np.exp(-np.abs(y[:, None] - points / n) / b) @ law / (2 * b))
    np.testing.assert_allclose(model.log_likelihood(p, y), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [100, 400])
def test_signs_live_on_every_other_point(n):
    b, above = 0.3 / n, stats.norm.sf(1.0)
    model = cf.Model(
        cf.populations.normal_variance(), cf.Channel(cf.Mean("sign(x - 1)", (-5, 5)), cf.Laplace(scale=b), n)
    )
    points, law = discrete([-1, 1], [1 - above, above], n)
    y = np.asarray([-0.71, -0.7, -0.68, -0.5])
    expected = np.log(np.exp(-np.abs(y[:, None] - points / n) / b) @ law / (2 * b))
    np.testing.assert_allclose(model.log_likelihood(1.0, y), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("n", "step"), [(2, 0.5), (2, 0.25), (4, 0.0625), (10, 0.1 / 64), (100, 0.25), (100, 0.05), (7, 1.0)]
)
def test_noise_on_a_lattice_of_its_own(kind, n, step):
    """Finer than the statistic's, the same, or coarser: one finite sum."""
    scale = 0.2
    mechanism = (cf.Laplace if kind == "laplace" else cf.Gaussian)(scale=scale, step=step)
    model = cf.Model(cf.populations.bernoulli(), cf.Channel(cf.Mean("x", (0, 1)), mechanism, n))
    count = np.arange(n + 1)
    rounded = np.floor(count / n / step + 0.5 + 1e-9)

    def height(index):
        return np.exp(-np.abs(index) * step / scale if kind == "laplace" else -0.5 * (index * step / scale) ** 2)

    at = np.unique(np.round(np.asarray([-0.4, 0.0, 0.25, 0.5, 1.0, 1.3]) / step))
    law = stats.binom.pmf(count, n, 0.3)
    expected = np.log(height(at[:, None] - rounded) @ law / height(np.arange(-40_000, 40_001)).sum())
    np.testing.assert_allclose(model.log_likelihood(0.3, step * at), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_a_step_wide_beside_the_spread(kind):
    """The mean is rounded to one or two points, and its transform meets the noise's at every period."""
    n, step, scale = 100, 0.5, 0.4
    mechanism = (cf.Laplace if kind == "laplace" else cf.Gaussian)(scale=scale, step=step)
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (-30, 30)), mechanism, n))
    points = np.arange(-60, 61)
    rounded = np.diff(stats.norm.cdf(step * (np.arange(-60, 62) - 0.5), 0.2, 0.1))
    mass = np.exp(-np.abs(points) * step / scale if kind == "laplace" else -0.5 * (points * step / scale) ** 2)
    mass /= mass.sum()
    y = np.asarray([-2, -1, 0, 1, 3])
    expected = np.log([np.sum(rounded * np.interp(j - points, points, mass)) for j in y])
    np.testing.assert_allclose(model.log_likelihood(0.2, step * y), expected, rtol=0, atol=1e-8)


def test_information_of_few_clipped_records():
    low, high, n, theta = 0.231, 1.308, 10, 0.5
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (low, high)), cf.Laplace(cf.PureDP(1.0)), n))
    b, points = float(model.channel.law.noise.scale), 2**12
    y = np.linspace(low - 30 * b, high + 30 * b, 20_001)
    nodes = np.sort(np.concatenate([y, np.linspace(low, high, n + 1)]))

    def density(at):
        return convolved(record_on_lattice(stats.norm(at), lambda s: s, low, high, points + 1), n, low, high, b, nodes)

    h = 1e-3
    slope = (density(theta + h) - density(theta - h)) / (2 * h)
    expected = np.trapezoid(slope**2 / density(theta), nodes)
    found = cf.information(model, theta, method="spectral")
    assert abs(float(np.squeeze(found.matrix)) / expected - 1.0) < 1e-4


def test_auto_says_where_it_approximates():
    statistic = cf.Mean(["x", "x**2"], (-1, 1))
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(statistic, cf.Gaussian(cf.GDP(1.0)), 20))
    with pytest.warns(cf.ApproximationWarning, match="normal approximation"):
        model.log_likelihood(0.1, np.asarray([0.1, 0.3]))
    model.log_likelihood(0.1, np.asarray([0.1, 0.3]), route="normal")


def test_not_a_number_is_not_an_underflow():
    from confide.likelihood.route import require_finite

    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (-1, 1)), cf.Gaussian(cf.GDP(1.0)), 20))
    with pytest.raises(cf.AccuracyError, match="not a number"):
        require_finite(model, np.zeros((1, 1)), np.zeros(1), np.full((1, 1), np.nan))
    with pytest.raises(cf.AccuracyError, match="underflows"):
        require_finite(model, np.zeros((1, 1)), np.zeros(1), np.full((1, 1), -np.inf))


def test_the_atom_of_clipping_is_s_at_the_bound_itself():
    """x*(x > 1) jumps at the bound 1: clipped records are 0 there, also where the support ends below it."""
    from confide.likelihood.record_law.fixed import record_law

    statistic = cf.Mean("x*(x > 1)", (1.0, 2.0))
    with jax.enable_x64(True):
        law = record_law(cf.populations.lognormal(), statistic, np.asarray([[0.0, 1.0]]))
    assert 0.0 in law.s[0]
    model = cf.Model(cf.populations.lognormal(), cf.Channel(statistic, cf.Gaussian(scale=2 / 3), 3))
    # of three records k are clipped to 0, and the others lie in (1, 2]
    x, w = np.polynomial.legendre.leggauss(200)
    x, w = 1.5 + 0.5 * x, 0.5 * w * stats.lognorm(1.0).pdf(1.5 + 0.5 * x)
    s, p = np.concatenate([[0.0, 2.0], x]), np.concatenate([[0.5, stats.lognorm(1.0).sf(2.0)], w])
    pair = (s[:, None] + s).ravel(), (p[:, None] * p).ravel()
    density = np.sum(pair[1][:, None] * p * stats.norm.pdf(2.95482, (pair[0][:, None] + s) / 3, 2 / 3))
    np.testing.assert_allclose(model.log_likelihood([0.0, 1.0], 2.95482), np.log(density), atol=1e-8)


def test_many_theta_and_values_together():
    """One question for all: θ that clip nearly everything on either side, one that does not, and values near kinks."""
    n, points, thetas = 40, 2**12, np.asarray([-6.0, -3.0, -2.2, 0.5, 3.4, 4.0, 7.0])
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (-1, 2)), cf.Laplace(cf.PureDP(1.0)), n))
    b = float(model.channel.law.noise.scale)
    y = on_lattice(-1.0, 2.0, n, points, np.concatenate([[0.0, 3e-4, 1e-3], np.linspace(0.004, 0.996, 21), [1.0]]))
    found = model.log_likelihood(thetas, y, route="spectral")
    for row, theta in zip(found, thetas, strict=True):
        assert_close(row, oracle(stats.norm(theta), lambda s: s, -1.0, 2.0, n, b, y, points), 1e-7)


def test_many_ways_and_values_are_not_held_at_once():
    """176,851 ways to put 100 records in four atoms, each with sixty values."""
    channel = cf.Channel(cf.Mean("x**2.5", bounds=(0, 3)), cf.Laplace(cf.PureDP(1.0)), 100)
    model, y = cf.Model(cf.populations.poisson(), channel), np.linspace(0.0, 4.0, 60)
    tracemalloc.start()
    found = model.log_likelihood(0.6, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.all(np.isfinite(found))
    assert peak < 400e6  # 790 MB before, and more with more values
