"""Smooth sensitivity against its definition: a maximum over all data sets of small domains."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from confide.mechanism import smooth_sensitivity
from tests.mechanism.oracles import data_sets, windows

DOMAINS = [(0.0, 1.0), (0.0, 0.2, 1.0), (-1.0, 0.5, 0.6, 2.0)]
CASES = [(domain, n, rank) for domain, n in itertools.product(DOMAINS, (1, 2, 3, 4)) for rank in range(1, n + 1)]


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


# one compilation per window size: batches are padded to the largest number of data sets
COMPILED = jax.jit(smooth_sensitivity)


def computed(window, beta, low, high):
    padded = np.concatenate([window, np.tile(window[:1], (256 - len(window), 1))])
    return np.asarray(COMPILED(padded, beta, low, high))[: len(window)]


def brute_force(domain, n, rank, beta):
    """max over all x' of LS(x')·e^{−β·h(x, x')}, LS from its own definition: the largest change by one replacement."""
    sets, distance = data_sets(domain, n)
    value = np.sort(sets, axis=-1)[:, rank - 1]
    local = np.max(np.where(distance == 1, np.abs(value[:, None] - value[None, :]), 0), axis=1)
    return sets, distance, local, np.max(local[None, :] * np.exp(-beta * distance), axis=1)


@pytest.mark.parametrize(("domain", "n", "rank"), CASES)
def test_uncapped_it_is_the_smooth_sensitivity(domain, n, rank):
    low, high = domain[0], domain[-1]
    for beta in (0.05, 0.4, 1.5):
        sets, _, _, expected = brute_force(domain, n, rank, beta)
        window = windows(sets, rank, n, low, high)
        assert np.allclose(computed(window, beta, low, high), expected, rtol=1e-13)


@pytest.mark.parametrize(("domain", "n", "rank"), [case for case in CASES if case[1] >= 3])
def test_capped_it_is_still_smooth_above_the_local_one_and_positive(domain, n, rank):
    low, high = domain[0], domain[-1]
    for cap, beta in itertools.product(range(1, n + 1), (0.05, 0.7)):
        sets, distance, local, uncapped = brute_force(domain, n, rank, beta)
        smooth = computed(windows(sets, rank, cap, low, high), beta, low, high)
        neighbours = distance == 1
        assert np.max(np.log(smooth[:, None] / smooth[None, :])[neighbours]) <= beta + 1e-12
        assert np.all(smooth >= local - 1e-15)
        assert np.all(smooth >= uncapped * (1 - 1e-13))
        assert np.min(smooth) >= np.exp(-cap * beta) * (high - low) * (1 - 1e-13)


@pytest.mark.parametrize("cap", [1, 7, 40])
def test_random_windows_against_the_double_loop(cap):
    generator = np.random.default_rng(cap)
    window = np.sort(generator.uniform(2.0, 9.0, (5, 2 * cap + 1)), axis=-1)
    beta, low, high = 0.3, 1.0, 10.0
    expected = [
        max(
            [np.exp(-cap * beta) * (high - low)]
            + [
                np.exp(-beta * (a + b - 1)) * (w[cap + b] - w[cap - a])
                for a in range(cap + 1)
                for b in range(cap + 1)
                if 1 <= a + b <= cap
            ]
        )
        for w in window
    ]
    assert np.allclose(smooth_sensitivity(window, beta, low, high), expected, rtol=1e-13)


def test_gradient_is_that_of_the_winning_gap():
    window = jnp.array([0.0, 1.0, 2.0, 5.5, 6.0])
    gradient = jax.grad(lambda w: smooth_sensitivity(w, 1.0, 0.0, 7.0))(window)
    assert np.allclose(gradient, [0, 0, -1, 1, 0])
    capped = jax.grad(lambda w: smooth_sensitivity(w, 0.01, 0.0, 100.0))(window)
    assert np.allclose(capped, 0)


def test_memory_grows_with_the_window_not_with_its_square():
    window = jnp.zeros((1000, 401))
    lowered = jax.jit(jax.grad(lambda w: jnp.sum(smooth_sensitivity(w, 0.1, 0.0, 1.0)))).lower(window)
    used = lowered.compile().memory_analysis().temp_size_in_bytes
    assert used < 40 * window.nbytes  # all pairs at once would be 200 times the window
