"""The classical ratio: a noisy sum over a noisy count, with the interval that is usual for it, to be studied.

The count and the sum of one s give r = y₁/y₀ for the mean of s, and the delta method its variance,

    v(θ̂)/y₀ + (V₁ + r²V₀)/y₀²,

with v the variance of s in the population and V₀, V₁ those of the noise. θ̂ is where E_θ s = r, with the clipping taken
into account, and the ends of the interval r ± z·(that root) are carried to θ likewise. All of it is more than most
people do, and it still is wrong where the count's noise is no small share of the count: the law of a ratio has no
variance. There is no answer where y₀ is not positive or r is no mean of s, and no answer covers nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from confide.channel import Channel
from confide.design.levels import with_privacy
from confide.errors import IncompatibleError, InvalidArgument
from confide.inference.quadrature import line
from confide.inference.summaries import Summaries
from confide.likelihood.record_law.moments import law_for, moments_at
from confide.population import Population
from confide.prior import Prior
from confide.privacy import Privacy
from confide.statistic import Mean

Floats = NDArray[np.float64]

#: θ at which the mean of s is tabulated, in free coordinates: linear interpolation is then off by 1e-4 of a spread
_POINTS = 2001


@dataclass(frozen=True)
class ClassicalRatio:
    """A channel of a count and one sum, read as people do who divide one by the other: a strategy of `study`.

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Sum(["1", "x"], bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)))
    >>> ratio = cf.ClassicalRatio(channel)
    >>> prior = {"probability": dist.Beta(1.0, 1.0), "n": dist.Poisson(200.0)}
    >>> found = cf.study(cf.populations.bernoulli(), {"ratio": ratio}, prior=prior, theta=0.3, releases=2000)
    >>> print(found.table[["parameter", "coverage_95"]].round(2).to_string(index=False))
      parameter  coverage_95
    probability         0.95
              n         0.94
    """

    channel: Channel

    def __post_init__(self) -> None:
        remedy = "give a channel such as Channel(Sum(['1', 'x'], …), Laplace(…)), without n"
        if not isinstance(self.channel, Channel):
            raise InvalidArgument("channel", self.channel, "is not a channel", remedy)
        statistic = self.channel.statistic
        counts = [low == high != 0 for low, high in statistic.ranges]
        if self.channel.n is not None or not statistic.totals or len(counts) != 2 or sum(counts) != 1:
            raise InvalidArgument("channel", self.channel, "does not publish a count and one sum", remedy)
        if self.channel.law.added is None:
            raise InvalidArgument("channel", self.channel, "does not add noise", remedy)

    @property
    def guarantee(self) -> Privacy:
        """That of the channel."""
        return self.channel.guarantee

    def with_privacy(self, level: float | Privacy) -> ClassicalRatio:
        """The same at another level of privacy.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Sum(["1", "x"], bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)))
        >>> cf.ClassicalRatio(channel).with_privacy(0.5).guarantee
        PureDP(epsilon=0.5)
        """
        return replace(self, channel=with_privacy(self.channel, level))

    def summaries(self, population: Population, prior: Prior, values: Floats, probs: Sequence[float]) -> Summaries:
        """Estimates and intervals of θ and n for values (Y, 2); the prior says where θ is looked for, and no more.

        >>> import confide as cf, numpyro.distributions as dist, jax
        >>> from confide.prior import Prior
        >>> channel = cf.Channel(cf.Sum(["1", "x"], bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)))
        >>> population = cf.populations.bernoulli()
        >>> with jax.enable_x64(True):
        ...     prior = Prior.of(population, {"probability": dist.Beta(1.0, 1.0)})
        ...     found = cf.ClassicalRatio(channel).summaries(population, prior, np.asarray([[200.0, 50.0]]), (0.95,))
        >>> found.mean.round(3).tolist()
        [[0.25, 200.0]]
        """
        if population.dimension != 1 or population.rows is not None:
            raise IncompatibleError("a ratio is the mean of one number, which tells one parameter of one column")
        statistic = self.channel.statistic
        noise: Any = self.channel.law.added
        variance = float(noise.variance)
        place = next(i for i, (low, high) in enumerate(statistic.ranges) if low == high)
        size = statistic.ranges[place][0]
        count, total = values[:, place] / size, values[:, 1 - place]
        thetas, mean, own = _tabulated(population, Mean(statistic.transforms[1 - place], statistic.bounds), prior)
        usable, (least, most) = count > 0, statistic.ranges[1 - place]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(usable, total / count, np.nan)
            # the ends of the range are means of no θ, but of those that are as near to one as may be
            ratio = np.where((ratio >= least) & (ratio <= most), ratio, np.nan)
            spread = np.interp(ratio, mean, own) / count
            spread = np.sqrt(spread + variance * (1 + (ratio / size) ** 2) / count**2)
        z = ndtri(0.5 + 0.5 * np.asarray(probs))[:, None]
        ends = [np.interp(ratio + side * z * spread, mean, thetas) for side in (-1, 1)]
        lower, upper = np.minimum(*ends), np.maximum(*ends)  # the mean may fall with θ
        theta = np.interp(ratio, mean, thetas)
        slope = np.abs(np.interp(ratio, mean, np.gradient(thetas, mean)))
        off = np.sqrt(variance) / abs(size)
        about = np.stack([np.broadcast_to(count + side * z * off, lower.shape) for side in (-1, 1)])
        return Summaries(
            np.stack([theta, count], axis=1),
            np.stack([slope * spread, np.full_like(count, off)], axis=1),
            np.stack([lower, about[0]], axis=-1),
            np.stack([upper, about[1]], axis=-1),
        )


def _tabulated(population: Population, statistic: Mean, prior: Prior) -> tuple[Floats, Floats, Floats]:
    """θ, E s and Var s on a line, in the order of E s."""
    low, high = line.reach(prior)
    thetas = np.asarray(prior.constrain(jnp.linspace(low[0], high[0], _POINTS)[:, None]))
    mean, covariance = (np.asarray(part) for part in moments_at(law_for(population, statistic, thetas), thetas))
    order = np.argsort(mean[:, 0], kind="stable")
    keep = order[np.concatenate([[True], np.diff(mean[order, 0]) > 0])]
    change = np.diff(mean[:, 0])
    if keep.size < 2 or not (np.all(change >= 0) or np.all(change <= 0)):
        raise IncompatibleError(f"the mean of {statistic.transforms[0]} does not rise or fall with the parameter")
    return thetas[keep, 0], mean[keep, 0], covariance[keep, 0, 0]
