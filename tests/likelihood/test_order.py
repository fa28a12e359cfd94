"""Noisy order statistics against quadrature of their textbook density, and the pool against the exact route."""

import numpy as np
import pytest
from scipy import integrate, stats

import confide as cf

NORMAL = cf.populations.normal_variance()


def textbook(y, n, rank, theta, bound, noise):
    """p(y) for the rank-th of n values of |X|, X ~ N(0, θ), clipped at ±bound: scipy's quadrature, atom by hand."""
    half = stats.halfnorm(scale=theta**0.5)
    order = stats.beta(rank, n - rank + 1)

    def integrand(u):
        return order.pdf(half.cdf(u)) * half.pdf(u) * noise.pdf(y - u)

    cuts = sorted(
        {0.0, bound, *(c for c in (y, half.ppf(order.ppf(0.01)), half.ppf(order.ppf(0.99))) if 0 < c < bound)}
    )
    inside = sum(
        integrate.quad(integrand, a, b, epsabs=1e-15, epsrel=1e-12, limit=300)[0]
        for a, b in zip(cuts[:-1], cuts[1:], strict=True)
    )
    return inside + order.sf(half.cdf(bound)) * noise.pdf(y - bound)


@pytest.mark.parametrize("kind", [cf.Median, cf.Maximum, cf.Minimum])
@pytest.mark.parametrize("n", [1, 5, 100])
@pytest.mark.parametrize("laplace", [True, False])
def test_exact_order_route(kind, n, laplace):
    statistic = kind("abs(x)", (-2.5, 2.5))
    mechanism = cf.Laplace(cf.PureDP(8.0)) if laplace else cf.Gaussian(cf.GDP(8.0))
    model = cf.Model(NORMAL, cf.Channel(statistic, mechanism, n))
    scale = model.channel.law.noise.scale
    noise = stats.laplace(scale=scale) if laplace else stats.norm(scale=scale)
    y = np.asarray([0.2, 0.9, 2.4, 3.0])
    found = np.exp(model.log_likelihood(2.0, y, route="order"))
    expected = [textbook(v, n, statistic.rank(n), 2.0, 2.5, noise) for v in y]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_order_information_integrates_its_score():
    model = cf.Model(NORMAL, cf.Channel(cf.Median("abs(x)", (-2.5, 2.5)), cf.Laplace(cf.PureDP(8.0)), 20))
    y, h = np.linspace(-4, 7, 6001), 1e-3
    a, b, c, d = model.log_likelihood(np.asarray([2 - 2 * h, 2 - h, 2 + h, 2 + 2 * h]), y)
    score = (a - 8 * b + 8 * c - d) / (12 * h)
    expected = np.trapezoid(score**2 * np.exp(model.log_likelihood(2.0, y)), y)
    assert abs(cf.information(model, 2.0).matrix[0, 0] / expected - 1) < 1e-4


def test_the_pool_agrees_with_algorithm_2_for_a_smooth_median():
    channel = cf.Channel(cf.Median("abs(x)", (-10, 10)), cf.SmoothLaplace(cf.ApproxDP(5.0, 1e-4)), 20)
    model = cf.Model(NORMAL, channel)
    pool = cf.information(model, 2.0)
    assert pool.method == "pool"
    brute = cf.information(model, 2.0, method="replicates", outer=1000, inner=1000, key=3)
    gap = abs(pool.matrix - brute.matrix)[0, 0]
    assert gap < 4 * np.hypot(pool.standard_error, brute.standard_error)[0, 0]
    assert pool.standard_error[0, 0] < 0.03 * pool.matrix[0, 0]
