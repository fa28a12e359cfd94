"""Priors with mass at the very ends of a space, or with tails that are powers, against quadrature by scipy."""

import jax
import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import integrate, special, stats

import confide as cf
from confide import coordinates, populations
from confide.inference.quadrature import line, plane
from confide.prior import Prior


def share_likelihood(probability, y, n, scale):
    """p(y) of a noisy share: a binomial number of ones over n, plus Laplace noise."""
    k = np.arange(n + 1)
    return np.sum(stats.binom.pmf(k, n, probability) * stats.laplace.pdf(y - k / n, scale=scale))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # where Φ(μ) rounds to one the law of a record has no spread
def test_a_share_that_is_all_ones_under_a_student_prior():
    """P(X > 0) = Φ(μ) is one for all large μ: the posterior has the prior's tail, μ^{−3}."""
    n, y = 100, 1.02
    channel = cf.Channel(cf.Mean("x > 0", bounds=(-5, 5)), cf.Laplace(cf.PureDP(1.0)), n=n)
    posterior = cf.infer(populations.normal_mean(), cf.Release(channel, y), dist.StudentT(2.0))

    def density(mu):
        return share_likelihood(special.ndtr(mu), y, n, 1 / n) * stats.t(2).pdf(mu)

    pieces = [0.5, 1.5, 2.5, 4.0, 8.0, 30.0]
    masses = [integrate.quad(density, a, b, epsrel=1e-10)[0] for a, b in zip(pieces[:-1], pieces[1:], strict=True)]
    saturated = share_likelihood(1.0, y, n, 1 / n)
    total = sum(masses) + saturated * stats.t(2).sf(30.0)
    moments = [integrate.quad(lambda m: m * density(m), a, b)[0] for a, b in zip(pieces[:-1], pieces[1:], strict=True)]
    beyond = integrate.quad(lambda m: m * stats.t(2).pdf(m), 30.0, np.inf)[0]
    assert posterior.mean["mean"] == pytest.approx((sum(moments) + saturated * beyond) / total, rel=1e-5)
    below = np.mean(posterior.draws["mean"] < 2.5)
    assert below == pytest.approx(sum(masses[:2]) / total, abs=5 * np.sqrt(0.25 / posterior.draws["mean"].size))


def test_draws_that_round_to_the_ends_are_no_mass_outside():
    """Beta(.1, .1) has 2% of its mass within 1e-16 of one, where numbers end."""
    prior = Prior.of(populations.bernoulli(), dist.Beta(0.1, 0.1))
    probes = np.asarray(prior.probes)
    assert np.all((probes > 0) & (probes < 1))
    n, ones, keep = 20, 19, np.e / (1 + np.e)
    channel = cf.Channel(cf.Each("x", bounds=(0, 1)), cf.RandomizedResponse(cf.PureDP(1.0)), n=n)
    answers = np.repeat([0.0, 1.0], [n - ones, ones])
    posterior = cf.infer(populations.bernoulli(), cf.Release(channel, answers), dist.Beta(0.1, 0.1))

    def mass(v, power):  # on the logit
        p, tau = special.expit(v), (1 - keep) + (2 * keep - 1) * special.expit(v)
        return p**power * (p * special.expit(-v)) ** 0.1 * tau**ones * (1 - tau) ** (n - ones)

    pieces = [-300.0, -30.0, -6.0, -2.0, 0.0, 2.0, 6.0, 30.0, 300.0]
    moments = [
        sum(integrate.quad(mass, a, b, (power,), epsrel=1e-10)[0] for a, b in zip(pieces[:-1], pieces[1:], strict=True))
        for power in range(3)
    ]
    mean = moments[1] / moments[0]
    sd = np.sqrt(moments[2] / moments[0] - mean**2)
    assert posterior.mean["probability"] == pytest.approx(mean, abs=1e-5 * sd)
    assert posterior.sd["probability"] == pytest.approx(sd, rel=1e-5)


def test_mass_outside_is_still_refused():
    with pytest.raises(cf.InvalidArgument, match="gives mass to values"):
        Prior.of(populations.bernoulli(), dist.Uniform(-0.1, 1.0))
    with pytest.raises(cf.InvalidArgument, match="gives mass to values"):
        Prior.of(populations.normal_variance(), dist.Normal(3.0, 1.0))


def test_draws_are_rounded_inwards_only_at_an_open_end():
    draws = np.array([0.0, 0.5, 1.0, 2.0])
    inside = coordinates.inwards(constraints.open_interval(0.0, 1.0), draws)
    assert 0 < inside[0] < 1e-300
    assert 1 - 1e-15 < inside[2] < 1
    np.testing.assert_array_equal(inside[[1, 3]], [0.5, 2.0])
    np.testing.assert_array_equal(coordinates.inwards(constraints.unit_interval, draws), draws)


@pytest.mark.parametrize(
    ("prior", "heavy"),
    [
        (dist.StudentT(2.0, 1.0, 3.0), True),
        (dist.Cauchy(0.0, 1.0), True),
        (dist.StudentT(30.0), True),
        (dist.Normal(5.0, 1e-3), False),
        (dist.Laplace(0.0, 1.0), False),
        (dist.Uniform(-1.0, 1.0), False),
    ],
)
def test_only_tails_that_are_powers_are_put_on_the_scale_of_sinh(prior, heavy):
    made = Prior.of(populations.normal_mean(), prior)
    assert isinstance(made.maps[0], coordinates.Sinh) == heavy
    with jax.enable_x64(True):
        free = np.linspace(-3, 3, 7)[:, None]
        np.testing.assert_allclose(made.unconstrain(made.constrain(free)), free, atol=1e-9)
        slope = jax.vmap(jax.grad(lambda v: made.constrain(v[None])[0]))(free[:, 0])
        np.testing.assert_allclose(made.log_jacobian(free), np.log(slope), atol=1e-12)


@pytest.mark.parametrize("shape", [3.0, 2.5, 2.2])
def test_a_tail_is_followed_as_far_as_the_second_moment_needs(shape):
    """An inverse gamma law on the logarithm of its variable: e^{−30} of the density was cut, and 3% of the sd."""

    def log_density(free):
        return -shape * free - 3.0 * np.exp(-free)

    found = line.integrate(log_density, -2.0, 4.0, line.Care(), lambda free: np.exp(free)[:, None])
    share, value = found.density / found.density.sum(), np.exp(found.free)
    mean = share @ value
    sd = np.sqrt(share @ (value - mean) ** 2)
    np.testing.assert_allclose([mean, sd], [3 / (shape - 1), 3 / (shape - 1) / (shape - 2) ** 0.5], rtol=1e-6)


def test_a_second_moment_that_no_line_is_long_enough_for_leaves_the_line_as_it_is():
    def log_density(free):
        return -2.0 * free - 3.0 * np.exp(-free)

    plain = line.integrate(log_density, -2.0, 4.0, line.Care())
    found = line.integrate(log_density, -2.0, 4.0, line.Care(), lambda free: np.exp(free)[:, None])
    assert found.free[-1] == pytest.approx(plain.free[-1])


def test_a_plane_follows_the_tail_of_either_parameter():
    def log_density(free):
        mean, log = free.T
        return stats.norm.logpdf(mean) - 3.0 * log - 3.0 * np.exp(-log)

    def theta(free):
        return np.stack([free[:, 0], np.exp(free[:, 1])], axis=-1)

    found = plane.integrate(log_density, np.asarray([-4.0, -2.0]), np.asarray([4.0, 4.0]), plane.CARE, theta)
    nodes, share = theta(found.free), found.share.ravel()
    sd = np.sqrt(share @ (nodes - share @ nodes) ** 2)
    np.testing.assert_allclose(sd, [1.0, 1.5], rtol=1e-4)
