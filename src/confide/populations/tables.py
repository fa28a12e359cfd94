"""Populations of rows with several columns, made of populations of numbers."""

from __future__ import annotations

from numpyro.distributions.constraints import Constraint

from confide.errors import InvalidArgument
from confide.population import Population
from confide.population.rows import ColumnLaw


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
        sizes |= {names[part.name]: part.size for part in population.space if part.vector}
        columns[column] = ColumnLaw(population, tuple(names.values()))
    return Population(columns, parameters, f"independent({', '.join(populations)})", sizes=sizes)
