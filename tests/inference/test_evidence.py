"""`Posterior.log_evidence` against sums and integrals that share no code with it."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import integrate, stats

import confide as cf
from confide.errors import IncompatibleError

BERNOULLI = cf.populations.bernoulli()


def _share(y, scale, n, a, b):
    """log Σ_k BetaBinomial(k) Laplace(y − k/n)."""
    k = np.arange(n + 1)
    return np.log(stats.betabinom.pmf(k, n, a, b) @ stats.laplace.pdf(y - k / n, scale=scale))


@pytest.mark.parametrize(
    ("y", "scale", "n", "a", "b"), [(0.31, 0.05, 40, 2, 3), (0.9, 0.01, 300, 1, 1), (1.4, 0.2, 3, 0.5, 2)]
)
def test_a_share(y, scale, n, a, b):
    channel = cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(scale=scale), n=n)
    found = cf.infer(BERNOULLI, cf.Release(channel, y), {"probability": dist.Beta(float(a), float(b))})
    assert found.log_evidence == pytest.approx(_share(y, scale, n, a, b), abs=1e-8)


@pytest.mark.slow
def test_two_parameters():
    """A normal mean of wide bounds with Gaussian noise is normal: the rest is an integral over the variance."""
    n, y, scale = 20, 0.7, 0.3
    channel = cf.Channel(cf.Mean("x", (-60, 60)), cf.Gaussian(scale=scale), n=n)
    prior = {"mean": dist.Normal(0.5, 1.0), "variance": dist.InverseGamma(4.0, 6.0)}
    found = cf.infer(cf.populations.normal(), cf.Release(channel, y), prior)

    def given(variance):
        spread = np.sqrt(1.0 + variance / n + scale**2)
        return stats.norm.pdf(y, 0.5, spread) * stats.invgamma.pdf(variance, 4.0, scale=6.0)

    expected = np.log(integrate.quad(given, 0, np.inf, epsabs=1e-14, epsrel=1e-13, limit=500)[0])
    assert found.log_evidence == pytest.approx(expected, abs=1e-8)


def test_several_parameters_are_refused():
    channel = cf.Channel(cf.Each("x", (0, 3)), cf.RandomizedResponse(cf.PureDP(1.0)), n=4)
    four = cf.populations.categorical(4)
    prior = {four.names[0]: dist.Dirichlet(np.ones(4))}
    found = cf.infer(four, cf.Release(channel, [0, 1, 2, 3]), prior, draws=100, warmup=100)
    with pytest.raises(IncompatibleError, match="one or two parameters, and this posterior has 3"):
        found.log_evidence  # noqa: B018
