"""Several releases together: p(y₁, y₂, … | θ).

Releases about different records are independent given θ, and their log-likelihoods add. Releases about *the same*
records are not: the product would count the records twice. Means of the same n records are jointly normal in the
limit, with the covariance of (s₁(x), s₂(x), …) of one record over n, to which each release adds its own noise:

    (Y₁, Y₂, …) ~ N(μ_s(θ), Σ_s(θ)/n + diag(σ₁², σ₂², …)).

One of the releases may have noise that is not Gaussian: given the others its mean is normal, and that normal law is
convolved with its noise as in the scalar normal route. With two such releases there is no closed form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.errors import IncompatibleError, InvalidArgument
from confide.expression import Expression
from confide.expression.text import format_tree
from confide.expression.tree import Call, Interp, Number, Tree, Variable
from confide.likelihood import ROUTES, as_route, choose_route
from confide.likelihood.mean.normal import Normal, convolved, log_normal
from confide.likelihood.record_law.moments import MovingLaw, law_for, moments
from confide.likelihood.record_law.record import RecordLaw
from confide.likelihood.record_law.traced import moving_law
from confide.likelihood.route import Floats, Route
from confide.mechanism.additive import AdditiveLaw
from confide.mechanism.noise import GaussianNoise, Noise
from confide.model import Model
from confide.statistic import Mean
from confide.statistic.transform import Function, Transform

_LATENT = "use latent methods (infer with method='mhaar')"


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
    #: whether its error is not known
    approximate: bool = False

    def seconds(self, thetas: int) -> float:
        """Roughly how long so many θ take on one core; 0 where it is little."""
        del thetas
        return 0.0

    def for_a_posterior(self) -> Joint:
        """The same at the accuracy that a posterior needs."""
        return self

    @abstractmethod
    def check(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """One published value per release, each of its channel's shape and possible there; an error otherwise."""

    @abstractmethod
    def log_prob(self, theta: jax.Array, values: Sequence[Any]) -> jax.Array:
        """log p(y₁, y₂, … | θ) at one θ, differentiable in θ; for use inside a trace, so nothing is checked."""

    @abstractmethod
    def log_likelihood(self, thetas: Any, values: Sequence[Any]) -> Floats:
        """The same at all θ (M, d), which are concrete: shape (M,)."""


def joint_route(models: Sequence[Model], route: str | Route = "auto", same_records: bool | None = None) -> Joint:
    """The joint likelihood of several releases of one population, or an error that says why there is none.

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
        return Disjoint(models, tuple(choose_route(model, route) for model in models))
    reason = _no_joint_law(models, route)
    if reason is not None:
        raise IncompatibleError(f"these releases of the same records have no joint law here: {reason}")
    return SameRecords(models)


def _checked(models: Sequence[Model], routes: Sequence[Route], values: Sequence[Any]) -> tuple[Any, ...]:
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

    def check(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """By each release's own route."""
        return _checked(self.models, self.routes, values)

    def log_prob(self, theta: jax.Array, values: Sequence[Any]) -> jax.Array:
        """Σ log p(y_i | θ)."""
        parts = zip(self.models, self.routes, values, strict=True)
        return jnp.sum(jnp.stack([route.log_prob(model, theta, jnp.asarray(value)) for model, route, value in parts]))

    def log_likelihood(self, thetas: Any, values: Sequence[Any]) -> Floats:
        """Σ log p(y_i | θ) at all θ."""
        parts = zip(self.models, self.routes, self.check(values), strict=True)
        found = [route.log_likelihood(model, np.asarray(thetas), value[None]) for model, route, value in parts]
        return np.asarray(np.sum([part[:, 0] for part in found], axis=0))


@dataclass(frozen=True)
class SameRecords(Joint):
    """Means of the same records: jointly normal by the central limit theorem, each with its own noise."""

    models: tuple[Model, ...]
    name = Normal.name
    error = Normal.error
    approximate = True

    @property
    def noises(self) -> tuple[Noise, ...]:
        """The noise of each component of the releases together."""
        return tuple(model.channel.law.noise for model in self.models for _ in _transforms(model))  # type: ignore[attr-defined]

    @cached_property
    def statistic(self) -> Mean:
        """All components as one vector mean, on bounds that hold those of every release."""
        bounds = [model.channel.statistic.bounds for model in self.models]
        low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
        clipped = [
            _clipped(transform, model.channel.statistic.bounds, (low, high))
            for model in self.models
            for transform in _transforms(model)
        ]
        return Mean(clipped, (low, high))

    def check(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """By the normal route of each release."""
        return _checked(self.models, [choose_route(model, self.name) for model in self.models], values)

    def log_prob(self, theta: jax.Array, values: Sequence[Any]) -> jax.Array:
        """The joint normal density, with nodes that move with θ."""
        mean, covariance = moments(*moving_law(self.models[0].population, self.statistic, theta))
        return _log_density(self.noises, _joined(values) - mean, covariance / self.models[0].channel.n)

    def log_likelihood(self, thetas: Any, values: Sequence[Any]) -> Floats:
        """All θ at once."""
        value = _joined(self.check(values))
        law = law_for(self.models[0].population, self.statistic, thetas)
        return np.asarray(_each(law, self.noises, float(self.models[0].channel.n), np.asarray(thetas), value))


@jax.jit
def _each(
    law: RecordLaw | MovingLaw, noises: tuple[Noise, ...], n: float, thetas: jax.Array, value: jax.Array
) -> jax.Array:
    def one(theta: jax.Array) -> jax.Array:
        mean, covariance = moments(*law.at(theta))
        return _log_density(noises, value - mean, covariance / n)

    return jax.vmap(one)(thetas)


def _log_density(noises: tuple[Noise, ...], residual: jax.Array, covariance: jax.Array) -> jax.Array:
    """log density of N(0, covariance) plus independent noise; at most one noise is not Gaussian, and comes last."""
    gaussian = [i for i, noise in enumerate(noises) if isinstance(noise, GaussianNoise)]
    other = [i for i in range(len(noises)) if i not in gaussian]
    known, inner = residual[jnp.asarray(gaussian)], covariance[jnp.ix_(jnp.asarray(gaussian), jnp.asarray(gaussian))]
    inner = inner + jnp.diag(jnp.stack([noises[i].variance for i in gaussian]))
    total = log_normal(known, inner)
    for i in other:  # given the Gaussian releases, the mean behind the last one is normal
        cross = covariance[jnp.asarray(gaussian), i]
        gain = jnp.linalg.solve(inner, cross)
        spread = jnp.sqrt(covariance[i, i] - gain @ cross)
        total += convolved(noises[i], residual[i] - gain @ known, spread)
    return total


def _no_joint_law(models: tuple[Model, ...], route: str | Route) -> str | None:
    asked = as_route(route)
    if asked not in (None, ROUTES[Normal.name]):
        return f"route {asked.name!r} is one release's own, and the product would count the records twice; use 'normal'"
    sizes = sorted({model.channel.n for model in models})
    if len(sizes) > 1:
        return f"the same records cannot number {' and '.join(str(n) for n in sizes)}; give each part its own data set"
    for model in models:
        if not isinstance(model.channel.statistic, Mean):
            return f"{model.channel.statistic} is not a mean; {_LATENT}"
        if not isinstance(model.channel.law, AdditiveLaw):
            return f"{model.channel.mechanism} does not add noise; {_LATENT}"
    rough = [m for m in models for _ in _transforms(m) if not isinstance(m.channel.law.noise, GaussianNoise)]  # type: ignore[attr-defined]
    if len(rough) > 1:
        return f"more than one of them has noise that is not Gaussian, for which there is no closed form; {_LATENT}"
    return None


def _transforms(model: Model) -> tuple[Transform, ...]:
    return model.channel.statistic.transforms


def _joined(values: Sequence[Any]) -> jax.Array:
    return jnp.concatenate([jnp.atleast_1d(jnp.asarray(value)) for value in values])


def _clipped(transform: Transform, bounds: tuple[float, float], common: tuple[float, float]) -> Transform:
    """s(clip(x, low, high)) as a transform on the common, wider bounds."""
    if bounds == common:
        return transform
    if isinstance(transform, Function):
        return Function(_ClippedFunction(transform.callable, *bounds), transform.declared)
    return Expression(format_tree(_substitute(transform.tree, *bounds)))


@dataclass(frozen=True)
class _ClippedFunction:
    function: Any
    low: float
    high: float

    def __call__(self, x: Any) -> Any:
        return self.function((jnp if isinstance(x, jax.Array) else np).clip(x, self.low, self.high))


def _substitute(tree: Tree, low: float, high: float) -> Tree:
    """The tree with clip(x, low, high) in place of x."""
    match tree:
        case Variable():
            return Call("clip", (tree, Number(low), Number(high)))
        case Call(operation, arguments):
            return Call(operation, tuple(_substitute(argument, low, high) for argument in arguments))
        case Interp(argument, knots, values):
            return Interp(_substitute(argument, low, high), knots, values)
        case _:
            return tree
