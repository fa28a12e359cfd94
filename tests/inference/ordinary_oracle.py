"""Posteriors of ordinary questions by NumPy and SciPy alone: a mesh over the parameters, and p(y | θ) at each.

A threshold's count is binomial, and its likelihood a function of one probability: with two parameters that is a ridge,
and the mesh is one of the probability and of the parameter along it. A mean's law is a plain Fourier of what its transform differs by from a normal one, for which the integral is in closed form. A median is a quantile of
a Beta variable. Two log moments of a thousand records are normal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats
from scipy.interpolate import CubicSpline
from scipy.special import expit, gammainccinv, log_ndtr, logsumexp

#: steps of the mesh each way, for one parameter and for two, in the first look and in the last
_LINE, _LOOK, _PLANE = 1500, 41, 101
#: what is left out, in logarithms of the density, and how far out the mesh reaches, in free coordinates
_NEGLIGIBLE = 16.0
#: θ whose transforms are in memory at once
_TOGETHER = 100

#: scipy's law of a record at θ, and whether each parameter is positive
LAWS: dict[str, tuple[Callable[..., Any], tuple[bool, ...]]] = {
    "normal_mean": (lambda mean: stats.norm(mean, 1.0), (False,)),
    "normal_variance": (lambda variance: stats.norm(0.0, np.sqrt(variance)), (True,)),
    "exponential": (lambda rate: stats.expon(scale=1 / rate), (True,)),
    "poisson": (stats.poisson, (True,)),
    "normal": (lambda mean, variance: stats.norm(mean, np.sqrt(variance)), (False, True)),
    "lognormal": (lambda loc, scale: stats.lognorm(scale, scale=np.exp(loc)), (False, True)),
    "gamma": (lambda concentration, rate: stats.gamma(concentration, scale=1 / rate), (True, True)),
    "laplace": (stats.laplace, (False, True)),
}

#: of two parameters that leave P(X > cut) = p: which is given, the other one, and |∂p/∂other| beside the density at cut
ALONG: dict[str, tuple[int, Callable[..., Any], Callable[..., Any]]] = {
    "normal": (1, lambda cut, p, variance: cut - np.sqrt(variance) * stats.norm.isf(p), lambda cut, mean: 1.0),
    "lognormal": (1, lambda cut, p, scale: np.log(cut) - scale * stats.norm.isf(p), lambda cut, loc: cut),
    "gamma": (0, lambda cut, p, shape: gammainccinv(shape, p) / cut, lambda cut, rate: cut / rate),
    "laplace": (1, lambda cut, p, scale: cut - scale * stats.laplace.isf(p), lambda cut, loc: 1.0),
}


def prior_law(prior: Any) -> Any:
    """scipy's law of a numpyro prior."""
    given = {name: float(getattr(prior, name)) for name in prior.arg_constraints}
    return {
        "Normal": lambda: stats.norm(given["loc"], given["scale"]),
        "HalfNormal": lambda: stats.halfnorm(scale=given["scale"]),
        "LogNormal": lambda: stats.lognorm(given["scale"], scale=np.exp(given["loc"])),
        "InverseGamma": lambda: stats.invgamma(given["concentration"], scale=given["rate"]),
        "Gamma": lambda: stats.gamma(given["concentration"], scale=1 / given["rate"]),
    }[type(prior).__name__]()


@dataclass(frozen=True)
class Asked:
    """A statistic of n records clipped to bounds, its published value, and the scale of its noise."""

    family: str
    what: str
    n: int
    bounds: tuple[float, float]
    cut: float
    noise: float
    y: Any

    def law(self, theta: np.ndarray) -> Any:
        """The laws of a record at θ (M, d), as columns."""
        return LAWS[self.family][0](*(part[:, None] for part in theta.T))

    def log_likelihood(self, theta: np.ndarray) -> np.ndarray:
        """log p(y | θ) (M,)."""
        if self.what == "threshold":
            return self._threshold(self.law(theta).sf(self.cut)[:, 0])
        one = {"mean": self._mean, "median": self._median, "log moments": self._log_moments}[self.what]
        parts = np.array_split(theta, -(-len(theta) // _TOGETHER))
        return np.concatenate([one(part) for part in parts])

    def _threshold(self, share: np.ndarray) -> np.ndarray:
        """A sum over binomial counts, tabulated in the logit of the probability."""
        logit = self.logits(1001)
        spread = 20 * np.sqrt(self.n) + 40
        k = np.arange(max(0, int(self.n * self.y - spread)), min(self.n, int(self.n * self.y + spread)) + 1)
        noise = -np.abs(self.y - k / self.n) / self.noise - np.log(2 * self.noise)
        blocks = [stats.binom.logpmf(k, self.n, expit(part)[:, None]) for part in np.array_split(logit, 20)]
        table = np.concatenate([logsumexp(block + noise, axis=1) for block in blocks])
        share = share.clip(1e-12, 1 - 1e-12)
        found = CubicSpline(logit, table, extrapolate=False)(np.log(share / (1 - share)))
        return np.where(np.isnan(found), -np.inf, found)

    def logits(self, steps: int) -> np.ndarray:
        """Logits of the probability beyond the cut, as far out as the count leaves any doubt: thirty deviations."""
        reach = min(8.0, 60.0 / np.sqrt(self.n))
        return np.log(self.y / (1 - self.y)) + np.linspace(-reach, reach, steps)

    def _rule(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values x (J,) and masses (M, J) of clipped records: Gauss's rule in cells, or whole numbers."""
        low, high = self.bounds
        law = self.law(theta)
        if self.family == "poisson":
            x = np.arange(low, high + 1)
            return x, np.where(x == high, law.sf(high - 1), law.pmf(x))
        geometric = self.family in ("exponential", "lognormal", "gamma")
        edges = np.geomspace(max(low, 1e-6 * high), high, 41) if geometric else np.linspace(low, high, 41)
        edges[0] = low
        if self.family == "laplace":  # with a kink that moves: masses of fine cells are exact
            edges = np.linspace(low, high, 1201)
            x, mass = 0.5 * (edges[1:] + edges[:-1]), np.diff(law.cdf(edges), axis=1)
        else:
            node, weight = np.polynomial.legendre.leggauss(10)
            half = 0.5 * np.diff(edges)[:, None]
            x = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * node).ravel()
            mass = (half * weight).ravel() * law.pdf(x)
        return np.append(x, [low, high]), np.concatenate([mass, law.cdf(low), law.sf(high)], axis=1)

    def _mean(self, theta: np.ndarray) -> np.ndarray:
        x, mass = self._rule(theta)
        mass = mass / mass.sum(axis=1, keepdims=True)
        mean = mass @ x
        sd = np.sqrt(np.maximum(mass @ x**2 - mean**2, 1e-12 * (1 + mean**2)) / self.n)
        # both transforms have decayed by the last frequency: of the mean, or of the noise
        t = np.linspace(0.0, 1.0, 3001) * min(80.0 / self.noise, 12.0 / np.min(sd))
        phi = (mass @ np.exp(1j * np.outer(x - mean.mean(), t / self.n))) ** self.n
        normal = np.exp(1j * np.outer(mean - mean.mean(), t) - 0.5 * (sd[:, None] * t) ** 2)
        rest = (phi - normal) * np.exp(-1j * t * (self.y - mean.mean())) / (1 + (self.noise * t) ** 2)
        z, r = (self.y - mean) / sd, sd / self.noise
        sides = [0.5 * r**2 + sign * r * z + log_ndtr(-sign * z - r) for sign in (1, -1)]
        plain = np.exp(logsumexp(sides, axis=0)) / (2 * self.noise)
        found = plain + np.trapezoid(rest.real, t, axis=1) / np.pi
        # far out it is what the last frequency leaves out, some 1e-6, in places that a wide prior has many of
        return np.where(found > 1e-5 / self.noise, np.log(np.maximum(found, 1e-300)), -np.inf)

    def _median(self, theta: np.ndarray) -> np.ndarray:
        m = (self.n + 1) // 2
        levels = stats.beta(m, self.n - m + 1).ppf((np.arange(200) + 0.5) / 200)
        u = np.clip(self.law(theta).ppf(levels), *self.bounds)
        return logsumexp(-np.abs(self.y - u) / self.noise, axis=1)

    def _log_moments(self, theta: np.ndarray) -> np.ndarray:
        x, mass = self._rule(theta)
        s = np.stack([np.log(x), np.log(x) ** 2])
        mean = mass @ s.T
        second = np.einsum("mj,aj,bj->mab", mass, s, s) - mean[:, :, None] * mean[:, None, :]
        covariance = second / self.n + self.noise**2 * np.eye(2)
        off = (self.y - mean)[:, :, None]
        quadratic = (off * np.linalg.solve(covariance, off)).sum(axis=(1, 2))
        return -0.5 * quadratic - 0.5 * np.linalg.slogdet(covariance)[1]


# far out a law is no number, and such θ are left out
@np.errstate(divide="ignore", over="ignore", under="ignore", invalid="ignore")
def posterior(asked: Asked, priors: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Means and standard deviations, in the order of the parameters."""
    positive, parts = LAWS[asked.family][1], [prior_law(prior) for prior in priors.values()]
    if asked.what == "threshold" and len(parts) == 2:
        return _moments(*_on_ridge(asked, positive, parts))

    def log_density(free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        theta = np.where(positive, np.exp(np.where(positive, free, 0.0)), free)
        log_prior = sum(part.logpdf(column) for part, column in zip(parts, theta.T, strict=True))
        return theta, asked.log_likelihood(theta) + log_prior + free @ np.asarray(positive, dtype=float)

    ends = np.asarray([[part.ppf(1e-7), part.isf(1e-7)] for part in parts])
    ends = np.where(np.asarray(positive)[:, None], np.log(np.maximum(ends, 1e-12)), ends)
    looks = (_LINE,) if len(parts) == 1 else (_LOOK, _LOOK, _LOOK, _PLANE)
    for steps in (*looks[:1], *looks):
        axes = [np.linspace(low, high, steps) for low, high in ends]
        free = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
        theta, log_p = log_density(free)
        log_p = np.where(np.isnan(log_p), -np.inf, log_p)  # far outside, where a law is no number
        seen = free[log_p > log_p.max() - _NEGLIGIBLE]
        margin = (ends[:, 1] - ends[:, 0]) / (steps - 1)
        ends = np.stack([seen.min(axis=0) - margin, seen.max(axis=0) + margin], axis=1)
    return _moments(theta, log_p)


def _on_ridge(asked: Asked, positive: tuple[bool, ...], parts: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Parameters and log densities on a mesh of the probability beyond the cut, and of what leaves it as it is."""
    given, other, steep = ALONG[asked.family]
    assert positive[given]
    along = np.linspace(*np.log(parts[given].ppf([1e-14, 1 - 1e-14])), 801)
    logit, first = (part.ravel() for part in np.meshgrid(asked.logits(401), np.exp(along)))
    second = other(asked.cut, expit(logit), first)
    theta = np.stack([first, second] if given == 0 else [second, first], axis=-1)
    kept = np.all(np.isfinite(theta), axis=1) & np.all((theta > 0) | ~np.asarray(positive), axis=1)
    theta, logit, first, second = theta[kept], logit[kept], first[kept], second[kept]
    # from the density of both parameters to that of the logarithm of one and the logit of the probability
    slope = asked.law(theta).logpdf(asked.cut)[:, 0] + np.log(steep(asked.cut, second))
    turned = np.log(expit(logit) * expit(-logit)) - slope + np.log(first)
    log_prior = sum(part.logpdf(column) for part, column in zip(parts, theta.T, strict=True))
    log_p = asked.log_likelihood(theta) + log_prior + turned
    return theta, np.where(np.isnan(log_p), -np.inf, log_p)  # where a law is no number


def _moments(theta: np.ndarray, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    share = np.exp(log_p - log_p.max())
    share /= share.sum()
    mean = share @ theta
    return mean, np.sqrt(share @ (theta - mean) ** 2)
