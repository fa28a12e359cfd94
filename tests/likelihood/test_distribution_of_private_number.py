"""`Model.distribution` where the number of records is private: against `log_likelihood`, which knows θ and y beforehand."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer import MCMC, NUTS, Predictive
from scipy import stats
from scipy.special import logsumexp

import confide as cf
from confide.errors import ApproximationWarning, IncompatibleError, InvalidArgument
from confide.likelihood.totals.number import NumberPrior

P = cf.populations
BITS = cf.Model(P.bernoulli(), cf.Channel(cf.Sum(["1", "x"], (0, 1)), cf.Laplace(scale=4.0, step=1.0)))
#: a model, and several θ, each with what was published: few records, and a sum far from what the count says, among them
CASES = {
    "bits": (BITS, [0.4, 0.3, 0.4], [[80.0, 31.0], [-4.0, 2.0], [100.0, 150.0]]),
    "on a continuum": (
        cf.Model(P.bernoulli(), cf.Channel(cf.Sum(["1", "x"], (0, 1)), cf.Gaussian(scale=4.0))),
        [0.4, 0.1],
        [[80.3, 31.7], [2.0, 0.4]],
    ),
    "far": (
        cf.Model(P.poisson(), cf.Channel(cf.Sum(["1", "x"], (0, 60)), cf.Laplace(scale=5.0))),
        [1.0, 3.0],
        [[100.0, 500.0], [100.0, 280.0]],
    ),
    "waiting": (
        cf.Model(P.exponential(), cf.Channel(cf.Sum(["1", "x"], (0, 5)), cf.Gaussian(scale=9.0))),
        [1.1, 0.9],
        [[80.0, 71.0], [120.0, 100.0]],
    ),
    "cells": (
        cf.Model(P.exponential(), cf.Channel(cf.Histogram("x", edges=[1, 2]), cf.Laplace(scale=4.0))),
        [1.1, 0.5],
        [[80.0, 31.0, 20.0], [3.0, -2.0, 1.0]],
    ),
    "count": (
        cf.Model(P.bernoulli(), cf.Channel(cf.Count(), cf.Laplace(scale=4.0, step=1.0))),
        [0.4, 0.2],
        [80.0, -7.0],
    ),
}
QUICK = ("bits", "count")


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in QUICK)) for name in CASES])
def test_values_and_slopes(name):
    model, thetas, values = CASES[name]
    steps = np.asarray([1 - 1e-3, 1.0, 1 + 1e-3])
    expected = np.stack([model.log_likelihood(theta * steps, y) for theta, y in zip(thetas, values, strict=True)])
    with jax.enable_x64(True):
        law = jax.jit(jax.vmap(jax.value_and_grad(lambda theta, y: model.distribution(theta).log_prob(y))))
        found, slopes = (np.asarray(part) for part in law(jnp.asarray(thetas), jnp.asarray(values)))
    np.testing.assert_allclose(found, expected[:, 1], atol=1e-8)
    differences = (expected[:, 2] - expected[:, 0]) / (2e-3 * np.asarray(thetas))
    np.testing.assert_allclose(slopes, differences, rtol=2e-4, atol=2e-4)


def test_bits_are_those_of_enumeration():
    """Σ_n Σ_k C(n, k) θ^k (1 − θ)^{n−k} g(y₀ − n) g(y₁ − k), and its slope: no record, one, two, three, and eighty."""
    thetas = np.asarray([0.5, 0.3, 0.5, 0.9, 0.4])
    values = np.asarray([[0.0, 0.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [80.0, 31.0]])
    n = np.arange(400)[:, None]
    k = np.arange(400)[None]
    step = 1e-5

    def log_p(theta, y):
        law = stats.binom.pmf(k, n, theta)
        noise = stats.dlaplace.pmf(y[0] - n, 0.25) * stats.dlaplace.pmf(y[1] - k, 0.25)
        return np.log(np.sum(law * noise))

    with jax.enable_x64(True):
        law = jax.jit(jax.vmap(jax.value_and_grad(lambda theta, y: BITS.distribution(theta).log_prob(y))))
        found, slopes = (np.asarray(part) for part in law(jnp.asarray(thetas), jnp.asarray(values)))
    exact = [log_p(theta, y) for theta, y in zip(thetas, values, strict=True)]
    rise = [(log_p(t + step, y) - log_p(t - step, y)) / (2 * step) for t, y in zip(thetas, values, strict=True)]
    np.testing.assert_allclose(found, exact, atol=1e-9)
    np.testing.assert_allclose(slopes, rise, atol=1e-6)


@pytest.mark.slow
def test_slopes_in_the_published_numbers():
    """Of a continuum: a value that is not observed may be sampled, too."""
    model, theta, y = (part if i == 0 else part[0] for i, part in enumerate(CASES["on a continuum"]))
    with jax.enable_x64(True):
        slopes = jax.grad(lambda y: model.distribution(theta).log_prob(y))(jnp.asarray(y))
    for j, slope in enumerate(slopes):
        moved = [float(model.log_likelihood(theta, y + np.eye(2)[j] * step)) for step in (1e-4, -1e-4)]
        assert float(slope) == pytest.approx((moved[0] - moved[1]) / 2e-4, abs=1e-6)


def binomials(theta, y, log_prior):
    """log Σ_n π(n) Σ_k P(k | n) g(80 − n) g(31 − k), with discrete Laplace noise written down again."""
    n, k = np.arange(401)[:, None], np.arange(401)[None, :]
    log_w = 2 * np.log(np.tanh(1 / 8)) - np.abs(y[0] - n) / 4 - np.abs(y[1] - k) / 4 + log_prior(n)
    return logsumexp(log_w + stats.binom.logpmf(k, n, theta))


def test_a_prior_of_n_and_a_number_that_is_assumed():
    y = [80.0, 31.0]
    with jax.enable_x64(True):
        for prior, log_prior in (
            (dist.Poisson(60.0), stats.poisson(60.0).logpmf),
            (70, lambda n: np.where(n == 70, 0.0, -np.inf)),
        ):
            found = BITS.distribution([0.3, 0.5], n=prior).log_prob(jnp.asarray(y))
            expected = [binomials(theta, y, log_prior) for theta in (0.3, 0.5)]
            np.testing.assert_allclose(found, expected, atol=1e-10)
        alone = cf.Model(P.bernoulli(), cf.Channel(cf.Sum("x", (0, 1)), cf.Laplace(scale=4.0)))
        found = alone.distribution(0.3, n=50).log_prob(11.3)
        k = np.arange(51)
        expected = logsumexp(stats.binom.logpmf(k, 50, 0.3) + stats.laplace.logpdf(11.3 - k, scale=4.0))
        assert float(found) == pytest.approx(expected, abs=1e-10)


def test_laws_of_n_that_are_alike_are_one():
    """So that a model that makes them anew, as models do, compiles nothing anew."""
    one, two, other = (NumberPrior.of(dist.Poisson(rate)) for rate in (60.0, 60.0, 61.0))
    assert one == two and hash(one) == hash(two)
    assert one != other and NumberPrior.of(60) != NumberPrior.of(61) and NumberPrior.of(None) != one


def wards(published=None):
    centre = numpyro.sample("centre", dist.Normal(-1.0, 1.0))
    with numpyro.plate("ward", 3):
        shift = numpyro.sample("shift", dist.Normal(0.0, 0.5))
        law = BITS.distribution({"probability": jax.nn.sigmoid(centre + shift)}, n=dist.Poisson(80.0))
        numpyro.sample("published", law, obs=published)


@pytest.mark.parametrize("double", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_in_a_plate_and_predicted_in_both_precisions(double):
    """The mean of sums of bits, each with n ~ Poisson(80): 80 times the mean share, and its variance."""
    with jax.enable_x64(double):
        draws = {"centre": jnp.full(2000, -1.0), "shift": jnp.zeros((2000, 3))}
        values = np.asarray(Predictive(wards, draws)(jax.random.key(3))["published"])
        assert values.shape == (2000, 3, 2)
        share, noise = 1 / (1 + np.e), 1 / (np.cosh(1 / 4) - 1)  # the variance of discrete Laplace noise of scale 4
        rows = values.reshape(-1, 2)
        np.testing.assert_allclose(rows.mean(axis=0), [80.0, 80.0 * share], atol=5 * np.sqrt((80 + noise) / 6000))
        np.testing.assert_allclose(rows.var(axis=0), [80 + noise, 80 * share + noise], rtol=0.12)
        # a Poisson number of bits: both are Poisson, and covary by the smaller
        assert np.cov(rows.T)[0, 1] == pytest.approx(80.0 * share, rel=0.25)
        found = jax.jit(jax.grad(_density))(jnp.asarray(-1.0))
        assert found.dtype == (jnp.float64 if double else jnp.float32)
    y = np.asarray([[80.0, 31.0], [75.0, 20.0], [90.0, 22.0]])
    log_prior = stats.poisson(80.0).logpmf
    with jax.enable_x64(True):
        h = 1e-4
        up, down = (sum(binomials(1 / (1 + np.exp(1.0 - step)), row, log_prior) for row in y) for step in (h, -h))
    assert float(found) == pytest.approx((up - down) / (2 * h), rel=1e-4)


def _density(centre):
    law = BITS.distribution({"probability": jax.nn.sigmoid(jnp.full(3, centre))}, n=dist.Poisson(80.0))
    return law.log_prob(jnp.asarray([[80.0, 31.0], [75.0, 20.0], [90.0, 22.0]])).sum()


@pytest.mark.slow
def test_draws_follow_the_law():
    """Counts of cells of three records or so: their frequencies against the probabilities, at α = 1e-6."""
    model = cf.Model(P.bernoulli(), cf.Channel(cf.Sum(["1", "x"], (0, 1)), cf.Laplace(scale=0.4, step=1.0)))
    law, every = model.distribution(0.4, n=dist.Poisson(3.0)), np.mgrid[-2:10, -2:8].reshape(2, -1).T
    with jax.enable_x64(True):
        mass = np.exp(np.asarray(law.log_prob(jnp.asarray(every, dtype=float))))
        drawn = np.asarray(law.sample(jax.random.key(0), (20_000,)))
    seen = np.asarray([np.sum(np.all(drawn == row, axis=1)) for row in every])
    large = mass * 20_000 > 8
    expected = np.append(mass[large], 1 - mass[large].sum()) * 20_000
    found = np.append(seen[large], 20_000 - seen[large].sum())
    assert mass.sum() == pytest.approx(1.0, abs=2e-3)
    assert stats.chisquare(found, expected * found.sum() / expected.sum()).pvalue > 1e-6
    # a wrong law is seen: a number of records that is known
    wrong = np.exp(np.asarray(model.distribution(0.4, n=3).log_prob(jnp.asarray(every[large], dtype=float)))) * 20_000
    assert stats.chisquare(seen[large], wrong * seen[large].sum() / wrong.sum()).pvalue < 1e-6


def test_several_sums_are_normal_given_n():
    model = cf.Model(P.exponential(), cf.Channel(cf.Sum(["1", "x", "x**2"], (0, 3)), cf.Gaussian(scale=2.0)))
    y = [200.0, 150.0, 190.0]
    with pytest.warns(ApproximationWarning, match="the normal law stands in"):
        law = model.distribution(1.1)
    with pytest.warns(ApproximationWarning):
        expected = float(model.log_likelihood(1.1, y))
    with jax.enable_x64(True):
        assert float(law.log_prob(jnp.asarray(y))) == pytest.approx(expected, abs=1e-8)


def test_what_cannot_be_done_is_said():
    with pytest.raises(IncompatibleError, match="flat prior is no law"):
        BITS.distribution(0.3).sample(jax.random.key(0))
    alone = cf.Model(P.bernoulli(), cf.Channel(cf.Sum("x", (0, 1)), cf.Laplace(scale=4.0)))
    with pytest.raises(IncompatibleError, match="proper prior"):
        alone.distribution(0.3)
    public = cf.Model(P.bernoulli(), cf.Channel(cf.Mean("x", (0, 1)), cf.Laplace(scale=0.1), n=20))
    with pytest.raises(InvalidArgument, match="is public"):
        public.distribution(0.3, n=30)
    with pytest.raises(InvalidArgument, match="traced"):
        jax.jit(lambda rate: BITS.distribution(0.3, n=dist.Poisson(rate)).log_prob(jnp.asarray([80.0, 31.0])))(60.0)
    cells = CASES["cells"][0].distribution(1.1, n=dist.Poisson(60.0))
    with pytest.raises(IncompatibleError, match="no likelihood inside a trace"):
        cells.log_prob([80.0, 31.0, 20.0])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["bits", "waiting", "cells"])
def test_nuts_agrees_with_infer(name):
    model, y = CASES[name][0], CASES[name][2][0]
    (parameter,) = model.population.names
    prior = dist.Beta(2.0, 2.0) if parameter == "probability" else dist.Gamma(2.0, 1.0)
    exact = cf.infer(model.population, cf.Release(model.channel, y), {parameter: prior})

    def own(y):
        theta = numpyro.sample("theta", prior)
        numpyro.sample("y", model.distribution({parameter: theta}), obs=y)

    with jax.enable_x64(True):
        chains = MCMC(NUTS(own), num_warmup=300, num_samples=1000, progress_bar=False)
        chains.run(jax.random.key(1), jnp.asarray(y))
        draws = np.asarray(chains.get_samples()["theta"])
    size = numpyro.diagnostics.effective_sample_size(draws[None])
    assert abs(draws.mean() - exact.mean[parameter]) < 4.9 * exact.sd[parameter] / np.sqrt(size)
    assert abs(draws.std() / exact.sd[parameter] - 1) < 8 / np.sqrt(2 * size)
