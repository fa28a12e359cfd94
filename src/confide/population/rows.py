"""Rows: a record of several named columns, each with a law given the parameters and the columns before it.

Every column is a population of its own, whose parameters are those that its function names: some of the row's, and
earlier columns. So all that is known about one number (its density, draws, tails) is known about a column given the
others, and the density of a row is the product of theirs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import jax
import jax.numpy as jnp
from numpyro.distributions import constraints
from numpyro.distributions.constraints import Constraint

from confide.errors import IncompatibleError, InvalidArgument
from confide.population import density, tails
from confide.population.space import Space, split

if TYPE_CHECKING:
    from confide.population.population import Population


@dataclass(frozen=True)
class ColumnLaw:
    """A population whose parameters are, in their order, these parameters of a row and earlier columns."""

    population: Population
    needs: tuple[str, ...]
    #: the parameter that is the share of missing values, and the constant that is written down for these
    missing: tuple[str, float] | None = None

    def theta(self, known: Mapping[str, jax.Array], row: Mapping[str, jax.Array]) -> jax.Array:
        """θ of the column."""
        values = (known[name] if name in known else row[name] for name in self.needs)
        return jnp.concatenate([jnp.ravel(jnp.asarray(value, dtype=jnp.float64)) for value in values])


@dataclass(frozen=True)
class RowLaw:
    """The columns of a row in their order, each a population given parameters and earlier columns."""

    columns: tuple[tuple[str, ColumnLaw], ...]

    def __call__(self, **parameters: Any) -> NoReturn:
        """Stands where the family of a population of numbers would be: whoever asks for that is told."""
        del parameters
        raise IncompatibleError(
            f"a record is a row of the columns {', '.join(self.names)}: this is only known of records of one number; "
            "use draws, densities, means and noisy values of rows, or model one column"
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(name for name, _ in self.columns)

    def draws(self, space: Space, key: jax.Array, theta: jax.Array, shape: tuple[int, ...]) -> dict[str, jax.Array]:
        """Rows at θ, as columns of the given shape: each column is drawn given those before it."""
        row: dict[str, jax.Array] = {}
        seen: dict[str, jax.Array] = {}
        known = split(space, theta)
        for for_column, (name, law) in zip(jax.random.split(key, len(self.columns)), self.columns, strict=True):
            row[name] = _drawn(law, for_column, known, {each: row[each] for each in law.needs if each in row}, shape)
            seen[name] = row[name]
            if law.missing is not None:  # later columns follow the value that there would have been
                share, constant = law.missing
                gone = jax.random.uniform(jax.random.fold_in(for_column, 1), shape) < known[share]
                seen[name] = jnp.where(gone, constant, row[name])
        return seen

    @property
    def noises(self) -> int:
        """How many uniform numbers make a row: one for each column, and one for each that may be missing."""
        return sum(1 + (law.missing is not None) for _, law in self.columns)

    def made(self, space: Space, z: jax.Array, theta: jax.Array) -> tuple[jax.Array, ...]:
        """The columns of one row at one θ, each the quantile of a uniform number given those before it."""
        row: dict[str, jax.Array] = {}
        seen: list[jax.Array] = []
        known, numbers = split(space, theta), iter(z)
        for name, law in self.columns:
            row[name] = tails.quantile(law.population, next(numbers), law.theta(known, row))
            seen.append(row[name])
            if law.missing is not None:
                share, constant = law.missing
                seen[-1] = jnp.where(next(numbers) < known[share], constant, row[name])
        return tuple(seen)

    def log_prob(self, space: Space, row: Mapping[str, jax.Array], theta: jax.Array) -> jax.Array:
        """log p of one row at one θ: the sum over its columns."""
        known = split(space, theta)
        each = []
        for name, law in self.columns:
            if law.missing is not None and any(name in later.needs for _, later in self.columns):
                raise IncompatibleError(
                    f"later columns follow the value of {name!r} that there would have been, so that a row without it "
                    "has no density in closed form; order the columns so that none depends on one that may be missing"
                )
            log_p = density.log_prob(law.population, row[name], law.theta(known, row))
            if law.missing is not None:
                share, constant = known[law.missing[0]], law.missing[1]
                log_p = jnp.where(row[name] == constant, jnp.log(share), jnp.log1p(-share) + log_p)
            each.append(log_p)
        return jnp.sum(jnp.stack(each))


def _drawn(
    law: ColumnLaw,
    key: jax.Array,
    known: Mapping[str, jax.Array],
    earlier: dict[str, jax.Array],
    shape: tuple[int, ...],
) -> jax.Array:
    """Values of a column, given those before it."""
    if not earlier:
        return density.draws(law.population, key, law.theta(known, {}), shape)

    def one(key: jax.Array, given: dict[str, jax.Array]) -> jax.Array:
        return density.draws(law.population, key, law.theta(known, given), ())

    for _ in shape:
        one = jax.vmap(one)
    return one(jax.random.split(key, shape), earlier)


@dataclass(frozen=True)
class _Given:
    """A law that no parameter changes, for a population that must have one."""

    law: Callable[[], Any]

    def __call__(self, **parameters: Any) -> Any:
        del parameters
        return self.law()


def rows_of(
    columns: Mapping[str, Any], parameters: Mapping[str, Constraint], sizes: Mapping[str, int], make: Callable[..., Any]
) -> RowLaw:
    """Checked columns, each a function or a `ColumnLaw`; `make` is the class of populations."""
    found: dict[str, ColumnLaw] = {}
    for name, given in columns.items():
        _check_name(name, parameters)
        needs = given.needs if isinstance(given, ColumnLaw) else _arguments(name, given)
        _check_needs(name, set(needs), columns, found, parameters)
        if isinstance(given, ColumnLaw):
            found[name] = given
            continue
        spaces = {each: parameters[each] if each in parameters else _space(found[each].population) for each in needs}
        law = given
        if not needs:  # one of the row's parameters stands for all of them
            law, spaces = _Given(given), dict([next(iter(parameters.items()))])
        made = make(law, spaces, sizes={each: sizes[each] for each in spaces if each in sizes})
        found[name] = ColumnLaw(made, tuple(spaces))
    used = {each for name, law in found.items() for each in law.needs if not isinstance(law.population.family, _Given)}
    used |= {law.missing[0] for law in found.values() if law.missing is not None}
    if unused := [name for name in parameters if name not in used]:
        remedy = "leave it out, or name it in the function of a column"
        raise InvalidArgument("parameters", unused[0], "is a parameter of no column", remedy)
    return RowLaw(tuple(found.items()))


def _space(column: Population) -> Constraint:
    """Where the values of an earlier column lie, as far as that is the same for all θ."""
    ends = column.facts.fixed_ends
    below, above = (False, False) if ends is None else column.facts.bounded
    if ends is None or not (below or above):
        return constraints.real
    if below and above:
        return constraints.interval(*ends)
    return constraints.greater_than_eq(ends[0]) if below else constraints.less_than(ends[1])


def _check_name(name: Any, parameters: Mapping[str, Constraint]) -> None:
    if not isinstance(name, str) or not name.isidentifier():
        raise InvalidArgument("family", name, "is not a name for a column", "use letters, digits and _")
    if name in parameters:
        raise InvalidArgument("family", name, "is the name of a column and of a parameter", "give them two names")


def _arguments(name: str, law: Any) -> tuple[str, ...]:
    """What a column's function names: parameters and earlier columns."""
    remedy = "give a function of parameters and earlier columns that returns a numpyro distribution"
    if not callable(law):
        raise InvalidArgument(f"family[{name!r}]", law, "is not a function", remedy)
    kinds = inspect.signature(law).parameters.values()
    if any(each.kind in (each.VAR_KEYWORD, each.VAR_POSITIONAL, each.POSITIONAL_ONLY) for each in kinds):
        raise InvalidArgument(f"family[{name!r}]", law, "does not name what it depends on", remedy)
    return tuple(each.name for each in kinds)


def _check_needs(
    name: str, needs: set[str], columns: Mapping[str, Any], earlier: Mapping[str, Any], parameters: Mapping[str, Any]
) -> None:
    for other in sorted(needs - set(parameters) - set(earlier)):
        if other in columns:
            problem = f"depends on the column {other!r}, which is not before it"
            raise InvalidArgument(f"family[{name!r}]", other, problem, "order the columns by what they depend on")
        known = ", ".join([*parameters, *earlier])
        problem = "is neither a parameter nor an earlier column"
        raise InvalidArgument(f"family[{name!r}]", other, problem, f"use {known}, or declare it in parameters")
