"""How much privacy, or how many records, an accuracy costs.

The accuracy is that of what people will do with the number: the root of the mean posterior variance, over what the
prior expects to be published. Fisher information would promise more than that where Laplace noise is wider than the
sampling error (by up to √2), so releases are simulated and all of them are analysed. All levels see the same parameters
and the same random numbers, which makes the mean a smooth function of the level: few levels suffice to find the one
that is asked for.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from confide._precision import float64
from confide._progress import progress
from confide._random import as_key
from confide.channel import Channel
from confide.design.points import prior_points
from confide.design.studies.simulate import by_moments_alone
from confide.errors import AccuracyError, ApproximationWarning, InvalidArgument
from confide.inference.batch import many_posteriors
from confide.likelihood.route import Floats, Route
from confide.mechanism import Gaussian, Mechanism
from confide.model import Model
from confide.population import Population
from confide.posterior import Posterior
from confide.prior import Prior
from confide.privacy import ZCDP, Privacy
from confide.statistic import Statistic
from confide.statistic.size import check_count

#: prior draws of which one is kept: the kept ones are spread as evenly as the prior's quantiles
_THINNED = 64
#: how near the accuracy must come, in its logarithm, and after how many levels the search gives up
_NEAR, _MOST = 0.003, 24
#: levels of privacy beyond which there is either nothing to learn or nothing to hide, and numbers of records likewise
_LEVELS, _SIZES = (1e-6, 1e6), (1.0, 1e9)


@dataclass(frozen=True, repr=False)
class Requirement:
    """The cheapest channel that is accurate enough: made by `require`.

    >>> import confide as cf, numpyro.distributions as dist
    >>> prior, statistic = {"probability": dist.Beta(2.0, 2.0)}, cf.Mean("x", bounds=(0, 1))
    >>> found = cf.require(cf.populations.bernoulli(), statistic, sd=0.1, prior=prior, n=100, releases=64)
    >>> found.n, found.asked, found.channel.statistic
    (100, {'probability': 0.1}, Mean('x', bounds=(0.0, 1.0)))
    """

    channel: Channel
    #: the root mean posterior variance by parameter, and the share of it by which it is uncertain (one standard error)
    sd: dict[str, float]
    error: float
    asked: dict[str, float]

    @property
    def privacy(self) -> Privacy:
        """What the channel promises."""
        return self.channel.guarantee

    @property
    def n(self) -> int:
        """The number of records."""
        return self.channel.n

    def __str__(self) -> str:
        reached = ", ".join(f"{name} to ± {self.sd[name]:.3g} ({sd:.3g} asked)" for name, sd in self.asked.items())
        return f"{self.n:,} records under {self.privacy}: {reached}.\n{self.channel}"

    __repr__ = __str__


@float64
def require(
    population: Population,
    statistic: Statistic,
    mechanism: Callable[[Privacy], Mechanism] = Gaussian,
    *,
    sd: float | Mapping[str, float],
    prior: Any,
    n: int | None = None,
    privacy: Privacy | None = None,
    unit: Callable[[float], Privacy] = ZCDP,
    releases: int = 512,
    like: Posterior | None = None,
    route: str | Route = "auto",
    key: Any = 0,
) -> Requirement:
    """The least privacy loss (given n), or the fewest records (given the privacy), for an accuracy.

    `sd` is the root mean posterior variance that is wanted, of the one parameter or by name, averaged over what the
    prior expects to be published (`releases` simulated values), or what a posterior of an earlier release expects
    (`like`). `mechanism` makes a mechanism of a guarantee, `unit` a
    guarantee of a number.

    >>> import confide as cf, numpyro.distributions as dist
    >>> prior = {"probability": dist.Beta(2.0, 2.0)}
    >>> found = cf.require(cf.populations.bernoulli(), cf.Mean("x", bounds=(0, 1)), sd=0.03, prior=prior, n=1000)
    >>> print(f"rho = {found.privacy.rho:.2g}, {found.sd['probability']:.3f}")
    rho = 0.00069, 0.030
    """
    if (n is None) == (privacy is None):
        raise InvalidArgument("n", n, "and privacy are both given or both left out", "give one; the other is found")
    believed = Prior.of(population, prior)
    wanted = _wanted(population, sd)
    for_theta, for_values = jax.random.split(as_key(key))
    check_count(releases)
    truth = _evenly(believed, for_theta, releases) if like is None else _from(like, population, releases)

    def tried(channel: Channel) -> tuple[dict[str, float], float]:
        return _deviations(Model(population, channel), believed, truth, for_values, route)

    def channel_at(level: float) -> Channel:
        if n is None:
            assert privacy is not None
            return Channel(statistic, mechanism(privacy), n=round(level))
        return Channel(statistic, mechanism(unit(level)), n=n)

    def foretold(level: float) -> float:
        """What the Fisher information of a normal approximation promises: roughly where to begin."""
        variances = by_moments_alone(Model(population, channel_at(level)), over)
        return math.nan if variances is None else _excess(believed.by_name(np.sqrt(variances)), wanted)

    over = prior_points(believed)
    low, high = _SIZES if n is None else _LEVELS
    return _Search(channel_at, tried, wanted, whole=n is None).found(low, high, _start(foretold, low, high))


def _wanted(population: Population, sd: float | Mapping[str, float]) -> dict[str, float]:
    scalars = [part.name for part in population.space if not part.vector]
    remedy = f"give a positive number, or one for each of {', '.join(scalars)} that matters"
    named = dict(sd) if isinstance(sd, Mapping) else dict.fromkeys(scalars if population.dimension == 1 else [], sd)
    numbers = all(isinstance(each, int | float) and 0 < each < math.inf for each in named.values())
    if not named or not numbers or not set(named) <= set(scalars):
        raise InvalidArgument("sd", sd, "is not an accuracy of the parameters", remedy)
    return {name: float(each) for name, each in named.items()}


def _evenly(prior: Prior, key: jax.Array, count: int) -> Floats:
    """θ from the prior; of one parameter as evenly as its quantiles, which a mean over them depends on less."""
    if prior.dimension > 1:
        return np.asarray(prior.sample(key, (count,)))
    many = np.sort(np.asarray(prior.sample(key, (_THINNED * count,))), axis=0)
    return many[_THINNED // 2 :: _THINNED]


def _from(like: Posterior, population: Population, count: int) -> Floats:
    """θ from a posterior, thinned as evenly."""
    if like.names != population.names:
        remedy = f"give a posterior of {', '.join(population.names)}"
        raise InvalidArgument("like", like, "is not of this population", remedy)
    many = like.theta.reshape(-1, population.dimension)
    many = np.sort(many, axis=0) if population.dimension == 1 else many
    return np.asarray(many[np.linspace(0, len(many) - 1, 2 * count + 1).round().astype(int)[1::2]])


def _deviations(
    model: Model, prior: Prior, truth: Floats, key: jax.Array, route: str | Route
) -> tuple[dict[str, float], float]:
    """The root mean posterior variance by parameter, and how uncertain it is, as a share."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ApproximationWarning)  # said once, at the level that is found
        found = many_posteriors([model], [model.simulate(key, truth)], prior, route=route)
    variances = np.asarray(found.sd) ** 2
    mean = variances.mean(axis=0)
    error = float(np.max(variances.std(axis=0) / mean)) / 2 / math.sqrt(len(truth))
    names = prior.by_name(np.sqrt(mean))
    return {name: float(each) for name, each in names.items() if np.ndim(each) == 0}, error


@dataclass(frozen=True)
class _Search:
    """Secant steps in logarithms, kept inside a bracket: sd falls like a power of the level, or hardly at all."""

    channel_at: Callable[[float], Channel]
    tried: Callable[[Channel], tuple[dict[str, float], float]]
    wanted: dict[str, float]
    whole: bool

    def found(self, low: float, high: float, start: float) -> Requirement:
        """The smallest level, or whole number, that is accurate enough."""
        ends = [math.log(low), math.log(high)]
        known: list[tuple[float, float]] = []
        best: Requirement | None = None
        at = math.log(start)
        for _ in progress(range(_MOST), "require"):
            level = float(round(math.exp(at))) if self.whole else math.exp(at)
            at = math.log(level)
            channel = self.channel_at(level)
            found = Requirement(channel, *self.tried(channel), self.wanted)
            excess = _excess(found.sd, self.wanted)
            known.append((at, excess))
            ends[0 if excess > 0 else 1] = at
            best = found if excess <= 0 else best
            if ends[0] >= math.log(high) - _NEAR or ends[1] <= math.log(low) + _NEAR:
                break
            apart = math.exp(ends[1]) - math.exp(ends[0])
            narrow = ends[1] - ends[0] < _NEAR or (self.whole and apart <= 1)
            if best is not None and (-_NEAR < excess <= 0 or narrow):
                return best
            at = _next(known, *ends)
        raise _out_of_reach(best, self.wanted, found)


def _excess(sd: Mapping[str, Any], wanted: dict[str, float]) -> float:
    """log(sd / what is wanted), the largest of all parameters'."""
    return max(math.log(float(sd[name]) / each) for name, each in wanted.items())


def _start(foretold: Callable[[float], float], low: float, high: float) -> float:
    """Where what is foretold falls below what is wanted, or the middle of what can be asked for."""
    levels = np.geomspace(low, high, 25)
    for level, after in itertools.pairwise(levels):
        if not foretold(after) > 0:
            return float(math.sqrt(level * after))
    return float(math.sqrt(low * high))


def _next(known: list[tuple[float, float]], low: float, high: float) -> float:
    """Where a straight line through the last two passes a little below 0, or the middle of the bracket."""
    (a, f), (b, g) = known[-2:] if len(known) > 1 else [known[-1], (known[-1][0] + 1.0, known[-1][1] - 0.5)]
    falls = (g - f) * (b - a) < 0
    guess = b - (g + _NEAR / 2) * (b - a) / (g - f) if falls else math.inf
    margin = 1e-3 * (high - low)
    if low + margin < guess < high - margin:
        return guess
    # far from both ends of what can be asked for the bracket is opened step by step, and halved once it is narrow
    last, excess = known[-1]
    step = last + (3.0 if excess > 0 else -3.0)
    return step if high - low > 6.0 and low < step < high else 0.5 * (low + high)


def _out_of_reach(best: Requirement | None, wanted: dict[str, float], last: Requirement) -> AccuracyError:
    reached = ", ".join(f"{name} to ± {last.sd[name]:.3g}" for name in wanted)
    if best is not None:
        return AccuracyError(
            f"the prior alone is as accurate as that: {last.privacy} and n = {last.n:,} leave {reached}"
        )
    return AccuracyError(
        f"no level reaches that: even {last.privacy} and n = {last.n:,} leave {reached}; ask for less, take more "
        "records or wider bounds"
    )
