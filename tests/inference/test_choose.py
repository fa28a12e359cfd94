"""Which method `auto` takes, and what it refuses before any work."""

import time

import jax
import numpy as np
import numpyro.distributions as dist
import pytest

import confide as cf
from confide.inference.choose import quickest
from confide.inference.problem import read
from confide.inference.verb import _joint


def chosen(population, releases, prior):
    with jax.enable_x64(True):
        problem = read(population, releases, prior, False)
        return quickest(problem, _joint(problem, "auto", None), {}).name


def median(mechanism, n=200):
    return cf.Release(cf.Channel(cf.Median("x", (-20, 20)), mechanism, n), 0.4)


MEAN = cf.populations.normal_mean(), {"mean": dist.Normal(0.0, 3.0)}
BOTH = cf.populations.normal(), {"mean": dist.Normal(0.0, 3.0), "variance": dist.InverseGamma(2.0, 2.0)}


def test_windows_that_take_long_to_simulate_are_left_to_chains():
    """A smooth median of 200 records depends on 375 ranks, at each of hundreds of theta."""
    smooth, exponential = cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6)), cf.Exponential(cf.PureDP(1.0))
    assert chosen(MEAN[0], median(smooth), MEAN[1]) == "mhaar"
    assert chosen(BOTH[0], [median(exponential), median(exponential)], BOTH[1]) == "mhaar"
    assert chosen(MEAN[0], median(cf.Exponential(cf.PureDP(1.0), cap=3)), MEAN[1]) == "grid"
    assert chosen(MEAN[0], median(cf.Laplace(cf.PureDP(1.0))), MEAN[1]) == "grid"


def histogram(n, cells=3):
    statistic = cf.Mean([f"x == {j}" for j in range(cells)], bounds=(0, cells - 1))
    release = cf.Release(cf.Channel(statistic, cf.Laplace(cf.PureDP(1.0)), n), np.full(cells, 1 / cells))
    return cf.populations.categorical(cells), release, {"probabilities": dist.Dirichlet(np.ones(cells))}


@pytest.mark.parametrize(("n", "cells"), [(500, 3), (400, 8)])
def test_a_histogram_with_laplace_noise_is_refused_in_words_before_work(n, cells):
    """Chains on the records end with an R-hat of 1.5 and more."""
    began = time.process_time()
    with pytest.raises(cf.IncompatibleError, match=r"would not mix.*Gaussian noise"):
        cf.infer(*histogram(n, cells))
    assert time.process_time() - began < 20


def test_a_histogram_whose_noise_hides_the_records_is_not_refused():
    assert chosen(*histogram(20)) == "mhaar"
