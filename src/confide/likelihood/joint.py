"""Several releases together: p(y₁, y₂, … | θ).

Releases about different records are independent given θ, and their log-likelihoods add; those about the same records
are not (`mean.same_records`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.errors import IncompatibleError, InvalidArgument
from confide.likelihood import as_route, choose_route
from confide.likelihood.cells.processed import ProcessedCells
from confide.likelihood.censored import Censored
from confide.likelihood.joint_law import Joint, checked
from confide.likelihood.mean.same_records import SameRecords, no_joint_law
from confide.likelihood.route import Floats, Route
from confide.likelihood.totals.alone import private_law
from confide.likelihood.totals.number import NumberPrior
from confide.model import Model
from confide.processing import Processed


def joint_over_numbers(models: Sequence[Model], values: Sequence[Any], number: NumberPrior, same: bool | None) -> Joint:
    """The joint likelihood of releases of a private number of records, summed over it."""
    if len(models) > 1 and not same:
        raise IncompatibleError(
            "the releases are about different records, and each has a private number of them; infer from each by itself"
        )
    return private_law(models, values, number)


def joint_route(
    models: Sequence[Model],
    route: str | Route = "auto",
    same_records: bool | None = None,
    processed: Sequence[Processed | None] = (),
) -> Joint:
    """The joint likelihood of several releases of one population, or an error that says why there is none.

    `processed` says of each release whether its number was clamped, rounded or left out, and how.
    `same_records` says whether all releases are about the same records (True) or each about its own (False). Nothing is
    assumed: with several releases it must be given.

    >>> import confide as cf
    >>> population, noise = cf.populations.normal_variance(), cf.Gaussian(cf.GDP(1.0))
    >>> one, two = (cf.Model(population, cf.Channel(cf.Mean(s, (-5, 5)), noise, 100)) for s in ("abs(x)", "x**2"))
    >>> joint_route([one, two], same_records=False).name
    'spectral'
    >>> joint_route([one, two], same_records=True).name
    'normal'
    """
    models = tuple(models)
    if not models or not all(isinstance(model, Model) for model in models):
        raise InvalidArgument("models", models, "is not a list of models", "give one Model per release")
    if len({model.population for model in models}) > 1:
        names = ", ".join(dict.fromkeys(str(model.population) for model in models))
        raise IncompatibleError(
            f"the releases are about different populations ({names}); give all of them the same one"
        )
    if len(models) > 1 and not isinstance(same_records, bool | np.bool_):
        remedy = "say True if all releases are about the same records, False if each is about its own"
        raise InvalidArgument("same_records", same_records, "does not say whether releases share records", remedy)
    if len(models) == 1 or not same_records:
        routes = [choose_route(model, route) for model in models]
        return Disjoint(models, tuple(map(_observed, models, routes, processed or [None] * len(models))))
    if any(processed):
        raise IncompatibleError("numbers about the same records have no joint law where they were clamped or rounded")
    reason = no_joint_law(models, as_route(route))
    if reason is not None:
        raise IncompatibleError(f"these releases of the same records have no joint law here: {reason}")
    return SameRecords(models)


def _observed(model: Model, route: Route, processed: Processed | None) -> Route:
    """The route of what was published: that of the noisy number, or of what is known of it."""
    if processed is None:
        return route
    found = (ProcessedCells if model.channel.statistic.tallies else Censored)(route, processed)
    if (reason := found.refuses(model)) is not None:
        raise IncompatibleError(f"{model.channel.statistic!r} was published {processed}: {reason}; denoise counts")
    return found


@dataclass(frozen=True)
class Disjoint(Joint):
    """Releases about different records (or one release): their log-likelihoods add."""

    models: tuple[Model, ...]
    routes: tuple[Route, ...]

    @property
    def name(self) -> str:  # type: ignore[override]
        """The routes that serve the releases."""
        return " + ".join(dict.fromkeys(route.name for route in self.routes))

    @property
    def error(self) -> str:  # type: ignore[override]
        """The errors of these routes."""
        return "; ".join(dict.fromkeys(route.error for route in self.routes))

    @property
    def simulated(self) -> bool:  # type: ignore[override]
        """Whether one of them is Monte Carlo."""
        return any(route.simulated for route in self.routes)

    @property
    def dear(self) -> bool:  # type: ignore[override]
        """Whether one of the routes is."""
        return any(route.dear for route in self.routes)

    @property
    def for_many_thetas(self) -> bool:  # type: ignore[override]
        """Whether one of them is made for many θ at once."""
        return any(route.for_many_thetas for route in self.routes)

    @property
    def approximate(self) -> bool:  # type: ignore[override]
        """Whether one of them is an approximation."""
        return any(route.approximate for route in self.routes)

    def seconds(self, thetas: int) -> float:
        """What the routes say of so many θ."""
        return sum(route.seconds(model, thetas) for model, route in zip(self.models, self.routes, strict=True))

    def for_a_posterior(self) -> Disjoint:
        """By each route at the accuracy that a posterior needs."""
        return replace(self, routes=tuple(route.for_a_posterior() for route in self.routes))

    def for_a_look(self) -> Disjoint:
        """By each route at the accuracy that tells where a posterior lies."""
        return replace(self, routes=tuple(route.for_a_look() for route in self.routes))

    def quicker(self) -> Disjoint | None:
        """By each route with a larger error, where there is something to gain."""
        quicker = [route.quicker() for route in self.routes]
        if not any(quicker):
            return None
        return replace(self, routes=tuple(other or route for other, route in zip(quicker, self.routes, strict=True)))

    def check(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """By each release's own route."""
        return checked(self.models, self.routes, values)

    def log_prob(self, theta: jax.Array, values: Sequence[Any]) -> jax.Array:
        """Σ log p(y_i | θ)."""
        parts = zip(self.models, self.routes, values, strict=True)
        return jnp.sum(jnp.stack([route.log_prob(model, theta, jnp.asarray(value)) for model, route, value in parts]))

    def log_likelihood(self, thetas: Any, values: Sequence[Any]) -> Floats:
        """Σ log p(y_i | θ) at all θ."""
        parts = zip(self.models, self.routes, self.check(values), strict=True)
        found = [route.log_likelihood(model, np.asarray(thetas), value[None]) for model, route, value in parts]
        return np.asarray(np.sum([part[:, 0] for part in found], axis=0))
