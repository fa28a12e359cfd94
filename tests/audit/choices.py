"""Forty populations of one parameter, each for Confide and for SciPy; the second half has heavy tails."""

import functools

import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints, transforms
from scipy import stats

import confide as cf

REAL, POSITIVE = constraints.real, constraints.positive


class Mixed:
    """A mixture of two frozen distributions of SciPy."""

    def __init__(self, share, first, second):
        """`share` is the weight of the first."""
        self.share, self.first, self.second = share, first, second

    def cdf(self, x):
        """The distribution function."""
        return self.share * self.first.cdf(x) + (1 - self.share) * self.second.cdf(x)

    def ppf(self, q):
        """Its inverse, between the quantiles of the two."""
        ends = np.stack([self.first.ppf(q), self.second.ppf(q)])
        low, high = ends.min(axis=0), ends.max(axis=0)
        with np.errstate(invalid="ignore"):
            for _ in range(200):
                middle = np.where(np.isfinite(low) & np.isfinite(high), 0.5 * (low + high), low)
                below = self.cdf(middle) < q
                low, high = np.where(below, middle, low), np.where(below, high, middle)
        return high


def _pair(first, second, share):
    return dist.MixtureGeneral(dist.Categorical(probs=np.asarray([share, 1 - share])), [first, second])


def _exp(base):
    return dist.TransformedDistribution(base, transforms.ExpTransform())


def _own(name, constraint, family):
    """How to make a user's own population: they are made when asked for, as each is compiled."""

    def with_name(**given):
        return family(given[name])

    return functools.partial(cf.Population, with_name, {name: constraint})


def light():
    """Name → (how to make the population, θ, SciPy's law of θ)."""
    known = cf.populations
    return {
        "normal mean": (known.normal_mean, 0.5, stats.norm),
        "normal variance": (known.normal_variance, 2.0, lambda t: stats.norm(scale=np.sqrt(t))),
        "exponential": (known.exponential, 1.0, lambda t: stats.expon(scale=1 / t)),
        "uniform width": (known.uniform_width, 1.0, lambda t: stats.uniform(-t, 2 * t)),
        "Laplace scale": (_own("s", POSITIVE, lambda s: dist.Laplace(0.0, s)), 1.0, lambda t: stats.laplace(scale=t)),
        "Laplace loc": (_own("m", REAL, lambda m: dist.Laplace(m, 1.0)), 0.2, stats.laplace),
        "Poisson": (known.poisson, 3.0, stats.poisson),
        "gamma rate": (_own("r", POSITIVE, lambda r: dist.Gamma(3.0, r)), 2.0, lambda t: stats.gamma(3, scale=1 / t)),
        "gamma shape": (_own("a", POSITIVE, lambda a: dist.Gamma(a, 1.0)), 2.0, stats.gamma),
        "beta": (_own("a", POSITIVE, lambda a: dist.Beta(a, 2.0)), 1.5, lambda t: stats.beta(t, 2)),
        "geometric": (_own("p", constraints.unit_interval, dist.GeometricProbs), 0.2, lambda t: stats.geom(t, loc=-1)),
        "logistic scale": (_own("s", POSITIVE, lambda s: dist.Logistic(0.0, s)), 1.0, lambda t: stats.logistic(0, t)),
        "Weibull 2": (
            _own("s", POSITIVE, lambda s: dist.Weibull(s, 2.0)),
            1.0,
            lambda t: stats.weibull_min(2, scale=t),
        ),
        "Gumbel": (_own("m", REAL, lambda m: dist.Gumbel(m, 1.0)), 0.0, stats.gumbel_r),
        "chi square": (_own("k", POSITIVE, dist.Chi2), 3.0, stats.chi2),
        "far normal": (_own("m", REAL, lambda m: dist.Normal(m, 1.0)), 1000.0, stats.norm),
        "small scale": (_own("s", POSITIVE, lambda s: dist.Normal(0.0, s)), 1e-3, lambda t: stats.norm(scale=t)),
        "lognormal .5": (
            _own("m", REAL, lambda m: dist.LogNormal(m, 0.5)),
            0.3,
            lambda t: stats.lognorm(0.5, scale=np.exp(t)),
        ),
        "Kumaraswamy": (
            _own("a", POSITIVE, lambda a: dist.Kumaraswamy(a, 2.0)),
            1.5,
            lambda t: _Kumaraswamy(t, 2.0),
        ),
        "truncated normal": (
            _own("m", REAL, lambda m: dist.TruncatedNormal(m, 1.0, low=0.0)),
            0.5,
            lambda t: stats.truncnorm(-t, np.inf, loc=t),
        ),
    }


class _Kumaraswamy:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def cdf(self, x):
        return 1 - (1 - np.clip(x, 0, 1) ** self.a) ** self.b

    def ppf(self, q):
        return (1 - (1 - q) ** (1 / self.b)) ** (1 / self.a)


def heavy():
    """The same with heavy tails, mixtures, and a mass of records at zero's edge."""
    return {
        "Cauchy loc": (_own("m", REAL, lambda m: dist.Cauchy(m, 1.0)), 0.3, stats.cauchy),
        "Cauchy scale": (_own("s", POSITIVE, lambda s: dist.Cauchy(0.0, s)), 1.0, lambda t: stats.cauchy(0, t)),
        "t 1.5": (_own("m", REAL, lambda m: dist.StudentT(1.5, m, 1.0)), 0.0, lambda t: stats.t(1.5, t)),
        "t 3": (_own("m", REAL, lambda m: dist.StudentT(3.0, m, 1.0)), 0.0, lambda t: stats.t(3, t)),
        "t 3 scale": (_own("s", POSITIVE, lambda s: dist.StudentT(3.0, 0.0, s)), 1.0, lambda t: stats.t(3, 0, t)),
        "inverse gamma": (
            _own("r", POSITIVE, lambda r: dist.InverseGamma(1.5, r)),
            2.0,
            lambda t: stats.invgamma(1.5, scale=t),
        ),
        "inverse gamma shape": (
            _own("a", POSITIVE, lambda a: dist.InverseGamma(a, 1.0)),
            1.0,
            stats.invgamma,
        ),
        "Pareto 1.2": (_own("a", POSITIVE, lambda a: dist.Pareto(1.0, a)), 1.2, stats.pareto),
        "Pareto 3": (_own("a", POSITIVE, lambda a: dist.Pareto(1.0, a)), 3.0, stats.pareto),
        "half-Cauchy": (_own("s", POSITIVE, dist.HalfCauchy), 1.0, lambda t: stats.halfcauchy(scale=t)),
        "lognormal 2": (
            _own("m", REAL, lambda m: dist.LogNormal(m, 2.0)),
            0.0,
            lambda t: stats.lognorm(2, scale=np.exp(t)),
        ),
        "lognormal scale": (_own("s", POSITIVE, lambda s: dist.LogNormal(0.0, s)), 2.0, stats.lognorm),
        "Weibull .5": (
            _own("s", POSITIVE, lambda s: dist.Weibull(s, 0.5)),
            1.0,
            lambda t: stats.weibull_min(0.5, scale=t),
        ),
        "Weibull shape": (_own("k", POSITIVE, lambda k: dist.Weibull(1.0, k)), 0.5, stats.weibull_min),
        "log-logistic": (
            _own("m", REAL, lambda m: _exp(dist.Logistic(m, 1.0))),
            0.0,
            lambda t: stats.fisk(1, scale=np.exp(t)),
        ),
        "log-logistic shape": (
            _own("s", POSITIVE, lambda s: _exp(dist.Logistic(0.0, s))),
            0.7,
            lambda t: stats.fisk(1 / t),
        ),
        "Fréchet": (
            _own("m", REAL, lambda m: _exp(dist.Gumbel(m, 1.0))),
            0.0,
            lambda t: stats.invweibull(1, scale=np.exp(t)),
        ),
        "Lévy": (_own("s", POSITIVE, lambda s: dist.Levy(0.0, s)), 1.0, lambda t: stats.levy(scale=t)),
        "contaminated": (
            _own("m", REAL, lambda m: _pair(dist.Normal(m, 1.0), dist.Normal(m, 10.0), 0.9)),
            0.0,
            lambda t: Mixed(0.9, stats.norm(t), stats.norm(t, 10)),
        ),
        "normal and Cauchy": (
            _own("m", REAL, lambda m: _pair(dist.Normal(m, 1.0), dist.Cauchy(0.0, 5.0), 0.8)),
            0.5,
            lambda t: Mixed(0.8, stats.norm(t), stats.cauchy(0, 5)),
        ),
    }


@functools.cache
def population(name):
    """The population of a name."""
    return (light() | heavy())[name][0]()
