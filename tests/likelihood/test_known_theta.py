"""What is computed at known θ in NumPy is what the traced functions and their automatic derivatives say."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats

import confide as cf
from confide.likelihood.rank.at_once.known_order import KnownOrder
from confide.likelihood.rank.density import _each
from confide.likelihood.rank.order import noisy_order
from confide.likelihood.rank.rule import gauss
from confide.likelihood.record_law.moments import MovingLaw, moments, moments_at
from confide.population import tiles

LAPLACE, GAUSSIAN = cf.Laplace(scale=0.3), cf.Gaussian(scale=0.2)
ORDERS = {
    "a median": (cf.populations.normal(), (0.3, 1.2), cf.Median("x", bounds=(-2, 2)), LAPLACE, 25),
    "with a gap, an atom and a kink": (
        cf.populations.laplace(), (0.2, 1.0), cf.Quantile("where(x > 0, x + 1, min(x, -.5))", 0.6, bounds=(-2, 2)), LAPLACE, 7,
    ),
    "of a decreasing s": (cf.populations.exponential(), (1.5,), cf.Maximum("exp(-x)", bounds=(0, 3)), LAPLACE, 40),
    "without a kink": (cf.populations.uniform_width(), (1.5,), cf.Minimum("abs(x)", bounds=(-1, 2)), GAUSSIAN, 5),
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "fine", "parts"), [*((name, False, 1) for name in ORDERS), ("of a decreasing s", True, 2)]
)
def test_scores_of_order_statistics_are_the_derivatives_of_their_density(name, fine, parts):
    population, theta, statistic, mechanism, n = ORDERS[name]
    model, rule = cf.Model(population, cf.Channel(statistic, mechanism, n)), gauss(12 // parts, parts=parts)
    noisy = dataclasses.replace(noisy_order(model), fine=fine)
    low, high = statistic.ranges[0]
    y = np.linspace(low - 0.4, high + 0.43, 31)
    with jax.enable_x64(True):
        log_p, score = KnownOrder(noisy, np.asarray(theta)).scores(y, rule)
        traced = jax.jit(lambda t: noisy.log_prob(t, y, rule))
        np.testing.assert_allclose(log_p, traced(jnp.asarray(theta)), rtol=0, atol=1e-11)
        expected = jax.jacfwd(traced)(jnp.asarray(theta))
    np.testing.assert_allclose(score, expected, rtol=1e-8, atol=1e-8)


def _pareto(scale):
    return dist.Pareto(scale, 2.0)


MOVING = {
    "a kink": (cf.populations.laplace(), (0.2, 1.0)),
    "two ends": (cf.populations.uniform_width(), (1.5,)),
    "an end on a bound": (cf.Population(_pareto, {"scale": constraints.positive}), (0.5,)),
}


@pytest.mark.parametrize("name", MOVING)
def test_laws_that_move_are_those_of_a_trace(name):
    population, theta = MOVING[name]
    law = MovingLaw(population, cf.Mean("where(x > 1, x**2, x)", bounds=(0.5, 3)))
    thetas = np.asarray([theta, 1.3 * np.asarray(theta), theta])

    def expected(t):
        s, weights = law.at(t)
        return jnp.cos(s[0]) @ weights

    with jax.enable_x64(True):
        nodes, which = law.nodes(thetas)
        waves = np.cos(nodes.s[0])
        found = np.sum(waves * nodes.weights, axis=1)[which]
        slopes = np.sum(waves[:, None] * nodes.weight_slopes, axis=2)[which]
        by_trace = jax.jit(jax.vmap(lambda t: (expected(t), jax.jacfwd(expected)(t))))(thetas)
        mean, covariance = moments_at(law, thetas)
        traced = jax.jit(jax.vmap(lambda t: moments(*law.at(t))))(thetas)
    for one, other in ((found, by_trace[0]), (slopes, by_trace[1]), (mean, traced[0]), (covariance, traced[1])):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_another_statistic_of_a_population_compiles_nothing_of_the_population_again():
    population = cf.Population(_pareto, {"scale": constraints.positive}, "another Pareto")
    programs = (tiles._tails, tiles._own_densities, tiles._own_cdf_slopes, tiles._places)

    def compiled(statistic, n):
        cf.information(cf.Model(population, cf.Channel(statistic, cf.Laplace(scale=0.2), n)), 0.7)
        return [program._cache_size() for program in programs]

    first = compiled(cf.Mean("x", bounds=(0.5, 2)), 60)
    assert compiled(cf.Mean("log(x)", bounds=(0.3, 4)), 80) == first


def test_a_few_theta_wait_for_no_compiler():
    """A population without a distribution function in closed form: one θ took 20 s and more."""
    population = cf.Population(lambda loc: dist.TruncatedNormal(loc, 1.0, low=0.0, high=2.0), {"loc": constraints.real})
    model, compiled = (
        cf.Model(population, cf.Channel(cf.Median("x", (0, 3)), cf.Laplace(scale=0.2), 1)),
        _each._cache_size(),
    )
    law, node, weight = stats.truncnorm(-0.5, 1.5, 0.5, 1), *np.polynomial.legendre.leggauss(40)
    for y in (-0.3, 0.7, 2.5):
        ends = np.asarray([0.0, np.clip(y, 0.0, 2.0), 2.0])
        x = ends[:-1, None] + 0.5 * np.diff(ends)[:, None] * (node + 1)
        p = np.sum(0.5 * np.diff(ends)[:, None] * weight * law.pdf(x) * stats.laplace.pdf(y, x, 0.2))
        np.testing.assert_allclose(model.log_likelihood(0.5, y, route="order"), np.log(p), atol=1e-9)
    assert _each._cache_size() == compiled
