"""Additive laws: shapes, rounding to the lattice, normalisation, draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from confide.mechanism import (
    AdditiveLaw,
    DiscreteGaussian,
    DiscreteLaplace,
    Gaussian,
    GaussianNoise,
    Laplace,
    LaplaceNoise,
)
from confide.mechanism.lattice import nearest_index
from confide.privacy import GDP, PureDP
from confide.statistic import Each, Maximum, Mean
from tests.mechanism.oracles import LEVEL, chi_square_p_value, fit_p_value


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


log_prob = jax.jit(lambda law, y, u: law.log_prob(y, u))
sample = jax.jit(lambda law, key, u: law.sample(key, u))


@pytest.mark.parametrize("noise", [LaplaceNoise(0.4), GaussianNoise(0.4)], ids=str)
@pytest.mark.parametrize("u", [0.0, -3.3])
def test_density_is_normalised_and_draws_follow_it(noise, u):
    law = AdditiveLaw(noise)
    total, _ = integrate.quad(lambda y: np.exp(float(log_prob(law, y, u))), u - 15, u + 15, points=[u], limit=200)
    assert total == pytest.approx(1, abs=1e-8)
    draws = np.asarray(sample(law, jax.random.key(2), jnp.full(40_000, u)))
    assert fit_p_value(draws, lambda y: noise.cdf(y - u)) > LEVEL


@pytest.mark.parametrize("noise", [DiscreteLaplace(0.4, 0.25), DiscreteGaussian(0.4, 0.25)], ids=str)
@pytest.mark.parametrize("u", [0.0, 0.124, 0.126, -3.3])
def test_mass_is_normalised_and_draws_follow_it(noise, u):
    law = AdditiveLaw(noise)
    y = 0.25 * np.arange(-200, 201)
    mass = np.exp(np.asarray(log_prob(law, y, u)))
    assert np.sum(mass) == pytest.approx(1, abs=1e-12)
    assert y[np.argmax(mass)] == pytest.approx(0.25 * round(u / 0.25))
    draws = np.asarray(sample(law, jax.random.key(2), jnp.full(30_000, u)))
    counts = np.bincount(np.round(draws / 0.25).astype(int) + 200, minlength=401)
    assert chi_square_p_value(counts, mass) > LEVEL


def test_rounding_commutes_with_whole_steps():
    """Half to even would send 0.5 and 1.5, one step apart, two steps apart."""
    assert nearest_index(jnp.array([0.5, 1.5, 2.5, -0.5]), 1.0).tolist() == [1.0, 2.0, 3.0, 0.0]
    u = np.random.default_rng(0).integers(-40, 40, 1000) / 8
    for k in (1, 2, 5):
        moved = nearest_index(u + k * 0.5, 0.5) - nearest_index(u, 0.5)
        assert np.all(moved == k)


@pytest.mark.parametrize("mechanism", [Laplace(PureDP(1.0)), Gaussian(GDP(1.0), step=0.125)], ids=str)
def test_shapes(mechanism):
    key = jax.random.key(0)
    scalar = mechanism.calibrate(Mean("x", bounds=(0, 1)), 10)
    assert sample(scalar, key, jnp.zeros((2, 5))).shape == (2, 5)
    assert log_prob(scalar, jnp.zeros((2, 5)), jnp.zeros(5)).shape == (2, 5)
    vector = mechanism.calibrate(Mean(["x", "x**2", "x**3"], bounds=(0, 1)), 10)
    y = sample(vector, key, jnp.zeros((2, 3)))
    assert y.shape == (2, 3)
    assert log_prob(vector, y, jnp.zeros(3)).shape == (2,)
    each = mechanism.calibrate(Each("x", bounds=(0, 1)), 10)
    assert log_prob(each, sample(each, key, jnp.zeros((4, 10))), jnp.zeros((4, 10))).shape == (4, 10)
    order = mechanism.calibrate(Maximum("x", bounds=(0, 1)), 10)
    assert sample(order, key, jnp.zeros((4, 1))).shape == (4,)
    assert log_prob(order, jnp.zeros(4), jnp.zeros((4, 1))).shape == (4,)
    assert {law.window for law in (scalar, vector, each, order)} == {0}


def test_coordinates_add_up_and_windows_use_their_middle():
    noise = LaplaceNoise(0.7)
    u, y = np.array([1.0, -2.0, 0.5]), np.array([1.5, 0.0, 0.4])
    expected = float(np.sum(np.asarray(noise.log_prob(y - u))))
    assert float(AdditiveLaw(noise, "vector").log_prob(y, u)) == pytest.approx(expected)
    assert float(AdditiveLaw(noise, "window").log_prob(0.3, u)) == pytest.approx(float(noise.log_prob(2.3)))


def test_a_lattice_release_lies_on_the_lattice():
    law = AdditiveLaw(DiscreteLaplace(100.0, 0.1))
    y = law.sample(jax.random.key(1), jnp.linspace(0, 1, 1000))
    assert np.all(np.isfinite(law.log_prob(y, jnp.linspace(0, 1, 1000))))
    assert np.all(np.isneginf(law.log_prob(y + 0.05, jnp.linspace(0, 1, 1000))))


def test_compiled_with_the_law_as_argument():
    traces = []

    @jax.jit
    def simulate(law, key, u):
        traces.append(1)
        y = law.sample(key, u)
        return y, law.log_prob(y, u)

    for epsilon in (0.1, 1.0, 10.0):
        law = Laplace(PureDP(epsilon)).calibrate(Mean("x", bounds=(0, 1)), 10)
        y, log_prob = simulate(law, jax.random.key(0), jnp.zeros(3))
        assert y.dtype == log_prob.dtype == jnp.float64
        assert np.allclose(log_prob, law.log_prob(y, jnp.zeros(3)))
    assert len(traces) == 1
