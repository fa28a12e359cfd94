"""Posteriors of many releases at once: clipped means, values beyond the range, and what is said of approximations."""

import warnings

import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.design import study
from confide.errors import AccuracyError, ApproximationWarning
from confide.inference.batch import many_posteriors
from confide.inference.quadrature.interpolate_in_y import within_range
from confide.likelihood.mean.spectral import Spectral

MEAN = cf.populations.normal_mean()
PRIOR = {"mean": dist.Normal(0.0, 1.0)}


def model(mechanism, n=40, bounds=(-1, 2)):
    return cf.Model(MEAN, cf.Channel(cf.Mean("x", bounds=bounds), mechanism, n=n))


@pytest.mark.parametrize("mechanism", [cf.Laplace(scale=0.1), cf.Laplace(scale=0.1, step=0.125)])
def test_beyond_the_range_laplace_noise_tells_nothing_more(mechanism):
    """p(y | θ) there is p at the end of the range times a number that does not depend on θ."""
    made = model(mechanism, n=3)
    theta = np.linspace(-2.0, 3.0, 7)
    values = np.asarray([-1.5, -1.125, 0.5, 2.0, 2.125, 2.75])
    moved = within_range(made, values)
    inner = [-1.0, -1.0, 0.5, 2.0, 2.0, 2.0]
    assert moved.tolist() == inner
    gap = made.log_likelihood(theta, values) - made.log_likelihood(theta, moved)
    assert np.ptp(gap, axis=0) == pytest.approx(np.zeros(6), abs=1e-6)


def test_gaussian_values_are_left_alone():
    values = np.asarray([-3.0, 5.0])
    assert within_range(model(cf.Gaussian(scale=0.1)), values).tolist() == values.tolist()


def test_many_posteriors_of_a_clipped_mean_are_the_single_ones():
    made = model(cf.Laplace(cf.PureDP(1.0)))
    values = np.concatenate([np.linspace(-1.4, 2.3, 117), [-0.4, 1.97, 2.6]])
    found = many_posteriors([made], [values], PRIOR)
    assert found.notes == ()
    for row in (0, 60, 119):
        alone = cf.infer(MEAN, cf.Release(made.channel, values[row]), PRIOR, key=0)
        sd = alone.sd["mean"]
        assert found.mean[row, 0] == pytest.approx(alone.mean["mean"], abs=2e-6 * sd)
        assert found.sd[row, 0] == pytest.approx(sd, rel=2e-6)


@pytest.fixture
def gives_up(monkeypatch):
    """The exact route gives up at negative θ."""
    exact = Spectral.log_likelihood

    def refusing(self, model, thetas, values):
        if np.min(thetas) < 0:
            raise AccuracyError("planted")
        return exact(self, model, thetas, values)

    monkeypatch.setattr(Spectral, "log_likelihood", refusing)


def test_a_study_says_where_the_normal_law_stood_in(gives_up):
    channel = model(cf.Gaussian(scale=0.4), bounds=(-9, 9)).channel
    with pytest.warns(ApproximationWarning, match="the normal approximation was used"):
        found = study(MEAN, {"mean": channel}, prior=PRIOR, releases=20)
    assert len(found.notes) == 1
    assert "mean from -" in found.notes[0]
    assert "the normal approximation was used" in str(found)


def test_it_is_not_said_where_it_carries_no_weight(gives_up):
    channel = model(cf.Gaussian(scale=0.1), bounds=(-9, 9)).channel
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        found = many_posteriors([cf.Model(MEAN, channel)], [np.asarray([2.4, 2.5])], PRIOR)
    assert found.notes == ()
