"""The law of s(clip X): distribution function, density and quantiles, against scans of x, SciPy and closed forms."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from confide import populations
from confide.errors import IncompatibleError
from confide.expression import Expression
from confide.likelihood.value_law.inverse import inverse
from confide.likelihood.value_law.quantile import quantile, survey
from confide.likelihood.value_law.steps import cells, discrete_law
from confide.likelihood.value_law.table import quantile_table
from confide.likelihood.value_law.value import transformed_law
from confide.statistic import Median
from tests.likelihood.order_oracles import CASES, x64

NORMAL = (populations.normal(), (0.5, 1.0), stats.norm(0.5, 1.0))
EXPRESSIONS = {
    "abs(x)": (-3, 2),
    "x**3 - x": (-2, 2),
    "clip(x**2, 0.4, 3)": (-2, 2),
    "where(x > 0, x + 1, x)": (-2, 2),
    "x > 1": (-2, 2),
    "sign(x) * sqrt(abs(x))": (-2, 2),
}


@jax.jit
def _law(law, v, zeta, theta):
    """F at v, the quantiles at ζ, and F and f there."""
    found = survey(law, theta, v)
    quantiles = quantile(law, found.ladder, zeta, theta)
    return found.asked, quantiles, *law.tails_and_density(quantiles, theta)


@pytest.mark.parametrize("text", EXPRESSIONS)
@x64
def test_distribution_function_and_quantiles(text):
    """F(v) is the mass of {x : s(x) ≤ v}, found by scanning x; F(Q) = q to 1e-13 (1e-10 is promised)."""
    bounds, (population, theta, law) = EXPRESSIONS[text], NORMAL
    found = transformed_law(population, Median(text, bounds=bounds))
    edges = np.linspace(*bounds, 400_001)
    x = np.concatenate([[bounds[0]], 0.5 * (edges[1:] + edges[:-1]), [bounds[1]]])
    masses = np.concatenate([[law.cdf(bounds[0])], np.diff(law.cdf(edges)), [law.sf(bounds[1])]])
    s = Expression(text)(x)
    # no value is within the scan's resolution of a cut, but for the cuts themselves from above
    v = np.linspace(found.cuts[0] - 0.013, found.cuts[-1] + 0.017, 24)
    zeta = jnp.linspace(-40, 40, 401)
    asked, quantiles, levels, density = _law(found, jnp.asarray(v), zeta, jnp.asarray(theta))
    scanned = np.asarray([masses[s <= value].sum() for value in v])
    np.testing.assert_allclose(asked.weak.below, scanned, atol=1e-5)
    np.testing.assert_allclose(asked.weak.below + asked.weak.above, 1, atol=4e-16)
    q = 1 / (1 + np.exp(-np.asarray(zeta)))
    assert np.all(np.diff(quantiles) >= -1e-15)
    assert np.max(levels.strict.below - q) < 1e-13
    assert np.max(q - levels.weak.below) < 1e-13
    assert np.all((quantiles >= found.cuts[0]) & (quantiles <= found.cuts[-1]))
    assert np.all(density >= 0)


@jax.jit
def _quantiles(law, zeta, theta):
    """Q, and its derivatives along ζ and each component of θ."""
    value, push = jax.linearize(lambda z, t: quantile(law, survey(law, t, z[:0]).ladder, z, t), zeta, theta)
    along = jax.vmap(lambda t: push(jnp.zeros_like(zeta), t))(jnp.eye(theta.size))
    return value, push(jnp.ones_like(zeta), jnp.zeros_like(theta)), along, law.density(value, theta)


@pytest.mark.parametrize("name", ["gamma", "uniform", "laplace"])
@x64
def test_quantile_and_its_derivatives_against_scipy(name):
    case = CASES[name]
    law, oracle = transformed_law(case.population, Median(case.expression, bounds=case.bounds)), case.law()
    zeta = jnp.linspace(-7.9, 8.1, 33)
    q = 1 / (1 + np.exp(-np.asarray(zeta)))
    exact = np.clip(oracle.quantile(q), oracle.low, oracle.high)
    v, by_zeta, by_theta, density = _quantiles(law, zeta, jnp.asarray(case.theta))
    np.testing.assert_allclose(v, exact, rtol=2e-11, atol=1e-14)
    inside = (exact > oracle.low) & (exact < oracle.high)
    np.testing.assert_allclose(density[inside], oracle.pdf(exact[inside]), rtol=1e-9)
    np.testing.assert_allclose(by_zeta, np.where(inside, q * (1 - q) / oracle.pdf(exact), 0), rtol=1e-8, atol=1e-15)
    for i, step in enumerate(1e-4 * np.asarray(case.theta)):
        shifts = np.zeros((4, len(case.theta)))
        shifts[:, i] = np.asarray([-2, -1, 1, 2]) * step
        there = [np.clip(case.law(case.theta + s).quantile(q), oracle.low, oracle.high) for s in shifts]
        slope = (there[0] - 8 * there[1] + 8 * there[2] - there[3]) / (12 * step)
        np.testing.assert_allclose(by_theta[i], np.where(inside, slope, 0), rtol=1e-6, atol=1e-8)


@x64
def test_density_integrates_to_the_continuous_mass():
    population, theta, normal = NORMAL
    law = transformed_law(population, Median("x**3 - x", bounds=(-2, 2)))
    # the density is infinite where s turns: v = a + (b − a)t²(3 − 2t) makes it finite
    t, w = (0.5 * part for part in np.polynomial.legendre.leggauss(200))
    t = t + 0.5
    low, width = law.cuts[:-1, None], np.diff(law.cuts)[:, None]
    density = jax.jit(lambda v: law.density(v, jnp.asarray(theta)))(jnp.asarray(low + width * t**2 * (3 - 2 * t)))
    total = np.sum(width * 6 * t * (1 - t) * w * np.asarray(density))
    assert abs(total - (normal.cdf(2) - normal.cdf(-2))) < 1e-9


@x64
def test_inverse_of_expressions_with_one_or_many_x():
    texts = {
        "log(1 + x)": (0, 5),
        "3 - 2 / (x + 1)": (0, 5),
        "(x - 1)**3": (-1, 2),
        "x * exp(-x)": (0, 0.9),
        "exp(x) + x": (-3, 2),
    }
    for text, bounds in texts.items():
        piece = Expression(text).pieces(*bounds)[-1]
        v = Expression(text)(np.linspace(piece.low, piece.high, 41)[1:-1])
        ends = jnp.asarray(piece.low), jnp.asarray(piece.high)
        back = jax.jit(lambda v, p=piece, e=ends: inverse(p.tree, p.direction, v, *e))(jnp.asarray(v))
        np.testing.assert_allclose(Expression(text)(np.asarray(back)), v, rtol=1e-14, atol=1e-14)


@x64
def test_discrete_and_rounded_laws_are_steps():
    law = discrete_law(populations.poisson(), Median("abs(x - 3)", bounds=(1, 6)))
    theta, poisson = jnp.asarray([3.0]), stats.poisson(3.0)
    exact = [
        poisson.pmf(3), poisson.pmf(2) + poisson.pmf(4), poisson.cdf(1) + poisson.pmf(5), poisson.sf(5),
    ]  # fmt: skip
    masses, steps = jax.jit(lambda law, t: (law.masses(t), law.steps(t)))(law, theta)
    np.testing.assert_allclose(masses, exact, rtol=1e-12)
    total = np.cumsum(exact)[:3]
    np.testing.assert_allclose(steps.levels, np.log(total / (1 - total)), rtol=1e-12)
    normal = transformed_law(populations.normal(), Median("x", bounds=(-1, 1)))
    rounded = jax.jit(lambda law, t: cells(law, 0.5, -2.0, 5, t))(normal, jnp.asarray([0.1, 1.0]))
    np.testing.assert_allclose(rounded.values, [-1, -0.5, 0, 0.5, 1])
    levels = stats.norm(0.1, 1).cdf([-0.75, -0.25, 0.25, 0.75])
    np.testing.assert_allclose(rounded.levels, np.log(levels / (1 - levels)), rtol=1e-12)


@jax.jit
def _tabulated(law, zeta, theta):
    table = quantile_table(law, theta, jnp.asarray(-12.0), jnp.asarray(12.0))
    flow, slope = table.flow(zeta)
    return table.quantile(zeta), slope, [table.flow(zeta + step)[0] for step in (-1e-6, 1e-6)], flow


@pytest.mark.parametrize("text", ["abs(x)", "where(x > 0, x + 1, x)"])
@x64
def test_table_interpolates_the_quantile_function(text):
    """The table serves Monte Carlo: its error is far below any standard error, also next to atoms and gaps."""
    population, theta, _ = NORMAL
    law = transformed_law(population, Median(text, bounds=EXPRESSIONS[text]))
    zeta = jnp.linspace(-11.9, 11.9, 401)
    _, exact, *_ = _law(law, zeta[:24], zeta, jnp.asarray(theta))
    found, slope, (behind, ahead), flow = _tabulated(law, zeta, jnp.asarray(theta))
    np.testing.assert_allclose(found, exact, atol=2e-6)
    smooth = np.abs(ahead - 2 * flow + behind) < 1e-9  # no entry of the table lies between
    np.testing.assert_allclose(np.asarray(slope)[smooth], np.asarray((ahead - behind) / 2e-6)[smooth], atol=1e-6)


@x64
def test_what_cannot_be_read_is_refused():
    with pytest.raises(IncompatibleError, match="expression"):
        transformed_law(populations.normal(), Median(lambda x: x, bounds=(0, 1), range=(0, 1)))
    with pytest.raises(IncompatibleError, match="integers"):
        transformed_law(populations.poisson(), Median("x", bounds=(0, 1)))
