"""The laws of additive noise, against samples, direct sums, integrals and high precision."""

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from confide.mechanism import DiscreteGaussian, DiscreteLaplace, GaussianNoise, LaplaceNoise
from tests.mechanism.oracles import LEVEL, fit_p_value

CONTINUOUS = [LaplaceNoise(0.7), GaussianNoise(1.3)]
LATTICE = [DiscreteLaplace(s * 0.3, 0.3) for s in (0.05, 0.3, 1.0, 7.0, 390.0)]
LATTICE += [DiscreteGaussian(s * 0.3, 0.3) for s in (0.05, 0.3, 0.4, 1.0, 7.0, 31.9, 32.1, 390.0)]
ALL = CONTINUOUS + LATTICE
FINE = [DiscreteLaplace(1.0, 1e-5), DiscreteGaussian(1.0, 1e-5), DiscreteGaussian(1.0, 1e-12)]


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


# A law is an argument of these, so that each compiles once per class and serves every scale.
sample = jax.jit(lambda noise, key: noise.sample(key, (60_000,)))
cdf = jax.jit(lambda noise, v: noise.cdf(v))
log_mass = jax.jit(lambda noise, k: noise.log_mass(k))
log_characteristic = jax.jit(lambda noise, t: (noise.log_characteristic(t), noise.characteristic(t)))
POINTS = np.arange(-16_000, 16_001, dtype=float)  # 40 scales of the finest lattice below


def draws_of(noise):
    return np.asarray(sample(noise, jax.random.key(20260101)))


@pytest.mark.parametrize("noise", ALL + FINE, ids=str)
def test_draws_follow_the_distribution_function(noise):
    draws = draws_of(noise)
    if np.ptp(draws) > 0:
        assert fit_p_value(draws, lambda v: cdf(noise, v)) > LEVEL
    else:  # a very coarse lattice: all mass at 0 up to e^{−200}
        assert float(noise.log_prob(0.0)) > -1e-8


@pytest.mark.parametrize("noise", [*CONTINUOUS, DiscreteLaplace(2.1, 0.3), DiscreteGaussian(2.1, 0.3)], ids=str)
def test_a_scale_wrong_by_a_tenth_is_caught(noise):
    wrong = with_scale(noise, 1.1 * noise.scale)
    assert fit_p_value(draws_of(noise), lambda v: cdf(wrong, v)) < LEVEL


def with_scale(noise, scale):
    return type(noise)(scale) if noise.step is None else type(noise)(scale, noise.step)


@pytest.mark.parametrize("noise", LATTICE, ids=str)
def test_lattice_masses_sum_to_one_and_match_the_variance(noise):
    mass = np.exp(log_mass(noise, POINTS))
    assert np.sum(mass) == pytest.approx(1, abs=1e-13)
    assert np.sum(mass * (POINTS * noise.step) ** 2) == pytest.approx(float(noise.variance), rel=1e-12)


@pytest.mark.parametrize("noise", LATTICE, ids=str)
def test_lattice_distribution_function_is_the_running_sum(noise):
    direct = np.cumsum(np.exp(log_mass(noise, POINTS)))
    assert np.allclose(cdf(noise, POINTS * noise.step), direct, rtol=0, atol=3e-14)
    assert np.allclose(cdf(noise, (POINTS + 0.37) * noise.step), direct, rtol=0, atol=3e-14)


@pytest.mark.parametrize("noise", LATTICE, ids=str)
def test_lattice_characteristic_function_is_the_direct_sum(noise):
    t = np.concatenate([np.linspace(0, 3, 7) / noise.scale, np.linspace(-30, 30, 9)])
    direct = np.cos(np.outer(t, POINTS * noise.step)) @ np.exp(log_mass(noise, POINTS))
    logarithm, value = log_characteristic(noise, t)
    assert np.allclose(value, direct, rtol=0, atol=1e-12)
    assert np.allclose(np.exp(logarithm), direct, rtol=0, atol=1e-12)


@pytest.mark.parametrize("noise", CONTINUOUS, ids=str)
def test_continuous_characteristic_function_is_the_integral(noise):
    for t in (0.0, 0.5, 2.0, 5.0):
        direct, _ = integrate.quad(
            lambda v, t=t: np.exp(float(noise.log_prob(v))) * 2 * np.cos(t * v), 0, 30, limit=200
        )
        assert float(noise.characteristic(t)) == pytest.approx(direct, abs=1e-9)


@pytest.mark.parametrize(
    ("noise", "reference"),
    [(LaplaceNoise(0.7), stats.laplace(scale=0.7)), (GaussianNoise(1.3), stats.norm(scale=1.3))],
    ids=["laplace", "gaussian"],
)
def test_continuous_noise_agrees_with_scipy(noise, reference):
    v = np.linspace(-9, 9, 41)
    assert np.allclose(noise.log_prob(v), reference.logpdf(v), rtol=1e-13)
    assert np.allclose(noise.cdf(v), reference.cdf(v), rtol=1e-12)
    assert float(noise.variance) == pytest.approx(reference.var())


@pytest.mark.parametrize("s", [0.05, 0.1, 0.39, 0.4, 0.41, 0.7, 1.0, 3.0, 1e2, 1e6, 1e12])
def test_normaliser_of_the_discrete_gaussian_to_the_last_digits(s):
    with mpmath.workdps(40):
        exact = mpmath.log(mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * mpmath.mpf(s) ** 2)))) if s < 100 else None
        if exact is None:  # Poisson: s√(2π) up to e^{−2π²s²}
            exact = mpmath.log(mpmath.mpf(s) * mpmath.sqrt(2 * mpmath.pi))
    assert float(-DiscreteGaussian(s, 1.0).log_mass(0.0)) == pytest.approx(float(exact), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize("noise", [DiscreteLaplace(1.0, 0.1), DiscreteGaussian(1.0, 0.1)], ids=str)
def test_off_the_lattice_there_is_no_mass(noise):
    assert np.all(np.isneginf(noise.log_prob(np.array([0.05, 0.1 + 1e-9, -0.33]))))
    assert np.all(np.isfinite(noise.log_prob(np.array([0.1, 0.1 + 1e-12, 0.1 * 3, 7.0, -0.7, 0.1 * 12345]))))


@pytest.mark.parametrize("noise", ALL, ids=str)
def test_laws_are_hashable_values(noise):
    twin = with_scale(noise, noise.scale)
    assert noise == twin
    assert hash(noise) == hash(twin)
    assert str(noise.scale) in str(noise)


@pytest.mark.parametrize("kind", [LaplaceNoise, GaussianNoise, DiscreteLaplace, DiscreteGaussian])
def test_one_compilation_serves_all_scales(kind):
    traces = []

    @jax.jit
    def everything(noise, key, v):
        traces.append(1)
        return noise.log_prob(v), noise.cdf(v), noise.characteristic(v), noise.sample(key, (3,)), noise.variance

    for scale in (0.2, 1.0, 50.0):
        noise = kind(scale, 0.5) if kind in (DiscreteLaplace, DiscreteGaussian) else kind(scale)
        compiled = everything(noise, jax.random.key(1), jnp.array([0.5, 1.5]))
        assert np.allclose(compiled[0], noise.log_prob(jnp.array([0.5, 1.5])), rtol=1e-12)
        assert all(array.dtype == jnp.float64 for array in compiled)
    assert len(traces) == 1


def test_single_precision_where_jax_has_it():
    with jax.enable_x64(False):
        noise = DiscreteGaussian(3.0, 1.0)
        assert noise.log_prob(jnp.array([1.0, 2.0])).dtype == jnp.float32
        assert float(noise.cdf(jnp.float32(0.0))) == pytest.approx(
            0.5 + 0.5 * np.exp(float(noise.log_prob(0.0))), abs=1e-5
        )


def test_a_scale_that_is_not_a_number_ends_and_shows():
    assert not np.all(np.isfinite(DiscreteGaussian(float("nan"), 1.0).sample(jax.random.key(0), (4,))))
