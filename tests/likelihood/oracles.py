"""Independent computations of p(y | θ): no code of the library's likelihoods is used here.

`inverted` inverts the characteristic function of a noisy mean by brute force: scipy densities, its own Gauss–Legendre
rule on hand-given pieces, thousands of frequencies, no tilting. Good to about 1e-12 of the mode. `high_precision`
does the same with mpmath in 60 digits, which reaches far into the tails. `peeled` serves few records: the samples in
which every record is clipped or on a plateau of s are enumerated, and what is left is inverted, with nodes fine enough
for the high frequencies that it still has. `sum_law` is the exact law of a lattice sum.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mpmath as mp
import numpy as np
from scipy import stats

import confide as cf

GL_X, GL_W = np.polynomial.legendre.leggauss(120)


@dataclass(frozen=True)
class Case:
    """A population as scipy knows it, a statistic as Python knows it, and where neither is smooth."""

    name: str
    population: Any
    theta: tuple[float, ...]
    scipy: Any  # frozen distribution at theta
    expression: str
    function: Any
    bounds: tuple[float, float]
    cuts: tuple[float, ...] = ()

    def record(self):
        """Nodes s_j and weights of one clipped record."""
        low, high = self.bounds
        a, b = (max(low, self.scipy.support()[0]), min(high, self.scipy.support()[1]))
        spread = [self.scipy.ppf(q) for q in (1e-12, 1e-6, 0.01, 0.2, 0.5, 0.8, 0.99, 1 - 1e-6)]
        edges = np.unique(np.clip([a, *self.cuts, *spread, b], a, b))
        x, w = [np.asarray([low, high])], [np.asarray([self.scipy.cdf(low), self.scipy.sf(high)])]
        for left, right in zip(edges[:-1], edges[1:], strict=True):
            node = 0.5 * (left + right) + 0.5 * (right - left) * GL_X
            x.append(node)
            w.append(0.5 * (right - left) * GL_W * self.scipy.pdf(node))
        return np.concatenate([np.broadcast_to(self.function(part), part.shape) for part in x]), np.concatenate(w)

    def clipped_share(self):
        """The probability that a record is clipped."""
        return float(self.scipy.cdf(self.bounds[0]) + self.scipy.sf(self.bounds[1]))

    def model(self, mechanism, n):
        """The library's model of the same."""
        return cf.Model(self.population, cf.Channel(cf.Mean(self.expression, self.bounds), mechanism, n))


def inverted(case, noise, scale, n, y, frequencies=20_000):
    """p(y) of the mean of n records plus noise, by a plain inversion of its characteristic function."""
    s, w = case.record()
    mean = s @ w
    spread = np.sqrt(w @ (s - mean) ** 2 / n)
    width = spread + scale * (3 if noise == "laplace" else 1)
    reach = 60 * width + 45 * scale * (noise == "laplace")
    step = 2 * np.pi / (2 * reach)
    t = step * np.arange(frequencies)
    t = t[t < 14 / spread] if n > 20 else t  # for few records the atoms keep the transform from decaying
    t = t[t < 14 / scale] if noise == "gaussian" else t
    phase = np.exp(1j * np.outer(t / n, s - mean)) @ w
    phi_v = 1 / (1 + (scale * t) ** 2) if noise == "laplace" else np.exp(-0.5 * (scale * t) ** 2)
    terms = phase**n * phi_v * np.exp(-1j * np.outer(np.atleast_1d(y) - mean, t))
    terms[:, 0] *= 0.5
    return terms.real.sum(axis=1) * step / np.pi


def peeled(case, noise, scale, n, y, frequencies=24_000):
    """p(y) for few records: all n on atoms, in closed form, and the inversion of φⁿ − (the atoms' part of φ)ⁿ."""
    y = np.asarray(y)
    values, masses, atoms, shares = _with_atoms(case)
    mean = values @ masses + atoms @ shares
    spread = np.sqrt((values - mean) ** 2 @ masses + (atoms - mean) ** 2 @ shares) / np.sqrt(n)
    reach = 60 * (spread + scale * (3 if noise == "laplace" else 1)) + 45 * scale * (noise == "laplace")
    step = np.pi / reach
    total = np.zeros(y.shape)
    for part in np.split(np.arange(frequencies), frequencies // 1000):
        t = step * part
        clipped = np.exp(1j * np.outer(t / n, atoms - mean)) @ shares
        rest = np.exp(1j * np.outer(t / n, values - mean)) @ masses
        phi_v = 1 / (1 + (scale * t) ** 2) if noise == "laplace" else np.exp(-0.5 * (scale * t) ** 2)
        left = ((clipped + rest) ** n - clipped**n) * phi_v * np.where(part == 0, 0.5, 1.0)
        total += (left * np.exp(-1j * np.outer(y - mean, t))).real.sum(axis=1) * step / np.pi
        if np.max(np.abs(left)) < 1e-15:
            break
    for counts in _compositions(n, atoms.size):
        log_mass = stats.multinomial.logpmf(counts, n, shares / shares.sum()) + n * np.log(shares.sum())
        total += np.exp(log_mass + log_noise(noise, scale, y - np.dot(counts, atoms) / n))
    return total


def _with_atoms(case, panels=12):
    """One clipped record on a fine rule: the values and masses of its continuous part, and of its atoms."""
    low, high = case.bounds
    a, b = (max(low, case.scipy.support()[0]), min(high, case.scipy.support()[1]))
    base = np.unique(np.clip([a, *case.cuts, b], a, b))
    ends = zip(base[:-1], base[1:], strict=True)
    edges = np.unique(np.concatenate([np.linspace(*pair, panels + 1) for pair in ends]))
    node, weight = np.polynomial.legendre.leggauss(40)
    half = 0.5 * np.diff(edges)[:, None]
    x = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * node).ravel()
    x, w = np.concatenate([x, [low, high]]), (half * weight).ravel() * case.scipy.pdf(x)
    s = np.broadcast_to(case.function(x), x.shape)
    values, index, count = np.unique(s, return_inverse=True, return_counts=True)
    masses = np.bincount(index, weights=np.concatenate([w, [case.scipy.cdf(low), case.scipy.sf(high)]]))
    atom = ((count > 2) | np.isin(values, s[-2:])) & (masses > 0)  # x and −x may have one value, more are a plateau
    return values[~atom], masses[~atom], values[atom], masses[atom]


def _compositions(n, parts):
    """All ways to write n as an ordered sum of so many whole numbers."""
    if parts <= 1:
        return [(n,)] * parts
    return [(i, *rest) for i in range(n + 1) for rest in _compositions(n - i, parts - 1)]


def high_precision(case, mp_pdf, mp_cdf, mp_function, noise, scale, n, y, digits=60):
    """The same for one y in high precision; mp_pdf, mp_cdf and mp_function are mpmath's."""
    with mp.workdps(digits):
        low, high = (mp.mpf(end) for end in case.bounds)
        edges = sorted({low, high, *(mp.mpf(cut) for cut in case.cuts)})
        fine = []
        for left, right in zip(edges[:-1], edges[1:], strict=True):
            fine += [left + (right - left) * k / 6 for k in range(6)]
        fine.append(edges[-1])
        x, w = _mp_legendre(40)
        nodes = [(mp_function(low), mp_cdf(low)), (mp_function(high), 1 - mp_cdf(high))]
        for left, right in zip(fine[:-1], fine[1:], strict=True):
            half, middle = (right - left) / 2, (right + left) / 2
            nodes += [
                (mp_function(middle + half * xi), half * wi * mp_pdf(middle + half * xi))
                for xi, wi in zip(x, w, strict=True)
            ]
        total = mp.fsum(weight for _, weight in nodes)
        mean = mp.fsum(s * weight for s, weight in nodes) / total
        spread = mp.sqrt(mp.fsum((s - mean) ** 2 * weight for s, weight in nodes) / n)
        scale, y = mp.mpf(scale), mp.mpf(y)
        reach = abs(y - mean) + 26 * spread + (140 * scale if noise == "laplace" else 16 * scale)
        step = mp.pi / reach
        result, k = mp.mpf(0), 0
        while True:
            t = k * step
            phi = mp.fsum(weight * mp.expj(t / n * (s - mean)) for s, weight in nodes) / total
            phi_v = 1 / (1 + (scale * t) ** 2) if noise == "laplace" else mp.exp(-((scale * t) ** 2) / 2)
            term = phi**n * phi_v
            result += (term * mp.expj(-t * (y - mean))).real / (2 if k == 0 else 1)
            k += 1
            if abs(term) < mp.mpf(10) ** (-digits + 18):
                break
        return float(mp.log(result * step / mp.pi))


def _mp_legendre(order):
    """Gauss–Legendre nodes in the working precision, by Newton's method from double precision."""
    start, _ = np.polynomial.legendre.leggauss(order)
    nodes, weights = [], []
    for guess in start:
        x = mp.mpf(float(guess))
        for _ in range(8):
            p, q = mp.legendre(order, x), mp.legendre(order - 1, x)
            slope = order * (x * p - q) / (x * x - 1)
            x -= p / slope
        nodes.append(x)
        weights.append(2 / ((1 - x * x) * slope**2))
    return nodes, weights


def sum_law(values, probabilities, n):
    """The law of the sum of n independent copies of a finite law on whole numbers, by repeated convolution."""
    offset, top = int(min(values)), int(max(values))
    pmf = np.zeros(top - offset + 1)
    for value, probability in zip(values, probabilities, strict=True):
        pmf[int(value) - offset] += probability
    total = np.ones(1)
    for _ in range(n):
        total = np.convolve(total, pmf)
    return offset * n + np.arange(total.size), total


def log_noise(kind, scale, v):
    """The log density of the noise."""
    return stats.laplace.logpdf(v, scale=scale) if kind == "laplace" else stats.norm.logpdf(v, scale=scale)


CASES = [
    Case("normal variance, |x|", cf.populations.normal_variance(), (2.0,), stats.norm(0, 2**0.5), "abs(x)", np.abs,
         (-2.5, 2.5), (0.0,)),
    Case("normal variance, x²", cf.populations.normal_variance(), (1.5,), stats.norm(0, 1.5**0.5), "x**2", np.square,
         (-2.0, 2.2), (0.0,)),
    Case("normal mean, x", cf.populations.normal_mean(), (0.5,), stats.norm(0.5, 1), "x", lambda x: x, (-1.0, 1.5)),
    Case("normal, clipped square", cf.populations.normal(), (0.3, 1.2), stats.norm(0.3, 1.2**0.5), "clip(x**2, 0.4, 3)",
         lambda x: np.clip(x**2, 0.4, 3), (-1.6, 2.2), (0.0, 0.4**0.5, -(0.4**0.5), 3**0.5, -(3**0.5))),
    Case("exponential, x", cf.populations.exponential(), (1.3,), stats.expon(scale=1 / 1.3), "x", lambda x: x, (0, 1.5)),
    Case("exponential, log1p", cf.populations.exponential(), (0.7,), stats.expon(scale=1 / 0.7), "log1p(x)", np.log1p,
         (0.1, 3.0)),
    Case("gamma, sqrt", cf.populations.gamma(), (2.5, 1.5), stats.gamma(2.5, scale=1 / 1.5), "sqrt(x)", np.sqrt,
         (0.3, 3.0)),
    Case("beta, x", cf.populations.beta(), (2.0, 3.0), stats.beta(2.0, 3.0), "x", lambda x: x, (0.15, 0.7)),
    Case("lognormal, x", cf.populations.lognormal(), (0.2, 0.7), stats.lognorm(0.7, scale=np.exp(0.2)), "x", lambda x: x,
         (0.3, 2.5)),
    Case("laplace, |x|", cf.populations.laplace(), (0.2, 0.8), stats.laplace(0.2, 0.8), "abs(x)", np.abs, (-1.5, 1.5),
         (0.0, 0.2)),
    Case("uniform width, |x|", cf.populations.uniform_width(), (1.7,), stats.uniform(-1.7, 3.4), "abs(x)", np.abs,
         (-1.4, 1.4), (0.0,)),
]  # fmt: skip
