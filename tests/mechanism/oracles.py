"""Independent computations that the mechanisms are checked against: numerical integrals, exact sums, enumerations."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import integrate, optimize, stats

LEVEL = 1e-6  # the false-failure rate of each statistical test


def crossings(f, grid):
    """The points where f changes sign between the points of a grid."""
    values = f(grid)
    changes = np.nonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)[0]
    return [optimize.brentq(lambda x: float(f(np.array([x]))[0]), grid[i], grid[i + 1], xtol=1e-14) for i in changes]


def hockey_stick(log_p, log_q, epsilon, kinks, reach):
    """∫ (p − e^ε q)₊, by adaptive quadrature between the kinks and the points where the sign changes.

    `reach` is how far past the outermost kink there is still mass. Inside the integral p(1 − e^{ε − loss}) keeps
    its digits when δ is small.
    """
    low, high = min(kinks) - reach, max(kinks) + reach
    grid = np.unique(np.concatenate([np.linspace(low, high, 4001), np.asarray(kinks, dtype=float)]))

    def excess(x):
        return log_p(x) - log_q(x) - epsilon

    def integrand(x):
        e = excess(np.asarray(x))
        return np.exp(log_p(np.asarray(x))) * np.maximum(-np.expm1(-e), 0)

    edges = sorted({low, high, *map(float, kinks), *crossings(excess, grid)})
    total = 0.0
    for a, b in itertools.pairwise(edges):
        if b - a > 1e-13 and excess(np.array([(a + b) / 2]))[0] > 0:
            # halved towards both ends so that a narrow peak at an edge of a long interval is seen
            cuts = sorted(
                {a, b, *(a + (b - a) * 2.0**-i for i in range(1, 9)), *(b - (b - a) * 2.0**-i for i in range(1, 9))}
            )
            for c, d in itertools.pairwise(cuts):
                total += integrate.fixed_quad(integrand, c, d, n=20)[0]
    return total


def laplace_log_density(x, centre=0.0, scale=1.0):
    return -np.abs(x - centre) / scale - math.log(2 * scale)


def normal_log_density(x, centre=0.0, scale=1.0):
    return stats.norm.logpdf(x, centre, scale)


def discrete_mass(kind, s, reach):
    """The mass of a discrete Laplace or Gaussian on −reach … reach, by plain normalisation."""
    k = np.arange(-reach, reach + 1, dtype=float)
    log_mass = -np.abs(k) / s if kind == "laplace" else -0.5 * (k / s) ** 2
    return np.exp(log_mass - np.logaddexp.reduce(log_mass)), log_mass - np.logaddexp.reduce(log_mass)


def discrete_hockey_stick(kind, s, k, epsilon):
    """Σ (P(j) − e^ε P(j−k))₊ over the whole lattice, for a shift by k."""
    reach = int(60 * s + 20 if kind == "laplace" else 40 * s + 20) + 2 * k
    mass, log_mass = discrete_mass(kind, s, reach)
    p, log_p, log_q = mass[k:], log_mass[k:], log_mass[: len(mass) - k]
    return max(
        float(np.sum(p * -np.expm1(np.minimum(epsilon - (log_p - log_q), 0)))),
        float(np.sum(np.exp(log_q) * -np.expm1(np.minimum(epsilon - (log_q - log_p), 0)))),
    )


def data_sets(domain, n):
    """All data sets of n records from a domain, as an array, and the pairs of neighbours among them."""
    sets = np.array(list(itertools.product(domain, repeat=n)), dtype=float)
    distance = np.sum(sets[:, None, :] != sets[None, :, :], axis=-1)
    return sets, distance


def windows(sets, rank, cap, low, high):
    """Sorted values of ranks m−K … m+K, filled up with the ends of the range."""
    ordered = np.sort(sets, axis=-1)
    ends = np.full((len(sets), cap + sets.shape[-1] + 1), 1.0)
    padded = np.concatenate([low * ends, ordered, high * ends], axis=-1)
    middle = ends.shape[-1] + rank - 1
    return padded[:, middle - cap : middle + cap + 1]


def chi_square_p_value(counts, probabilities):
    """The p-value of a chi-square test, with cells pooled until each expects at least 10."""
    counts, expected = np.asarray(counts, float), np.asarray(probabilities, float) * np.sum(counts)
    pooled_counts, pooled_expected, c, e = [], [], 0.0, 0.0
    for count, expectation in zip(counts, expected, strict=True):
        c, e = c + count, e + expectation
        if e >= 10:
            pooled_counts.append(c)
            pooled_expected.append(e)
            c = e = 0.0
    pooled_counts[-1] += c
    pooled_expected[-1] += e
    pooled_counts, pooled_expected = np.array(pooled_counts), np.array(pooled_expected)
    statistic = np.sum((pooled_counts - pooled_expected) ** 2 / pooled_expected)
    return float(stats.chi2.sf(statistic, len(pooled_counts) - 1))


def fit_p_value(draws, cdf, cells=60):
    """The p-value of draws against a distribution function, by chi-square on cells with equal shares of draws."""
    quantiles = np.quantile(draws, np.linspace(0, 1, cells + 1)[1:-1], method="lower")
    edges, kept = np.unique(quantiles, return_index=True)
    # the distribution function sees repeated edges too: one shape, compiled once
    cumulative = np.concatenate([[0.0], np.asarray(cdf(quantiles))[kept], [1.0]])
    # half-open cells (a, b], so that atoms at an edge are counted where the distribution function counts them
    counts = np.diff(np.searchsorted(np.sort(draws), edges, side="right"), prepend=0, append=len(draws))
    return chi_square_p_value(counts, np.diff(cumulative))
