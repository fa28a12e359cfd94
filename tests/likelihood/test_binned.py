"""Binned values and still nodes: the same likelihood as from every value, in one pass over them."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from confide import populations
from confide.channel import Channel
from confide.errors import IncompatibleError
from confide.likelihood.local.binned import Binned
from confide.likelihood.local.noisy_record import local
from confide.likelihood.local.records import BINNED_FROM, PerRecord
from confide.mechanism import Gaussian, Laplace
from confide.model import Model
from confide.statistic import Each

ROUTE = PerRecord()


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def draw(model, theta, n, seed=0):
    """Values simulated with NumPy alone: quick for a million of them."""
    rng = np.random.default_rng(seed)
    records = {
        "normal": lambda: rng.normal(0.0, math.sqrt(theta), n),
        "poisson": lambda: rng.poisson(theta, n).astype(float),
        "exponential": lambda: rng.exponential(1 / theta, n),
        "uniform": lambda: rng.uniform(-theta, theta, n),
    }
    kind = next(kind for kind in records if model.population.name.startswith(kind))
    statistic, noise = model.channel.statistic, model.channel.law.noise
    s = np.asarray(statistic.transforms[0](np.clip(records[kind](), *statistic.bounds)), dtype=float)
    if noise.step is not None:
        k = np.floor(s / noise.step + 0.5)
        pair = rng.geometric(-math.expm1(-noise.step / noise.scale), (2, n))
        return noise.step * (k + pair[0] - pair[1])
    law = stats.laplace if "Laplace" in type(noise).__name__ else stats.norm
    return s + law.rvs(scale=noise.scale, size=n, random_state=rng)


def model_of(population, expression, bounds, mechanism, n=1):
    return Model(population, Channel(Each(expression, bounds), mechanism, n))


def direct(model, thetas, values):
    """Σ log p without bins, a block of values at a time."""
    low, high = model.channel.statistic.range
    densities = local(model).densities(np.asarray(thetas, dtype=float), max(values.max() - high, low - values.min()))
    return densities.log_prob(values).sum(axis=1)


SETTINGS = {
    "kinks at the atoms": (
        populations.normal_variance(),
        "abs(x)",
        (-3, 3),
        Laplace(scale=2.0),
        [0.01, 0.5, 2.0, 40.0],
    ),
    "a square root at 0": (populations.normal_variance(), "x**2", (-3, 3), Laplace(scale=4.0), [0.5, 2.0, 40.0]),
    "little noise": (populations.exponential(), "x", (0, 3), Laplace(scale=0.1), [0.3, 1.0, 3.0]),
    "a flat part": (populations.normal_variance(), "clip(x, -1, 0.5)", (-3, 3), Laplace(scale=1.0), [0.5, 2.0]),
    "Gaussian": (populations.normal_variance(), "x**2", (-3, 3), Gaussian(scale=1.0), [0.01, 2.0, 40.0]),
    "Gaussian, moving": (populations.uniform_width(), "abs(x)", (-2, 2), Gaussian(scale=0.7), [0.1, 1.5, 2.5]),
    "counts": (populations.poisson(), "x", (0, 8), Laplace(scale=1.5), [0.3, 3.0, 9.0]),
    "a lattice": (populations.normal_variance(), "x", (-2, 2), Laplace(scale=1.0, step=0.25), [0.5, 2.0]),
}


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_binned_values_have_the_likelihood_of_all_values(setting):
    population, expression, bounds, mechanism, grid = SETTINGS[setting]
    model = model_of(population, expression, bounds, mechanism, 20_000)
    thetas = np.asarray(grid)[:, None]
    values = draw(model, grid[1], 20_000)
    binned = ROUTE.tabulate(model, values, thetas)
    assert isinstance(binned, Binned)
    assert binned.error <= 1e-11
    assert binned.nodes.size < 2_000
    found = np.asarray(ROUTE.log_likelihood(model, thetas, binned))[:, 0]
    np.testing.assert_allclose(found, direct(model, thetas, values), rtol=1e-11, atol=20_000 * 1e-11)
    materialize = np.asarray(ROUTE.log_likelihood(model, thetas, values[None]))[:, 0]
    np.testing.assert_allclose(materialize, found, rtol=1e-13)


def test_a_million_values_in_one_pass():
    """The sum over a million values is the sum of its parts, and a part of them is checked value by value."""
    model = model_of(populations.normal_variance(), "abs(x)", (-10, 10), Laplace(scale=10.0), 10**6)
    values = draw(model, 2.0, 10**6)
    thetas = np.geomspace(0.5, 8.0, 30)[:, None]
    binned = ROUTE.tabulate(model, values, thetas)
    inside = np.clip(values, 0, 10)
    assert binned.weights.sum() == pytest.approx(1e6, rel=1e-12)  # polynomials reproduce 1, and y itself
    assert binned.weights[0] @ binned.nodes == pytest.approx(inside.sum(), rel=1e-12)
    assert binned.offset[0] == pytest.approx(-np.abs(values - inside).sum() / 10, rel=1e-12)
    parts = ROUTE.tabulate(model, values.reshape(50, -1), thetas)
    np.testing.assert_allclose(parts.weights.sum(axis=0), binned.weights[0], rtol=1e-9, atol=1e-6)
    found = np.asarray(ROUTE.log_likelihood(model, thetas[::10], parts))
    np.testing.assert_allclose(found[:, 0], direct(model, thetas[::10], values[:20_000]), rtol=1e-12)
    whole = np.asarray(ROUTE.log_likelihood(model, thetas[::10], binned))[:, 0]
    np.testing.assert_allclose(found.sum(axis=1), whole, rtol=1e-12)


def test_several_data_sets_share_their_bins():
    model = model_of(populations.normal_variance(), "x", (-2, 2), Laplace(scale=1.0), 500)
    values = draw(model, 1.0, 20 * 500).reshape(20, 500)
    assert values.size > BINNED_FROM
    found = np.asarray(ROUTE.log_likelihood(model, [[0.5], [2.0]], values))
    assert found.shape == (2, 20)
    one_by_one = np.stack(
        [np.asarray(ROUTE.log_likelihood(model, [[0.5], [2.0]], row[None]))[:, 0] for row in values], 1
    )
    np.testing.assert_allclose(found, one_by_one, rtol=1e-11)


def test_binned_values_inside_a_trace():
    """Value and gradient at a θ that the bins were not made for but lies between those that they were."""
    model = model_of(populations.normal_variance(), "abs(x)", (-3, 3), Laplace(scale=2.0), 10_000)
    values = draw(model, 2.0, 10_000)
    binned = ROUTE.tabulate(model, values, np.geomspace(0.5, 8.0, 9)[:, None])
    compute = jax.jit(jax.value_and_grad(lambda theta, bins: ROUTE.log_prob(model, theta, bins)))
    value, gradient = compute(jnp.asarray([1.7]), binned)
    around = direct(model, 1.7 + 1e-4 * np.array([[-1.0], [0.0], [1.0]]), values)
    assert float(value) == pytest.approx(around[1], rel=1e-11)
    assert float(gradient[0]) == pytest.approx((around[2] - around[0]) / 2e-4, rel=1e-5)


def test_a_kink_that_moves_with_theta_cannot_be_binned():
    model = model_of(populations.uniform_width(), "abs(x)", (-2, 2), Laplace(scale=0.7), 5_000)
    values = draw(model, 1.5, 5_000)
    with pytest.raises(IncompatibleError, match="as they are"):
        ROUTE.tabulate(model, values, [[1.5]])
    one = local(model)
    found = float(ROUTE.log_likelihood(model, [[1.5]], values[None])[0, 0])  # every value, in batches
    assert found == pytest.approx(one.densities(np.array([[1.5]]), 0.0).log_prob(values[:5_000]).sum(), rel=1e-13)
    # p(y) of |U| + V for U uniform on (−w, w), inside (0, w): by hand
    w, b = 1.5, 0.7
    inside = values[(values > 0) & (values < w)]
    exact = np.log((2 - np.exp(-inside / b) - np.exp((inside - w) / b)) / (2 * w))
    np.testing.assert_allclose(one.densities(np.array([[w]]), 0.0).log_prob(inside)[0], exact, atol=1e-11)
