"""Values far from all that θ explains: finite log densities with the noise's own tail, or words; never NaN."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import confide as cf
from confide.likelihood.noise.transform import LaplaceTransform
from confide.likelihood.slow_inversion.contour_sums import Fine
from confide.likelihood.slow_inversion.contours import Record

NORMAL, BITS = cf.populations.normal_variance(), cf.populations.bernoulli()


def model(statistic, mechanism, n=100, population=NORMAL):
    return cf.Model(population, cf.Channel(statistic, mechanism, n))


MEAN, MEDIAN, COUNT = cf.Mean("abs(x)", (-3, 3)), cf.Median("abs(x)", (-3, 3)), cf.Mean("x", (0, 1))
#: model, θ, route and the rate of its tail (None: Gaussian, with the noise's own variance)
LAPLACE = {
    "spectral": (model(MEAN, cf.Laplace(scale=0.05)), 2.0, "spectral"),
    "lattice": (model(COUNT, cf.Laplace(scale=0.05), 50, BITS), 0.3, "spectral"),
    "counts": (model(COUNT, cf.Laplace(scale=0.05, step=0.02), 50, BITS), 0.3, "spectral"),
    "rounded": (model(MEAN, cf.Laplace(scale=0.05, step=0.02)), 2.0, "spectral"),
    "normal": (model(MEAN, cf.Laplace(scale=0.05)), 2.0, "normal"),
    "normal, rounded": (model(MEAN, cf.Laplace(scale=0.05, step=0.02)), 2.0, "normal"),
    "order": (model(MEDIAN, cf.Laplace(scale=0.05)), 2.0, "order"),
}


@pytest.mark.parametrize("name", LAPLACE)
def test_laplace_tails_fall_at_the_rate_of_the_noise(name):
    """Beyond all that the statistic can be, log p falls by exactly the distance over b, however far out."""
    published, theta, route = LAPLACE[name]
    y = np.asarray([-4e9, -4e3, -4.0, 4.0, 4e3, 4e9])
    log_p = published.log_likelihood(theta, y, route=route)
    assert np.all(np.isfinite(log_p))
    rate = np.diff(log_p) / np.diff(y)
    np.testing.assert_allclose(rate[[0, 1, 3, 4]], 20.0 * np.asarray([1, 1, -1, -1]), rtol=1e-9)


def test_a_rounded_normal_mean_under_discrete_laplace_noise():
    """The mass of a rounded normal variable plus noise, summed over the lattice, to three hundred scales out."""
    law, step, b = stats.norm(0, 2**0.5), 0.05, 0.1
    mean, square = (
        2 * integrate.quad(lambda x, k=k: x**k * law.pdf(x), 0, 3)[0] + 2 * law.sf(3) * 3.0**k for k in (1, 2)
    )
    normal = stats.norm(mean, np.sqrt((square - mean**2) / 100))
    k = np.arange(-40, 121)
    mass = np.diff(normal.cdf((np.append(k, 121) - 0.5) * step))
    published = model(MEAN, cf.Laplace(scale=b, step=step))
    for y in (-30.0, 0.0, 1.0, 1.2, 1.5, 3.0, 30.0):
        log_noise = -np.abs(round(y / step) - k) * step / b + np.log(np.tanh(step / (2 * b)))
        expected = special.logsumexp(log_noise, b=mass)
        assert abs(published.log_likelihood(2.0, y, route="normal") - expected) < 1e-9


def test_a_rounded_mean_under_discrete_laplace_noise():
    """Exponential records, whose mean is a gamma variable; far above it its own tail is heavier than a normal one."""
    step, b, n = 0.05, 0.1, 30
    published = model(cf.Mean("x", (0, 60)), cf.Laplace(scale=b, step=step), n, cf.populations.exponential())
    k = np.arange(0, 400)
    below, above = (
        f((np.append(k, 400) - 0.5) * step, n, scale=1 / n / 1.3) for f in (stats.gamma.cdf, stats.gamma.sf)
    )
    mass = np.where(below[:-1] < 0.5, np.diff(below), -np.diff(above))
    y = np.asarray([-30.0, -3.0, 0.4, 0.8, 2.0, 10.0])
    log_noise = -np.abs(np.round(y / step)[:, None] - k) * step / b + np.log(np.tanh(step / (2 * b)))
    expected = special.logsumexp(log_noise, b=mass, axis=1)
    np.testing.assert_allclose(published.log_likelihood(1.3, y, route="spectral"), expected, rtol=0, atol=1e-8)


GAUSSIAN = [
    (model(MEAN, cf.Gaussian(scale=0.05)), 2.0, "spectral"),
    (model(MEAN, cf.Gaussian(scale=0.05)), 2.0, "normal"),
    (model(MEDIAN, cf.Gaussian(scale=0.05)), 2.0, "order"),
    (model(cf.Each("abs(x)", (-3, 3)), cf.Gaussian(scale=0.05), 2), 2.0, "records"),
]


@pytest.mark.parametrize(("published", "theta", "route"), GAUSSIAN)
def test_gaussian_tails_are_finite_and_what_is_astronomical_is_refused(published, theta, route):
    def at(y):
        return np.full(published.channel.value_shape, y)

    near, far = (float(published.log_likelihood(theta, at(y), route=route)) for y in (5.0, 5e3))
    assert np.isfinite(near)
    assert np.isfinite(far)
    assert far < 1e5 * near < 0
    for y in (1e140, -1e250):
        with pytest.raises(cf.InvalidArgument, match="noise scales outside the range"):
            published.log_likelihood(theta, at(y), route=route)


def test_an_underflow_says_where():
    """A value that no θ asked for can explain, in a law without noise: log p is −∞ in double precision."""
    exact = model(MEAN, cf.Noiseless())
    with pytest.raises(cf.AccuracyError, match=r"y = 1e\+160 underflows at every theta .*2"):
        exact.log_likelihood(2.0, 1e160, route="normal")
    assert np.isfinite(exact.log_likelihood(2.0, 50.0, route="normal"))


def log_laplace(gap, scale):
    """Where scipy's density underflows, too."""
    return -np.abs(gap) / scale - np.log(2 * scale)


@pytest.mark.parametrize(("theta", "bound"), [(-60.0, -1.0), (60.0, 2.0)])
def test_every_record_is_clipped_at_a_hopeless_theta(theta, bound):
    """The mean is the bound itself, and p the noise's: it was a division by a spread of zero."""
    model = cf.Model(cf.populations.normal_mean(), cf.Channel(cf.Mean("x", (-1, 2)), cf.Laplace(scale=1e-3), 3))
    y = np.asarray([1.7, -0.99])
    np.testing.assert_allclose(model.log_likelihood([theta], y), log_laplace(y - bound, 1e-3), rtol=1e-9)


def test_nodes_without_mass_do_not_measure_a_sum():
    """Weights that underflow beside an exponent of a thousand: the transform is that of the others."""
    s = np.linspace(0.0, 1.0, 16)
    record = Record(np.append(s, 0.0), np.append(np.zeros(16), 1.0)[None], 1, np.asarray([0.0]))
    fine = Fine(LaplaceTransform(1e-4), 3, 0.5, 2**11)
    y = np.asarray([-0.4, 0.2])
    np.testing.assert_allclose(fine(record, y).log_prob[0], log_laplace(y, 1e-4), rtol=1e-9)
