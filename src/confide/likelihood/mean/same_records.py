"""Releases of *the same* records: the product of their likelihoods would count the records twice.

Means of the same n records are jointly normal in the limit, with the covariance of (s₁(x), s₂(x), …) of one record over
n, to which each release adds its own noise:

    (Y₁, Y₂, …) ~ N(μ_s(θ), Σ_s(θ)/n + diag(σ₁², σ₂², …)).

One of the releases may have noise that is not Gaussian: given the others its mean is normal, and that normal law is
convolved with its noise as in the scalar normal route. With two such releases there is no closed form.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.errors import IncompatibleError
from confide.expression import Expression
from confide.expression.text import format_tree
from confide.expression.tree import Call, Interp, Number, Tree, Variable
from confide.likelihood.joint_law import Joint, checked
from confide.likelihood.mean.normal import Normal, convolved, log_normal
from confide.likelihood.record_law.moments import AnyRecordLaw, law_for, moments
from confide.likelihood.record_law.traced import moving_law
from confide.likelihood.route import Floats, Route
from confide.mechanism.noise import Noise
from confide.model import Model
from confide.statistic import Mean
from confide.statistic.columns import ColumnBounds, Pair, bounds_by_name
from confide.statistic.transform import Function, Transform

_LATENT = "use latent methods (infer with method='mhaar')"


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
        every = [bounds_by_name(model.channel.statistic) for model in self.models]
        names = dict.fromkeys(name for bounds in every for name in bounds)
        ends = {name: [bounds[name] for bounds in every if name in bounds] for name in names}
        common = {name: (min(low for low, _ in each), max(high for _, high in each)) for name, each in ends.items()}
        clipped = [
            _clipped(transform, bounds, common)
            for model, bounds in zip(self.models, every, strict=True)
            for transform in _transforms(model)
        ]
        if isinstance(self.models[0].channel.statistic.bounds, ColumnBounds):
            return Mean(clipped, _numbers(self.models, common), categories=_categories(self.models))
        return Mean(clipped, common["x"])

    def check(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """By the normal route of each release."""
        return checked(self.models, [Normal()] * len(self.models), values)

    def log_prob(self, theta: jax.Array, values: Sequence[Any]) -> jax.Array:
        """The joint normal density, with nodes that move with θ."""
        mean, covariance = moments(*moving_law(self.models[0].population, self.statistic, theta))
        return log_density_of_many(self.noises, _joined(values) - mean, covariance / self.models[0].channel.n)

    def log_likelihood(self, thetas: Any, values: Sequence[Any]) -> Floats:
        """All θ at once."""
        value = _joined(self.check(values))
        law = law_for(self.models[0].population, self.statistic, thetas)
        return np.asarray(_each(law, self.noises, float(self.models[0].channel.n), np.asarray(thetas), value))


@jax.jit
def _each(law: AnyRecordLaw, noises: tuple[Noise, ...], n: float, thetas: jax.Array, value: jax.Array) -> jax.Array:
    def one(theta: jax.Array) -> jax.Array:
        mean, covariance = moments(*law.at(theta))
        return log_density_of_many(noises, value - mean, covariance / n)

    return jax.vmap(one)(thetas)


def log_density_of_many(noises: tuple[Noise, ...], residual: jax.Array, covariance: jax.Array) -> jax.Array:
    """log density of N(0, covariance) plus independent noise; at most one noise is not Gaussian, and comes last."""
    gaussian = [i for i, noise in enumerate(noises) if noise.normal]
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


def no_joint_law(models: tuple[Model, ...], asked: Route | None) -> str | None:
    """Why releases of the same records have no joint law by the route that is asked for, or None."""
    if asked not in (None, Normal()):
        return f"route {asked.name!r} is one release's own, and the product would count the records twice; use 'normal'"
    sizes = sorted({model.channel.n for model in models})
    if len(sizes) > 1:
        return f"the same records cannot number {' and '.join(str(n) for n in sizes)}; give each part its own data set"
    for model in models:
        if not model.channel.statistic.averages:
            return f"{model.channel.statistic} is not a mean; {_LATENT}"
        if model.channel.law.added is None:
            return f"{model.channel.mechanism} does not add noise; {_LATENT}"
    rough = [m for m in models for _ in _transforms(m) if not m.channel.law.noise.normal]  # type: ignore[attr-defined]
    if len(rough) > 1:
        return f"more than one of them has noise that is not Gaussian, for which there is no closed form; {_LATENT}"
    return None


def _transforms(model: Model) -> tuple[Transform, ...]:
    return model.channel.statistic.transforms


def _joined(values: Sequence[Any]) -> jax.Array:
    return jnp.concatenate([jnp.atleast_1d(jnp.asarray(value)) for value in values])


def _clipped(transform: Transform, bounds: Mapping[str, Pair], common: Mapping[str, Pair]) -> Transform:
    """s of each column clipped to its bounds, as a transform on the common, wider ones."""
    narrower = {name: pair for name, pair in bounds.items() if pair != common[name]}
    if isinstance(transform, Function):
        return (
            Function(_ClippedFunction(transform.callable, *narrower["x"]), transform.declared)
            if narrower
            else transform
        )
    return Expression(format_tree(_substitute(transform.tree, narrower)), tuple(common))


@dataclass(frozen=True)
class _ClippedFunction:
    function: Any
    low: float
    high: float

    def __call__(self, x: Any) -> Any:
        return self.function((jnp if isinstance(x, jax.Array) else np).clip(x, self.low, self.high))


def _substitute(tree: Tree, bounds: Mapping[str, Pair]) -> Tree:
    """The tree with clip(x, low, high) in place of each x that has bounds."""
    match tree:
        case Variable(name) if name in bounds:
            low, high = bounds[name]
            return Call("clip", (tree, Number(low), Number(high)))
        case Call(operation, arguments):
            return Call(operation, tuple(_substitute(argument, bounds) for argument in arguments))
        case Interp(argument, knots, values):
            return Interp(_substitute(argument, bounds), knots, values)
        case _:
            return tree


def _categories(models: Sequence[Model]) -> dict[str, tuple[str, ...]] | None:
    """The public lists of the columns of text, of all releases together."""
    found: dict[str, tuple[str, ...]] = {}
    for model in models:
        for name, texts in model.channel.statistic.bounds.lists.items():
            if found.setdefault(name, texts) != texts:
                raise IncompatibleError(
                    f"column {name!r} has other categories in another release of the same records, so that its codes "
                    "mean different things; infer from each release by itself"
                )
    return found or None


def _numbers(models: Sequence[Model], common: Mapping[str, Pair]) -> dict[str, Pair] | None:
    """The common bounds of the columns of numbers."""
    named = {name for model in models for name in model.channel.statistic.bounds.numbers}
    return {name: pair for name, pair in common.items() if name in named} or None
