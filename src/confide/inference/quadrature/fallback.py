"""Likelihoods that go on where an exact route gives up.

At the edge of a parameter space the sampling spread of a mean may vanish next to the noise: at a tiny variance, say,
the law of the statistic is a spike that no frequency grid resolves. There noise decides, and the normal law of the mean
is as good as its own: with sampling spread r times that of the noise, replacing the law of the mean by a normal one of
the same mean and variance moves p(y | θ) by a share of about r/√n at most (integrate the noise's slope against the
difference of the two distribution functions). Below `_SPIKE` that is nothing. Elsewhere, if a route raises
`AccuracyError`, the normal approximation stands in as well, and that is said if it carries weight.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE
from confide._progress import counted, progress
from confide.errors import AccuracyError
from confide.inference.quadrature import simulated
from confide.likelihood import Normal, stand_in
from confide.likelihood.batched import filled
from confide.likelihood.joint import Disjoint
from confide.likelihood.joint_law import Joint
from confide.likelihood.mean.normal import log_density
from confide.likelihood.rank.pool import over_batches
from confide.likelihood.record_law.moments import moments
from confide.likelihood.record_law.traced import moving_law
from confide.likelihood.route import Route, Underflow, require_finite
from confide.model import Model
from confide.population import Population
from confide.statistic import Statistic

Floats = NDArray[np.float64]
#: log p(y | θ) of a route at all θ and values, (M, Y)
Evaluate = Callable[[Route, Model, Floats, Floats], Floats]

NORMAL = Normal()
#: the sampling spread over the noise's, below which the mean's own law is not asked for
_SPIKE = 3e-4
#: θ that are given to the approximation together
_FEWEST = 8
#: the share of a posterior above which it is said that the approximation stood in
WEIGHTY = 1e-6
#: what is said then
STANDS_IN = "the normal approximation was used"
#: θ whose likelihood is computed together, and the largest ratio of their spreads
_TOGETHER, _WIDER = 256, 8.0


@partial(jax.jit, static_argnums=(0, 1))
def _variances(population: Population, statistic: Statistic, thetas: jax.Array) -> jax.Array:
    """The variance of s of one record at many θ."""

    def one(theta: jax.Array) -> jax.Array:
        return moments(*moving_law(population, statistic, theta))[1][0, 0]

    return jax.lax.map(one, thetas)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=FAST_COMPILE)
def _by_normal(
    population: Population, statistic: Statistic, law: Any, n: float, thetas: jax.Array, values: jax.Array
) -> jax.Array:
    # nodes that move with θ serve any spread; the noise is not static, so that all levels of privacy share a program
    def one(theta: jax.Array) -> jax.Array:
        mean, covariance = moments(*moving_law(population, statistic, theta))
        return jax.vmap(lambda y: log_density(law, y, mean, covariance / n))(values)

    return jax.lax.map(one, thetas)


class OneRelease:
    """log p(y | θ) of one release by its route, and by the normal approximation where that gives up.

    Whether it has given up is remembered for one posterior: what was asked before leaves an answer as it is.
    """

    def __init__(self, route: Route, model: Model) -> None:
        self.route, self.model = route, model
        self._other = stand_in(route, model)
        self.has_normal = self._other is not None
        self._replaceable = self.has_normal and model.channel.law.added is not None
        # most never give up, and need no look at their spread; but several parameters reach where that vanishes sooner
        # or later, and find out dearly
        self._spiky = self._replaceable and model.population.dimension > 1

    def log_likelihood(self, thetas: Floats, values: Floats, evaluate: Evaluate) -> tuple[Floats, NDArray[np.bool_]]:
        """At all θ and values (M, Y), and at which θ the route gave up and the normal approximation was used."""
        if not self._spiky:
            try:
                return self._exactly(thetas, values, evaluate)
            except AccuracyError:
                if not self._replaceable:
                    raise
                self._spiky = True
        channel = self.model.channel
        variance = np.asarray(_variances(self.model.population, channel.statistic, filled(thetas)))[: len(thetas)]
        spike = variance / channel.n < _SPIKE**2 * float(channel.law.noise.variance)  # type: ignore[attr-defined]
        found, gave_up = np.empty((len(thetas), len(values))), np.zeros(len(thetas), dtype=bool)
        if np.any(spike):
            found[spike] = by_normal(self.model, thetas[spike], values)
        if not np.all(spike):
            found[~spike], gave_up[~spike] = self._or_normal(thetas[~spike], values, evaluate)
        return found, gave_up

    def roughly(self, thetas: Floats, values: Floats) -> Floats:
        """The same by the normal approximation where that can stand in: to find where a posterior lies.

        Far from there the published value is in the far tails, where an exact inversion is dear and says the same.
        """
        return _plainly(self._other or self.route, self.model, thetas, values)

    def _exactly(self, thetas: Floats, values: Floats, evaluate: Evaluate) -> tuple[Floats, NDArray[np.bool_]]:
        return np.asarray(evaluate(self.route, self.model, thetas, values)), np.zeros(len(thetas), dtype=bool)

    def _or_normal(self, thetas: Floats, values: Floats, evaluate: Evaluate) -> tuple[Floats, NDArray[np.bool_]]:
        """By the route where it serves; where not, halves are tried, and a few θ are left to the normal law."""
        try:
            return self._exactly(thetas, values, evaluate)
        except AccuracyError:
            if len(thetas) <= _FEWEST:
                return by_normal(self.model, thetas, values), np.ones(len(thetas), dtype=bool)
            half = len(thetas) // 2
            parts = [self._or_normal(part, values, evaluate) for part in (thetas[:half], thetas[half:])]
            return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def by_normal(model: Model, thetas: Floats, values: Floats) -> Floats:
    """log p(y | θ) (M, Y) of the normal approximation, with nodes that serve any spread."""
    channel = model.channel
    known = channel.law, float(channel.n), filled(thetas), values
    return np.asarray(_by_normal(model.population, channel.statistic, *known))[: len(thetas)]


def _plainly(route: Route, model: Model, thetas: Floats, values: Floats) -> Floats:
    if route != NORMAL:
        return np.asarray(route.log_likelihood(model, thetas, values))
    return require_finite(model, thetas, values, by_normal(model, thetas, values))


def same_records(joint: Joint, thetas: Floats, values: Sequence[Any]) -> Floats:
    """log p(y₁, y₂, … | θ) of releases that share records, on nodes that serve any spread where fixed ones do not."""
    try:
        return np.asarray(joint.log_likelihood(thetas, values))
    except AccuracyError:
        return np.asarray(_by_moving_nodes(joint, filled(thetas), joint.check(values)))[: len(thetas)]


@partial(jax.jit, static_argnums=0, compiler_options=FAST_COMPILE)
def _by_moving_nodes(joint: Joint, thetas: jax.Array, values: tuple[jax.Array, ...]) -> jax.Array:
    return jax.lax.map(lambda theta: joint.log_prob(theta, values), thetas)


def in_order(thetas: Floats) -> list[NDArray[np.intp]]:
    """A few hundred θ at a time, in the order of their first parameter: the slowest of a few decides for them all."""
    return np.array_split(np.argsort(thetas[:, 0], kind="stable"), -(-len(thetas) // _TOGETHER))


def by_spread(model: Model, thetas: Floats) -> list[NDArray[np.intp]]:
    """A few hundred θ at a time of several parameters, those of similar spread: the nodes of one serve the others."""
    if thetas.shape[1] == 1:
        return in_order(thetas)
    variance = _variances(model.population, model.channel.statistic, filled(thetas))
    octave = np.log(np.maximum(np.asarray(variance)[: len(thetas)], 1e-300)) // (2.0 * np.log(_WIDER))
    order = np.argsort(octave, kind="stable")
    runs = np.split(order, np.flatnonzero(np.diff(octave[order])) + 1)
    return [part for run in runs for part in np.array_split(run, -(-len(run) // _TOGETHER))]


def in_parts(log_likelihood: Callable[[Floats], Floats], thetas: Floats, parts: list[NDArray[np.intp]]) -> Floats:
    """log p (M,), from (M,) or (M, 1), of some θ at a time, −∞ where a part of them underflows but not all."""
    found = np.full(len(thetas), -np.inf)
    failure: Underflow | None = None
    for some in progress(parts, "likelihood"):
        try:
            found[some] = np.reshape(log_likelihood(thetas[some]), len(some))
            counted(len(some), "likelihoods")
        except Underflow as error:
            failure = error
    if failure is not None and np.all(found == -np.inf):
        raise failure
    return found


def one_by_one(joint: Joint) -> list[OneRelease]:
    """The releases of a joint route that have records of their own; none where they share records."""
    if not isinstance(joint, Disjoint):
        return []
    return [OneRelease(route, model) for model, route in zip(joint.models, joint.routes, strict=True)]


class Rough:
    """log p(y₁, y₂, … | θ) by `OneRelease.roughly`."""

    def __init__(self, releases: Sequence[OneRelease]) -> None:
        self.releases = releases

    def log_likelihood(self, thetas: Floats, values: Sequence[Any]) -> Floats:
        """At all θ (M, d)."""
        total = np.zeros(len(thetas))
        for release, value in zip(self.releases, values, strict=True):
            total += in_parts(partial(release.roughly, values=np.asarray(value)[None]), thetas, in_order(thetas))
        return total


class Careful:
    """log p(y₁, y₂, … | θ) of a joint route, and of the normal approximation where that gives up.

    θ are taken a few hundred at a time, in their order, however many there are: memory is bounded, and a few hundred
    neighbours need fewer nodes of the record's law than all θ of a plane would.
    """

    def __init__(self, joint: Joint) -> None:
        self.joint, self.name = joint, joint.name
        self._releases = one_by_one(joint)
        self._approximate: list[Floats] = []
        self._left_out: simulated.LeftOut | None = None

    def log_likelihood(self, thetas: Floats, values: Sequence[Any]) -> Floats:
        """At all θ (M, d)."""
        if not self._releases:
            same = self.joint
            return in_parts(lambda some: same_records(same, some, values), thetas, in_order(thetas))
        total, self._left_out = np.zeros(len(thetas)), None
        for release, value in zip(self._releases, values, strict=True):
            one = np.asarray(value)[None]
            if release.route.simulated:
                total += release.log_likelihood(thetas, one, self._by_batch)[0][:, 0]
            else:
                parts = by_spread(release.model, thetas) if release.has_normal else in_order(thetas)
                total += in_parts(partial(self._of_one, release, one), thetas, parts)
        return total

    def _of_one(self, release: OneRelease, value: Floats, thetas: Floats) -> Floats:
        """log p(y | θ) of one release."""
        found, gave_up = release.log_likelihood(thetas, value, _plainly)
        if np.any(gave_up):
            self._approximate.append(thetas[gave_up])
        return found[:, 0]

    def _by_batch(self, route: Route, model: Model, thetas: Floats, values: Floats) -> Floats:
        """Of a pool also what leaving out each of its batches changes."""
        each = route.by_batch(model, thetas, values)
        self._left_out = simulated.left_out(thetas[:, 0], each[:, 0], self._left_out)
        return np.asarray(over_batches(model, thetas, values, each))

    def rough(self) -> Rough | None:
        """The same by an approximation that is cheap; None where there is none."""
        return Rough(self._releases) if any(release.has_normal for release in self._releases) else None

    def simulation_error(self, theta: Floats, share: Floats) -> float:
        """By how much simulated windows leave the mean and the sd uncertain, the larger, as a share of the sd."""
        if self._left_out is None:
            return 0.0
        return max(simulated.relative_errors(self._left_out, theta[:, 0], share))

    def notes(self, names: Sequence[str], theta: Floats, share: Floats) -> list[str]:
        """What to say, given the posterior's share at each θ of its final grid."""
        return [*self._of_windows(names, theta, share), *self._of_approximations(names, theta, share)]

    def _of_windows(self, names: Sequence[str], theta: Floats, share: Floats) -> list[str]:
        if self._left_out is None or theta.shape[1] > 1:
            return []
        return simulated.notes(self._left_out, names[0], theta[:, 0], share)

    def _of_approximations(self, names: Sequence[str], theta: Floats, share: Floats) -> list[str]:
        if not self._approximate:
            return []
        places = np.concatenate(self._approximate)
        inside = np.all((theta >= places.min(axis=0)) & (theta <= places.max(axis=0)), axis=-1)
        return [] if float(share[inside].sum()) < WEIGHTY else stood_in(names, [places])


def stood_in(names: Sequence[str], places: Sequence[Floats]) -> list[str]:
    """What to say of θ at which the normal approximation was used, and which carry weight."""
    if not any(len(part) for part in places):
        return []
    every = np.concatenate(list(places))
    ends = zip(names, every.min(axis=0), every.max(axis=0), strict=False)
    span = ", ".join(f"{name} from {low:.3g} to {high:.3g}" for name, low, high in ends)
    return [f"the exact likelihood could not be computed everywhere: for {span} {STANDS_IN}"]
