"""An unknown share of missing records, of which a public number was put in place: the model of such a release.

A release with `missing=c` computes its statistic over n records of which an unknown number hold c. If a record is
missing with probability m, whatever it holds, then s has the law (1 − m)·(law of s(clip X)) + m·(atom at s(c)). That is
the law of another statistic of another population, for which everything else is made already: a record is put in a
place of its own, beyond the bounds, if it is missing, and s is s(c) there. What lies above the bounds counts as the
upper bound anyway, so it moves just above it and leaves room::

    ───── X below `high` ─────┤ X above it ├   nobody   ├ missing ├
                            high         high+w      high+2w   high+3w

Counts have one place each for what is above and for what is missing. The share is one more parameter, `missing`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpyro.distributions as dist
from numpyro.distributions import constraints

from confide.channel import Channel
from confide.errors import ConfideError, IncompatibleError
from confide.expression import Expression
from confide.population import Population, density, tails
from confide.published.imputation import imputed
from confide.published.release import Release

#: the parameter
SHARE = "missing"
#: counts up to here have no need of distribution functions
_FEW = 4096
#: the variable of an expression
_X = re.compile(r"\bx\b")


@dataclass(frozen=True)
class Places:
    """Where records lie that are above the bounds or missing; for counts, single places."""

    high: float
    width: float
    discrete: bool

    @property
    def above(self) -> float:
        """The end of what is above."""
        return self.high + self.width

    @property
    def first(self) -> float:
        """The beginning of what is missing."""
        return self.high + (3.0 if self.discrete else 2.0 * self.width)

    @property
    def end(self) -> float:
        """The end of everything."""
        return self.first + (0.0 if self.discrete else self.width)

    def passed(self, x: jax.Array, start: float) -> jax.Array:
        """The share of a place, from `start` on, that lies at or below x."""
        if self.discrete:
            return jnp.where(x >= start, 1.0, 0.0)
        return jnp.clip((x - start) / self.width, 0.0, 1.0)


class _Record(dist.Distribution):
    """A record that may be missing."""

    def __init__(self, family: WithMissing, theta: jax.Array, share: jax.Array) -> None:
        self.family, self.theta, self.share = family, theta, share
        super().__init__(validate_args=False)

    @property
    def support(self) -> Any:
        """From the population's own lower end to the end of all places."""
        low, end = self.family.population.facts.ends[0], self.family.places.end
        if self.family.places.discrete:
            return constraints.integer_interval(low, end)
        return constraints.interval(low, end) if math.isfinite(low) else constraints.less_than(end)

    def log_prob(self, value: jax.Array, intermediates: object = None) -> jax.Array:
        """The log density, or the log mass of a count."""
        del intermediates
        places, x = self.family.places, jnp.asarray(value, dtype=jnp.float64)
        own = density.log_prob(self.family.population, x, self.theta)
        over = self.family.mass_above(self.theta)
        some = over > 0
        spread = 0.0 if places.discrete else math.log(places.width)
        above = jnp.where(some, jnp.log(jnp.where(some, over, 1.0)) - spread, -jnp.inf)
        below = x <= places.high if places.discrete else x < places.high
        present = jnp.log1p(-self.share) + jnp.where(below, own, jnp.where(x <= places.above, above, -jnp.inf))
        return jnp.where(x >= places.first, jnp.log(self.share) - spread, present)

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Records."""
        places = self.family.places
        which, own, where = jax.random.split(key, 3)
        x = density.draws(self.family.population, own, self.theta, sample_shape)
        inside = jnp.float64(1.0) if places.discrete else jax.random.uniform(where, sample_shape)
        x = jnp.where(x > places.high, places.high + places.width * inside, x)
        gone = places.first + (0.0 if places.discrete else places.width * inside)
        return jnp.where(jax.random.uniform(which, sample_shape) < self.share, gone, x)


@dataclass(frozen=True)
class WithMissing:
    """The family of a population of which a share is missing."""

    population: Population
    places: Places

    def __call__(self, *, missing: jax.Array, **parameters: jax.Array) -> _Record:
        """The law of a record."""
        return _Record(self, self.theta(parameters), missing)

    def theta(self, parameters: dict[str, jax.Array]) -> jax.Array:
        """The population's own θ."""
        return jnp.concatenate([jnp.atleast_1d(parameters[name]) for name in self.population.names])

    def mass_above(self, theta: jax.Array) -> jax.Array:
        """P(X > high)."""
        return tails.survival(self.population, jnp.float64(self.places.high), theta)

    def cdf(self, x: jax.Array, *, missing: jax.Array, **parameters: jax.Array) -> jax.Array:
        """P(record ≤ x)."""
        theta, places = self.theta(parameters), self.places
        own = tails.cdf(self.population, jnp.minimum(x, places.high), theta)
        start = places.above if places.discrete else places.high
        over = self.mass_above(theta) * places.passed(x, start)
        return (1.0 - missing) * (own + over) + missing * places.passed(x, places.first)

    def survival(self, x: jax.Array, *, missing: jax.Array, **parameters: jax.Array) -> jax.Array:
        """P(record > x)."""
        theta, places = self.theta(parameters), self.places
        start = places.above if places.discrete else places.high
        over = self.mass_above(theta) * (1.0 - places.passed(x, start))
        own = jnp.where(x < places.high, tails.survival(self.population, jnp.minimum(x, places.high), theta), over)
        return (1.0 - missing) * own + missing * (1.0 - places.passed(x, places.first))

    def quantile(self, q: jax.Array, *, missing: jax.Array, **parameters: jax.Array) -> jax.Array:
        """The smallest x with P(record ≤ x) ≥ q."""
        theta, places = self.theta(parameters), self.places
        level = q / (1.0 - missing)
        below = tails.cdf(self.population, jnp.float64(places.high), theta)
        over = self.mass_above(theta)
        own = tails.quantile(self.population, jnp.where(level <= below, level, 0.5 * below), theta)
        if places.discrete:
            return jnp.where(level <= below, own, jnp.where(level <= 1.0, places.above, places.first))
        part = jnp.where(over > 0, (level - below) / jnp.where(over > 0, over, 1.0), 0.0)
        gone = places.first + places.width * (q - (1.0 - missing)) / missing
        above = places.high + places.width * jnp.clip(part, 0.0, 1.0)
        return jnp.where(level <= below, own, jnp.where(level <= 1.0, above, jnp.clip(gone, places.first, places.end)))

    def breaks(self, *, missing: jax.Array, **parameters: jax.Array) -> jax.Array:
        """Where the density is not smooth: the population's own breaks, and the ends of the places."""
        del missing
        own, places = density.breaks(self.population, self.theta(parameters)), self.places
        return jnp.concatenate([own, jnp.asarray([places.high, places.above, places.first])])


def asked_for(population: Population, prior: Any) -> bool:
    """Whether a prior has a share of missing records, which the population itself does not know."""
    return isinstance(prior, dict) and SHARE in prior and SHARE not in population.names


def with_missing(population: Population, releases: Sequence[Release]) -> tuple[Population, list[Release]]:
    """The population with a share of missing records as its last parameter, and the releases as ones from it.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 10)), cf.Laplace(scale=0.05), n=1000)
    >>> both, (release,) = with_missing(cf.populations.exponential(), [cf.Release(channel, 4.2, missing=3.0)])
    >>> both.names, release.channel.statistic.transforms[0]
    (('rate', 'missing'), Expression('where(x > 25, 3, clip(x, 0, 10))'))
    """
    if population.moving:
        raise IncompatibleError(
            f"a share of missing records cannot be modelled for {population.name}, whose support depends on its "
            "parameters; if it is known how many there were, use release.present(missing=count)"
        )
    if not all(imputed(release) for release in releases):
        raise IncompatibleError(
            "a prior of the share of missing records needs releases that replaced them by a number, and one of these "
            "did not; leave 'missing' out of the prior, or infer from each release by itself"
        )
    bounds = [release.channel.of_numbers().statistic.bounds for release in releases]
    high, low = max(high for _, high in bounds), min(low for low, _ in bounds)
    places = Places(math.floor(high) if population.discrete else high, 1.0 if population.discrete else high - low,
                    population.discrete)  # fmt: skip
    family = WithMissing(population, places)
    sizes = {part.name: part.shape[0] for part in population.space if part.vector}
    named = population.parameters | {SHARE: constraints.open_interval(0.0, 1.0)}
    forms: dict[str, Any] = {
        "cdf": family.cdf,
        "survival": family.survival,
        "quantile": family.quantile,
        "breaks": family.breaks,
    }
    if population.discrete and places.end - population.facts.ends[0] < _FEW:
        forms = {}  # few counts are summed as they are
    both = Population(family, named, f"{population.name} with missing records", sizes=sizes, moving=False, **forms)
    return both, [_from(release, places) for release in releases]


def _from(release: Release, places: Places) -> Release:
    """A release as one of a statistic that knows which records are missing."""
    channel, values = release.channel.of_numbers(), imputed(release)
    statistic, mechanism = channel.statistic, channel.mechanism
    assert values is not None
    if not all(isinstance(each, Expression) for each in statistic.transforms):
        raise IncompatibleError(f"{statistic} computes a Python function; missing records are modelled for texts only")
    low, high = statistic.bounds
    beyond = places.first - (0.5 if places.discrete else 0.5 * places.width)
    clipped = f"clip(x, {low!r}, {high!r})"
    texts = [
        f"where(x > {beyond!r}, {value!r}, {_X.sub(clipped, str(each))})"
        for value, each in zip(values, statistic.transforms, strict=True)
    ]
    if channel.law.added is not None:  # the noise is what it was, however the new range is certified
        mechanism = type(mechanism)(scale=float(channel.law.added.scale), step=mechanism.step)  # type: ignore[call-arg,attr-defined]
    try:
        same = type(statistic)(texts if len(texts) > 1 else texts[0], bounds=(low, places.end), **statistic.options)
        seen = Channel(same, mechanism, channel.n)
    except ConfideError as error:
        raise IncompatibleError(f"missing records cannot be modelled for {channel.statistic}: {error}") from error
    if channel.law.added is None and same.ranges != statistic.ranges:
        raise IncompatibleError(
            f"missing records cannot be modelled for {channel.statistic}, whose range is not simple"
        )
    told = {name: getattr(release, name) for name in ("dataset", "part", "column", "purpose")}
    return Release(seen, release.value, **told)
