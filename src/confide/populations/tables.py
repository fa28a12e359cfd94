"""Populations of rows with several columns, made of populations of numbers."""

from __future__ import annotations

import math
from dataclasses import replace

from numpyro.distributions import constraints
from numpyro.distributions.constraints import Constraint

from confide._call import built
from confide.errors import InvalidArgument
from confide.population import Population
from confide.population.rows import ColumnLaw


@built
def independent(**populations: Population) -> Population:
    """Rows whose columns have nothing to do with each other; parameters are called `column_parameter`.

    >>> from confide import populations
    >>> independent(age=populations.normal(), smokes=populations.bernoulli()).names
    ('age_mean', 'age_variance', 'smokes_probability')
    """
    parameters: dict[str, Constraint] = {}
    sizes: dict[str, int] = {}
    columns: dict[str, ColumnLaw] = {}
    for column, population in populations.items():
        if not isinstance(population, Population) or population.rows is not None:
            problem, remedy = "is not a population of numbers", "give for example age=cf.populations.normal()"
            raise InvalidArgument(column, population, problem, remedy)
        names = {part.name: f"{column}_{part.name}" for part in population.space}
        if twice := sorted(set(names.values()) & set(parameters)):
            problem = f"has a parameter {twice[0]!r}, as another column has"
            raise InvalidArgument(column, population, problem, "call the column by another name")
        parameters |= {names[part.name]: part.constraint for part in population.space}
        sizes |= {names[part.name]: part.shape[0] for part in population.space if part.vector}
        columns[column] = ColumnLaw(population, tuple(names.values()))
    told = ", ".join(f"{name}={population.name}" for name, population in populations.items())
    return Population(columns, parameters, f"independent({told})", sizes=sizes)


@built
def with_missing(population: Population, column: str, constant: float) -> Population:
    """Rows of which a share lacks a value in one column, where a constant is written down for it, as releases do.

    The share is one more parameter, `column_missing`, the last. Later columns follow the value that there would have
    been, and whether it is missing depends on nothing.

    >>> from confide import populations
    >>> rows = independent(age=populations.normal(), cost=populations.exponential())
    >>> with_missing(rows, "cost", 0.0).names
    ('age_mean', 'age_variance', 'cost_rate', 'cost_missing')
    """
    if not isinstance(population, Population) or population.rows is None:
        remedy = "give rows, or a prior of 'missing' to infer, which serves populations of one number"
        raise InvalidArgument("population", population, "is not a population of rows", remedy)
    laws = dict(population.rows.columns)
    if column not in laws:
        raise InvalidArgument("column", column, "is no column of the population", f"use one of {', '.join(laws)}")
    if not isinstance(constant, int | float) or not math.isfinite(constant):
        raise InvalidArgument("constant", constant, "is not a finite number", "give what is written down, such as 0.0")
    share = f"{column}_missing"
    if share in population.names or laws[column].missing is not None:
        raise InvalidArgument("column", column, "may be missing already", "say so once")
    laws[column] = replace(laws[column], missing=(share, float(constant)))
    parameters = population.parameters | {share: constraints.open_interval(0.0, 1.0)}
    sizes = {part.name: part.shape[0] for part in population.space if part.vector}
    return Population(laws, parameters, f"{population.name} with {column} missing at times", sizes=sizes)
