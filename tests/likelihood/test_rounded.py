"""Means rounded to the lattice of the noise: beyond all that they are rounded to, and where no inversion settles."""

import functools

import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import fft, special, stats

import confide as cf

STEP, N = 0.25, 10


@functools.cache
def rounded_law(cells=2**15):
    """P(round(mean/step) = j), j = −4 … 4, of ten standard normal records clipped to (−1, 1), by a fine lattice.

    A cell's mass sits in its middle and the atoms at the ends, so that points are half a cell apart; one in the middle
    between two j belongs half to either.
    """
    mass = np.zeros(2 * cells + 1)
    mass[1::2] = np.diff(stats.norm.cdf(np.linspace(-1.0, 1.0, cells + 1)))
    mass[[0, -1]] = stats.norm.cdf(-1.0)
    size = fft.next_fast_len(2 * cells * N + 1, real=True)
    law = fft.irfft(fft.rfft(mass, size) ** N, size)[: 2 * cells * N + 1]
    place = np.linspace(-1.0, 1.0, law.size) / STEP
    sides = [np.bincount(np.floor(place + 0.5 + nudge).astype(int) + 4, law) for nudge in (-1e-9, 1e-9)]
    return 0.5 * (sides[0] + sides[1])


def expected(scale, index):
    q, rate = rounded_law(), 0.5 * (STEP / scale) ** 2
    around = np.arange(-30, 31)
    log_total = special.logsumexp(-rate * around**2)
    return [special.logsumexp(np.log(q) - rate * (k - np.arange(-4, 5)) ** 2) - log_total for k in index]


@pytest.mark.parametrize("scale", [0.02, 0.06])
def test_values_beyond_all_that_the_mean_is_rounded_to(scale):
    channel = cf.Channel(cf.Mean("x", bounds=(-1, 1)), cf.Gaussian(scale=scale, step=STEP), n=N)
    model = cf.Model(cf.populations.normal_mean(), channel)
    index = np.asarray([0, 4, 5, 6, 12, -5])
    found = model.log_likelihood(0.0, STEP * index)
    np.testing.assert_allclose(found, expected(scale, index), atol=1e-6)


@pytest.mark.parametrize("n", [3, 10])
@pytest.mark.parametrize("mechanism", [cf.Laplace(scale=5.0, step=0.25), cf.Gaussian(scale=2.0, step=0.25)])
def test_few_records_with_a_jump_by_closed_form(n, mechanism):
    """x·(x > 1) of Laplace records: of the m beyond 1 the sum is m plus a gamma variable, and the others are 0."""
    model = cf.Model(cf.populations.laplace(), cf.Channel(cf.Mean("x*(x > 1)", bounds=(-50, 50)), mechanism, n=n))
    index, beyond = np.asarray([-13, 0, 2, 5, 16]), np.arange(1, n + 1)
    j = np.arange(0, 400)
    below = n * 0.25 * (j[:, None] + 0.5) - beyond
    parts = stats.gamma.cdf(below, beyond) @ stats.binom.pmf(beyond, n, 0.5 * np.exp(-1.0))
    q = np.diff(parts + stats.binom.pmf(0, n, 0.5 * np.exp(-1.0)), prepend=0.0)
    gap, wide = 0.25 * np.abs(index[:, None] - np.arange(-400, 800)) / mechanism.scale, slice(400, 800)
    noise = np.exp(-gap if isinstance(mechanism, cf.Laplace) else -0.5 * gap**2)
    noise = (noise / noise.sum(axis=1, keepdims=True))[:, wide]
    np.testing.assert_allclose(model.log_likelihood((0.0, 1.0), 0.25 * index), np.log(noise @ q), atol=1e-7)


def test_many_records_under_wide_noise_on_a_fine_lattice():
    """x³ of uniform records: the noise is a thousand times wider than the mean, whose rounding it does not notice."""
    population = cf.Population(lambda low: dist.Uniform(low, low + 1.0), {"low": dist.constraints.real})
    channel = cf.Channel(cf.Mean("x**3", bounds=(-10, 10)), cf.Laplace(scale=20.0, step=0.01), n=400)
    y = np.asarray([-30.0, 25.0])
    # E e^{±M/20}, M the rounded mean: moments of x³ and of a rounding error, spread evenly over a step
    mean, variance = 0.25, (1 / 7 - 1 / 16) / 400 + 0.01**2 / 12
    expected = np.log(np.tanh(0.5 * 0.01 / 20)) - np.abs(y - mean) / 20 + 0.5 * variance / 400
    np.testing.assert_allclose(cf.Model(population, channel).log_likelihood(0.0, y), expected, atol=1e-7)


def test_cells_hold_records_where_there_are_some():
    """A Pareto law begins at 1, inside the bounds: known by simulation to 1e-5, and by an FFT law to 1e-9."""
    population = cf.Population(lambda a: dist.Pareto(1.0, a), {"a": constraints.positive})
    channel = cf.Channel(cf.Mean("sqrt(abs(x))", (0.231, 1.308)), cf.Laplace(scale=0.0663053682811747, step=0.01), 7)
    found = cf.Model(population, channel).log_likelihood(0.5, np.asarray([0.9, 1.04, 1.13, 1.2, 1.37]))
    np.testing.assert_allclose(found, [-6.08533227, -3.97388937, -2.70859914, -3.58995033, -6.15384529], atol=2e-8)


@pytest.mark.parametrize(
    ("population", "theta", "statistic", "mechanism", "n", "value", "expected"),
    [
        # each also by an inversion with all frequencies that nodes can follow, and by a lattice of half a million cells
        (
            cf.populations.gamma(),
            (0.5, 1.0),
            cf.Mean("x/(1 + x**2)", (0, 0.5)),
            cf.Gaussian(scale=0.2, step=0.01),
            3,
            -0.33,
            -7.10541356,
        ),
        (
            cf.populations.laplace(),
            (0.0, 1.0),
            cf.Mean("log1p(abs(x))", (-3, 3)),
            cf.Gaussian(scale=0.0277, step=0.01),
            2,
            -0.12,
            -20.0445078,
        ),
        (
            cf.populations.normal_variance(),
            0.5,
            cf.Mean("x**2", (0, 10)),
            cf.Gaussian(scale=50.0, step=0.01),
            7,
            -124.75,
            -12.5610842,
        ),
        (
            cf.populations.normal(),
            (1.0, 4.0),
            cf.Mean("x**2", (0, 20)),
            cf.Laplace(scale=8.0, step=0.01),
            5,
            -25.14,
            -10.97600935,
        ),
    ],
)
def test_few_records_and_values_out_of_their_reach(population, theta, statistic, mechanism, n, value, expected):
    model = cf.Model(population, cf.Channel(statistic, mechanism, n))
    assert float(model.log_likelihood(theta, value)) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("mechanism", [cf.Laplace(scale=0.008, step=0.25), cf.Gaussian(scale=0.008, step=0.25)])
def test_means_that_are_all_rounded_to_one_point(mechanism):
    """1/x lies between 1/4 and 1/3, and rounds to 1/4: y is the noise around it."""
    population = cf.Population(dist.HalfCauchy, {"scale": constraints.positive})
    model = cf.Model(population, cf.Channel(cf.Mean("1 / x", (3, 4)), mechanism, n=100))
    ratio = 0.25 / 0.008
    beyond = -ratio if isinstance(mechanism, cf.Laplace) else -0.5 * ratio**2
    np.testing.assert_allclose(
        model.log_likelihood(3.0, np.asarray([0.0, 0.25, 0.5])), [beyond, 0.0, beyond], atol=1e-9
    )


def test_atoms_that_come_back_with_the_noise_after_many_frequencies():
    """Known by a lattice of 2**14 cells, and by one of 2**12 to 1e-8."""
    population = cf.Population(lambda loc: dist.Logistic(loc, 1.0), {"loc": constraints.real})
    model = cf.Model(population, cf.Channel(cf.Mean("1 / x", (0.25, 0.5)), cf.Laplace(scale=0.2, step=0.25), n=100))
    found = model.log_likelihood(0.5, np.asarray([2.25, 2.75, 3.0, 3.25]))
    np.testing.assert_allclose(found, [-3.76940105, -1.27563748, -0.85894875, -2.0287544], atol=2e-8)


@pytest.mark.slow
def test_a_posterior_under_noise_on_a_fine_lattice():
    """Where all records are clipped the mean is narrower than the step: one θ after the other did not come to an end."""
    n, y, b, cells = 100, -2.08, 0.6, 2**10
    channel = cf.Channel(cf.Mean("x", (-3, 3)), cf.Laplace(scale=b, step=0.01), n)
    found = cf.infer(
        cf.populations.normal_mean(), cf.Release(channel, y), {"mean": dist.Normal(0.3, 1.0)}, key=0, draws=50
    )
    edges, size = np.linspace(-3.0, 3.0, cells + 1), fft.next_fast_len(2 * cells * n + 1, real=True)
    step = np.round(np.linspace(-3.0, 3.0, 2 * cells * n + 1) / 0.01)
    noise = np.exp(-np.abs(y - 0.01 * step) / b)
    thetas = np.linspace(-6.5, 5.5, 121)

    def p(theta):
        mass = np.zeros(2 * cells + 1)
        mass[1::2] = np.diff(stats.norm.cdf(edges, theta))
        mass[[0, -1]] = stats.norm.cdf(-3.0, theta), stats.norm.sf(3.0, theta)
        return noise @ fft.irfft(fft.rfft(mass, size) ** n, size)[: noise.size]

    weight = np.asarray([p(theta) for theta in thetas]) * stats.norm.pdf(thetas, 0.3, 1.0)
    mean = weight @ thetas / weight.sum()
    sd = np.sqrt(weight @ (thetas - mean) ** 2 / weight.sum())
    np.testing.assert_allclose([float(found.mean), float(found.sd)], [mean, sd], rtol=1e-3)
