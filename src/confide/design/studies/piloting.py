"""`pilot`: spend a part of the records on learning which statistic to publish of the others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide._precision import float64
from confide.channel import Channel
from confide.design.choosing import choose, posterior_points
from confide.design.criteria import Criterion, find_criterion
from confide.design.levels import with_privacy
from confide.design.optimizing import optimize
from confide.errors import InvalidArgument
from confide.likelihood import Route
from confide.mechanism import Gaussian, Laplace, Mechanism
from confide.model import Model
from confide.population import Population
from confide.prior import Prior
from confide.privacy import Privacy, PureDP, Unlimited
from confide.published import Release, Rows
from confide.statistic import Statistic
from confide.statistic.size import check_count


@dataclass(frozen=True, eq=False, repr=False)
class Pilot:
    """A plan in two releases: a pilot on the first records, and a second channel chosen by its posterior.

    The plan never sees a record. `channel` is to be released from the records of `part`, `choose(release)` then returns
    the channel for those of `rest`, and `infer(first, second)` learns from both. `candidates` are the channels that it
    chooses from; None leaves the choice to `optimize`.

    >>> import confide as cf, numpyro.distributions as dist
    >>> clips = [cf.Mean("x", bounds=(0, clip)) for clip in (1.0, 4.0, 16.0)]
    >>> plan = cf.pilot(cf.populations.exponential(), prior={"rate": dist.LogNormal(0.0, 1.0)}, privacy=cf.GDP(1.0),
    ...                 n=1000, first=clips[1], candidates=clips)
    >>> plan.part, plan.rest
    (Rows(start=0, stop=100), Rows(start=100, stop=1000))
    """

    population: Population
    prior: Prior
    channel: Channel
    rest_n: int
    candidates: tuple[Channel, ...] | None
    criterion: Criterion

    @property
    def n(self) -> int:
        """The number of all records."""
        return self.channel.n + self.rest_n

    @property
    def part(self) -> Rows:
        """The records of the pilot, by position: chosen independently of their values."""
        return Rows(0, self.channel.n)

    @property
    def rest(self) -> Rows:
        """The records of the second release."""
        return Rows(self.channel.n, self.n)

    @property
    def guarantee(self) -> Privacy:
        """What both releases promise together: every record is in one of them only, so the guarantee of each."""
        return self.channel.guarantee

    def choose(self, release: Release, *, route: str | Route = "auto") -> Channel:
        """The channel for the other records, by the posterior of the pilot's release.

        >>> import confide as cf, numpyro.distributions as dist
        >>> clips = [cf.Mean("x", bounds=(0, clip)) for clip in (1.0, 4.0, 16.0)]
        >>> plan = cf.pilot(cf.populations.exponential(), prior={"rate": dist.LogNormal(0.0, 1.0)}, privacy=cf.GDP(1.0),
        ...                 n=1000, first=clips[1], candidates=clips)
        >>> print(plan.choose(cf.Release(plan.channel, 0.2), route="normal").statistic)
        the mean of x with x clipped to [0, 1]
        """
        value = self._value(release, self.channel, "release")
        return self._chosen(np.asarray([value]), route)[0]

    @float64
    def _chosen(self, values: NDArray[np.float64], route: str | Route = "auto") -> list[Channel]:
        """The second channel for each of many pilot values."""
        model = Model(self.population, self.channel)
        if self.candidates is None:
            thetas = posterior_points([model], [values], self.prior, route)
            privacy, name = self.guarantee, self.criterion.name
            return [
                optimize(self.population, privacy=privacy, n=self.rest_n, theta=each, criterion=name, exact=False).best
                for each in thetas
            ]
        models = [Model(self.population, channel) for channel in self.candidates]
        return [self.candidates[i] for i in choose(model, values, self.prior, models, self.criterion, route)]

    def infer(self, first: Release, second: Release, **options: Any) -> Any:
        """The posterior given both releases; options are those of `confide.infer`.

        >>> import confide as cf, numpyro.distributions as dist
        >>> clips = [cf.Mean("x", bounds=(0, clip)) for clip in (1.0, 4.0, 16.0)]
        >>> plan = cf.pilot(cf.populations.exponential(), prior={"rate": dist.LogNormal(0.0, 1.0)}, privacy=cf.GDP(1.0),
        ...                 n=1000, first=clips[1], candidates=clips)
        >>> first = cf.Release(plan.channel, 0.2)
        >>> second = cf.Release(plan.choose(first, route="normal"), 0.2)
        >>> plan.infer(first, second, route="normal").names
        ('rate',)
        """
        from confide.inference import infer

        self._value(first, self.channel, "first")
        return infer(self.population, [first, second], self.prior, same_records=False, **options)

    def _value(self, release: object, channel: Channel, argument: str) -> Any:
        """The value of a release through the plan's own channel."""
        made = getattr(release, "channel", None)
        if made is None or not hasattr(release, "value"):
            raise InvalidArgument(argument, release, "is not a release", "give Release(plan.channel, value)")
        if made != channel:
            remedy = "release plan.channel from the records of plan.part"
            raise InvalidArgument(argument, made, "is not a release through the plan's channel", remedy)
        return channel.check_value(release.value)

    def with_privacy(self, level: float | Privacy) -> Pilot:
        """The same plan at another level of privacy.

        >>> import confide as cf, numpyro.distributions as dist
        >>> clips = [cf.Mean("x", bounds=(0, clip)) for clip in (1.0, 4.0, 16.0)]
        >>> plan = cf.pilot(cf.populations.exponential(), prior={"rate": dist.LogNormal(0.0, 1.0)}, privacy=cf.GDP(1.0),
        ...                 n=1000, first=clips[1], candidates=clips)
        >>> plan.with_privacy(0.5).guarantee
        GDP(mu=0.5)
        """
        candidates = None
        if self.candidates is not None:
            candidates = tuple(with_privacy(each, level) for each in self.candidates)
        return replace(self, channel=with_privacy(self.channel, level), candidates=candidates)

    def __str__(self) -> str:
        first, last = self.part, self.rest
        options = (
            "the best that optimize finds" if self.candidates is None else f"one of {len(self.candidates)} channels"
        )
        return (
            f"1. From records {first.start} to {first.stop - 1}: {str(self.channel).splitlines()[0]}\n"
            f"2. Choose {options} by {self.criterion.name.replace('_', ' ')} under the posterior.\n"
            f"3. From records {last.start} to {last.stop - 1}: publish it, and infer from both.\n"
            f"Guarantee: {self.guarantee} in all. Each record takes part in one release, to which its position and not "
            "its value assigns it, so the two compose in parallel."
        )

    def __repr__(self) -> str:
        return f"Pilot({self.channel!r}, rest_n={self.rest_n}, candidates={self.candidates!r})"


@float64
def pilot(
    population: Population,
    *,
    prior: Any,
    privacy: Privacy,
    n: int,
    fraction: float = 0.1,
    first: Statistic | None = None,
    candidates: Sequence[Statistic] | None = None,
    mechanism: type[Mechanism] | None = None,
    criterion: str = "expected_variance",
) -> Pilot:
    """A plan that spends a fraction of the records on a pilot, and chooses the second statistic by its posterior.

    `first` is the pilot's statistic and `candidates` those to choose from, published with `mechanism` (by default
    Laplace noise for a pure guarantee, Gaussian otherwise); where they are left out, `optimize` finds them. The parts
    are ranges of positions, so their releases compose in parallel: the plan costs what one of them costs.

    >>> import confide as cf, numpyro.distributions as dist
    >>> from confide.design import pilot
    >>> powers = [cf.Mean(f"abs(x)**{a}", bounds=(-10, 10)) for a in (0.5, 1.0, 2.0)]
    >>> plan = pilot(cf.populations.uniform_width(), prior={"width": dist.Uniform(0.01, 10.0)}, privacy=cf.GDP(1.0),
    ...              n=100, first=powers[1], candidates=powers)
    >>> print(plan)
    1. From records 0 to 9: Publish the mean of abs(x)**1 with x clipped to [-10, 10] over 10 records, with ...
    2. Choose one of 3 channels by expected variance under the posterior.
    3. From records 10 to 99: publish it, and infer from both.
    Guarantee: 1-Gaussian differential privacy in all. Each record takes part in one release, to which ...
    """
    if not isinstance(population, Population):
        raise InvalidArgument("population", population, "is not a population", "use populations.normal_variance()")
    if not isinstance(privacy, Privacy) or isinstance(privacy, Unlimited):
        raise InvalidArgument("privacy", privacy, "is not a guarantee to plan for", "give for example PureDP(1.0)")
    believed = Prior.of(population, prior)
    ranked = find_criterion(criterion)
    some, others = _sizes(check_count(n), fraction)
    kind = mechanism or (Laplace if isinstance(privacy, PureDP) else Gaussian)

    def channel(statistic: object, size: int, argument: str) -> Channel:
        if not isinstance(statistic, Statistic):
            raise InvalidArgument(
                argument, statistic, "is not a statistic", "give for example Mean('abs(x)', (-10, 10))"
            )
        make: Any = kind
        return Channel(statistic, make(privacy), size)

    if first is None:
        start = optimize(population, privacy=privacy, n=some, prior=believed, criterion=criterion, exact=False).best
    else:
        start = channel(first, some, "first")
    options = None
    if candidates is not None:
        options = tuple(channel(each, others, "candidates") for each in candidates)
        if not options:
            raise InvalidArgument("candidates", candidates, "is empty", "give statistics, or leave it out")
    return Pilot(population, believed, start, others, options, ranked)


def _sizes(n: int, fraction: object) -> tuple[int, int]:
    """The sizes of the two parts, neither of which may be empty."""
    remedy = "give a fraction between 0 and 1 that leaves records to both parts"
    try:
        share = float(fraction)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidArgument("fraction", fraction, "is not a number", remedy) from None
    if not 0 < share < 1:
        raise InvalidArgument("fraction", fraction, "is not between 0 and 1", remedy)
    some = round(share * n)
    if not 1 <= some < n:
        raise InvalidArgument("fraction", fraction, f"leaves one part of {n} records empty", remedy)
    return some, n - some
