"""What Fisher information must satisfy, on random regular models, for every exact method; matrices in Loewner's order."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import confide as cf

P = cf.populations


def additive(laplace):
    return (lambda level: cf.Laplace(cf.PureDP(level))) if laplace else (lambda level: cf.Gaussian(cf.GDP(level)))


def response(level):
    return cf.RandomizedResponse(cf.PureDP(level))


def quantile(expression, bounds):
    return cf.Quantile(expression, 0.8, bounds)


#: method, population, θ, statistic, and what adds the noise at a level of privacy
MODELS = {
    "spectral": (P.normal(), [0.4, 1.5], cf.Mean("x", (-2, 2.5)), additive(laplace=True)),
    "spectral, gamma": (P.gamma(), [2.5, 1.5], cf.Mean("sqrt(x)", (0.3, 2.0)), additive(laplace=False)),
    "order": (P.normal_variance(), [2.0], cf.Median("abs(x)", (-2, 2)), additive(laplace=True)),
    "order, normal": (P.normal(), [0.4, 1.5], quantile("x", (-2, 2)), additive(laplace=False)),
    "records": (P.normal(), [0.4, 1.5], cf.Each("x", (-2, 2.5)), additive(laplace=True)),
    "records, exponential": (P.exponential(), [1.3], cf.Each("x", (0, 2)), additive(laplace=False)),
    "response": (P.normal(), [0.4, 1.5], cf.Each("x > 1", (-5, 5)), response),
    "response, categories": (P.categorical(3), [0.2, 0.5, 0.3], cf.Each("x", (0, 2)), response),
}
LONG = {"spectral, gamma", "order, normal", "records, exponential"}
EACH = [pytest.param(name, marks=[pytest.mark.slow] if name in LONG else []) for name in MODELS]


def information(name, n, level):
    population, theta, statistic, mechanism = MODELS[name]
    model = cf.Model(population, cf.Channel(statistic, mechanism(level), n))
    found = cf.information(model, theta)
    assert found.method == name.split(",")[0]
    assert not found.standard_error.any()
    return found


def least(matrix, scale):
    """The least eigenvalue of a matrix, in units of another that is positive on the same directions."""
    values, vectors = np.linalg.eigh(scale)
    kept = values > 1e-9 * values.max()  # probabilities that sum to one have a direction without information
    root = vectors[:, kept] / np.sqrt(values[kept])
    return np.linalg.eigvalsh(root.T @ matrix @ root)[0]


@pytest.mark.parametrize("name", EACH)
@settings(max_examples=4, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(n=st.sampled_from([20, 137, 3000]), level=st.floats(0.1, 2.0))
def test_less_than_the_records_hold_and_more_with_less_noise(name, n, level):
    population, theta = MODELS[name][:2]
    records = n * np.asarray(population.fisher(theta))
    low, high = (information(name, n, scale * level) for scale in (1.0, 1.7))
    assert least(records - high.matrix, records) > -1e-9
    assert least(high.matrix - low.matrix, records) > -1e-10
    assert np.trace(high.matrix) > np.trace(low.matrix)
    assert 0 < low.efficiency < high.efficiency < 1


@pytest.mark.parametrize(
    ("population", "theta", "statistic", "scale", "share"),
    [
        (P.bernoulli(), 0.3, cf.Mean("x", (0, 1)), 1e-3, 1e-5),
        (P.exponential(), 1.3, cf.Mean("x", (0, 60)), 1e-2, 0.02),
        (P.normal_mean(), 0.4, cf.Mean("x", (-30, 30)), 1e-3, 1e-3),
        (P.normal(), [0.4, 1.5], cf.Each("x", (-9, 9)), 0.1, 2e-2),  # each record: both parameters at once
    ],
)
def test_it_tends_to_what_the_records_hold(population, theta, statistic, scale, share):
    """A sufficient statistic that is not clipped, with ever less noise: F → n·I, as a matrix."""
    n = 20 if isinstance(statistic, cf.Each) else 100
    records = n * np.asarray(population.fisher(np.atleast_1d(theta)))
    before = -1.0
    for noise in (5 * scale, scale):
        model = cf.Model(population, cf.Channel(statistic, cf.Gaussian(scale=noise), n))
        found = cf.information(model, theta).matrix
        now = least(found, records)
        assert before - 1e-11 < now < 1 + 1e-9
        before = now
    assert now > 1 - share


@pytest.mark.parametrize("name", ["spectral", pytest.param("order", marks=pytest.mark.slow)])
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(cuts=st.lists(st.floats(-3.0, 4.0), min_size=1, max_size=5, unique=True))
def test_what_is_made_of_a_published_value_tells_no_more_than_it(name, cuts):
    """Publish only the interval between random cuts in which y lies: the information of the interval is less."""
    population, theta, statistic, mechanism = MODELS[name]
    model = cf.Model(population, cf.Channel(statistic, mechanism(1.5), 30))
    y, h = np.linspace(-40.0, 40.0, 16_001), 1e-3
    steps = h * np.eye(len(theta))
    grid = np.concatenate([[theta + step, theta - step] for step in steps])
    p = np.exp(model.log_likelihood(np.concatenate([[theta], grid]), y)) * (y[1] - y[0])
    cell = np.searchsorted(np.sort(cuts), y)
    masses = np.stack([np.bincount(cell, weights=row, minlength=len(cuts) + 1) for row in p])
    slopes = (masses[1::2] - masses[2::2]) / (2 * h)
    kept = masses[0] > 1e-12
    coarse = (slopes[:, kept] / masses[0][kept]) @ slopes[:, kept].T
    fine = cf.information(model, theta).matrix
    assert least(fine - coarse, fine + 1e-12 * np.eye(len(theta))) > -1e-4


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True)
@given(scale=st.floats(0.02, 1.0), more=st.floats(1.05, 3.0), laplace=st.booleans())
def test_more_noise_is_post_processing(scale, more, laplace):
    """A wider normal, or Laplace, variable is the narrower one plus independent noise."""
    noise = cf.Laplace if laplace else cf.Gaussian
    near, far = (
        cf.information(cf.Model(P.poisson(), cf.Channel(cf.Mean("x", (0, 4)), noise(scale=width), 40)), 1.7).matrix[
            0, 0
        ]
        for width in (scale, more * scale)
    )
    assert far < near


def test_a_coarser_statistic_of_the_same_answers_tells_less():
    """Randomized response on three categories, and on two of them taken together, with the same lies."""
    lies = cf.RandomizedResponse(cf.PureDP(60.0))  # hardly any lies: the answers themselves
    population, theta = P.categorical(3), [0.2, 0.5, 0.3]
    fine, coarse = (
        cf.information(cf.Model(population, cf.Channel(cf.Each(text, (0, 2)), lies, 50)), theta).matrix
        for text in ("x", "x > 0.5")
    )
    assert least(fine - coarse, fine) > -1e-9
