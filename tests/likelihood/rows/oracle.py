"""Moments of clipped rows by other means: dense panels of one column, closed forms of truncated normals for the next."""

from math import comb

import numpy as np
from scipy import stats

NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


def line(mean, sd, cuts=(), panels=4000):
    """Nodes and weights of N(mean, sd²) on thousands of panels."""
    edges = np.unique(np.concatenate([np.linspace(mean - 9 * sd, mean + 9 * sd, panels + 1), cuts]))
    half = 0.5 * np.diff(edges)[:, None]
    x = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * NODES).ravel()
    return x, (half * WEIGHTS).ravel() * stats.norm.pdf(x, mean, sd)


def clipped_powers(mean, sd, low, high, highest):
    """E clip(Y)^k of Y ~ N(mean, sd²) for k = 0, …, highest, by the recursion for truncated normal laws."""
    a, b = (low - mean) / sd, (high - mean) / sd
    at_a, at_b = stats.norm.pdf(a), stats.norm.pdf(b)
    inner = [stats.norm.cdf(b) - stats.norm.cdf(a), at_a - at_b]
    for k in range(2, highest + 1):
        inner.append((k - 1) * inner[k - 2] - (b ** (k - 1) * at_b - a ** (k - 1) * at_a))
    below, above = stats.norm.cdf(a), stats.norm.sf(b)
    return [
        low**k * below + high**k * above + sum(comb(k, j) * mean ** (k - j) * sd**j * inner[j] for j in range(k + 1))
        for k in range(highest + 1)
    ]


def regression_moments(theta, x_bounds, y_bounds, powers):
    """Mean and second moments of clip(x)^i clip(y)^j, x ~ N(m, s²), y | x ~ N(a + b x, r²), (m, s, a, b, r) = θ."""
    m, s, a, b, r = theta
    x, weights = line(m, s, x_bounds)
    ys = clipped_powers(a + b * x, r, *y_bounds, 2 * max(j for _, j in powers))
    clipped = np.clip(x, *x_bounds)

    def moment(i, j):
        return weights @ (clipped**i * ys[j])

    first = np.asarray([moment(i, j) for i, j in powers])
    second = np.asarray([[moment(i + k, j + q) for k, q in powers] for i, j in powers])
    return first, second - np.outer(first, first)
