"""Populations as the library and as SciPy know them, with the θ that people choose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints
from scipy import stats

import confide as cf


@dataclass(frozen=True)
class Family:
    """A population, its SciPy law at θ, and round values of θ."""

    name: str
    population: Any
    scipy: Callable[..., Any]
    thetas: tuple[tuple[float, ...], ...]
    #: the prior of a posterior with one parameter, given θ
    prior: Callable[[float], Any] | None = None
    discrete: bool = False
    #: no value below
    floor: float = -np.inf
    #: whether the support, or a kink of the density, moves with θ
    moving: bool = False
    #: whether its tails are so heavy that nothing is left of x unclipped
    heavy: bool = False


class Mixture:
    """A finite mixture, with the parts of SciPy's interface that the audit uses."""

    def __init__(self, weights, parts):
        self.weights, self.parts = weights, parts

    def _sum(self, what, x):
        return sum(w * getattr(part, what)(x) for w, part in zip(self.weights, self.parts, strict=True))

    def cdf(self, x):
        return self._sum("cdf", x)

    def sf(self, x):
        return self._sum("sf", x)

    def pmf(self, x):
        return self._sum("pmf", x)

    def ppf(self, q):
        """Not a quantile, but the least of the parts': below it there is less than q."""
        return min(part.ppf(q) for part in self.parts)

    def isf(self, q):
        """The largest of the parts'."""
        return max(part.isf(q) for part in self.parts)

    def rvs(self, size, random_state):
        which = random_state.choice(len(self.parts), size=size, p=self.weights)
        drawn = [part.rvs(size=size, random_state=random_state) for part in self.parts]
        return np.choose(which, drawn)


def _real(theta):
    return dist.Normal(theta + 0.3, 1.0)


def _positive(theta):
    return dist.Gamma(2.0, 2.0 / theta)


def _unit(theta):
    del theta
    return dist.Beta(2.0, 2.0)


def _own(family, **parameters):
    return cf.Population(family, parameters)


def _two_normals(loc):
    parts = dist.Normal(jnp.stack([loc, loc + 3.0]), jnp.asarray([1.0, 0.5]))
    return dist.MixtureSameFamily(dist.Categorical(probs=jnp.asarray([0.7, 0.3])), parts)


ANY, LOC, SCALE = ((0.0,), (0.3,), (1.0,), (-2.0,)), ((0.0,), (0.5,), (1.0,)), ((0.5,), (1.0,), (2.0,), (3.0,))
real, positive, unit = constraints.real, constraints.positive, constraints.unit_interval
P = cf.populations

FAMILIES = (
    Family("normal mean", P.normal_mean(), lambda m: stats.norm(m, 1), ANY, _real),
    Family("normal variance", P.normal_variance(), lambda v: stats.norm(0, v**0.5), SCALE, _positive),
    Family("normal", P.normal(), lambda m, v: stats.norm(m, v**0.5), ((0.0, 1.0), (1.0, 4.0), (0.5, 0.25))),
    Family("uniform width", P.uniform_width(), lambda w: stats.uniform(-w, 2 * w), SCALE, _positive, moving=True),
    Family("exponential", P.exponential(), lambda r: stats.expon(scale=1 / r), SCALE, _positive, floor=0.0),
    Family("gamma", P.gamma(), lambda a, r: stats.gamma(a, scale=1 / r), ((2.0, 1.0), (0.5, 1.0), (1.0, 2.0)), floor=0.0),
    Family("beta", P.beta(), stats.beta, ((1.0, 1.0), (2.0, 3.0), (0.5, 0.5)), floor=0.0),
    Family("lognormal", P.lognormal(), lambda m, s: stats.lognorm(s, scale=np.exp(m)), ((0.0, 1.0), (1.0, 0.5)), floor=0.0),
    Family("laplace", P.laplace(), stats.laplace, ((0.0, 1.0), (1.0, 0.5)), moving=True),
    Family("bernoulli", P.bernoulli(), stats.bernoulli, ((0.5,), (0.1,), (0.9,)), _unit, discrete=True, floor=0),
    Family("poisson", P.poisson(), stats.poisson, SCALE, _positive, discrete=True, floor=0),
    Family("negative binomial", P.negative_binomial(), lambda m: stats.nbinom(1, 1 / (1 + m)), SCALE, _positive,
           discrete=True, floor=0),
    Family("categorical", P.categorical(3), lambda *p: stats.rv_discrete(values=(range(len(p)), p)),
           ((0.25, 0.5, 0.25), (0.4995, 0.001, 0.4995)), discrete=True, floor=0),
    Family("cauchy", _own(lambda loc: dist.Cauchy(loc, 1.0), loc=real), stats.cauchy, LOC, _real, heavy=True),
    Family("student t(1.5)", _own(lambda loc: dist.StudentT(1.5, loc, 1.0), loc=real), lambda m: stats.t(1.5, m), LOC,
           _real, heavy=True),
    Family("inverse gamma", _own(lambda rate: dist.InverseGamma(1.5, rate), rate=positive),
           lambda r: stats.invgamma(1.5, scale=r), SCALE, _positive, floor=0.0, heavy=True),
    Family("pareto scale", _own(lambda s: dist.Pareto(s, 2.0), s=positive), lambda s: stats.pareto(2.0, scale=s), SCALE,
           _positive, floor=0.0, moving=True, heavy=True),
    Family("pareto shape", _own(lambda a: dist.Pareto(1.0, a), a=positive), stats.pareto, SCALE, _positive,
           floor=1.0, heavy=True),
    Family("half-cauchy", _own(dist.HalfCauchy, scale=positive), lambda s: stats.halfcauchy(0, s), SCALE, _positive,
           floor=0.0, heavy=True),
    Family("weibull .5", _own(lambda scale: dist.Weibull(scale, 0.5), scale=positive),
           lambda s: stats.weibull_min(0.5, scale=s), SCALE, _positive, floor=0.0, heavy=True),
    Family("gumbel", _own(lambda loc: dist.Gumbel(loc, 1.0), loc=real), stats.gumbel_r, LOC, _real),
    Family("logistic", _own(lambda loc: dist.Logistic(loc, 1.0), loc=real), stats.logistic, LOC, _real),
    Family("user's laplace", _own(lambda loc: dist.Laplace(loc, 1.0), loc=real), stats.laplace, LOC, _real,
           moving=True),
    Family("uniform location", _own(lambda loc: dist.Uniform(loc, loc + 1.0), loc=real), lambda m: stats.uniform(m, 1), LOC,
           _real, moving=True),
    Family("truncated normal", _own(lambda loc: dist.TruncatedNormal(loc, 1.0, low=0.0, high=2.0), loc=real),
           lambda m: stats.truncnorm(-m, 2 - m, m, 1), LOC, _real, floor=0.0),
    Family("two normals", _own(_two_normals, loc=real),
           lambda m: Mixture((0.7, 0.3), (stats.norm(m, 1), stats.norm(m + 3, 0.5))), LOC, _real),
    Family("geometric", _own(dist.GeometricProbs, probs=unit), lambda p: stats.geom(p, loc=-1),
           ((0.5,), (0.2,)), _unit, discrete=True, floor=0),
    Family("zero-inflated poisson", _own(lambda rate: dist.ZeroInflatedPoisson(0.3, rate), rate=positive),
           lambda r: Mixture((0.3, 0.7), (stats.poisson(0), stats.poisson(r))), SCALE, _positive, discrete=True, floor=0),
)  # fmt: skip
