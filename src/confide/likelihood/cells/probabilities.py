"""The probability of each cell at θ: from the distribution function between edges, or from the masses of codes."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, Protocol

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from confide._compile import FAST_COMPILE
from confide.likelihood.batched import filled
from confide.likelihood.cached import once
from confide.likelihood.local.response import ResponseCells
from confide.likelihood.record_law.record import Floats
from confide.population import Population, density, tails
from confide.statistic import Statistic
from confide.statistic.histogram import cells_of


class CellLaw(Protocol):
    """The probabilities of cells."""

    def at(self, thetas: Any) -> Floats:
        """At known θ (M, d): (M, J)."""

    def slopes(self, thetas: Any) -> Floats:
        """Their derivatives: (M, J, d)."""

    def traced(self, theta: jax.Array) -> jax.Array:
        """At one θ inside a trace: (J,)."""


class Between(eqx.Module):
    """Cells between edges: P(a ≤ X < b), which for whole numbers is P(X ≤ ⌈b⌉ − 1) − P(X ≤ ⌈a⌉ − 1)."""

    tails: ResponseCells

    def at(self, thetas: Any) -> Floats:
        """The lowest cell first."""
        found = self.tails.weights_at(thetas)
        return np.concatenate([found[:, -2:-1], found[:, :-2], found[:, -1:]], axis=1)

    def slopes(self, thetas: Any) -> Floats:
        """Of the tails."""
        found = self.tails.slopes_at(thetas)
        return np.concatenate([found[:, -2:-1], found[:, :-2], found[:, -1:]], axis=1)

    def traced(self, theta: jax.Array) -> jax.Array:
        """The lowest cell first."""
        found = self.tails.weights(theta)
        return jnp.concatenate([found[-2:-1], found[:-2], found[-1:]])


class _Traced(eqx.Module):
    """Cells whose probabilities are written once, for use inside a trace."""

    @abstractmethod
    def traced(self, theta: jax.Array) -> jax.Array:
        """At one θ: (J,)."""

    def at(self, thetas: Any) -> Floats:
        """All at once."""
        return np.asarray(_at(self, filled(np.asarray(thetas))))[: len(thetas)]

    def slopes(self, thetas: Any) -> Floats:
        """By automatic differentiation."""
        return np.asarray(_slopes(self, filled(np.asarray(thetas))))[: len(thetas)]


class Coded(_Traced):
    """Cells of a population of codes: the last holds whatever is none of the others."""

    population: Population = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def traced(self, theta: jax.Array) -> jax.Array:
        """Masses of codes, and both tails beyond the listed codes."""
        codes = jnp.arange(self.size - 1, dtype=float)
        listed = jnp.exp(jax.vmap(lambda x: density.log_prob(self.population, x, theta))(codes))
        low, _ = density.support(self.population, theta)
        above = tails.survival(self.population, jnp.asarray(self.size - 2.0), theta)
        below = tails.cdf(self.population, jnp.asarray(-1.0), theta)
        return jnp.append(listed, above + jnp.where(low < 0, below, 0.0))


class Crossed(_Traced):
    """Cells of a table whose columns are independent given θ: products."""

    population: Population = eqx.field(static=True)
    names: tuple[str, ...] = eqx.field(static=True)
    laws: tuple[Any, ...]

    def traced(self, theta: jax.Array) -> jax.Array:
        """The product of all columns' probabilities, the last column running fastest."""
        from confide.population.space import split

        known = split(self.population.space, theta)
        rows = self.population.rows
        assert rows is not None
        by_name = dict(rows.columns)
        found = jnp.ones(1)
        for name, law in zip(self.names, self.laws, strict=True):
            found = jnp.outer(found, law.traced(by_name[name].theta(known, {}))).reshape(-1)
        return found


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _at(law: Any, thetas: jax.Array) -> jax.Array:
    return jax.vmap(law.traced)(thetas)


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _slopes(law: Any, thetas: jax.Array) -> jax.Array:
    return jax.vmap(jax.jacfwd(law.traced))(thetas)


def why_no_cells(population: Population, statistic: Statistic) -> str | None:
    """Why the cells' probabilities are not known, or None."""
    histogram = cells_of(statistic)
    if population.rows is not None:
        by_name = dict(population.rows.columns)
        for cut in histogram.cuts:
            law = by_name[cut.column]
            if any(name in by_name for name in law.needs):
                return (
                    f"the column {cut.column!r} depends on another, so that its cells have no probability in closed "
                    "form; model the cells themselves by populations.categorical"
                )
            if cut.categories and not law.population.discrete:
                return f"the categories of {cut.column!r} are modelled by codes, which its population does not have"
        return None
    coded = len(histogram.cuts) > 1 or bool(histogram.cuts[0].categories)
    if coded and not population.discrete:
        return (
            f"the cells of {' and '.join(histogram.columns)} are modelled by their codes 0, 1, …, but records of "
            f"{population.name} are no whole numbers; use populations.categorical({histogram.dimension})"
        )
    return None


@once
def cell_law(population: Population, statistic: Statistic) -> CellLaw:
    """The law of a record's cell, where `why_no_cells` has nothing to say."""
    histogram = cells_of(statistic)
    if population.rows is not None:
        by_name = dict(population.rows.columns)
        laws = (_of_cut(by_name[cut.column].population, cut) for cut in histogram.cuts)
        return Crossed(population, histogram.columns, tuple(laws))
    if len(histogram.cuts) > 1:
        return Coded(population, histogram.dimension)
    return _of_cut(population, histogram.cuts[0])


def _of_cut(population: Population, cut: Any) -> Between | Coded:
    if cut.categories:
        return Coded(population, cut.size)
    edges = np.asarray(cut.edges)
    if population.discrete:
        edges = np.ceil(edges) - 1
    return Between(ResponseCells(population, edges, np.zeros((1, edges.size + 1))))
