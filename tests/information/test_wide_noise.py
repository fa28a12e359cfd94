"""Noise that is wide beside a statistic on a lattice: its tails are integrated in closed form."""

import numpy as np
import pytest
from numpy.polynomial.legendre import leggauss
from scipy import stats

import confide as cf


def by_sums(rate, n, scale):
    """F of the mean of x² on (0, 20) of Poisson records, from the law of their sum on whole numbers."""
    x = np.arange(21)
    mass, slope = np.zeros(401), np.zeros(401)
    mass[x**2] = np.append(stats.poisson.pmf(x[:-1], rate), stats.poisson.sf(19, rate))
    slope[x**2] = np.append(stats.poisson.pmf(x[:-1], rate) * (x[:-1] / rate - 1), stats.poisson.pmf(19, rate))
    others = np.ones(1)
    for _ in range(n - 1):
        others = np.convolve(others, mass)
    law, moved = np.convolve(others, mass), n * np.convolve(others, slope)
    points = np.arange(law.size) / n
    node, weight = leggauss(6)
    y = np.append((points[:-1, None] + 0.5 * (node + 1) / n).ravel(), points[[0, -1]])
    weights = np.append(np.tile(0.5 * weight / n, points.size - 1), [scale, scale])
    noise = np.exp(-np.abs(y[:, None] - points) / scale) / (2 * scale)
    return np.sum(weights * (noise @ moved) ** 2 / (noise @ law))


@pytest.mark.parametrize("scale", [400.0, 3.0])
def test_wide_noise_around_a_lattice(scale):
    channel = cf.Channel(cf.Mean("x**2", bounds=(0, 20)), cf.Laplace(scale=scale), n=3)
    found = cf.information(cf.Model(cf.populations.poisson(), channel), 1.0)
    assert found.method == "spectral"
    assert float(found.matrix[0, 0]) == pytest.approx(by_sums(1.0, 3, scale), rel=1e-7)
