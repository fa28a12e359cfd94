"""Independent laws of order statistics: SciPy's distributions, incomplete beta functions and adaptive quadrature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from scipy import integrate, special, stats

from confide import populations
from confide.channel import Channel
from confide.model import Model

LEVEL = 1e-6  # the false-failure rate of each statistical test


def x64(test):
    """Run a test in double precision, as the public verbs do."""
    return jax.enable_x64(True)(test)


@dataclass(frozen=True)
class Case:
    """A population with its SciPy law, and a statistic x or abs(x) with bounds that clip some of the records."""

    population: Any
    scipy: Any
    theta: tuple[float, ...]
    expression: str
    bounds: tuple[float, float]

    def model(self, statistic, mechanism, n):
        return Model(self.population, Channel(statistic(self.expression, bounds=self.bounds), mechanism, n))

    def law(self, theta=None):
        return Folded(self.scipy(*(self.theta if theta is None else theta)), self.expression == "abs(x)", *self.bounds)


class Folded:
    """The law of V = clip(X), or of |clip(X)| for symmetric bounds: atoms at `low` and `high`, a density between."""

    def __init__(self, law, absolute, low, high):
        self.law, self.absolute = law, absolute
        self.low, self.high = (0.0, high) if absolute else (low, high)

    def cdf(self, v):
        return self.law.cdf(v) - self.law.cdf(-v) if self.absolute else self.law.cdf(v)

    def sf(self, v):
        return self.law.sf(v) + self.law.cdf(-v) if self.absolute else self.law.sf(v)

    def pdf(self, v):
        return self.law.pdf(v) + self.law.pdf(-v) if self.absolute else self.law.pdf(v)

    def quantile(self, q):
        """The quantile of V without clipping."""
        return self.law.ppf(0.5 + 0.5 * q) if self.absolute else self.law.ppf(q)

    def atoms(self, n, m):
        """P(u = low) and P(u = high)."""
        below = 0.0 if self.absolute else special.betainc(m, n - m + 1, self.cdf(self.low))
        return below, special.betaincc(m, n - m + 1, self.cdf(self.high))

    def density(self, v, n, m):
        """The density of u between its atoms."""
        with np.errstate(divide="ignore"):
            log = special.xlogy(m - 1, self.cdf(v)) + special.xlogy(n - m, self.sf(v)) - special.betaln(m, n - m + 1)
            return np.exp(log + np.log(self.pdf(v)))


def noise_density(kind, t, scale):
    return np.exp(-np.abs(t) / scale) / (2 * scale) if kind == "Laplace" else stats.norm.pdf(t, 0, scale)


def log_density(law, n, m, kind, scale, y, rough):
    """log p(y) for a vector y: atoms, and the convolution by adaptive quadrature. `rough` is log p up to 1, to scale by."""
    y, unit = np.asarray(y), np.exp(np.asarray(rough))
    below, above = law.atoms(n, m)
    total = (below * noise_density(kind, y - law.low, scale) + above * noise_density(kind, y - law.high, scale)) / unit
    middle = law.quantile(special.betaincinv(m, n - m + 1, [0.001, 0.16, 0.5, 0.84, 0.999]))
    spread = max(middle[3] - middle[1], 1e-3 * scale)
    kinks = y if kind == "Laplace" else []
    steps = np.linspace(law.low, law.high, 2 + int((law.high - law.low) / (4 * scale)))
    points = np.concatenate([steps, kinks, middle[2] + spread * np.arange(-9, 10, 1.5)])
    points = np.unique(np.clip(points, law.low, law.high))

    def integrand(v):
        return law.density(v, n, m) * noise_density(kind, y - v, scale) / unit

    for a, b in zip(points[:-1], points[1:], strict=True):
        if b - a > 1e-12 * (law.high - law.low):
            total = total + integrate.quad_vec(integrand, a, b, epsabs=1e-12 * (b - a), epsrel=1e-12)[0]
    return np.log(total * unit)


CASES = {
    "normal_variance": Case(
        populations.normal_variance(), lambda t: stats.norm(0, np.sqrt(t)), (2.0,), "abs(x)", (-2.2, 2.2)
    ),
    "normal": Case(populations.normal(), lambda a, b: stats.norm(a, np.sqrt(b)), (0.3, 2.0), "x", (-1.5, 2.0)),
    "exponential": Case(populations.exponential(), lambda r: stats.expon(scale=1 / r), (1.2,), "x", (0.1, 1.8)),
    "gamma": Case(populations.gamma(), lambda a, r: stats.gamma(a, scale=1 / r), (0.7, 1.5), "x", (0.05, 1.3)),
    "uniform": Case(populations.uniform_width(), lambda w: stats.uniform(-w, 2 * w), (2.0,), "abs(x)", (-1.7, 1.7)),
    "laplace": Case(populations.laplace(), stats.laplace, (0.2, 0.8), "x", (-1.2, 1.7)),
    "lognormal": Case(
        populations.lognormal(), lambda a, b: stats.lognorm(b, scale=np.exp(a)), (0.0, 0.7), "x", (0.4, 2.5)
    ),
    "beta": Case(populations.beta(), stats.beta, (2.0, 3.0), "x", (0.15, 0.7)),
}
