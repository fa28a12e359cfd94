"""Contours shared by many values, against one contour for each."""

import numpy as np
import pytest

import confide as cf
from confide.likelihood.inversion import shared_contours
from confide.likelihood.mean import spectral

VARIANCE = cf.populations.normal_variance()


@pytest.mark.parametrize("mechanism", [cf.Laplace(cf.PureDP(0.3)), cf.Gaussian(cf.GDP(10.0))], ids=["wide", "narrow"])
@pytest.mark.parametrize("statistic", ["abs(x)", "x**2"])
def test_many_values_are_each_of_them(monkeypatch, mechanism, statistic):
    model = cf.Model(VARIANCE, cf.Channel(cf.Mean(statistic, bounds=(-10, 10)), mechanism, n=100))
    theta, y = np.geomspace(0.8, 5.0, 24), np.asarray(model.simulate(0, 2.0, (90,)))
    shared = np.asarray(model.log_likelihood(theta, y, route="spectral"))
    monkeypatch.setattr(shared_contours, "FEWEST", 10**9)
    each = np.asarray(model.log_likelihood(theta, y, route="spectral"))
    share = np.exp(each - each.max(axis=0))
    assert np.max(np.abs(shared - each) * share) < 1e-9


def test_where_a_shared_contour_costs_digits_each_value_has_its_own(monkeypatch):
    """Runs that are far too long are noticed by their rounding, and done again."""
    model = cf.Model(VARIANCE, cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Gaussian(cf.GDP(10.0)), n=100))
    theta, y = np.asarray([1.9, 2.1]), np.linspace(0.7, 1.6, 33)
    monkeypatch.setattr(shared_contours, "_WIDEST", 40.0)
    found = np.asarray(model.log_likelihood(theta, y, route="spectral"))
    alone = np.stack([np.asarray(model.log_likelihood(theta, value, route="spectral")) for value in y[::8]], axis=1)
    np.testing.assert_allclose(found[:, ::8].ravel(), alone.reshape(found[:, ::8].shape).ravel(), rtol=0, atol=1e-8)


def test_every_value_has_one_place_in_its_run():
    values = np.sort(np.random.default_rng(0).normal(size=301))
    cut, place = shared_contours._cut(values, 0.4)
    np.testing.assert_array_equal(cut.ravel()[place], values)
    assert len(cut) % shared_contours._RUNS == 0
    assert np.all(np.ptp(cut, axis=1) <= 0.4)


def test_a_square_at_a_tiny_variance_needs_few_nodes():
    """Records of an exponential tail are not tilted beyond where their law would have mass at the bounds."""
    model = cf.Model(VARIANCE, cf.Channel(cf.Mean("x**2", bounds=(-10, 10)), cf.Gaussian(cf.GDP(5.0)), n=100))
    theta = np.geomspace(0.02, 2.0, 16)
    with_noise = np.asarray(model.log_likelihood(theta, 0.5, route="spectral"))
    assert np.all(np.isfinite(with_noise))
    groups = spectral.plan(model, theta[:, None])
    assert max(group.law.x.size for group in groups) < 1024
