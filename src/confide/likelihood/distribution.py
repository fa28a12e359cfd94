"""The law of a published value as a numpyro distribution, for models that other people write.

`Model.log_likelihood` gives every θ against every value; inside a model each site has its own θ, so here the two are
paired. Everything is computed in double precision; a caller in single precision gets it rounded.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from numpyro.distributions import constraints

from confide._precision import is_single, through_double
from confide._random import as_key
from confide.likelihood.local.two_sided import watched
from confide.likelihood.route import Route
from confide.model import Model
from confide.population import Population, space


class _Isolated(constraints.ParameterFreeConstraint):
    """Values with probabilities instead of a density: a sampler that moves continuously must not draw them."""

    is_discrete = True

    def __call__(self, x: Any) -> jax.Array:
        return jnp.isfinite(x)


class PublishedValue(dist.Distribution):
    """What a channel may publish at θ: made by `Model.distribution`."""

    arg_constraints: ClassVar[dict[str, Any]] = {}
    pytree_data_fields = ("theta",)
    pytree_aux_fields = ("model", "route")

    def __init__(self, model: Model, theta: Any, route: Route) -> None:
        self.model, self.theta, self.route = model, _arranged(model.population, theta), route
        super().__init__(jnp.shape(self.theta)[:-1], model.channel.value_shape, validate_args=False)

    def __repr__(self) -> str:
        return f"PublishedValue({self.model.channel!r}, batch_shape={self.batch_shape})"

    @constraints.dependent_property  # type: ignore[untyped-decorator]
    def support(self) -> constraints.Constraint:
        """The reals, or isolated values where the noise lives on a lattice or an answer is one of a few."""
        law = self.model.channel.law
        isolated = law.answers is not None or (law.added is not None and law.added.step is not None)
        one = _Isolated() if isolated else constraints.real
        return constraints.independent(one, self.event_dim) if self.event_dim else one

    def sample(self, key: jax.Array, sample_shape: tuple[int, ...] = ()) -> jax.Array:
        """Values as they might be published: records are drawn and the mechanism is run.

        Inside the trace of a caller in single precision they are drawn in single precision, since JAX's generator
        cannot be asked for more there.
        """
        single = not jax.config.read("jax_enable_x64")
        traced = isinstance(key, jax.core.Tracer) or isinstance(self.theta, jax.core.Tracer)
        shape = (*sample_shape, *self.batch_shape, jnp.shape(self.theta)[-1])
        with jax.enable_x64(not (single and traced)), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Explicitly requested dtype")  # which is what the caller cannot have
            theta = jnp.broadcast_to(jnp.asarray(self.theta, dtype=float), shape)
            values = self.route.simulate(self.model, as_key(key), theta)
        return _in_the_precision_of_the_caller(values)

    def log_prob(self, value: Any) -> jax.Array:
        """log p(y | θ), each value at its own θ; without a value of its own a θ takes what is broadcast to it."""
        theta = self.theta
        if is_single(theta) or is_single(value):
            batch, rows = self._rows(theta, value)
            return through_double(partial(_one, self.route, self.model), *rows, each=True).reshape(batch)
        with jax.enable_x64(True):
            batch, rows = self._rows(*(jnp.asarray(part, dtype=jnp.float64) for part in (theta, value)))
            found = _paired(self.route, self.model, *rows).reshape(batch)
        return _in_the_precision_of_the_caller(found)

    def _rows(self, theta: Any, value: Any) -> tuple[tuple[int, ...], tuple[Any, Any]]:
        """The shape of what is asked for, and a row of θ and of values for each: known ones stay NumPy's."""
        event, size = self.event_shape, jnp.shape(theta)[-1]
        own = jnp.shape(value)[: jnp.ndim(value) - len(event)]
        batch = jnp.broadcast_shapes(jnp.shape(theta)[:-1], own)
        shapes = ((theta, (size,)), (value, event))
        return batch, tuple(_as_rows(part, batch, shape) for part, shape in shapes)


def _as_rows(part: Any, batch: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    space: Any = jnp if isinstance(part, jax.Array) else np
    return space.broadcast_to(part, (*batch, *shape)).reshape(-1, *shape)


def _arranged(population: Population, theta: Any) -> Any:
    """θ of shape batch + (d,); what a caller differentiates in single precision stays in it (see `_precision`)."""
    if not any(map(is_single, theta.values() if isinstance(theta, Mapping) else [theta])):
        return population.theta(theta)
    convert = partial(jnp.asarray, dtype=jnp.float32)
    return space.arrange(space.join(population.space, theta, "theta", convert), population.dimension, "theta", convert)


@partial(jax.jit, static_argnums=(0, 1))
def _paired(route: Route, model: Model, thetas: jax.Array, values: jax.Array) -> jax.Array:
    return jax.vmap(partial(_one, route, model))(thetas, values)


def _one(route: Route, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
    return route.log_prob(model, theta, value) + watched(model, theta)


def _in_the_precision_of_the_caller(values: jax.Array) -> jax.Array:
    """Called outside of double precision's own context, where JAX's switch is the caller's."""
    kind = jnp.float64 if jax.config.read("jax_enable_x64") else jnp.float32
    with jax.enable_x64(True):
        return values.astype(kind)
