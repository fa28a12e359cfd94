"""The law of several releases together, as callers see it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from confide.errors import InvalidArgument
from confide.likelihood.route import Floats, Route
from confide.model import Model

Mask = NDArray[np.bool_]


class Joint(ABC):
    """p(y₁, y₂, … | θ) of several releases. θ is an array (d,); values are one per release, in the models' order."""

    models: tuple[Model, ...]
    #: how it is computed and how large its error is, for people
    name: str
    error: str
    #: whether a route in it averages over simulated records
    simulated: bool = False
    #: whether one θ inside a chain costs nearly as much as many at once
    for_many_thetas: bool = False
    #: whether a route in it takes milliseconds at each θ
    dear: bool = False
    #: whether its error is not known
    approximate: bool = False

    def seconds(self, thetas: int) -> float:
        """Roughly how long so many θ take on one core; 0 where it is little."""
        del thetas
        return 0.0

    def for_a_posterior(self) -> Joint:
        """The same at the accuracy that a posterior needs."""
        return self

    def for_a_look(self) -> Joint:
        """The same at the accuracy that tells where a posterior lies."""
        return self

    def quicker(self) -> Joint | None:
        """The same with a larger error, which is estimated and may do; None if there is nothing to gain."""
        return None

    @abstractmethod
    def check(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """One published value per release, each of its channel's shape and possible there; an error otherwise."""

    @abstractmethod
    def log_prob(self, theta: jax.Array, values: Sequence[Any]) -> jax.Array:
        """log p(y₁, y₂, … | θ) at one θ, differentiable in θ; for use inside a trace, so nothing is checked."""

    @abstractmethod
    def log_likelihood(self, thetas: Any, values: Sequence[Any]) -> Floats:
        """The same at all θ (M, d), which are concrete: shape (M,)."""

    def with_approximate(self, thetas: Any, values: Sequence[Any]) -> tuple[Floats, Mask]:
        """The same, and at which θ its error is not known."""
        found = self.log_likelihood(thetas, values)
        return found, np.full(found.shape, self.approximate)


def checked(models: Sequence[Model], routes: Sequence[Route], values: Sequence[Any]) -> tuple[Any, ...]:
    """One value per release, each of the shape and the kind that its channel publishes; an error otherwise."""
    if len(values) != len(models):
        raise InvalidArgument("values", values, f"are not {len(models)}", "give one published value per release")
    for model, route, value in zip(models, routes, values, strict=True):
        array = model.channel.check_value(value)
        shape = model.channel.value_shape
        if array.shape != shape:
            raise InvalidArgument("values", value, f"has not the shape {shape}", "give one published value per release")
        reason = route.impossible(model, array)
        if reason is not None:
            raise InvalidArgument("values", value, reason, "give a value that the channel can publish")
    return tuple(model.channel.check_value(value) for model, value in zip(models, values, strict=True))
