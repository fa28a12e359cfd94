"""Sums of a public number of records: n times a mean, and so is their noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax
import numpy as np

from confide.channel import Channel
from confide.errors import IncompatibleError
from confide.likelihood.route import Derived, Floats, Route
from confide.model import Model
from confide.statistic import Mean
from confide.statistic.columns import ColumnBounds


@lru_cache(maxsize=256)
def as_mean(model: Model) -> Model:
    """The same numbers over n: the mean of s with noise of 1/n of the scale, on 1/n of the lattice."""
    channel = model.channel
    statistic, n, given = channel.statistic, channel.n, channel.mechanism
    parts: Any = statistic.transforms[0] if statistic.dimension == 1 else list(statistic.transforms)
    bounds = statistic.bounds.by_name if isinstance(statistic.bounds, ColumnBounds) else statistic.bounds
    mean, noise, alike = Mean(parts, bounds), channel.law.added, type(given)
    if noise is not None:
        step = None if noise.step is None else float(noise.step) / n
        given = alike(scale=float(noise.scale) / n, step=step)  # type: ignore[call-arg]
    elif not channel.law.noiseless:
        raise IncompatibleError(f"{given!r} does not add noise, for which no law of {statistic} is known")
    return Model(model.population, Channel(mean, given, n))


@dataclass(frozen=True)
class Scaled(Derived):
    """A route to the law of a mean, for a sum of so many records."""

    inner: Route

    @property
    def falls_back_to(self) -> str | None:  # type: ignore[override]
        """As for the mean."""
        return self.inner.falls_back_to

    def refuses(self, model: Model) -> str | None:
        """What the mean's route refuses."""
        return self.inner.refuses(as_mean(model))

    def impossible(self, model: Model, values: Any) -> str | None:
        """What the mean cannot have been."""
        return self.inner.impossible(as_mean(model), np.asarray(values) / model.channel.n)

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """The density of y/n, and what a unit of y is of it."""
        return self.inner.log_prob(as_mean(model), theta, value / model.channel.n) + _log_unit(model)

    def traced(self, model: Model, thetas: jax.Array, values: jax.Array) -> jax.Array:
        """The same, inside somebody's trace."""
        return self.inner.traced(as_mean(model), thetas, values / model.channel.n) + _log_unit(model)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Floats:
        """The same at all θ."""
        found = self.inner.log_likelihood(as_mean(model), thetas, np.asarray(values) / model.channel.n)
        return found + _log_unit(model)

    def tails(self, model: Model, thetas: Any, values: Any) -> tuple[Floats, Floats] | None:
        """Those of the mean."""
        return self.inner.tails(as_mean(model), thetas, np.asarray(values) / model.channel.n)

    def seconds(self, model: Model, thetas: int) -> float:
        """As for the mean."""
        return self.inner.seconds(as_mean(model), thetas)

    def for_a_posterior(self) -> Scaled:
        """As for the mean."""
        return replace(self, inner=self.inner.for_a_posterior())

    def information(self, model: Model, thetas: Any) -> jax.Array:
        """That of the mean: another unit tells nothing."""
        return self.inner.information(as_mean(model), thetas)


def _log_unit(model: Model) -> float:
    """log of the density of y over that of y/n; masses are what they are."""
    noise = model.channel.law.added
    discrete = noise is not None and noise.step is not None
    return 0.0 if discrete else -model.channel.statistic.dimension * math.log(model.channel.n)
