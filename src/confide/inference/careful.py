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

from confide._compile import IN_A_HURRY
from confide.errors import AccuracyError
from confide.inference import simulated
from confide.likelihood import ROUTES
from confide.likelihood.blocks import filled
from confide.likelihood.joint import Disjoint, Joint
from confide.likelihood.law import moments
from confide.likelihood.moving import moving_law
from confide.likelihood.normal import log_density
from confide.likelihood.pool import PoolRoute, over_batches
from confide.likelihood.route import Route
from confide.mechanism.additive import AdditiveLaw
from confide.model import Model
from confide.population import Population
from confide.statistic import Statistic

Floats = NDArray[np.float64]
#: log p(y | θ) of a route at all θ and values, (M, Y)
Evaluate = Callable[[Route, Model, Floats, Floats], Floats]

#: the sampling spread over the noise's, below which the mean's own law is not asked for
_SPIKE = 3e-4
#: θ that are given to the approximation together
_FEWEST = 8
#: the share of a posterior above which it is said that the approximation stood in
WEIGHTY = 1e-6
#: what is said then
STANDS_IN = "the normal approximation was used"
#: models for which a route has given up once: most never do, and need no look at their spread
_SPIKY: set[Model] = set()


@partial(jax.jit, static_argnums=(0, 1))
def _variances(population: Population, statistic: Statistic, thetas: jax.Array) -> jax.Array:
    """The variance of s of one record at many θ."""

    def one(theta: jax.Array) -> jax.Array:
        return moments(*moving_law(population, statistic, theta))[1][0, 0]

    return jax.lax.map(one, thetas)


@partial(jax.jit, static_argnums=(0, 1), compiler_options=IN_A_HURRY)
def _by_normal(
    population: Population, statistic: Statistic, law: Any, n: float, thetas: jax.Array, values: jax.Array
) -> jax.Array:
    # nodes that move with θ serve any spread; the noise is not static, so that all levels of privacy share a program
    def one(theta: jax.Array) -> jax.Array:
        mean, covariance = moments(*moving_law(population, statistic, theta))
        return jax.vmap(lambda y: log_density(law, y, mean, covariance / n))(values)

    return jax.lax.map(one, thetas)


def log_likelihood(
    route: Route, model: Model, thetas: Floats, values: Floats, evaluate: Evaluate
) -> tuple[Floats, NDArray[np.bool_]]:
    """log p(y | θ) (M, Y), and at which θ the route gave up and the normal approximation was used."""
    law = model.channel.law
    replaceable = isinstance(law, AdditiveLaw) and has_normal(route, model)
    if model not in _SPIKY:
        try:
            return np.asarray(evaluate(route, model, thetas, values)), np.zeros(len(thetas), dtype=bool)
        except AccuracyError:
            if not replaceable:
                raise
            _SPIKY.add(model)
    assert isinstance(law, AdditiveLaw)
    variances = _variances(model.population, model.channel.statistic, filled(thetas))
    variance = np.asarray(variances)[: len(thetas)]
    spike = variance / model.channel.n < _SPIKE**2 * float(law.noise.variance)
    found = np.empty((len(thetas), len(values)))
    if np.any(spike):
        found[spike] = by_normal(model, thetas[spike], values)
    gave_up = np.zeros(len(thetas), dtype=bool)
    if not np.all(spike):
        found[~spike], gave_up[~spike] = _or_normal(route, model, thetas[~spike], values, evaluate)
    return found, gave_up


def by_normal(model: Model, thetas: Floats, values: Floats) -> Floats:
    """log p(y | θ) (M, Y) of the normal approximation, with nodes that serve any spread."""
    channel = model.channel
    known = channel.law, float(channel.n), filled(thetas), values
    return np.asarray(_by_normal(model.population, channel.statistic, *known))[: len(thetas)]


def _or_normal(
    route: Route, model: Model, thetas: Floats, values: Floats, evaluate: Evaluate
) -> tuple[Floats, NDArray[np.bool_]]:
    """By the route where it serves; where it gives up, halves are tried, and a few θ are left to the normal law."""
    try:
        return np.asarray(evaluate(route, model, thetas, values)), np.zeros(len(thetas), dtype=bool)
    except AccuracyError:
        if len(thetas) <= _FEWEST:
            return by_normal(model, thetas, values), np.ones(len(thetas), dtype=bool)
        half = len(thetas) // 2
        parts = [_or_normal(route, model, part, values, evaluate) for part in (thetas[:half], thetas[half:])]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def has_normal(route: Route, model: Model) -> bool:
    """Whether the normal approximation of a mean can stand in for a route that works hard."""
    return route.name == "spectral" and ROUTES["normal"].refuses(model) is None


def roughly(route: Route, model: Model, thetas: Floats, values: Floats) -> Floats:
    """log p(y | θ) (M, Y) by the normal approximation where that can stand in: to find where a posterior lies.

    Far from there the published value is in the far tails, where an exact inversion is dear and says the same.
    """
    return by_normal(model, thetas, values) if has_normal(route, model) else _plainly(route, model, thetas, values)


def _plainly(route: Route, model: Model, thetas: Floats, values: Floats) -> Floats:
    return np.asarray(route.log_likelihood(model, thetas, values))


class Rough:
    """log p(y₁, y₂, … | θ) by `roughly`."""

    def __init__(self, joint: Disjoint) -> None:
        self.joint = joint

    def log_likelihood(self, thetas: Floats, values: Sequence[Any]) -> Floats:
        """At all θ (M, d)."""
        parts = zip(self.joint.models, self.joint.routes, values, strict=True)
        return np.sum([roughly(r, m, thetas, np.asarray(value)[None])[:, 0] for m, r, value in parts], axis=0)


class Careful:
    """log p(y₁, y₂, … | θ) of a joint route, and of the normal approximation where that gives up."""

    def __init__(self, joint: Joint) -> None:
        self.joint, self.name = joint, joint.name
        self._approximate: list[Floats] = []
        self._left_out: simulated.LeftOut | None = None

    def log_likelihood(self, thetas: Floats, values: Sequence[Any]) -> Floats:
        """At all θ (M, d)."""
        if not isinstance(self.joint, Disjoint):
            return np.asarray(self.joint.log_likelihood(thetas, values))
        total, self._left_out = np.zeros(len(thetas)), None
        for model, route, value in zip(self.joint.models, self.joint.routes, values, strict=True):
            evaluate = self._by_batch if isinstance(route, PoolRoute) else _plainly
            found, gave_up = log_likelihood(route, model, thetas, np.asarray(value)[None], evaluate)
            total += found[:, 0]
            if np.any(gave_up):
                self._approximate.append(thetas[gave_up])
        return total

    def _by_batch(self, route: Route, model: Model, thetas: Floats, values: Floats) -> Floats:
        """Of a pool also what leaving out each of its batches changes."""
        assert isinstance(route, PoolRoute)
        each = route.by_batch(model, thetas, values)
        self._left_out = simulated.left_out(thetas[:, 0], each[:, 0], route.size, self._left_out)
        return np.asarray(over_batches(model, thetas, values, each))

    def rough(self) -> Rough | None:
        """The same by an approximation that is cheap; None where there is none."""
        if not isinstance(self.joint, Disjoint):
            return None
        parts = list(zip(self.joint.models, self.joint.routes, strict=True))
        return Rough(self.joint) if any(has_normal(route, model) for model, route in parts) else None

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
