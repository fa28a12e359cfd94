"""p(y | q) of noisy counts by enumeration, and by a dynamic programme in exact integers."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
from scipy.special import gammaln, logsumexp

from confide.likelihood.cells.window import CountNoise

#: bits of a fixed-point number, and of the room for one coefficient of a product
BITS, ROOM = 400, 1024


def count_noise(kind, scale, step):
    """The four laws, with a normaliser of their own."""
    if kind == "laplace":
        peak = -math.log(2 * scale) if step is None else math.log(math.tanh(step / (2 * scale)))
        return CountNoise(True, scale, peak)
    k = np.arange(-4000, 4001)
    peak = -math.log(scale * math.sqrt(2 * math.pi)) if step is None else -logsumexp(-0.5 * (k * step / scale) ** 2)
    return CountNoise(False, scale, peak)


def log_noise(noise, y, counts):
    v = (y - counts) / noise.scale
    return noise.peak - (np.abs(v) if noise.exponential else 0.5 * v * v)


def by_enumeration(noise, y, q, n):
    """The sum over all counts of n records in len(q) cells."""
    ends = itertools.combinations(range(n + len(q) - 1), len(q) - 1)
    counts = np.array([np.diff([-1, *bars, n + len(q) - 1]) - 1 for bars in ends], dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        powers = np.where(counts > 0, counts * np.log(q), 0.0).sum(axis=1)
    terms = gammaln(n + 1) - gammaln(counts + 1).sum(axis=1) + powers + log_noise(noise, y, counts).sum(axis=1)
    return float(logsumexp(terms))


def by_programme(noise, y, q, n):
    """n!·[zⁿ] of a product of polynomials, whose coefficients are whole numbers in units of 2^−400 of the largest; z in units of 1/n."""
    product, scale = None, mpmath.mpf(0)
    with mpmath.workdps(60):
        for each_y, each_q in zip(y, q, strict=True):
            logs = []
            for c in range(n + 1):
                v = (mpmath.mpf(float(each_y)) - c) / mpmath.mpf(noise.scale)
                log_g = noise.peak - (abs(v) if noise.exponential else v * v / 2)
                logs.append(c * mpmath.log(n * mpmath.mpf(float(each_q))) - mpmath.loggamma(c + 1) + log_g)
            top = max(logs)
            scale += top
            coefficients = [int(mpmath.floor(mpmath.ldexp(mpmath.exp(each - top), BITS))) for each in logs]
            packed = sum(coefficient << (ROOM * c) for c, coefficient in enumerate(coefficients))
            product = packed if product is None else _cut(product * packed, n)
        coefficient = (product >> (ROOM * n)) & ((1 << ROOM) - 1)
        found = (
            scale
            + mpmath.loggamma(n + 1)
            - n * mpmath.log(n)
            + mpmath.log(mpmath.ldexp(mpmath.mpf(coefficient), -BITS))
        )
        return float(found)


def _cut(product, n):
    """The first n + 1 coefficients, back in units of 2^−400."""
    mask, found = (1 << ROOM) - 1, 0
    for c in range(n + 1):
        found |= (((product >> (ROOM * c)) & mask) >> BITS) << (ROOM * c)
    return found
