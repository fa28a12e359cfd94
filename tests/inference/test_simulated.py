"""The error that simulated windows leave in a posterior is known, and said."""

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.inference.quadrature.simulated import errors, left_out, notes

MEDIAN = cf.Channel(cf.Median("abs(x)", bounds=(-10, 10)), cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4)), n=100)


def _simulated(generator, windows, batches, theta):
    """p(y | θ) = E g(y | W) with W ~ N(θ, 1) and g a normal density of sd 0.5, at y = 0: batches of its estimate."""
    w = generator.standard_normal((batches, windows // batches))
    g = np.exp(-0.5 * ((w + theta[:, None, None]) / 0.5) ** 2)
    return np.log(g.mean(axis=-1))


def test_the_jackknife_knows_the_error():
    """Against the spread over 400 pools; a chi-squared of 399 degrees of freedom is within 25% of its mean."""
    generator = np.random.default_rng(0)
    theta = np.linspace(-6.0, 6.0, 81)
    means, sds, said = [], [], []
    for _ in range(400):
        batches = _simulated(generator, 2048, 32, theta)
        p = np.exp(batches).mean(axis=1)
        share = p / p.sum()
        mean = share @ theta
        means.append(mean)
        sds.append(np.sqrt(share @ (theta - mean) ** 2))
        said.append(errors(left_out(theta, batches), theta, share))
    of_mean, of_sd = np.sqrt(np.mean(np.square(said), axis=0))
    assert of_mean == pytest.approx(np.std(means), rel=0.25)
    assert of_sd == pytest.approx(np.std(sds), rel=0.25)


def test_two_releases_leave_out_their_batches_together():
    theta = np.linspace(-3.0, 3.0, 21)
    batches = _simulated(np.random.default_rng(1), 256, 8, theta)
    one = left_out(theta, batches)
    np.testing.assert_allclose(left_out(theta, batches, one).change, 2 * one.change)
    # without the third batch
    rest = np.delete(np.exp(batches), 2, axis=1).mean(axis=1)
    np.testing.assert_allclose(one.change[:, 2], np.log(rest / np.exp(batches).mean(axis=1)), atol=1e-12)


def test_small_errors_are_not_worth_a_word():
    theta = np.linspace(-3.0, 3.0, 21)
    share = np.exp(-0.5 * theta**2)
    share /= share.sum()
    same = left_out(theta, np.zeros((21, 8)))
    assert notes(same, "mean", theta, share) == []


def test_a_posterior_says_how_far_its_windows_leave_it_uncertain():
    """The tail that a uniform prior leaves open needs more windows than the middle; 8,192 are enough."""
    release = cf.Release(MEDIAN, 0.954)
    prior = {"variance": dist.Uniform(0.01, 60.0)}
    told = []
    for route in ("auto", cf.Pool(size=1024)):
        found = cf.infer(cf.populations.normal_variance(), release, prior, method="grid", draws=100, route=route)
        told.append([note for note in found.diagnostics.warnings if "average over simulated windows" in note])
    none, said = told
    assert not none
    assert len(said) == 1
    assert "method='mhaar'" in said[0]
