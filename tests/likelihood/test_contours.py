"""Contours of the slow inversion: saddlepoints of laws that crowd at a singularity, and beside very narrow noise."""

import numpy as np
import pytest
from scipy import integrate, optimize, special, stats

import confide as cf
from confide._precision import float64
from confide.likelihood.inversion.frequencies import plan
from confide.likelihood.mean.at_once import invert_far
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


@pytest.mark.parametrize("n", [2, 3, 400])
@float64
def test_values_far_out_under_gaussian_noise(n):
    """The mean of exponential records has a gamma law: an integral over it in logarithms, to fifty spreads on both sides."""
    rate, scale = 2.0, 0.05
    model = cf.Model(
        cf.populations.exponential(), cf.Channel(cf.Mean("x", bounds=(0, 30)), cf.Gaussian(scale=scale), n)
    )
    theta = np.asarray([[rate]])
    (group,) = plan(model, theta, checked=False)
    spread = np.sqrt(1 / (n * rate**2) + scale**2)
    y = 1 / rate + spread * np.asarray([[-50.0, -12.0, -2.0, 0.0, 3.0, 8.0, 20.0]])
    found, error = invert_far(group, theta, y, np.ones(y.shape, dtype=bool))
    m, dm = np.linspace(0.0, 20.0, 2_000_001, retstep=True)
    m, noise = m[1:], stats.norm(0.0, scale)
    law = stats.gamma(n, scale=1 / (n * rate)).logpdf(m)
    expected = [special.logsumexp(law + noise.logpdf(each - m)) + np.log(dm) for each in y[0]]
    sure = error[0] < 1e-9
    assert sure.sum() >= (6 if n == 400 else 0)  # few records end at 0 too abruptly for few frequencies and nodes
    np.testing.assert_allclose(found[0, sure], np.asarray(expected)[sure], rtol=1e-9, atol=1e-7)
