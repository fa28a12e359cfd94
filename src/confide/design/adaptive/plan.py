"""A plan in many releases: batches of records one after the other, each asked what the answers so far say is best."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide._digits import around, as_known
from confide.channel import Channel
from confide.design.adaptive.batches import Batches
from confide.design.adaptive.diary import check_next, require_releases
from confide.design.asking.persons import FAMILIES, Persons
from confide.design.search.family import Family
from confide.errors import IncompatibleError, InvalidArgument
from confide.population import Population
from confide.posterior import Posterior
from confide.prior import Prior
from confide.privacy import Privacy
from confide.published import Release, Rows
from confide.published.extras import needs
from confide.statistic import Statistic

Floats = NDArray[np.float64]


class Adaptive:
    """A plan in many releases, each from records of its own, and each through a channel chosen by those before it.

    The plan never sees a record. Release `channel` from the records of `part`, give `update` what came out, and so on
    until the plan is `done`; `posterior` is what is known so far. It is a diary: `update` changes it (and returns it),
    and `save` and `Adaptive.load` keep it between days.

    >>> import confide as cf, numpyro.distributions as dist
    >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.PureDP(1.0),
    ...                 batches=[1] * 3)
    >>> plan.channel.n, plan.part, plan.done
    (1, Rows(start=0, stop=1), False)
    >>> plan.update(cf.Release(plan.channel, [1.0])).part
    Rows(start=1, stop=2)
    """

    def __init__(
        self, population: Population, prior: Prior, privacy: Privacy, batches: tuple[int, ...], *,
        families: tuple[Family, ...] | None, candidates: tuple[Statistic, ...] | None, weights: Floats | None,
        local: bool, by: str, key: int,
    ) -> None:  # fmt: skip
        self.population, self.prior, self.privacy, self.batches = population, prior, privacy, batches
        self.families, self.candidates, self.weights = families, candidates, weights
        self.local, self.by, self.key = local, by, key
        self.releases: tuple[Release, ...] = ()
        self._channel: Channel | None = None
        self._posterior: Posterior | None = None
        self._asking: Persons | Batches = self._begin()

    def _begin(self) -> Persons | Batches:
        thompson = self.by == "draw"
        if self.local:
            listed = FAMILIES if self.families is None else self.families
            return Persons(self.population, self.prior, self.privacy, listed, self.weights, thompson)
        return Batches(
            self.population, self.prior, self.privacy, self.families, self.candidates, self.weights, thompson
        )

    @property
    def n(self) -> int:
        """The number of all records."""
        return sum(self.batches)

    @property
    def done(self) -> bool:
        """Whether every batch has answered."""
        return len(self.releases) == len(self.batches)

    @property
    def guarantee(self) -> Privacy:
        """What all releases promise together: every record takes part in one of them only."""
        return self.privacy

    @property
    def part(self) -> Rows:
        """The records of the next batch, by position: chosen independently of their values."""
        self._refuse_end()
        start = sum(self.batches[: len(self.releases)])
        return Rows(start, start + self.batches[len(self.releases)])

    @property
    def channel(self) -> Channel:
        """What to release from the records of `part`; the same however often it is asked."""
        self._refuse_end()
        if self._channel is None:
            made = len(self.releases)
            uniform = np.random.default_rng([self.key, made]).random()
            self._channel = self._asking.channel(self.batches[made], float(uniform))
        return self._channel

    def _refuse_end(self) -> None:
        if self.done:
            raise IncompatibleError(
                f"all {len(self.batches)} batches of the plan have answered; look at `posterior`, or make a new plan"
            )

    def update(self, release: Release) -> Adaptive:
        """Take note of what came out of `channel` for the records of `part`; returns the plan.

        >>> import confide as cf, numpyro.distributions as dist
        >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.PureDP(1.0),
        ...                 batches=[1] * 3)
        >>> len(plan.update(cf.Release(plan.channel, [0.0])).releases)
        1
        """
        check_next(release, self.channel, "the records of plan.part")
        if release.part is not None and isinstance(release.part, Rows) and release.part != self.part:
            problem = f"is not of the records of the next batch, {self.part}"
            raise InvalidArgument("release", release.part, problem, "each record may answer once: release plan.part")
        self._asking.learn(release)
        self.releases = (*self.releases, release)
        self._channel = self._posterior = None
        return self

    @property
    def posterior(self) -> Posterior:
        """What is known after the releases so far, by quadrature of their exact likelihoods."""
        require_releases(self.releases)
        if self._posterior is None:
            import jax

            self._posterior = self._asking.posterior(self.releases, jax.random.key(self.key))
        return self._posterior

    @property
    def estimate(self) -> dict[str, tuple[float, float]]:
        """Mean and standard deviation of each parameter as the plan has them, at once: what it decides by.

        >>> import confide as cf, numpyro.distributions as dist
        >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.PureDP(1.0),
        ...                 batches=[1] * 3)
        >>> round(plan.estimate["mean"][1], 2)
        10.0
        """
        mean, sd = self._asking.moments()
        return {name: (float(m), float(s)) for name, m, s in zip(self.population.names, mean, sd, strict=True)}

    def simulated(self, truth: Any, key: Any = 0, probs: tuple[float, ...] = (0.5, 0.9, 0.95)) -> Any:
        """Whole runs of the plan on simulated persons, one for each true θ (R, d): see `AskedRuns`. One by one only.

        >>> import confide as cf, numpyro.distributions as dist
        >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.PureDP(2.0),
        ...                 batches=[1] * 20)
        >>> plan.simulated([[1.0], [2.0]]).mean.shape[0]
        2
        """
        from confide._random import as_key

        if not self.local:
            raise IncompatibleError("whole runs are simulated for persons asked one by one; use study for batches")
        thetas = np.asarray(self.population.theta(truth)).reshape(-1, self.population.dimension)
        fresh = self._begin()
        assert isinstance(fresh, Persons)
        return fresh.simulated(thetas, self.batches, as_key(key), probs)

    @property
    def asked(self) -> Channel | None:
        """The next channel, if it has been asked for."""
        return self._channel

    def channels_of(self, candidates: tuple[Statistic, ...]) -> list[Channel]:
        """Statistics as channels of the next batch, or of the last one.

        >>> import confide as cf, numpyro.distributions as dist
        >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.GDP(1.0),
        ...                 batches=[10, 90])
        >>> plan.channels_of((cf.Mean("x", bounds=(0, 1)),))[0].n
        10
        """
        n = self.batches[min(len(self.releases), len(self.batches) - 1)]
        return [self._asking.with_noise(each, n) for each in candidates]

    def replay(self, releases: Sequence[Release], asked: Channel | None) -> None:
        """Take note of releases as a file has them, and of the channel that was asked for then.

        >>> import confide as cf, numpyro.distributions as dist
        >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.GDP(1.0),
        ...                 batches=[10, 90])
        >>> plan.replay([cf.Release(plan.channels_of((cf.Mean("x", bounds=(-30, 30)),))[0], 2.5)], None)
        >>> len(plan.releases)
        1
        """
        if len(releases) > len(self.batches) or (asked is not None and len(releases) == len(self.batches)):
            raise IncompatibleError(f"the plan has {len(self.batches)} batches, and more than these have answered")
        for release, size in zip(releases, self.batches, strict=False):
            self._refuse_other(release.channel, size)
            self._asking.learn(release)
        if asked is not None:
            self._refuse_other(asked, self.batches[len(releases)])
        self.releases, self._channel = tuple(releases), asked

    def _refuse_other(self, channel: Channel, size: int) -> None:
        if channel.n != size or channel.guarantee != self.privacy or channel.statistic.per_record != self.local:
            raise IncompatibleError(f"{channel!r} is not a channel of {size} records of this plan")

    def with_privacy(self, level: float | Privacy) -> Adaptive:
        """The same plan, begun anew at another level of privacy.

        >>> import confide as cf, numpyro.distributions as dist
        >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.PureDP(1.0),
        ...                 batches=[1] * 3)
        >>> plan.with_privacy(2.0).guarantee
        PureDP(epsilon=2.0)
        """
        kind: Any = type(self.privacy)
        privacy = level if isinstance(level, Privacy) else kind(level)
        return Adaptive(self.population, self.prior, privacy, self.batches, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        """How questions are chosen."""
        return {name: getattr(self, name) for name in ("families", "candidates", "weights", "local", "by", "key")}

    def save(self, path: str | Path) -> None:
        """Write the plan and all that was released as a JSON file.

        >>> import confide as cf, numpyro.distributions as dist, tempfile
        >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.PureDP(1.0),
        ...                 batches=[1] * 3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plan.save(f"{folder}/plan.json")
        ...     cf.Adaptive.load(f"{folder}/plan.json").batches
        (1, 1, 1)
        """
        from confide.design.adaptive.file import save

        with needs("release"):
            save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Adaptive:
        """Read a plan from a file, checking everything and running nothing; it goes on where it was.

        >>> import confide as cf, numpyro.distributions as dist, tempfile
        >>> plan = cf.adapt(cf.populations.normal_mean(), {"mean": dist.Normal(0, 10)}, privacy=cf.PureDP(1.0),
        ...                 batches=[1] * 3)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     plan.save(f"{folder}/plan.json")
        ...     cf.Adaptive.load(f"{folder}/plan.json").channel == plan.channel
        True
        """
        from confide.design.adaptive.file import load

        with needs("release"):
            return load(Path(path))

    def __str__(self) -> str:
        who = "persons asked one by one" if self.local else "records published together"
        sizes = f"batches of {self.batches[0]}" if len(set(self.batches)) == 1 else "batches"
        state = "all have answered" if self.done else f"{len(self.releases)} of them have answered"
        return (
            f"A plan for {self.n:,} {who} in {len(self.batches):,} {sizes}: {state}.\n"
            + "".join(f"  {name}: {as_known(mean, sd)} ± {around(sd)}\n" for name, (mean, sd) in self.estimate.items())
            + ("" if self.done else f"Next, records {self.part.start} to {self.part.stop - 1}: {self.channel}\n")
            + f"Guarantee: {self.guarantee} in all, as each record takes part in one release, to which its position "
            "and not its value assigns it."
        )

    def __repr__(self) -> str:
        how = ", ".join(f"{name}={value!r}" for name, value in self.options.items())
        what = f"{self.population.name}, {self.privacy!r}, batches={self.batches!r}"
        return f"Adaptive({what}, {how}, released={len(self.releases)})"
