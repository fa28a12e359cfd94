"""The loops of the reproduction against the library's own numbers."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate, stats

import confide as cf
from confide.inference.kernel import Averaged, PseudoMarginal
from confide.paper import mistakes
from confide.paper.metropolis import metropolis
from confide.paper.moments import clipped_moments
from confide.paper.posteriors import exact_means
from confide.paper.settings import VARIANCE, laplace, mean, prior
from confide.paper.targets import PowerEach, PowerMean, chains, empty, laplace_scale
from confide.prior import Prior

VALUE = 1.128379


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("theta", [0.01, 2.0, 60.0])
def test_clipped_moments_are_the_integrals(power, theta):
    def moment(k):
        inside = integrate.quad(lambda x: x**k * stats.norm.pdf(x, 0, np.sqrt(theta)), 0, min(10, 12 * np.sqrt(theta)),
                                epsabs=0, epsrel=1e-12)[0]  # fmt: skip
        return 2 * inside + 10.0**k * 2 * stats.norm.sf(10, 0, np.sqrt(theta))

    with jax.enable_x64(True):
        found = [float(part) for part in clipped_moments(jnp.asarray(theta), power, 10.0)]
    np.testing.assert_allclose(found, [moment(power), moment(2 * power) - moment(power) ** 2], rtol=1e-9)


def _z(found, truth):
    return abs(found.mean() - truth) / (found.std(ddof=1) / np.sqrt(found.size))


@pytest.mark.parametrize("double", [False, True])
def test_algorithm_4_finds_the_posterior_of_the_normal_model_in_both_precisions(double):
    """α = 1e-6 (z < 4.9): 400 independent chains, whose means are compared with quadrature."""
    found = metropolis(np.full(400, VALUE), 0.1, power=1, n=100, steps=4000, key=1, double=double)
    truth = exact_means(mean(1, cf.Gaussian(cf.GDP(1.0))), [VALUE], route="normal").mean[0]
    assert _z(found.mean, truth) < 4.9
    # planted: without the Jacobian of log θ the chain finds another law
    wrong = metropolis(np.full(400, VALUE), 0.1, power=1, n=100, steps=4000, key=1, ends=None, double=double)
    assert _z(wrong.mean, truth) > 8


def test_single_precision_changes_nothing_but_rounding():
    """The same random numbers: means differ by far less than their Monte Carlo error."""
    values = np.linspace(0.6, 1.8, 200)
    single, double = (metropolis(values, 0.05, power=1, n=100, steps=4000, key=2, double=d).mean for d in (False, True))
    errors = metropolis(values, 0.05, power=1, n=100, steps=4000, key=3).mean - double
    assert np.sqrt(np.mean((single - double) ** 2)) < 0.3 * np.sqrt(np.mean(errors**2))
    assert abs(np.mean(single - double)) < 0.002


@pytest.mark.parametrize("kernel", [PseudoMarginal(10), Averaged(5)])
def test_latent_chains_find_the_posterior_of_the_normal_model(kernel):
    target = empty(PowerMean, Prior.of(VARIANCE, prior()), 1, 100)
    found = chains(kernel, target, np.full(64, VALUE), laplace_scale(1, 5.0, 100), walk=cf.Walk(1.0, on="log"),
                   steps=1500, key=4)  # fmt: skip
    truth = exact_means(mean(1, laplace(5.0)), [VALUE], route="normal").mean[0]
    assert _z(found.mean, truth) < 4.9


def test_algorithm_8_finds_the_exact_posterior():
    channel = cf.Channel(cf.Each("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(5.0)), n=20)
    model = cf.Model(VARIANCE, channel)
    value = model.simulate(0, 2.0)
    target = empty(PowerEach, Prior.of(VARIANCE, {"variance": dist.Uniform(0.01, 60.0)}), 1, 20)
    found = chains(Averaged(5), target, np.broadcast_to(value, (64, 20)), 2.0, walk=cf.Walk(1.5, on="log"), steps=1500,
                   key=5)  # fmt: skip
    assert _z(found.mean, exact_means(model, value[None]).mean[0]) < 4.9


@pytest.mark.slow
def test_exact_means_are_those_of_infer():
    model = mean(1, laplace(2.0))
    values = np.asarray(model.simulate(0, 2.0, (120,)))
    found = exact_means(model, values)
    assert found.error < 2e-3
    truth = cf.infer(VARIANCE, cf.Release(model.channel, float(values[7])), prior(), key=0, draws=10).mean["variance"]
    assert abs(found.mean[7] - truth) < 2e-3


def test_too_little_noise_is_what_it_says():
    model = mean(1, laplace(1.0))
    assert mistakes.too_little_noise(model).channel.law.noise.scale == pytest.approx(0.1 / np.sqrt(2))
