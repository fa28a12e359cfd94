"""Information of means of discrete records, whose sums take finitely many values, by enumeration."""

import numpy as np
import numpyro.distributions as dist
import pytest
from numpyro.distributions import constraints
from scipy import stats

import confide as cf
from confide.likelihood.mean import told_by_masses
from confide.likelihood.score_integral import integrals

INFLATED = cf.Population(lambda rate: dist.ZeroInflatedPoisson(0.3, rate), {"rate": constraints.positive})


def sum_law(rate, s, high, n):
    """P(S = k) of n zero-inflated records clipped to (0, high)."""
    x = np.arange(high + 1)
    mass = 0.7 * stats.poisson.pmf(x, rate)
    mass[0] += 0.3
    mass[-1] += 0.7 * stats.poisson.sf(high, rate)
    one, total = np.bincount(s(x), mass), np.ones(1)
    for _ in range(n):
        total = np.convolve(total, one)
    return total


def integral(p, dp, y):
    """∫ dp²/p by the trapezoidal rule, where there is any p."""
    seen = p > 1e-30
    return np.sum(dp[seen] ** 2 / p[seen]) * (y[1] - y[0])


def expected(rate, s, high, n, density, y):
    """From p and ∂p on a fine line, the slope of the law of the sum by central differences of the fourth order."""
    h = 1e-3
    near, far = (sum_law(rate + w, s, high, n) - sum_law(rate - w, s, high, n) for w in (h, 2 * h))
    law, slope = sum_law(rate, s, high, n), (8 * near - far) / (12 * h)
    held = np.flatnonzero(law > 1e-16)
    noise = density(y[:, None] - held / n)
    return integral(noise @ law[held], noise @ slope[held], y)


def test_lumps_far_apart_under_narrow_noise():
    channel = cf.Channel(cf.Mean("x**3", (-2, 2)), cf.Gaussian(scale=0.16), 3)
    found = cf.information(cf.Model(INFLATED, channel), 2.0)
    known = expected(2.0, lambda x: x**3, 2, 3, lambda v: stats.norm.pdf(v, scale=0.16), np.linspace(-1.5, 9.5, 8001))
    assert found.matrix[0, 0] == pytest.approx(known, rel=1e-7)


def test_lumps_under_wide_noise():
    channel = cf.Channel(cf.Mean("x**3", (0, 5)), cf.Laplace(cf.PureDP(10.0)), 7)
    scale = 125 / 70
    y = np.linspace(-35 * scale, 125 + 35 * scale, 20_001)
    known = expected(2.0, lambda x: x**3, 5, 7, lambda v: stats.laplace.pdf(v, scale=scale), y)
    assert cf.information(cf.Model(INFLATED, channel), 2.0).matrix[0, 0] == pytest.approx(known, rel=1e-5)


@pytest.mark.parametrize("step", [0.25, 1 / 12, 0.4])
def test_noise_on_a_lattice_coarser_finer_or_unrelated(step):
    n, scale = 3, 0.6
    channel = cf.Channel(cf.Mean("x**2", (0, 4)), cf.Laplace(scale=scale, step=step), n)
    h, s = 1e-3, np.square
    near, far = (sum_law(2.0 + w, s, 4, n) - sum_law(2.0 - w, s, 4, n) for w in (h, 2 * h))
    law, slope = sum_law(2.0, s, 4, n), (8 * near - far) / (12 * h)
    place = np.floor(np.arange(law.size) / n / step + 0.5 + 1e-9)
    y = np.arange(-400, 600)
    noise = np.tanh(0.5 * step / scale) * np.exp(-np.abs(y[:, None] - place) * step / scale)
    known = integral(noise @ law, noise @ slope, np.arange(2.0))
    assert cf.information(cf.Model(INFLATED, channel), 2.0).matrix[0, 0] == pytest.approx(known, rel=1e-7)


def test_records_that_take_few_of_the_values_between_the_bounds():
    laplace, bernoulli = cf.Laplace(scale=0.3), cf.populations.bernoulli()
    cubes, plain = (
        cf.information(cf.Model(bernoulli, cf.Channel(cf.Mean(*statistic), laplace, n=2)), 0.1).matrix[0, 0]
        for statistic in (("x**3", (-50, 50)), ("x", (0, 1)))
    )
    assert cubes == pytest.approx(plain, rel=1e-12)


def test_noise_that_does_not_notice_a_long_lattice():
    """Under Laplace noise of scale b a mean of spread σ ≪ b tells μ'²/b² (1 − O(σ/b)) of θ."""
    channel = cf.Channel(cf.Mean("x**3", (1, 20)), cf.Laplace(scale=1e7), n=20_000)
    x, rate = np.arange(21), 2.0
    slope = np.append(stats.poisson.pmf(x - 1, rate) - stats.poisson.pmf(x, rate), stats.poisson.pmf(20, rate))
    mean = slope @ np.clip(np.append(x, 20), 1, 20) ** 3
    found = cf.information(cf.Model(cf.populations.poisson(), channel), rate).matrix[0, 0]
    assert found == pytest.approx((mean / 1e7) ** 2, rel=1e-6)


def test_a_density_next_to_the_smallest_number_tells_no_more_than_its_score():
    """1/p overflows there, and the score 2 does not."""
    found = integrals([told_by_masses._told(np.asarray([[0.5, 2.0**-1074], [1.0, 2.0**-1073]]), 1.0)])
    matrix, total = found.matrix, found.total
    assert (matrix.item(), total) == (2.0, 0.5)
