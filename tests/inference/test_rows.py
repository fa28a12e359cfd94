"""What vectors of means, and scalars, of rows say about their population."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf
from confide.inference.sampling.fitted import smoothed
from confide.likelihood.mean.normal import normal_laplace
from confide.likelihood.noise import scale_mixture
from tests.inference import calibrated_rows

LINE = cf.populations.linear_regression("y", {"x": dist.Normal(0.0, 1.0)})
MOMENTS = cf.Mean(["y", "x * y", "y**2"], bounds={"x": (-2, 2), "y": (-3, 3)})
PRIOR = {"intercept": dist.Normal(0, 2), "coefficients": dist.Normal(0, 2), "variance": dist.InverseGamma(3, 2)}
THETA = {"intercept": 0.5, "coefficients": [-1.0], "variance": 0.6}


def test_laplace_noise_on_a_vector_is_a_mixture_of_normals():
    """Against an integral over the first of two means, the second in closed form given it."""
    nodes, weights = np.polynomial.legendre.leggauss(12)
    with jax.enable_x64(True):
        for rho in (0.0, 0.9):
            for scale in (0.3, 1.0):
                cov = scale**2 * np.asarray([[1.0, rho], [rho, 1.0]])
                for r in np.asarray([[0.1, 0.2], [2.0, -0.5]]):
                    edges = np.unique(np.append(np.linspace(-9 * scale, 9 * scale, 201), r[0]))
                    half = 0.5 * np.diff(edges)[:, None]
                    u = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes).ravel()
                    inner = normal_laplace(jnp.asarray(r[1] - rho * u), jnp.asarray(scale * np.sqrt(1 - rho**2)), 1.0)
                    outer = stats.norm.pdf(u, 0, scale) * np.exp(-np.abs(r[0] - u)) / 2 * np.exp(np.asarray(inner))
                    expected = np.log((half * weights).ravel() @ outer)
                    found = scale_mixture.log_density(jnp.asarray(r), jnp.asarray(cov), jnp.asarray(1.0), 4096)
                    assert float(found) == pytest.approx(expected, abs=5e-3)


def test_weights_are_smoothed_and_their_tail_is_known():
    generator = np.random.default_rng(0)
    heavy = stats.pareto(1 / 0.9).rvs(20_000, random_state=0)
    assert smoothed(np.log(heavy))[1] == pytest.approx(0.9, abs=0.15)
    weights, shape = smoothed(0.1 * generator.normal(size=20_000))
    assert shape < 0.3
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize(
    "mechanism", [cf.Gaussian(scale=0.01), pytest.param(cf.Laplace(scale=0.01), marks=pytest.mark.slow)]
)
def test_a_regression_is_found(mechanism):
    channel = cf.Channel(MOMENTS, mechanism, n=20_000)
    value = cf.Model(LINE, channel).simulate(0, THETA)
    found = cf.infer(LINE, cf.Release(channel, value), PRIOR, key=0)
    assert (found.method, found.route) == ("importance", "normal")
    for name, true in THETA.items():
        assert abs(np.ravel(found.mean[name])[0] - np.ravel(true)[0]) < 5 * np.ravel(found.sd[name])[0]
    assert found.diagnostics.clt < 0.01
    assert min(found.diagnostics.ess.values()) > 3000


def test_moments_that_cannot_be_do_not_break_it():
    """A negative mean of squares, and a correlation beyond one: the noise says how much that means."""
    channel = cf.Channel(MOMENTS, cf.Gaussian(scale=1.0), n=1000)
    found = cf.infer(LINE, cf.Release(channel, [0.3, 2.5, -1.5]), PRIOR, key=0, draws=250, warmup=250)
    assert np.all(np.isfinite(found.theta))
    assert np.all(found.draws["variance"] > 0)
    assert found.mean["variance"] < 2.0


def test_a_singular_covariance_is_no_harm():
    """Two components that are the same: the noise keeps their law apart."""
    twice = cf.Mean(["x * y", "y * x", "y"], bounds={"x": (-2, 2), "y": (-3, 3)})
    channel = cf.Channel(twice, cf.Gaussian(scale=0.01), n=20_000)
    model = cf.Model(LINE, channel)
    assert np.isfinite(model.log_likelihood(THETA, model.simulate(0, THETA), route="normal"))


@pytest.mark.slow
def test_importance_sampling_agrees_with_nuts():
    channel = cf.Channel(MOMENTS, cf.Laplace(scale=0.05), n=2_000)
    release = cf.Release(channel, cf.Model(LINE, channel).simulate(3, THETA))
    fitted = cf.infer(LINE, release, PRIOR, key=0)
    chains = cf.infer(LINE, release, PRIOR, key=1, method="nuts", draws=500, warmup=500)
    for name in PRIOR:
        sd = np.ravel(chains.sd[name])
        assert np.all(np.abs(np.ravel(fitted.mean[name]) - np.ravel(chains.mean[name])) < 0.15 * sd)
        np.testing.assert_allclose(np.ravel(fitted.sd[name]), sd, rtol=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", calibrated_rows.KERNELS)
@pytest.mark.parametrize("n", [4, 100])
def test_chains_on_latent_rows_start_and_stay_exact(kernel, n):
    """The paired exact start: h(θ, rows) after some steps less h before, by a z-test at α = 1e-6."""
    z = calibrated_rows.started(kernel, n)
    assert np.all(np.abs(z) < stats.norm.isf(calibrated_rows.ALPHA / 2)), z


@pytest.mark.slow
def test_chains_with_less_noise_than_there_is_are_caught():
    """A planted bug."""
    z = calibrated_rows.started("averaged", 100, louder=2.0)
    assert np.max(np.abs(z)) > stats.norm.isf(calibrated_rows.ALPHA / 2), z


@pytest.mark.slow
@pytest.mark.parametrize("noise", calibrated_rows.NOISES)
@pytest.mark.parametrize("kind", calibrated_rows.KINDS)
def test_regressions_are_calibrated(kind, noise):
    """200 releases of 10⁴ rows, under the central limit theorem: even ranks, and intervals that cover, at α = 1e-6."""
    found = calibrated_rows.ranked(kind, noise)
    assert calibrated_rows.calibrated(found), calibrated_rows.judged(found)


@pytest.mark.slow
def test_a_regression_with_less_noise_than_there_is_is_caught():
    """A planted bug: three times the noise that the channel says."""
    assert not calibrated_rows.calibrated(calibrated_rows.ranked("logistic", "gaussian", releases=100, louder=3.0))


def test_a_prior_may_have_a_law_for_each_entry_of_a_vector():
    from confide.prior import Prior

    rows = cf.populations.logistic_regression("y", {"x": dist.Normal(0.0, 1.0), "z": dist.Normal(0.0, 1.0)})
    each = {"intercept": dist.Normal(0.0, 1.0), "coefficients": dist.Normal([0.5, -1.0], [0.1, 2.0])}
    with jax.enable_x64(True):
        found = float(Prior.of(rows, each).log_prob(np.array([0.3, 0.4, 1.0])))
    expected = stats.norm.logpdf([0.3, 0.4, 1.0], [0.0, 0.5, -1.0], [1.0, 0.1, 2.0]).sum()
    assert found == pytest.approx(expected, rel=1e-6)  # numpyro made the numbers in single precision
    whole = {"coefficients": dist.Normal([0, -1], [1, 2])}
    with jax.enable_x64(True):
        found = float(Prior.of(rows, each | whole).log_prob(np.array([0.3, 0.4, 1.0])))
    assert found == pytest.approx(stats.norm.logpdf([0.3, 0.4, 1.0], [0, 0, -1], [1, 1, 2]).sum(), rel=1e-12)
    with pytest.raises(cf.InvalidArgument, match="a vector of 2"):
        Prior.of(rows, each | {"coefficients": dist.Normal([0.5, -1.0, 0.0], 1.0)})
