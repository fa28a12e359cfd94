"""`bracket`: from bounds that are far too wide to good ones, without a look at the records.

A first noisy mean, clipped to all that the prior allows, says where the records are to a fraction of the width; the
next is clipped to what is then left, and so on. Each round divides the width by about n√(2ρ)/9, ρ being what it spends,
so that a few percent of the budget for each round take away a factor of a million. The last round spends the rest, on
the clip that tells the most. All rounds are about the same records: their budgets add up, and all of them enter the
likelihood, which knows how they are related. (CoinPress, Biswas et al. 2020, narrows in the same way and then throws
all rounds but the last away.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from confide._precision import float64
from confide.channel import Channel
from confide.design.adaptive.diary import check_next, require_releases
from confide.design.criteria import CRITERIA
from confide.design.families import Clip
from confide.design.optimizing import found_at
from confide.design.points import Points, quantiles
from confide.design.search.family import ordered
from confide.errors import IncompatibleError, InvalidArgument
from confide.mechanism import Gaussian
from confide.population import Population
from confide.posterior import Posterior
from confide.prior import Prior
from confide.privacy import GDP, ZCDP, Privacy, compose
from confide.published import Release
from confide.statistic import Mean
from confide.statistic.size import check_count

#: what is spent before the last round: less leaves the last bounds too wide, more the last noise
_EARLY = 0.15
#: the probability of θ beyond the ends that the next bounds allow for, and of a record beyond these at such a θ: the
#: likelihood knows of clipping, so that nothing is lost but a little information
_THETA, _RECORD = 1e-5, 1e-3
#: the probability of θ beyond the first bounds
_FIRST = 1e-6


class Bracket:
    """A plan in rounds about the same records: `channel`, `update(release)`, and `posterior` of all rounds.

    Like `Adaptive` it never sees a record, and `update` changes it. Its rounds are all about all records.

    >>> import confide as cf, numpyro.distributions as dist
    >>> plan = cf.bracket(cf.populations.normal_mean(), {"mean": dist.Normal(0, 1e6)}, privacy=cf.ZCDP(0.005),
    ...                   n=10_000, rounds=6)
    >>> print(plan.channel.statistic)
    the mean of x with x clipped to [-4.75e+06, 4.75e+06]
    """

    def __init__(self, population: Population, prior: Prior, privacy: Privacy, n: int, rounds: int) -> None:
        self.population, self.prior, self.privacy, self.n, self.rounds = population, prior, privacy, n, rounds
        self.releases: tuple[Release, ...] = ()
        self._channel: Channel | None = None
        self._posterior: Posterior | None = None

    @property
    def done(self) -> bool:
        """Whether all rounds have been released."""
        return len(self.releases) == self.rounds

    @property
    def guarantee(self) -> Privacy:
        """What all rounds promise together."""
        return self.privacy

    @property
    def budgets(self) -> tuple[Privacy, ...]:
        """What each round spends.

        >>> import confide as cf, numpyro.distributions as dist
        >>> plan = cf.bracket(cf.populations.normal_mean(), {"mean": dist.Normal(0, 1e6)}, privacy=cf.ZCDP(0.005),
        ...                   n=10_000, rounds=4)
        >>> [round(each.rho, 6) for each in plan.budgets]
        [0.00025, 0.00025, 0.00025, 0.00425]
        """
        early = self.rounds - 1
        shares = [_EARLY / early] * early + [1.0 - _EARLY] if early else [1.0]
        made = tuple(_share(self.privacy, each) for each in shares)
        if not compose(made).implies(self.privacy):  # rounding of the sum
            made = tuple(_share(self.privacy, each * (1.0 - 1e-12)) for each in shares)
        return made

    @property
    def channel(self) -> Channel:
        """What to release of all records in this round; the same however often it is asked."""
        if self.done:
            raise IncompatibleError(f"all {self.rounds} rounds have been released; look at `posterior`")
        if self._channel is None:
            self._channel = self._next()
        return self._channel

    @float64
    def _next(self) -> Channel:
        made = len(self.releases)
        budget = self.budgets[made]
        if made == self.rounds - 1 and made > 0:
            return self._last(budget)
        if made == 0:
            ends = quantiles(self.prior.parts[0], np.asarray([_FIRST, 1.0 - _FIRST]))
        else:
            ends = np.asarray(self.posterior.quantile([_THETA, 1.0 - _THETA])[self.population.names[0]])
        levels = np.asarray([_RECORD, 1.0 - _RECORD])
        every = np.asarray(self.population.quantile(levels, ends[:, None, None]))
        return Channel(Mean("x", bounds=ordered(float(every.min()), float(every.max()))), Gaussian(budget), self.n)

    def _last(self, budget: Privacy) -> Channel:
        """The clip that tells the most, at θ that stand for what is known."""
        name = self.population.names[0]
        levels = np.linspace(0.05, 0.95, 10)
        thetas = np.asarray(self.posterior.quantile(levels)[name])[:, None]
        known = np.asarray([1.0 / float(self.posterior.sd[name]) ** 2])
        at = Points(thetas, np.full(len(thetas), 1.0 / len(thetas)), precision=known)
        return found_at(self.population, at, budget, self.n, [Clip()], CRITERIA["expected_variance"])

    def update(self, release: Release) -> Bracket:
        """Take note of what came out of `channel`; returns the plan.

        >>> import confide as cf, numpyro.distributions as dist
        >>> plan = cf.bracket(cf.populations.normal_mean(), {"mean": dist.Normal(0, 1e6)}, privacy=cf.ZCDP(0.005),
        ...                   n=10_000, rounds=6)
        >>> len(plan.update(cf.Release(plan.channel, 1200.0)).releases)
        1
        """
        check_next(release, self.channel, "all records")
        self.releases = (*self.releases, release)
        self._channel = self._posterior = None
        return self

    @property
    def posterior(self) -> Posterior:
        """What is known after all rounds so far."""
        from confide.inference import infer

        require_releases(self.releases)
        if self._posterior is None:
            shared = True if len(self.releases) > 1 else None
            self._posterior = infer(self.population, list(self.releases), self.prior, same_records=shared, key=0)
        return self._posterior

    def __str__(self) -> str:
        state = "done" if self.done else f"round {len(self.releases) + 1} of {self.rounds}"
        bounds = "".join(
            f"  round {i + 1}, {each.mechanism}: x clipped to [{each.statistic.bounds[0]:g}, "
            f"{each.statistic.bounds[1]:g}]\n"
            for i, each in enumerate(
                [*(made.channel for made in self.releases), *([] if self.done else [self.channel])]
            )
        )
        return f"Bounds for {self.n:,} records without peeking: {state}.\n{bounds}Guarantee: {self.guarantee} in all."

    def __repr__(self) -> str:
        what = f"{self.population.name}, {self.privacy!r}, n={self.n}, rounds={self.rounds}"
        return f"Bracket({what}, released={len(self.releases)})"


def _share(privacy: Privacy, share: float) -> Privacy:
    """A share of a budget."""
    return ZCDP(privacy.rho * share) if isinstance(privacy, ZCDP) else GDP(privacy.mu * math.sqrt(share))  # type: ignore[attr-defined]


def bracket(population: Population, prior: Any, *, privacy: Privacy, n: int, rounds: int = 6) -> Bracket:
    """A plan that finds good bounds without peeking, and spends most of its budget within them.

    For one parameter that moves the records, such as a mean whose prior is a million times as wide as the records are
    spread. The rounds share the records, so that their budgets add up to `privacy` (`ZCDP` or `GDP`); the last one gets
    85% of it. Each round but the last divides the width by some twenty at n = 10,000 and ρ = 0.005.

    >>> import confide as cf, numpyro.distributions as dist
    >>> plan = cf.bracket(cf.populations.normal_mean(), {"mean": dist.Normal(0, 1e6)}, privacy=cf.ZCDP(0.005),
    ...                   n=10_000, rounds=6)
    >>> plan.guarantee, len(plan.budgets)
    (ZCDP(rho=0.005), 6)
    """
    if not isinstance(population, Population):
        raise InvalidArgument("population", population, "is not a population", "use populations.normal_mean()")
    if not isinstance(privacy, ZCDP | GDP):
        problem = "is not a budget that rounds share by Gaussian noise"
        raise InvalidArgument("privacy", privacy, problem, "give ZCDP(rho) or GDP(mu)")
    if population.dimension != 1 or population.rows is not None or population.discrete:
        problem = "has several parameters, columns or counts"
        remedy = "bounds are found for numbers with one parameter, such as populations.normal_mean()"
        raise InvalidArgument("population", population.name, problem, remedy)
    return Bracket(population, Prior.of(population, prior), privacy, check_count(n), check_count(rounds))
