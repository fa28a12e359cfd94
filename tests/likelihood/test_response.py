"""Randomized response, against closed forms and brute force."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from confide import populations
from confide.channel import Channel
from confide.errors import IncompatibleError, InvalidArgument
from confide.likelihood.local.response import Response
from confide.mechanism import Laplace, RandomizedResponse
from confide.model import Model
from confide.privacy import PureDP
from confide.statistic import Each

ROUTE = Response()


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def model_of(population, expression, bounds, epsilon, n):
    return Model(population, Channel(Each(expression, bounds), RandomizedResponse(PureDP(epsilon)), n))


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 3.0, 50.0])
def test_example_4(epsilon):
    """F₁ = n α²/(τ(1 − τ)), log p = Σy ln τ + Σ(1 − y) ln(1 − τ) (erratum 4)."""
    model = model_of(populations.bernoulli(), "x", (0, 1), epsilon, 100)
    theta = np.array([0.001, 0.25, 0.5, 0.999])
    keep = 1 / (1 + math.exp(-epsilon))
    alpha, tau = 2 * keep - 1, keep * theta + (1 - keep) * (1 - theta)
    found = np.asarray(ROUTE.information(model, theta[:, None]))[:, 0, 0]
    np.testing.assert_allclose(found, 100 * alpha**2 / (tau * (1 - tau)), rtol=1e-12)
    answers = (np.random.default_rng(1).random((3, 100)) < 0.4).astype(float)
    ones = answers.sum(axis=1)
    expected = np.log(tau)[:, None] * ones + np.log1p(-tau)[:, None] * (100 - ones)
    np.testing.assert_allclose(ROUTE.log_likelihood(model, theta[:, None], answers), expected, rtol=1e-12)


def test_a_threshold_on_a_normal():
    """P(X > 2) in the tail, and its slope: the chain rule on Example 4."""
    model = model_of(populations.normal(), "x > 2", (-10, 10), 1.0, 50)
    theta = np.array([[0.3, 1.5], [-4.0, 0.5]])
    sd = np.sqrt(theta[:, 1])
    z = (2 - theta[:, 0]) / sd
    keep = 1 / (1 + math.exp(-1.0))
    tau = 1 - keep + (2 * keep - 1) * stats.norm.sf(z)
    slopes = (2 * keep - 1) * stats.norm.pdf(z)[:, None] * np.stack([1 / sd, 0.5 * z / theta[:, 1]], axis=1)
    expected = 50 * slopes[:, :, None] * slopes[:, None, :] / (tau * (1 - tau))[:, None, None]
    np.testing.assert_allclose(ROUTE.information(model, theta), expected, rtol=1e-12, atol=1e-300)


def brute(probabilities, keep):
    """The probabilities of the answers, from those of the levels."""
    other = (1 - keep) / (len(probabilities) - 1)
    return np.array([p * keep + (1 - p) * other for p in probabilities])


def test_several_levels_by_brute_force():
    keep = lambda k, epsilon: 1 / (1 + (k - 1) * math.exp(-epsilon))  # noqa: E731
    normal, poisson = stats.norm(scale=math.sqrt(2.0)), stats.poisson(1.3)
    cases = [
        (populations.categorical(4), [0.1, 0.2, 0.3, 0.4], "x", (0, 3), [0.1, 0.2, 0.3, 0.4], [0, 1, 2, 3]),
        (populations.poisson(), [1.3], "x", (0, 2), [*poisson.pmf([0, 1]), poisson.sf(1)], [0, 1, 2]),
        (
            populations.normal_variance(),
            [2.0],
            "(x > 1) + (x > 2)",
            (-3, 3),
            [normal.cdf(1), normal.cdf(2) - normal.cdf(1), normal.sf(2)],
            [0, 1, 2],
        ),
        # two intervals with one level: |x| > 1; and a record exactly at a bound takes the level of the bound
        (populations.normal_variance(), [2.0], "abs(x) > 1", (-3, 3), [1 - 2 * normal.sf(1), 2 * normal.sf(1)], [0, 1]),
        (populations.normal_variance(), [2.0], "x > 0", (0, 3), [0.5, 0.5], [0, 1]),
    ]
    for population, theta, expression, bounds, probabilities, levels in cases:
        model = model_of(population, expression, bounds, 1.2, 6)
        answers = np.random.default_rng(0).choice(levels, 6).astype(float)
        tau = brute(probabilities, keep(len(levels), 1.2))
        expected = sum(math.log(tau[levels.index(int(answer))]) for answer in answers)
        assert float(ROUTE.log_likelihood(model, [theta], answers[None])[0, 0]) == pytest.approx(expected, rel=1e-12)
        value = ROUTE.log_prob(model, jnp.asarray(theta), jnp.asarray(answers))
        assert float(value) == pytest.approx(expected, rel=1e-12)


def test_records_that_are_no_whole_numbers_have_no_category_codes():
    with pytest.raises(IncompatibleError, match="code of a category"):
        model_of(populations.normal_variance(), "x", (0, 2), 1.0, 1)
    model_of(populations.categorical(3), "x", (0, 2), 1.0, 1)


def test_the_derivative_in_a_trace():
    model = model_of(populations.normal_variance(), "x > 1", (-3, 3), 1.0, 3)
    gradient = jax.jit(jax.grad(lambda theta: ROUTE.log_prob(model, theta, jnp.asarray([1.0, 0.0, 1.0]))))
    keep, z = 1 / (1 + math.exp(-1.0)), 1 / math.sqrt(2.0)
    tau = 1 - keep + (2 * keep - 1) * stats.norm.sf(z)
    slope = (2 * keep - 1) * stats.norm.pdf(z) * z / 4
    assert float(gradient(jnp.asarray([2.0]))[0]) == pytest.approx(slope * (2 / tau - 1 / (1 - tau)), rel=1e-12)


def test_an_answer_that_is_no_level_is_refused():
    model = model_of(populations.bernoulli(), "x", (0, 1), 1.0, 3)
    with pytest.raises(InvalidArgument, match=r"0\.5 is none of the levels 0, 1"):
        ROUTE.log_likelihood(model, [[0.3]], [[0.0, 0.5, 1.0]])


def test_refusals_name_what_would_serve():
    other = Model(populations.bernoulli(), Channel(Each("x", (0, 1)), Laplace(PureDP(1.0)), 3))
    assert "records" in ROUTE.refuses(other)
    assert ROUTE.refuses(model_of(populations.bernoulli(), "x", (0, 1), 1.0, 3)) is None
