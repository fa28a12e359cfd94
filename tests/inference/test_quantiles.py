"""The distribution function inside a chain: the cheap ways against scipy, and against the law in pieces."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import confide as cf
from confide.inference.target import quantiles
from confide.likelihood.rank.pool import window_model

level_of = jax.jit(quantiles.level_of, static_argnums=0)
window_at = jax.jit(quantiles.window_at, static_argnums=0)
LAPLACE = cf.SmoothLaplace(cf.ApproxDP(2.0, 1e-4))


def model_of(transform, bounds, population=None):
    population = cf.populations.normal_variance() if population is None else population
    return cf.Model(population, cf.Channel(cf.Median(transform, bounds=bounds), LAPLACE, n=20))


CASES = [
    ("x", (-2, 3), "increasing", lambda v, sd: stats.norm.cdf(v, scale=sd)),
    ("3 - x", (-2, 3), "decreasing", lambda v, sd: stats.norm.sf(3 - v, scale=sd)),
    ("abs(x)", (-4, 4), "even", lambda v, sd: 1 - 2 * stats.norm.sf(v, scale=sd)),
    # monotone in two pieces: x below 0 and 3x above it
    ("abs(x) + 2*x", (-2, 2), "increasing", lambda v, sd: stats.norm.cdf(np.where(v < 0, v, v / 3), scale=sd)),
    ("-abs(x) - 2*x", (-2, 2), "decreasing", lambda v, sd: stats.norm.sf(np.where(v > 0, -v, -v / 3), scale=sd)),
    ("max(abs(x), x**2)", (-3, 3), "even", lambda v, sd: 1 - 2 * stats.norm.sf(np.where(v < 1, v, v**0.5), scale=sd)),
    # neither monotone nor even: the law in pieces
    (
        "abs(x)",
        (-2, 4),
        "surveyed",
        lambda v, sd: stats.norm.cdf(v, scale=sd) - stats.norm.cdf(-np.minimum(v, 2), scale=sd) * (v < 2),
    ),
]


@pytest.mark.parametrize(("transform", "bounds", "how", "below"), CASES, ids=[f"{c[0]} {c[1]}" for c in CASES])
def test_levels_and_density_inside_the_range(transform, bounds, how, below):
    model, sd = model_of(transform, bounds), 1.3
    assert quantiles.shape(model) == how
    low, high = model.channel.statistic.ranges[0]
    values = low + (high - low) * np.asarray([0.011, 0.13, 0.37, 0.501, 0.77, 0.99])
    with jax.enable_x64(True):
        levels, density = level_of(model, jnp.asarray(values), jnp.asarray([sd**2]))
    np.testing.assert_allclose(levels.below, below(values, sd), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(levels.above, 1 - below(values, sd), rtol=1e-12, atol=1e-15)
    h = 1e-5
    np.testing.assert_allclose(density, (below(values + h, sd) - below(values - h, sd)) / (2 * h), rtol=1e-7)


@pytest.mark.parametrize(("transform", "bounds"), [case[:2] for case in CASES])
def test_levels_at_the_ends_are_masses_of_atoms(transform, bounds):
    model, theta = model_of(transform, bounds), np.asarray([1.7])
    ends = np.asarray(model.channel.statistic.ranges[0])
    with jax.enable_x64(True):
        law = window_model(model).values
        # a certified range may be wider than what is attained by the rounding of the expression
        values = model.channel.statistic.values(jnp.asarray([*bounds, 0.0]))
        attained = jnp.asarray([jnp.min(values), jnp.max(values)])
        np.testing.assert_allclose(attained, ends, rtol=1e-14)
        exact = law.tails(attained, jnp.asarray(theta))
        levels, density = level_of(model, jnp.asarray(ends), jnp.asarray(theta))
    np.testing.assert_allclose(levels.below, [exact.weak.below[0], exact.strict.below[1]], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(levels.above, [exact.weak.above[0], exact.strict.above[1]], rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(density, 0.0)


def test_the_window_of_a_level_is_its_value():
    with jax.enable_x64(True):
        for transform, bounds, *_ in CASES:
            model, theta = model_of(transform, bounds), jnp.asarray([1.7])
            low, high = model.channel.statistic.ranges[0]
            values = jnp.asarray(low + (high - low) * np.asarray([0.02, 0.4, 0.6, 0.97]))
            levels, _ = level_of(model, values, theta)
            np.testing.assert_allclose(window_at(model, levels, theta), values, rtol=1e-9)
