"""Order statistics: the beta law of a rank with additive noise, and simulated data sets for windows of ranks."""

from __future__ import annotations

import math

import numpy as np
from scipy import special


def rank_masses(mass, n: int, rank: int):
    """The law of the value of that rank among n, given masses of one record in the order of their values."""
    below = np.clip(np.concatenate([[0.0], np.cumsum(mass)]), 0.0, 1.0)
    above = np.clip(np.concatenate([np.cumsum(mass[::-1])[::-1], [0.0]]), 0.0, 1.0)
    lower = special.betainc(rank, n - rank + 1, below)
    upper = special.betainc(n - rank + 1, rank, above)
    return np.maximum(np.where(lower[1:] < 0.5, np.diff(lower), -np.diff(upper)), 0.0)


def smooth_scale(ordered, rank: int, beta: float, alpha: float, cap: int, low: float, high: float):
    """S_K/α for each row of sorted values: max over k < K of e^{−kβ} A_k, and e^{−Kβ}(high − low)."""
    n = ordered.shape[1]
    padded = np.pad(ordered, ((0, 0), (cap, 0)), constant_values=low)
    padded = np.pad(padded, ((0, 0), (0, cap)), constant_values=high)
    middle = rank - 1 + cap
    assert padded.shape[1] == n + 2 * cap
    largest = np.full(ordered.shape[0], math.exp(-cap * beta) * (high - low))
    for k in range(cap):
        for a in range(k + 2):
            b = k + 1 - a
            if a <= cap and b <= cap:
                gap = padded[:, middle + b] - padded[:, middle - a]
                largest = np.maximum(largest, math.exp(-k * beta) * gap)
    return largest / alpha


def smooth_density(values, rank, beta, alpha, cap, ends, kind, y):
    """An average over simulated data sets of the density of u + scale·Z, and its standard error."""
    ordered = np.sort(values, axis=1)
    scale = smooth_scale(ordered, rank, beta, alpha, cap, *ends)
    z = (np.asarray(y)[:, None] - ordered[:, rank - 1]) / scale
    each = (np.exp(-np.abs(z)) / 2 if kind == "Laplace" else 1 / (np.pi * (1 + z * z))) / scale
    return each.mean(axis=1), each.std(axis=1) / math.sqrt(values.shape[0])


def exponential_density(values, rank, rate, cap, ends, y):
    """The same for the exponential mechanism: weight e^{−rate·min(K, steps)} on each interval between values."""
    ordered = np.sort(values, axis=1)
    m, n = ordered.shape
    edges = np.concatenate([np.full((m, 1), ends[0]), ordered, np.full((m, 1), ends[1])], axis=1)
    count = np.arange(n + 1)  # records below the points of an interval
    steps = np.minimum(np.maximum(np.maximum(rank - 1 - count, count - rank), 0), cap)
    weight = np.exp(-rate * steps)
    total = (np.diff(edges, axis=1) * weight).sum(axis=1)
    below = (ordered[None] < np.asarray(y)[:, None, None]).sum(axis=2)
    each = weight[below] / total
    return each.mean(axis=1), each.std(axis=1) / math.sqrt(m)
