"""Intervals of counts that are drawn from the prior: they cover as often as they say, and are no wider than the noise's."""

import numpy as np
import numpyro.distributions as dist
import pytest
from scipy import stats

import confide as cf


@pytest.mark.parametrize("mean", [0.5, 10.0])
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_counts_drawn_from_the_prior_are_covered(mean, scale):
    """By sums over all true counts and all published ones."""
    counts = np.arange(int(mean + 12 * np.sqrt(mean) + 12))
    prior = stats.poisson.pmf(counts, mean)
    y = np.arange(-int(16 * scale), counts[-1] + int(16 * scale) + 1.0)
    log_g = -np.abs(y[:, None] - counts) / scale
    mass = np.exp(log_g) * np.tanh(1 / (2 * scale))
    weight = mass * prior
    cell = cf.Histogram("x", categories=[f"c{i}" for i in range(len(y) - 1)])
    known = cf.denoise(cf.Release(cf.Channel(cell, cf.Laplace(scale=scale, step=1)), y), prior=dist.Poisson(mean))
    ends = known.interval(0.9)
    inside = (ends[:, :1] <= counts) & (counts <= ends[:, 1:])
    covered, total = float(np.sum(weight * inside)), float(weight.sum())
    assert total == pytest.approx(1.0, abs=1e-6)
    # shortest runs of whole numbers hold 90% or more; with a wrong prior they would not
    assert covered >= 0.9 * total
    flat = cf.denoise(cf.Release(cf.Channel(cf.Count(), cf.Laplace(scale=scale, step=1)), 0.0)).interval(0.9)[0]
    width = float(weight.sum(axis=1) @ (ends[:, 1] - ends[:, 0])) / total
    assert width <= flat[1] - flat[0]
    # an average of true counts is estimated without bias
    assert weight.sum(axis=1) @ known.mean / total == pytest.approx(mean, rel=1e-4)


def test_a_prior_that_is_too_narrow_is_seen():
    counts, y, scale = np.arange(60), np.arange(-30, 90.0), 2.0
    weight = np.exp(-np.abs(y[:, None] - counts) / scale) * stats.poisson.pmf(counts, 12.0)
    cell = cf.Histogram("x", categories=[f"c{i}" for i in range(len(y) - 1)])
    noise = cf.Laplace(scale=scale, step=1)
    known = cf.denoise(cf.Release(cf.Channel(cell, noise), y), prior=dist.Poisson(3.0)).interval(0.9)
    inside = (known[:, :1] <= counts) & (counts <= known[:, 1:])
    assert np.sum(weight * inside) / weight.sum() < 0.8
