"""The parameter space: how θ, one array, is made of named parameters with constraints."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import biject_to
from numpyro.distributions.constraints import Constraint, simplex

from confide.errors import InvalidArgument, ParameterError


@dataclass(frozen=True)
class Parameter:
    """One named parameter; `size` is its number of entries in θ: 1 unless it is a vector (a simplex) or a matrix."""

    name: str
    constraint: Constraint
    size: int = 1

    def __hash__(self) -> int:  # numpyro's constraints can be compared but not hashed
        return hash((self.name, self.size))

    @property
    def vector(self) -> bool:
        """Whether it has an axis of its own, or two."""
        return bool(self.constraint.event_dim > 0)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of its value."""
        side = math.isqrt(self.size)
        return ((), (self.size,), (side, side))[self.constraint.event_dim]

    def shaped(self, entries: Any) -> Any:
        """Entries on the last axis of θ as a value."""
        return entries.reshape((*entries.shape[:-1], *self.shape)) if self.vector else entries[..., 0]

    def flat(self, value: Any) -> Any:
        """A value as entries on the last axis of θ."""
        return value.reshape((*value.shape[: value.ndim - len(self.shape)], self.size))

    @property
    def free(self) -> int:
        """The number of entries without the constraint: a simplex has one fewer than it has entries."""
        if not self.vector:
            return 1
        shape: tuple[int, ...] = biject_to(self.constraint).inverse_shape(self.shape)
        return shape[-1]


def parameter(name: str, constraint: object, sizes: Mapping[str, int]) -> Parameter:
    """A checked `Parameter`."""
    if not isinstance(constraint, Constraint):
        remedy = "map every name to a numpyro constraint, such as numpyro.distributions.constraints.positive"
        raise InvalidArgument(f"parameters[{name!r}]", constraint, "is not a constraint", remedy)
    if constraint.is_discrete or constraint.event_dim > 2:
        remedy = "give it a continuous constraint of a number, a vector or a square matrix, or fix it inside the family"
        raise InvalidArgument(f"parameters[{name!r}]", constraint, "is not a space for a part of θ", remedy)
    size = sizes.get(name, 1)
    if constraint.event_dim > 0 and (name not in sizes or size < 1 or (size < 2 and constraint is simplex)):
        remedy = f"declare its length, as in sizes={{{name!r}: 3}}"
        raise InvalidArgument(f"parameters[{name!r}]", constraint, "is a vector of unknown length", remedy)
    if constraint.event_dim == 0 and size != 1:
        raise InvalidArgument("sizes", dict(sizes), f"gives a length to the scalar {name!r}", "leave it out")
    try:
        biject_to(constraint)
    except NotImplementedError:
        remedy = "use a constraint that numpyro's biject_to knows"
        raise InvalidArgument(f"parameters[{name!r}]", constraint, "cannot be unconstrained", remedy) from None
    return Parameter(name, constraint, size**2 if constraint.event_dim == 2 else size)


Space = tuple[Parameter, ...]


def is_traced(value: object) -> bool:
    """Whether a value is known only to a JAX transformation, so that it cannot be checked."""
    return isinstance(value, jax.core.Tracer)


def inside_a_trace() -> bool:
    """Whether whatever is computed now is known only to a JAX transformation, from known numbers too."""
    return is_traced(jnp.zeros(()))


def as_float64(value: Any) -> Any:
    """A float64 array: NumPy's where the value is known, JAX's inside a transformation."""
    return jnp.asarray(value, dtype=jnp.float64) if is_traced(value) else np.asarray(value, dtype=np.float64)


def arrange(value: Any, dimension: int, argument: str, convert: Callable[[Any], Any] = as_float64) -> Any:
    """The convention for shapes: batch + (dimension,), where one parameter may go without its last axis."""
    try:
        array = convert(value)
    except (TypeError, ValueError):
        raise ParameterError(argument, value, "is not numeric", f"give {dimension} numbers") from None
    if dimension == 1 and array.ndim == 0:
        return array[None]
    if dimension == 1 and array.ndim == 1 and array.shape[0] > 1:
        return array[:, None]
    if array.ndim == 0 or array.shape[-1] != dimension:
        remedy = f"make its last axis {dimension} long" + (", as in theta[..., None]" if dimension == 1 else "")
        raise ParameterError(argument, value, f"has shape {array.shape}", remedy)
    return array


def split(space: Space, theta: jax.Array) -> dict[str, jax.Array]:
    """θ cut into its named parameters."""
    parts, at = {}, 0
    for part in space:
        parts[part.name] = part.shaped(theta[..., at : at + part.size])
        at += part.size
    return parts


def join(space: Space, value: Any, argument: str, convert: Callable[[Any], Any] = as_float64) -> Any:
    """θ of its named parameters, which may be batches: the inverse of `split`. What is not by name is left as it is."""
    if not isinstance(value, Mapping):
        return value
    names = [part.name for part in space]
    if sorted(map(str, value)) != sorted(names):
        raise ParameterError(argument, value, "does not name the parameters", f"give {', '.join(names)}")
    entries = [convert(value[part.name]) for part in space]
    entries = [part.flat(entry) for part, entry in zip(space, entries, strict=True)]
    numpy = jnp if any(map(is_traced, entries)) else np
    batch = np.broadcast_shapes(*(entry.shape[:-1] for entry in entries))
    return numpy.concatenate([numpy.broadcast_to(entry, (*batch, entry.shape[-1])) for entry in entries], axis=-1)


#: how numpyro calls its constraints, and people do
_SAID = {
    "Simplex": "shares that sum to one", "RealVector": "a vector of real numbers",
    "Positive": "above {lower_bound:g}", "GreaterThan": "above {lower_bound:g}",
    "Nonnegative": "{lower_bound:g} or more", "GreaterThanEq": "{lower_bound:g} or more",
    "LessThan": "below {upper_bound:g}", "LessThanEq": "{upper_bound:g} or less",
    "OpenInterval": "strictly between {lower_bound:g} and {upper_bound:g}",
    "Interval": "from {lower_bound:g} to {upper_bound:g}", "UnitInterval": "from 0 to 1",
}  # fmt: skip


def said(constraint: Constraint) -> str:
    """What a parameter must be.

    >>> from numpyro.distributions import constraints
    >>> said(constraints.open_interval(0.0, 1.0))
    'strictly between 0 and 1'
    """
    words = _SAID.get(type(constraint).__name__.lstrip("_"))
    return f"as {constraint!r} says" if words is None else words.format_map(vars(constraint))


def check(space: Space, theta: np.ndarray, argument: str, value: object) -> None:
    """Refuse a θ that is not finite or not in the space, naming the parameter at fault."""
    for part, entries in zip(space, split(space, theta).values(), strict=True):  # type: ignore[arg-type]
        events = entries.reshape((-1, *part.shape))
        finite = np.isfinite(events.reshape(len(events), -1)).all(axis=-1)
        if not finite.all():
            bad = events[~finite][0]
            problem = f"is not finite: {part.name} = {bad}"
            raise ParameterError(argument, value, problem, "give finite numbers")
        inside = np.asarray(part.constraint(events))
        if not inside.all():
            bad = events[~inside][0]
            problem = f"is outside the parameter space: {part.name} = {bad}"
            raise ParameterError(argument, value, problem, f"{part.name} must be {said(part.constraint)}")


def unconstrain(space: Space, theta: jax.Array) -> jax.Array:
    """θ mapped one-to-one to real numbers without constraint."""
    pieces = []
    for part, entries in zip(space, split(space, theta).values(), strict=True):
        free = biject_to(part.constraint).inv(entries)
        pieces.append(free if part.vector else free[..., None])
    return jnp.concatenate(pieces, axis=-1)


def constrain(space: Space, unconstrained: jax.Array) -> jax.Array:
    """The inverse of `unconstrain`."""
    pieces, at = [], 0
    for part in space:
        free = unconstrained[..., at : at + part.free]
        at += part.free
        transform = biject_to(part.constraint)
        pieces.append(part.flat(transform(free) if part.vector else transform(free[..., 0])))
    return jnp.concatenate(pieces, axis=-1)
