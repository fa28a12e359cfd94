"""The inversion in NumPy, against closed forms, and against the slow one."""

import jax
import numpy as np
import pytest
from numpyro import distributions as dist
from numpyro.distributions import constraints
from scipy import special, stats

import confide as cf
from confide.likelihood.inversion import integral
from confide.likelihood.inversion.frequencies import plan
from confide.likelihood.mean import spectral_information as spectral
from confide.likelihood.mean.at_once import invert_at_once


def found(model, theta, y):
    with jax.enable_x64(True):
        (group,) = plan(model, np.asarray([[theta]]), checked=False)
        log_prob, error, score = invert_at_once(group, np.asarray([[theta]]), np.asarray(y)[None])
    return log_prob[0], error[0], score[0, :, 0]


def model(noise, n, text="x", bounds=(-40, 40), population=None):
    return cf.Model(population or cf.populations.normal_mean(), cf.Channel(cf.Mean(text, bounds=bounds), noise, n))


@pytest.mark.parametrize("n", [3, 30, 10**6])
def test_a_mean_of_normal_records_with_gaussian_noise_is_normal(n):
    spread = np.sqrt(1 / n + 0.01)
    y = 0.5 + spread * np.linspace(-6, 6, 25)
    log_prob, error, score = found(model(cf.Gaussian(scale=0.1), n), 0.5, y)
    np.testing.assert_allclose(log_prob, stats.norm.logpdf(y, 0.5, spread), rtol=0, atol=1e-9)
    np.testing.assert_allclose(score, (y - 0.5) / spread**2, rtol=1e-8, atol=1e-7 / spread)
    assert np.all(error < 1e-9)


def test_where_a_few_nodes_cannot_follow_the_frequencies_the_error_says_so():
    y = 0.5 + np.linspace(-4, 4, 25)
    log_prob, error, _ = found(model(cf.Gaussian(scale=0.1), 2), 0.5, y)
    off = np.abs(log_prob - stats.norm.logpdf(y, 0.5, np.sqrt(0.51)))
    assert np.all(off <= error + 1e-12)
    assert np.max(error) > 1e-9


@pytest.mark.parametrize("n", [5, 400])
def test_with_laplace_noise_it_is_normal_laplace_on_both_sides_of_the_poles(n):
    b, sd = 0.3, 1 / np.sqrt(n)
    y = 0.5 + np.linspace(-4, 4, 41)
    z = y - 0.5
    sides = [sd**2 / 2 / b**2 - side * z / b + special.log_ndtr(side * z / sd - sd / b) for side in (1, -1)]
    log_prob, error, score = found(model(cf.Laplace(scale=b), n), 0.5, y)
    np.testing.assert_allclose(log_prob, np.logaddexp(*sides) - np.log(2 * b), rtol=0, atol=1e-9)
    # d/dμ log p, where each side changes by 1/b and the normal densities cancel
    np.testing.assert_allclose(score, np.tanh(0.5 * (sides[0] - sides[1])) / b, rtol=1e-7, atol=1e-7)
    assert np.all(error < 1e-9)


@pytest.mark.parametrize(("text", "bounds"), [("x", (0.3, 2.5)), ("log(x)", (0.2, 5)), ("min(x, 2)", (0.5, 4))])
def test_information_is_that_of_the_slow_inversion(text, bounds, monkeypatch):
    own = cf.populations.exponential()
    one = model(cf.Laplace(cf.PureDP(1.0)), 40, text, bounds, own)
    with jax.enable_x64(True):
        at_once = np.asarray(cf.Spectral().information(one, np.asarray([[1.0]])))
        monkeypatch.setattr(spectral, "serves", lambda transform: False)
        slowly = np.asarray(cf.Spectral().information(one, np.asarray([[1.0]])))
    np.testing.assert_allclose(at_once, slowly, rtol=1e-8)


def test_a_transform_that_comes_back_after_the_last_frequency_is_not_believed():
    """Of a wide law nearly all records are clipped: their mean is nearly on a lattice."""
    wide = cf.Population(lambda m: dist.Normal(m, 300.0), {"m": constraints.real})
    _, error, _ = found(model(cf.Laplace(scale=0.003), 100, bounds=(0, 1), population=wide), 0.0, [0.5, 0.52])
    assert np.all(error > 1e-3)


@pytest.mark.parametrize(
    ("population", "theta", "text", "bounds"),
    [(cf.populations.exponential(), 1.0, "x", (0.3, 2.5)), (cf.populations.poisson(), 3.0, "x**3", (0, 4))],
)
def test_no_inversion_is_compiled_for_one_theta(population, theta, text, bounds, monkeypatch):
    def never(*_):
        raise AssertionError("an inversion is compiled")

    monkeypatch.setattr(integral, "invert", never)
    one = model(cf.Laplace(cf.PureDP(1.0)), 20, text, bounds, population)
    assert cf.information(one, theta).exact
