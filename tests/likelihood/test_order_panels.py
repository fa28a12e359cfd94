"""Order statistics where panels, or Newton's method, had not seen what there is: gaps, roots, kinks and several modes.

The reference is p(y) = g(y − v₁) − ∫ G(v) ∂g(y − v)/∂v dv over the range (v₀, v₁) of V, with G = I_F(m, n−m+1) from scipy.
"""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints
from scipy import special, stats

import confide as cf
from confide.likelihood.value_law.inverse import increasing_root
from confide.population import tails
from tests.likelihood.order_oracles import x64

USERS_LAPLACE = cf.Population(lambda loc: dist.Laplace(loc, 1.0), {"loc": constraints.real})
T, W = (0.5 * part for part in np.polynomial.legendre.leggauss(200))


def gaussian_density(y, scale, distribution, n, rank, ends):
    """p(y) of values (Y,) by 200 nodes between neighbouring ends, the first and last of which are the range of V."""
    ends = np.asarray(ends)
    v = (ends[:-1, None] + np.diff(ends)[:, None] * (T + 0.5)).ravel()
    w = (np.diff(ends)[:, None] * W).ravel()
    g = stats.norm.pdf(y[:, None], v, scale) * (y[:, None] - v) / scale**2
    return stats.norm.pdf(y, ends[-1], scale) - g @ (w * special.betainc(rank, n - rank + 1, distribution(v)))


@x64
def test_a_root_next_to_an_infinite_slope():
    """Newton's steps on a cube root lead from one side of 0 to the other: those of `v` are the cubes of these roots."""
    roots = jnp.linspace(-0.0405, 0.0705, 112)

    def excess(v):
        return jnp.cbrt(v) - roots, 1 / (3 * jnp.cbrt(v) ** 2), jnp.full(roots.shape, 1e-16)

    low, high = jnp.full(roots.shape, -7.7e-5), jnp.full(roots.shape, 4.5e-4)
    found = increasing_root(excess, low, high, jnp.full(roots.shape, 1.83e-4))
    np.testing.assert_allclose(found, roots**3, rtol=1e-9, atol=1e-18)


@x64
def test_the_slope_of_a_tail_at_an_end_where_the_density_is_infinite():
    """Beta(½, ½): 0·∞ made every information with an end of the support inside the bounds no number."""
    population, ends = cf.populations.beta(), (0.0, 1.0)
    for tail in (tails.cdf, tails.survival):
        slopes = [jax.jacfwd(lambda t: tail(population, jnp.asarray(x), t))(jnp.asarray([0.5, 0.5])) for x in ends]  # noqa: B023
        assert np.all(np.abs(slopes) < 1e-3)


@x64
def test_a_value_published_in_a_gap():
    """The median of 100 signs is 0 or 1, and y between them: the level of y is the end of a panel, not inside it."""
    model = cf.Model(USERS_LAPLACE, cf.Channel(cf.Median("x >= 0", (-3, 3)), cf.Laplace(scale=0.01), 100))
    y, zero = np.asarray([-0.1, 0.02, 0.4, 0.5, 0.964645, 1.0, 1.03]), special.betainc(50, 51, 0.5 * np.exp(-1.0))
    expected = zero * stats.laplace.pdf(y, 0, 0.01) + (1 - zero) * stats.laplace.pdf(y, 1, 0.01)
    np.testing.assert_allclose(model.log_likelihood(1.0, y), np.log(expected), atol=1e-9)
    # all that is told about θ is which of the two it is
    slope = 0.5 * np.exp(-1.0) * stats.beta.pdf(0.5 * np.exp(-1.0), 50, 51)
    np.testing.assert_allclose(cf.information(model, 1.0).matrix, slope**2 / zero / (1 - zero), rtol=1e-8)


@x64
def test_a_kink_of_the_density_that_nobody_has_declared():
    """A user's Laplace law: its density has a kink at θ, where V = e^{−X} is in the middle of its law."""
    scale, n = 0.25, 10
    model = cf.Model(USERS_LAPLACE, cf.Channel(cf.Median("exp(-x)", (-1, 2)), cf.Gaussian(scale=scale), n))
    y = np.linspace(np.exp(-2) - 9 * scale, np.exp(1) + 9 * scale, 400)

    def p(theta):
        return gaussian_density(
            y, scale, lambda v: stats.laplace.sf(-np.log(v), theta), n, 5, [np.exp(-2), np.exp(-theta), np.exp(1)]
        )

    at = [p(0.1 + h) for h in (-2e-3, -1e-3, 0.0, 1e-3, 2e-3)]
    seen = at[2] > 1e-12
    np.testing.assert_allclose(model.log_likelihood(0.1, y[seen][::20]), np.log(at[2][seen][::20]), atol=1e-9)
    slope = (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / 12e-3
    expected = np.sum(slope[seen] ** 2 / at[2][seen]) * (y[1] - y[0])
    np.testing.assert_allclose(cf.information(model, 0.1).matrix, expected, rtol=1e-7)


@x64
def test_information_where_the_density_of_the_value_is_infinite():
    """x³ is flat at 0, where records are: Newton's method did not find their quantiles."""
    channel = cf.Channel(cf.Minimum("x**3", (-1, 1)), cf.Gaussian(scale=0.5), 10)
    y = np.linspace(-5.0, 5.0, 400)

    def p(theta):
        cuts = np.concatenate([-(np.linspace(1, 0, 9) ** 3), np.linspace(0, 1, 9)[1:] ** 3])
        return gaussian_density(y, 0.5, lambda v: stats.norm.cdf(np.cbrt(v), theta, 0.5), 10, 1, cuts)

    at = [p(0.5 + h) for h in (-2e-3, -1e-3, 0.0, 1e-3, 2e-3)]
    slope = (at[0] - 8 * at[1] + 8 * at[3] - at[4]) / 12e-3
    expected = np.sum(slope**2 / at[2], where=at[2] > 1e-12) * (y[1] - y[0])
    found = cf.information(cf.Model(cf.populations.normal(), channel), [0.5, 0.25]).matrix[0, 0]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_next_to_no_information_where_the_support_moves():
    """The least of 100 uniform records on (−3, 3) is above 1 with a probability of 1e-48."""
    channel = cf.Channel(cf.Minimum("x * (x > 1)", (-3, 3)), cf.Laplace(cf.PureDP(10.0)), 100)
    assert 0 <= cf.information(cf.Model(cf.populations.uniform_width(), channel), 3.0).matrix.item() < 1e-30
