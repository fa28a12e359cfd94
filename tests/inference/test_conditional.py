"""u drawn from its law given y and θ: the law itself by quadrature, and quantiles far out by scipy."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate, stats

import confide as cf
from confide.inference.target import ConditionalTarget
from confide.inference.target.statistic import _tail_quantile
from confide.prior import Prior

VARIANCE = cf.populations.normal_variance()
#: α of every test here
ALPHA = 1e-6


@pytest.mark.parametrize(
    "mechanism", [cf.Laplace(cf.PureDP(5.0)), cf.Gaussian(cf.GDP(2.0))], ids=["Laplace", "Gaussian"]
)
@pytest.mark.parametrize("away", [-6.0, -0.3, 0.0, 1.5, 40.0])
def test_draws_are_of_the_law_of_u_given_y(mechanism, away):
    """p(u | y, θ) ∝ N(u; μ, σ²) g(y − u) by quadrature, y so many scales of the noise from μ; Kolmogorov–Smirnov."""
    with jax.enable_x64(True):
        prior = Prior.of(VARIANCE, {"variance": dist.InverseGamma(2.0, 2.0)})
        model = cf.Model(VARIANCE, cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), mechanism, n=100))
        theta, noise = jnp.asarray([2.0]), model.channel.law.noise
        mean, root = (
            np.asarray(part).item() for part in ConditionalTarget(prior, model, jnp.asarray(0.0)).normal(theta)
        )
        y = mean + away * float(noise.scale)
        target = ConditionalTarget(prior, model, jnp.asarray(y))
        draws = np.asarray(target.place(target.noise(jax.random.key(7), 20_000), theta))[:, 0]
        low, high = min(mean, y) - 9 * root, max(mean, y) + 9 * root
        grid = np.union1d(np.linspace(low, high, 200_001), [y])
        log_p = stats.norm.logpdf(grid, mean, root) + np.asarray(noise.log_prob(jnp.asarray(y - grid)))
    below = integrate.cumulative_trapezoid(np.exp(log_p - log_p.max()), grid, initial=0.0)
    assert stats.kstest(draws, lambda u: np.interp(u, grid, below / below[-1])).pvalue > ALPHA
    # planted: the noise is forgotten, where y is far enough to tell
    if abs(away) > 1:
        assert stats.kstest(draws, "norm", args=(mean, root)).pvalue < ALPHA


def test_quantiles_of_the_normal_tail_keep_their_digits():
    x = np.concatenate([np.linspace(-8.0, 37.0, 91), np.geomspace(38.0, 1e5, 30)])
    with jax.enable_x64(True):
        found = _tail_quantile(jnp.asarray(stats.norm.logsf(x)))
    # below zero log P(Z > x) is nearly 0 and has few digits of x left
    np.testing.assert_allclose(found[x > 0], x[x > 0], rtol=1e-9)
    np.testing.assert_allclose(found[x <= 0], x[x <= 0], atol=1e-1)
