"""What a population must be given, and whether sums over its support are accurate."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.population import batches, space, tails, tiles

if TYPE_CHECKING:
    from confide.population.population import Population

#: the mass that a rule over the support may miss: below what posteriors and information are stated to
_LARGEST_DEFECT = 1e-8


def declared(family: Any, parameters: Any, sizes: Mapping[str, int], noise: Any, transform: Any) -> None:
    """Refuse arguments from which no population can be made."""
    if isinstance(family, Mapping) and not family:
        raise InvalidArgument("family", family, "has no column", 'give for example {"age": a function}')
    if isinstance(family, Mapping) and (noise is not None or transform is not None):
        problem = "are given for a row of columns"
        raise InvalidArgument("noise, transform", (noise, transform), problem, "make a column a population of its own")
    if not callable(family) and not isinstance(family, Mapping):
        raise InvalidArgument(
            "family", family, "is not callable", "give a function that returns a numpyro distribution"
        )
    if not isinstance(parameters, Mapping) or not parameters:
        remedy = 'map names to numpyro constraints, such as {"rate": constraints.positive}'
        raise InvalidArgument("parameters", parameters, "names no parameter", remedy)
    if noise is not None and transform is None:
        remedy = "give transform(z, **parameters) as well"
        raise InvalidArgument("noise", noise, "is given without what turns it into a record", remedy)
    if unknown := set(sizes) - set(parameters):
        raise InvalidArgument("sizes", sizes, f"names no parameter: {sorted(unknown)}", "use names in parameters")


def integrable(population: Population, theta: ArrayLike) -> jax.Array:
    """A checked θ, at which sums over the support are accurate where they are needed."""
    checked = population.theta(theta)
    if population.rows is None and tails.needs_rule(population):
        # Inside a trace even a known θ gives a traced result, and nothing can be checked.
        require_mass(population, checked, checked if space.is_traced(checked) else batches.defect(population, checked))
    return checked


def require_mass(population: Population, theta: jax.Array, missing: jax.Array | np.ndarray) -> None:
    """Refuse a θ at which the law does not sum to one, given how much is missing."""
    if not space.is_traced(missing) and not np.all(np.asarray(missing) < _LARGEST_DEFECT):
        raise AccuracyError(
            f"the law of {population.name} sums to one only within {float(np.max(missing)):.1e} at theta = {theta!r}; "
            "declare the points where its density is not smooth (breaks), or supply its cdf, quantile and information"
        )


def summed_fisher(population: Population, theta: jax.Array) -> jax.Array:
    """The information of a record at known θ by a sum over the support, which must have all of the mass."""
    found, missing = tiles.fisher(population, np.reshape(theta, (-1, population.dimension)))
    require_mass(population, theta, missing)
    return jnp.asarray(found.reshape(*theta.shape, population.dimension))


def require_hashable(population: Population) -> None:
    """Refuse parts by which compiled functions could not be found again."""
    try:
        hash(population)
    except TypeError:
        raise InvalidArgument("family", population.family, "is not hashable", "give plain functions") from None


def by_column(names: tuple[str, ...], rows: Any) -> tuple[Any, ...]:
    """The columns of rows, in their order."""
    for name in names:
        if not isinstance(rows, Mapping) or name not in rows:
            remedy = f"give {', '.join(names)} by name"
            raise InvalidArgument("x", type(rows).__name__, f"has no column {name!r}", remedy)
    return tuple(space.as_float64(rows[name]) for name in names)


def fisher(population: Population, theta: ArrayLike) -> jax.Array:
    """The information of a record: in closed form or inside a trace, else by a sum that must have all mass."""
    require_regular(population)
    checked = population.theta(theta)
    if population.closed.information is not None or space.is_traced(checked) or space.inside_a_trace():
        return batches.fisher(population, checked)
    return summed_fisher(population, checked)


def as_levels(q: Any) -> Any:
    """Probabilities; traced ones cannot be checked."""
    level = space.as_float64(q)
    if not space.is_traced(level) and not np.all((level >= 0) & (level <= 1)):
        raise InvalidArgument("q", q, "is not a probability", "give numbers from 0 to 1")
    return level


def require_regular(population: Population) -> None:
    """Refuse to ask for the Fisher information of a record where it does not exist."""
    if population.moving:
        raise IncompatibleError(
            f"the support of {population.name} depends on its parameters, so the Fisher information of a record "
            "is undefined; the information of a privatised statistic still exists"
        )


def as_shape(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """A shape, of which a number is the one of a vector."""
    return shape if isinstance(shape, tuple) else (operator.index(shape),)
