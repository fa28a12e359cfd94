"""The exponential mechanism on ranks: its density, its draws, and its promise on whole small domains."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from confide.mechanism import Exponential, ExponentialLaw
from confide.privacy import PureDP
from confide.statistic import Maximum, Median, Minimum, Quantile
from tests.mechanism.oracles import LEVEL, data_sets, fit_p_value, windows

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


# laws are arguments, so that one compilation serves all that have the same window
COMPILED = jax.jit(lambda law, y, window: law.log_prob(y, window))
SAMPLE = jax.jit(lambda law, key, window: law.sample(key, window))


def definition(y, records, rank, rate, cap, low, high):
    """The log density from its definition: ranks counted one by one, the normaliser interval by interval."""
    ordered = np.sort(records)
    edges = np.concatenate([[low], ordered, [high]])

    def steps(j):
        return min(cap, rank - 1 - j if j < rank else j - rank)

    total = sum((edges[j + 1] - edges[j]) * math.exp(-rate * steps(j)) for j in range(len(records) + 1))
    return -rate * steps(int(np.sum(ordered < y))) - math.log(total)


@pytest.mark.parametrize(("rank", "cap"), [(1, 1), (1, 5), (3, 1), (3, 2), (3, 5), (4, 3), (5, 5)])
def test_density_is_its_definition_and_sees_only_the_window(rank, cap):
    law = ExponentialLaw(0.7, 0.0, 10.0, cap)
    for records in ([1.0, 2.5, 4.0, 4.2, 9.0], [0.0, 0.0, 3.0, 3.0, 10.0], [5.0] * 5):
        window = windows(np.array([records]), rank, cap, 0.0, 10.0)[0]
        y = np.array([0.5, 1.7, 3.1, 4.1, 5.5, 9.5])
        expected = [definition(point, records, rank, 0.7, cap, 0.0, 10.0) for point in y]
        assert np.allclose(COMPILED(law, y, np.tile(window, (6, 1))), expected, rtol=1e-12)
        assert np.allclose(COMPILED(law, y, window), expected, rtol=1e-12)


@pytest.mark.parametrize("records", [[1.0, 2.5, 4.0, 4.2, 9.0], [0.0, 0.0, 3.0, 3.0, 10.0], [10.0] * 5])
def test_density_integrates_to_one_and_draws_follow_it(records):
    law = ExponentialLaw(0.7, 0.0, 10.0, 2)
    window = windows(np.array([records]), 3, 2, 0.0, 10.0)[0]
    edges = np.concatenate([[0.0], window, [10.0]])
    inside = np.exp(np.asarray(COMPILED(law, (edges[:-1] + edges[1:]) / 2, window))) * np.diff(edges)
    assert np.sum(inside) == pytest.approx(1, abs=1e-12)
    cumulative = np.concatenate([[0.0], np.cumsum(inside)])
    draws = np.asarray(SAMPLE(law, jax.random.key(3), np.tile(window, (40_000, 1))))
    assert np.all((draws >= 0) & (draws <= 10))

    def cdf(y):  # np.interp needs increasing points: ties have no length
        kept = np.concatenate([[True], np.diff(edges) > 0])
        return np.interp(y, edges[kept], cumulative[kept])

    assert fit_p_value(draws, cdf) > LEVEL


def test_a_rate_wrong_by_a_tenth_is_caught():
    window = np.array([1.0, 2.5, 4.0, 4.2, 9.0])
    draws = np.asarray(SAMPLE(ExponentialLaw(1.5, 0.0, 10.0, 2), jax.random.key(3), np.tile(window, (150_000, 1))))
    law = ExponentialLaw(1.35, 0.0, 10.0, 2)
    edges = np.concatenate([[0.0], window, [10.0]])
    inside = np.exp(np.asarray(COMPILED(law, (edges[:-1] + edges[1:]) / 2, window))) * np.diff(edges)
    assert fit_p_value(draws, lambda y: np.interp(y, edges, np.concatenate([[0.0], np.cumsum(inside)]))) < LEVEL


def test_nothing_lies_outside_the_range():
    law = ExponentialLaw(0.7, 0.0, 10.0, 1)
    assert np.all(np.isneginf(law.log_prob(np.array([-0.1, 10.1]), np.array([1.0, 2.0, 3.0]))))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(("n", "rank"), [(n, rank) for n in (1, 2, 3, 4) for rank in range(1, n + 1)])
def test_every_pair_of_neighbours_on_a_small_domain(n, rank, epsilon):
    sets, distance = data_sets((0.0, 0.1, 0.5, 1.0), n)
    y = np.array([0.05, 0.3, 0.75])
    for cap in (1, n):
        law = Exponential(PureDP(epsilon), cap=cap).calibrate(Quantile("x", rank / n, bounds=(0, 1)), n)
        log_density = np.asarray(COMPILED(law, y, windows(sets, rank, law.window, 0.0, 1.0)[:, None, :]))
        ratio = np.max((log_density[:, None] - log_density[None, :])[distance == 1]) if n else 0
        assert ratio <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("cap", [None, 1, 3])
def test_the_promise_is_used_up_in_the_middle(epsilon, cap):
    """m−1 records at low, two just above and the rest at high; one moves from low to high."""
    n, eta = 9, 1e-7
    law = Exponential(PureDP(epsilon), cap=cap).calibrate(Median("x", bounds=(0, 1)), n)
    assert law.rate == epsilon / 2
    rank = 5
    sets = np.array([[0.0] * 4 + [eta, eta] + [1.0] * 3, [0.0] * 3 + [eta, eta] + [1.0] * 4])
    window = windows(sets, rank, law.window, 0.0, 1.0)
    ratio = float(COMPILED(law, eta / 2, window[0]) - COMPILED(law, eta / 2, window[1]))
    assert 0.98 * epsilon <= ratio <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("statistic", [Maximum, Minimum])
def test_the_promise_is_used_up_at_the_ends(statistic, epsilon):
    n, eta = 2, 1e-7
    law = Exponential(PureDP(epsilon)).calibrate(statistic("x", bounds=(0, 1)), n)
    assert law.rate == epsilon
    sets = (
        np.array([[0.0, eta], [eta, eta]]) if statistic is Maximum else np.array([[1 - eta, 1.0], [1 - eta, 1 - eta]])
    )
    window = windows(sets, n if statistic is Maximum else 1, law.window, 0.0, 1.0)
    y = eta / 2 if statistic is Maximum else 1 - eta / 2
    ratio = float(COMPILED(law, y, window[0]) - COMPILED(law, y, window[1]))
    assert 0.98 * epsilon <= ratio <= epsilon * (1 + 1e-12)


def test_the_utility_has_sensitivity_one():
    for n, rank in itertools.product((2, 3, 4), (1, 2)):
        sets, distance = data_sets((0.0, 0.5, 1.0), n)
        below = np.sum(sets[:, None, :] < np.array([0.25, 0.75])[None, :, None], axis=-1)
        steps = np.maximum(rank - 1 - below, below - rank)
        changes = np.abs(steps[:, None] - steps[None, :])[distance == 1]
        assert np.max(changes) == 1


def test_a_window_of_ties_and_a_large_rate_do_not_underflow():
    law = ExponentialLaw(500.0, 0.0, 1.0, 3)
    window = jnp.zeros(7)
    assert float(law.log_prob(0.5, window)) == pytest.approx(0.0, abs=1e-12)
    assert np.all(np.isfinite(jax.grad(law.log_prob, argnums=1)(0.5, window)))
    assert 0 < float(law.sample(jax.random.key(0), window)) < 1


def test_gradient_in_the_window():
    law = ExponentialLaw(0.7, 0.0, 10.0, 2)
    window = np.array([1.0, 2.5, 4.0, 4.2, 9.0])
    gradient = jax.grad(law.log_prob, argnums=1)(3.0, jnp.asarray(window))
    for i in range(5):
        step = 1e-6 * np.eye(5)[i]
        slope = (COMPILED(law, 3.0, window + step) - COMPILED(law, 3.0, window - step)) / 2e-6
        assert float(gradient[i]) == pytest.approx(float(slope), abs=1e-8)
