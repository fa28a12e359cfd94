"""Contours of the slow inversion: saddlepoints of laws that crowd at a singularity, and beside very narrow noise."""

import numpy as np
import pytest
from scipy import integrate, optimize, stats

import confide as cf
from confide._precision import float64
from confide.likelihood.inversion.frequencies import plan
from confide.likelihood.slow_inversion.contours import Record


def inverse_beta(a, b):
    """E of f(s) for s = 1/clip(X, ½, 1), X from Beta(a, b): the sum over its atom at 2, and an integral without a pole."""
    law = stats.beta(a, b)

    def mean(f):
        # x = 1 − v^{1/b} takes (1 − x)^{b−1} away
        def inside(v):
            x = 1 - v ** (1 / b)
            return f(1 / x) * x ** (a - 1)

        total = integrate.quad(inside, 0, 0.5**b, epsabs=1e-13, limit=400)[0]
        whole = integrate.quad(lambda v: (1 - v ** (1 / b)) ** (a - 1), 0, 0.5**b, epsabs=1e-13, limit=400)[0]
        return law.cdf(0.5) * f(2.0) + law.sf(0.5) * total / whole

    return mean


@pytest.mark.parametrize("theta", [(0.5, 0.5), (0.7, 0.8)])
@float64
def test_saddlepoints_of_a_law_that_crowds(theta):
    """Nodes crowd at x = 1, where the density is infinite, and the noise follows y to tilts that no record needs."""
    n = 20_000
    model = cf.Model(cf.populations.beta(), cf.Channel(cf.Mean("1 / x", bounds=(0.5, 1.5)), cf.Gaussian(scale=1e-5), n))
    (group,) = plan(model, np.asarray([theta]), checked=False)
    nodes = group.nodes(np.asarray([theta]))
    record = Record(np.asarray(nodes.s), np.asarray(nodes.weights), 0, np.asarray([2.0]))
    (table,) = record.saddles(n, 1e-10, 2.0, np.inf).each()
    mean = inverse_beta(*theta)
    middle = mean(lambda s: s)
    spread = np.sqrt((mean(lambda s: s * s) - middle**2) / n)
    for away in (-9.0, -1.0, 0.5, 3.0, 10.0):
        y = middle + away * spread

        def slope(kappa, y=y):
            return mean(lambda s: s * np.exp(kappa * (s - middle))) / mean(lambda s: np.exp(kappa * (s - middle))) - y

        kappa = optimize.brentq(slope, -2.0, 2.0)
        assert float(table.tau(y)) == pytest.approx(n * kappa, rel=0.1, abs=0.05 / spread)


def test_information_beside_narrow_noise():
    """20,000 records make a mean normal to parts in ten thousand, so that its two moments say what it tells."""
    channel = cf.Channel(cf.Mean("1 / x", bounds=(0.5, 1.5)), cf.Gaussian(cf.GDP(10.0)), 20_000)
    model = cf.Model(cf.populations.beta(), channel)
    found = np.asarray(cf.information(model, (0.7, 0.8)).matrix)

    def moments(a, b):
        mean = inverse_beta(a, b)
        middle = mean(lambda s: s)
        return np.asarray([middle, np.log(mean(lambda s: s * s) - middle**2)])

    h = 1e-4
    slopes = np.stack(
        [
            (moments(0.7 + h, 0.8) - moments(0.7 - h, 0.8)) / (2 * h),
            (moments(0.7, 0.8 + h) - moments(0.7, 0.8 - h)) / (2 * h),
        ]
    )
    variance = np.exp(moments(0.7, 0.8)[1])
    expected = 20_000 * np.outer(slopes[:, 0], slopes[:, 0]) / variance
    np.testing.assert_allclose(found, expected, rtol=1e-3)
