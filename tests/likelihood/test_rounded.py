"""Means rounded to a lattice far coarser than the noise, published as what they cannot be."""

import functools

import numpy as np
import pytest
from scipy import fft, special, stats

import confide as cf

STEP, N = 0.25, 10


@functools.cache
def rounded_law(cells=2**15):
    """P(round(mean/step) = j), j = −4 … 4, of ten standard normal records clipped to (−1, 1), by a fine lattice.

    A cell's mass sits in its middle and the atoms at the ends, so that points are half a cell apart; one in the middle
    between two j belongs half to either.
    """
    mass = np.zeros(2 * cells + 1)
    mass[1::2] = np.diff(stats.norm.cdf(np.linspace(-1.0, 1.0, cells + 1)))
    mass[[0, -1]] = stats.norm.cdf(-1.0)
    size = fft.next_fast_len(2 * cells * N + 1, real=True)
    law = fft.irfft(fft.rfft(mass, size) ** N, size)[: 2 * cells * N + 1]
    place = np.linspace(-1.0, 1.0, law.size) / STEP
    sides = [np.bincount(np.floor(place + 0.5 + nudge).astype(int) + 4, law) for nudge in (-1e-9, 1e-9)]
    return 0.5 * (sides[0] + sides[1])


def expected(scale, index):
    q, rate = rounded_law(), 0.5 * (STEP / scale) ** 2
    around = np.arange(-30, 31)
    log_total = special.logsumexp(-rate * around**2)
    return [special.logsumexp(np.log(q) - rate * (k - np.arange(-4, 5)) ** 2) - log_total for k in index]


@pytest.mark.parametrize("scale", [0.02, 0.06])
def test_values_beyond_all_that_the_mean_is_rounded_to(scale):
    channel = cf.Channel(cf.Mean("x", bounds=(-1, 1)), cf.Gaussian(scale=scale, step=STEP), n=N)
    model = cf.Model(cf.populations.normal_mean(), channel)
    index = np.asarray([0, 4, 5, 6, 12, -5])
    found = model.log_likelihood(0.0, STEP * index)
    np.testing.assert_allclose(found, expected(scale, index), atol=1e-6)
