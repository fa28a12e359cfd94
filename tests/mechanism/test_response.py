"""Randomized response: the law, and every kind of guarantee computed from the table of probabilities."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from confide.mechanism import RandomizedResponse, ResponseLaw
from confide.privacy import GDP, ZCDP, ApproxDP, PureDP
from confide.statistic import Each
from tests.mechanism.oracles import LEVEL, chi_square_p_value

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
BIT = Each("x > 2", bounds=(0, 5))
CODES = {2: BIT, 3: Each("x", bounds=(0, 2)), 12: Each("x", bounds=(0, 11))}


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def table(mechanism, k):
    """P(answer | truth), rows truths, read off the law's log mass."""
    law = mechanism.calibrate(CODES[k], 10)
    levels = np.asarray(law.levels)
    return np.exp(np.asarray(law.log_prob(levels[None, :], levels[:, None])))


@pytest.mark.parametrize("k", [2, 3, 12])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_pure(k, epsilon):
    p = table(RandomizedResponse(PureDP(epsilon)), k)
    assert np.allclose(p.sum(axis=1), 1)
    ratio = np.max(np.log(p[:, None, :] / p[None, :, :]))
    assert 0.98 * epsilon <= ratio <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("epsilon", "delta"), itertools.product(EPSILONS, (1e-4, 1e-6, 1e-9)))
def test_approximate(epsilon, delta):
    for k in (2, 3, 12):
        p = table(RandomizedResponse(ApproxDP(epsilon, delta)), k)
        spent = np.max(np.sum(np.maximum(p[:, None, :] - math.exp(epsilon) * p[None, :, :], 0), axis=-1))
        # the probability is rounded down by two last places, which e^ε magnifies
        assert spent <= delta * (1 + 1e-3) + math.exp(epsilon) * 1e-18
        assert spent >= 0.98 * delta


@pytest.mark.parametrize("k", [2, 3, 12])
@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_gaussian_dp_at_every_set_of_answers(k, mu):
    p = table(RandomizedResponse(GDP(mu)), k)
    order = np.argsort(p[0] / p[1])[::-1]
    power, level = np.cumsum(p[0][order])[:-1], np.cumsum(p[1][order])[:-1]
    needed = special.ndtri(power) - special.ndtri(level)
    assert np.max(needed) == pytest.approx(mu, rel=1e-6)


@pytest.mark.parametrize("k", [2, 3, 12])
@pytest.mark.parametrize("rho", [0.01, 0.3, 3.0])
def test_concentrated_over_all_orders(k, rho):
    p = table(RandomizedResponse(ZCDP(rho)), k)
    orders = 1 + np.logspace(-3, 2, 3000)[:, None]
    divergence = np.log(np.sum(p[0] ** orders * p[1] ** (1 - orders), axis=-1)) / (orders[:, 0] - 1) / orders[:, 0]
    assert 0.99 * rho <= np.max(divergence) <= rho * (1 + 1e-6)


def test_many_answers_have_their_worst_order_above_one():
    p = table(RandomizedResponse(ZCDP(0.3)), 12)
    order_one = np.sum(p[0] * np.log(p[0] / p[1]))
    assert order_one < 0.995 * 0.3


@pytest.mark.parametrize("levels", [(0.0, 1.0), (-1.5, 0.1, 0.2, 7.0)])
def test_draws_follow_the_mass(levels):
    law = ResponseLaw(levels, 0.6)
    draws = np.asarray(jax.jit(law.sample)(jax.random.key(5), jnp.full(30_000, levels[1])))
    counts = [np.sum(draws == level) for level in levels]
    assert sum(counts) == 30_000
    mass = np.exp(np.asarray(law.log_prob(np.array(levels), levels[1])))
    assert np.sum(mass) == pytest.approx(1, abs=1e-14)
    assert chi_square_p_value(counts, mass) > LEVEL
    wrong = ResponseLaw(levels, 0.66)
    assert chi_square_p_value(counts, np.exp(np.asarray(wrong.log_prob(np.array(levels), levels[1])))) < LEVEL


def test_values_that_are_no_level_are_impossible():
    law = ResponseLaw((0.0, 0.1, 1.0), 0.6)
    assert np.all(np.isneginf(law.log_prob(np.array([0.05, 0.1 + 1e-6, -3.0]), 0.0)))
    assert np.all(np.isfinite(law.log_prob(np.array([0.3 - 0.2, 1.0, 0.0]), 0.0)))


@pytest.mark.parametrize("epsilon", [30.0, 36.0, 50.0])
def test_a_large_epsilon_is_not_rounded_to_no_privacy(epsilon):
    p = table(RandomizedResponse(PureDP(epsilon)), 2)
    assert np.isfinite(np.log(p[0, 0] / p[1, 0]))
    assert np.log(p[0, 0] / p[1, 0]) <= epsilon


def test_each_record_has_its_own_log_mass():
    law = RandomizedResponse(PureDP(1.0)).calibrate(BIT, 4)
    truth = jnp.array([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    log_mass = law.log_prob(truth, truth)
    assert log_mass.shape == (2, 4)
    assert np.allclose(np.exp(log_mass), 1 / (1 + math.exp(-1.0)))
    assert law.sample(jax.random.key(0), truth).shape == (2, 4)
    assert law.window == 0
