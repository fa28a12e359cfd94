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


CUBES = cf.Model(cf.populations.normal(), cf.Channel(cf.Mean("x**3", (-50, 50)), cf.Laplace(cf.PureDP(10.0)), n=40))


def test_a_statistic_with_long_tails_under_noise_far_wider_than_its_mean():
    """No tilt reaches beyond the pole at which M(τ) is still a number, unless the period is long enough (it refused)."""
    b = CUBES.channel.law.noise.scale
    node, weight = leggauss(16)
    # with t = tan(v)/b the noise's transform is dv/b; panels in v shrink towards π/2, where the mean's own lives
    edges = np.pi / 2 - np.append(np.geomspace(np.pi / 2, 1e-7, 60), 0.0)
    v = (0.5 * (edges[1:] + edges[:-1])[:, None] + 0.5 * np.diff(edges)[:, None] * node).ravel()
    x = (np.arange(600)[:, None] * 0.02 + 0.01 * (node + 1)).ravel()
    density = np.tile(0.02 * weight, 600) * stats.norm.pdf(x)  # both signs together
    t = np.tan(v) / b
    of_a_record = np.stack([density @ np.cos(np.outer(x**3, some)) for some in np.array_split(t / 40, 60)]).ravel()
    p = (0.5 * np.diff(edges)[:, None] * weight).ravel() @ of_a_record**40 / (np.pi * b)
    np.testing.assert_allclose(CUBES.log_likelihood([0.0, 1.0], 0.0), np.log(p), rtol=1e-9)


def test_information_under_noise_far_wider_than_the_mean():
    """Of E x³ = μ³ + 3μσ² nothing but its slope over b is told, but for terms of the order of the mean's spread over b."""
    told = cf.information(CUBES, [0.0, 1.0]).matrix
    assert told[0, 0] == pytest.approx((3.0 / CUBES.channel.law.noise.scale) ** 2, rel=3e-3)
    assert 0 <= told[1, 1] < 1e-3 * told[0, 0]
