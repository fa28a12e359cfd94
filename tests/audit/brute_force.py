"""The best plain channel by trying some thirteen hundred of them, with NumPy and SciPy alone: nothing is shared with `src`.

A record's law is cut into cells by probability, finer and finer towards the ends, with edges at every bound and threshold
that is tried; a cell has a point in the middle of its probability, its mass, and the slope of that in θ, from SciPy's
distribution functions. Candidates are screened by the normal law of a mean, convolved with the noise, and the best dozen
are computed: the law of the sum of n records on a fine lattice, and its derivative nφⁿ⁻¹φ', by the fast Fourier transform.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

import numpy as np
from scipy import fft, stats
from scipy.optimize import brentq

LEVELS = np.asarray(
    [1e-4, 0.002, 0.01, 0.03, 0.07, 0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85, 0.93, 0.97, 0.99, 0.998]
)
THRESHOLDS = np.linspace(0.03, 0.97, 48)
TRANSFORMS = ("x", "abs(x)", "x**2", "sqrt(abs(x))", "abs(x)**1.5", "abs(x)**3", "x/(1 + x**2)")
POSITIVE = ("log(x)", "1/x", "x**-0.5")
#: what a text may say
WORDS = {"abs": np.abs, "sqrt": np.sqrt, "log": np.log, "log1p": np.log1p, "exp": np.exp, "clip": np.clip,
         "interp": np.interp, "sign": np.sign, "min": np.minimum, "max": np.maximum, "where": np.where}  # fmt: skip


def evaluated(text, x):
    """s(x) as Python and NumPy read it."""
    with np.errstate(all="ignore"):
        return np.asarray(eval(text, {"__builtins__": {}}, WORDS | {"x": x}), dtype=float) + 0.0 * x


def _edges():
    """Probabilities, finer and finer towards 0 and 1."""
    tail = np.geomspace(1e-10, 1e-2, 400)
    return np.concatenate([[0.0], tail, np.linspace(1e-2, 1 - 1e-2, 4001)[1:-1], 1 - tail[::-1], [1.0]])


class Records:
    """The law of a record at θ as cells with a point each, x, their masses and the slopes of these in θ."""

    def __init__(self, law, theta, at=()):
        """`law` is a function of θ that returns a frozen distribution of SciPy; cells end at the numbers of `at`, too."""
        here = law(theta)
        self.quantile = here.ppf
        spread = float(np.diff(here.ppf(np.asarray([0.25, 0.75])))[0])
        step = 1e-5 * (min(abs(theta), spread) or spread)
        if hasattr(here, "pmf"):
            self.x = np.arange(here.ppf(1e-13), here.ppf(1 - 1e-13) + 1)
            ends = np.concatenate([self.x[:1] - 1, self.x])
        else:
            inside = [t for t in at if 0 < here.cdf(t) < 1]
            ends = np.unique(np.concatenate([here.ppf(_edges()), inside]))
            below = here.cdf(ends)
            self.x = here.ppf(0.5 * (below[1:] + below[:-1]))
        near, far = (self._below(law, ends, theta + h) - self._below(law, ends, theta - h) for h in (0.5 * step, step))
        self.mass = np.diff(self._below(law, ends, theta))
        self.slope = np.diff((8 * near - far) / (6 * step))

    def _below(self, law, ends, theta):
        below = law(theta).cdf(ends)
        # what a moving support pushes out belongs to its last cell
        below[0], below[-1] = 0.0, 1.0
        return below


@dataclass(frozen=True)
class Noise:
    """Laplace or Gaussian noise on a mean with values in [0, 1]: n times its scale."""

    kind: str
    scale: float

    @property
    def variance(self):
        return (2.0 if self.kind == "laplace" else 1.0) * self.scale**2

    def density(self, v):
        return (stats.laplace if self.kind == "laplace" else stats.norm).pdf(v, scale=self.scale)


def noises(guarantee):
    """The kinds of noise that keep a guarantee, with the least scale: ("pure", ε), ("zcdp", ρ) or ("approx", (ε, δ))."""
    kind, level = guarantee
    if kind == "pure":
        return (Noise("laplace", 1 / level),)
    if kind == "zcdp":
        return Noise("gaussian", (2 * level) ** -0.5), Noise(
            "laplace", 1 / brentq(lambda r: _renyi(r) - level, 1e-3, 50)
        )
    epsilon, delta = level
    return Noise("gaussian", 1 / brentq(lambda r: _hockey(r, epsilon) - delta, 1e-3, 50)), Noise(
        "laplace", 1 / (epsilon - 2 * np.log1p(-delta))
    )


def _renyi(r):
    """The largest D_α/α between Laplace laws r scales apart; at α = 1 the relative entropy."""
    a = 1 + np.geomspace(1e-6, 1e4, 2000)
    log_power = np.logaddexp(np.log(a / (2 * a - 1)) + (a - 1) * r, np.log((a - 1) / (2 * a - 1)) - a * r)
    return max(r - 1 + np.exp(-r), float(np.max(log_power / (a - 1) / a)))


def _hockey(r, epsilon):
    """δ(ε) between normal laws r standard deviations apart."""
    return stats.norm.cdf(r / 2 - epsilon / r) - np.exp(epsilon) * stats.norm.cdf(-r / 2 - epsilon / r)


@functools.cache
def _location(kind):
    """log σ/b → log of b² times the information about the centre of a normal law of sd σ convolved with the noise."""
    logs = np.linspace(-6, 9, 61)
    if kind == "gaussian":
        return logs, -np.log1p(np.exp(2 * logs))
    found = []
    for sd in np.exp(logs):
        # y up to nine standard deviations and forty scales, finer in the middle
        y = np.sinh(np.linspace(-8, 8, 4001)) / np.sinh(8) * (9 * sd + 40)
        right, left = (sd**2 / 2 - side * y + stats.norm.logcdf(side * y / sd - sd) for side in (1, -1))
        p = 0.5 * np.exp(np.logaddexp(right, left))
        score = np.tanh(0.5 * (left - right))
        found.append(np.log(np.trapezoid(p * score**2, y)))
    return logs, np.asarray(found)


class Candidates:
    """Powers, logarithms, reciprocals and redescending s of x clipped at pairs of quantiles, and thresholds; s in [0, 1]."""

    def __init__(self, law, theta):
        plain = Records(law, theta)
        order = np.argsort(np.abs(plain.x))
        at = np.searchsorted(np.cumsum(plain.mass[order]), THRESHOLDS)
        sizes = np.unique(np.abs(plain.x)[order][at])
        ends, places = np.unique(plain.quantile(LEVELS)), np.unique(plain.quantile(THRESHOLDS))
        self.records = records = Records(law, theta, at=[*ends, *places, *sizes, *-sizes])
        middle, half = plain.quantile(0.5), float(np.diff(plain.quantile(np.asarray([0.25, 0.75])))[0]) / 2
        texts = (*TRANSFORMS, f"((x - {middle})/{half})/(1 + ((x - {middle})/{half})**2)")
        texts += POSITIVE if records.x[0] > 0 else ()
        self.names, rows = [], []
        for text in texts:
            for i, low in enumerate(ends):
                for high in ends[i + 1 :]:
                    self._add(
                        rows, f"{text} on ({low:.4g}, {high:.4g})", evaluated(text, np.clip(records.x, low, high))
                    )
        for t in places:
            self._add(rows, f"x > {t:.4g}", 1.0 * (records.x > t))
        for t in sizes:
            self._add(rows, f"abs(x) > {t:.4g}", 1.0 * (np.abs(records.x) > t))
        self.s = np.stack(rows)
        self.mean, self.slope = self.s @ records.mass, self.s @ records.slope
        self.variance = np.maximum(self.s**2 @ records.mass - self.mean**2, 1e-15)
        self.d_variance = self.s**2 @ records.slope - 2 * self.mean * self.slope

    def _add(self, rows, name, values):
        width = np.ptp(values)
        if width > 1e-9 * np.abs(values).max():
            self.names.append(name)
            rows.append((values - values.min()) / width)

    def best(self, guarantee, n, leaders=12):
        """The name and the exact information of the best of them all, under any noise that keeps the guarantee."""
        found = []
        for noise in noises(guarantee):
            logs, table = _location(noise.kind)
            # of the sum, with values in [0, n] and noise of the stated scale
            of_mean = (
                np.exp(np.interp(0.5 * np.log(n * self.variance) - np.log(noise.scale), logs, table)) / noise.scale**2
            )
            leading = (n * self.slope) ** 2 * of_mean
            whole = leading + 0.5 * (n * self.d_variance / (n * self.variance + noise.variance)) ** 2
            chosen = {*np.argsort(-leading)[: 2 * leaders // 3], *np.argsort(-whole)[: leaders // 3]}
            found += [
                (information(self.records, self.s[i], n, noise), f"{self.names[i]}, {noise.kind}") for i in chosen
            ]
        figure, name = max(found)
        return name, figure


def information(records, s, n, noise):
    """F of the sum of s in [0, 1] over n records, with noise, on a lattice of K steps to a unit."""
    mean = s @ records.mass
    variance = max(s**2 @ records.mass - mean**2, 1e-9)
    # each value is shared out between two neighbours on the lattice: that adds at most K⁻²/4 to the variance
    steps = int(np.clip(np.sqrt(2e3 / variance), 128, 4096))
    floor = np.minimum((s * steps).astype(int), steps - 1)
    upper = s * steps - floor
    reach = (45 if noise.kind == "laplace" else 9) * noise.scale * steps
    window = min(n * steps + 1, 30 * np.sqrt(n * variance) * steps + 4 * steps) + 2 * reach
    size = fft.next_fast_len(int(window), real=True)
    transform, change = (_transform(floor, upper, weights, steps, size) for weights in (records.mass, records.slope))
    offset = np.arange(size)
    blur = fft.rfft(noise.density(np.minimum(offset, size - offset) / steps) / steps)
    most = transform ** (n - 1) * blur
    p, slope = fft.irfft(most * transform, size), fft.irfft(n * most * change, size)
    seen = p > 1e-13 * p.max()
    return float(np.sum(slope[seen] ** 2 / p[seen]))


def _transform(floor, upper, weights, steps, size):
    law = np.bincount(floor, weights * (1 - upper), steps + 1) + np.bincount(floor + 1, weights * upper, steps + 1)
    folded = np.zeros(size)
    np.add.at(folded, np.arange(law.size) % size, law)
    return fft.rfft(folded)


def of_mean(law, theta, text, bounds, ends, n, noise):
    """F of a mean as the library writes it, with values between `ends`: cells end at all numbers of its text."""
    numbers = [float(number) for number in re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?", text)]
    records = Records(law, theta, at=[*bounds, *numbers, *(-number for number in numbers)])
    s = evaluated(text, np.clip(records.x, *bounds))
    return information(records, np.clip((s - ends[0]) / (ends[1] - ends[0]), 0, 1), n, noise)
