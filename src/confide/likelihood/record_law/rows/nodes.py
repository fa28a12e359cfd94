"""The law of a clipped row at one θ, which may be traced: values s_j, weights w_j with E f(s(clip row)) ≈ Σ w_j f(s_j).

Column by column, the nodes so far are multiplied with those of the next column given them (`axis`). A column is clipped
on its own, but an earlier column beyond its bound still drives later ones by its unclipped value: drivers are
integrated on the whole line. Discrete columns are enumerated. With more continuous columns than two their nodes are
scrambled Sobol points (`points`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

from confide.errors import AccuracyError, IncompatibleError
from confide.expression.switches import variables
from confide.likelihood.record_law.rows import axis as axes
from confide.likelihood.record_law.rows import points
from confide.likelihood.record_law.rows.axis import AxisNodes, Fineness
from confide.likelihood.record_law.rows.layout import Axis, RowLayout, layout, moved
from confide.likelihood.record_law.slopes import moves
from confide.population import Population
from confide.population.space import split
from confide.statistic import Statistic

Row = dict[str, jax.Array]

#: what serves where θ is not known
FINENESS = Fineness()
#: nodes of one θ that are made at most
_MOST = 2**21


def row_law(
    population: Population, statistic: Statistic, theta: jax.Array, fineness: Fineness = FINENESS
) -> tuple[jax.Array, jax.Array]:
    """Values s_j (components, J) and weights w_j (J,) at one θ (d,); on panels the values do not move with θ.

    >>> import confide as cf, jax
    >>> rows = cf.populations.independent(a=cf.populations.normal(), b=cf.populations.bernoulli())
    >>> with jax.enable_x64(True):
    ...     theta = jax.numpy.array([0.0, 1.0, 0.25])
    ...     s, w = row_law(rows, cf.Mean("a**2 * b", bounds={"a": (-9, 9), "b": (0, 1)}), theta)
    ...     print(f"{s[0] @ w:.8f}")
    0.25000000
    """
    return _row_law(population, statistic, theta, fineness)


# inside nobody's trace each of its many operations would be compiled by itself
@partial(jax.jit, static_argnums=(0, 1, 3))
def _row_law(
    population: Population, statistic: Statistic, theta: jax.Array, fineness: Fineness
) -> tuple[jax.Array, jax.Array]:
    at = layout(population, statistic)
    _require_slopes(at)
    seen, weights = _nodes(population, at, theta, fineness)
    s = statistic.values({name: seen[name] for name, _ in at.bounds})
    return jnp.atleast_2d(s if statistic.dimension == 1 else s.T), weights


def rows_within(
    population: Population,
    at: RowLayout,
    ends: Mapping[str, tuple[jax.Array, jax.Array]],
    theta: jax.Array,
    fineness: Fineness = FINENESS,
) -> tuple[Row, jax.Array]:
    """The columns (J,) clipped to these ends, which may be traced, and weights (J,), inside a trace.

    The layout is one of a statistic whose bounds hold all ends that are asked for.
    """
    _require_slopes(at)
    here = moved(at, ends)
    seen, weights = _nodes(population, here, theta, fineness)
    return _clipped(here, seen), weights


@partial(jax.jit, static_argnums=(0, 1))
def clipped_rows(population: Population, statistic: Statistic, thetas: jax.Array) -> jax.Array:
    """The share of rows of which at least one column lies beyond its bounds, at each θ of (M, d).

    >>> import confide as cf, jax
    >>> rows = cf.populations.independent(a=cf.populations.normal(), b=cf.populations.normal())
    >>> with jax.enable_x64(True):
    ...     theta = jax.numpy.array([[0.0, 1.0, 0.0, 1.0]])
    ...     print(f"{clipped_rows(rows, cf.Mean('a * b', bounds={'a': (-1, 1), 'b': (-2, 2)}), theta)[0]:.6f}")
    0.348373
    """
    found = layout(population, statistic)
    at = replace(found, axes=tuple(_telling(axis) for axis in found.axes))
    atoms = {axis.name for axis in at.axes if not (axis.discrete or axis.driver or at.sampled)}

    def one(theta: jax.Array) -> jax.Array:
        seen, weights = _nodes(population, at, theta, FINENESS)
        inside = jnp.ones(weights.size, dtype=bool)
        for name, (low, high) in at.bounds:
            x = seen[name]
            # an atom at a bound is all that lies beyond it
            inside &= (low < x) & (x < high) if name in atoms else (low <= x) & (x <= high)
        return 1.0 - jnp.sum(jnp.where(inside, weights, 0.0))

    shares: jax.Array = jax.lax.map(one, thetas)
    return shares


def _telling(axis: Axis) -> Axis:
    """The axis with nodes that tell what is clipped: a last whole number beyond the bounds, no constant at one."""
    if axis.ends is None:
        return axis
    low, high = axis.ends
    if axis.law.missing is not None and low <= axis.law.missing[1] <= high:
        axis = replace(axis, law=replace(axis.law, missing=(axis.law.missing[0], 0.5 * (low + high))))
    # of whole numbers the last that is listed stands for all from there on
    return replace(axis, ends=(low, high + 1.0)) if axis.discrete else axis


def _nodes(population: Population, at: RowLayout, theta: jax.Array, fineness: Fineness) -> tuple[Row, jax.Array]:
    """What is seen of the columns, not yet clipped, (J,) each, and weights (J,)."""
    known = split(population.space, theta)
    if at.sampled:
        return points.sampled(at, known)
    row: Row = {}
    seen: Row = {}
    weights = jnp.ones(1)
    for axis in at.axes:
        found = _along(axis, known, row, _clipped(at, seen), fineness)
        size = found.x.shape[-1]
        if weights.size * size > _MOST:
            raise AccuracyError(
                f"the law of a row of {', '.join(each.name for each in at.axes)} needs more than {_MOST:,} nodes; use "
                "fewer columns, or discrete ones with fewer values"
            )
        row, seen = ({name: jnp.repeat(values, size) for name, values in part.items()} for part in (row, seen))
        row[axis.name], seen[axis.name] = (
            jnp.broadcast_to(part, (weights.size, size)).ravel() for part in (found.x, found.seen)
        )
        weights = (weights[:, None] * found.weights).ravel()
    return seen, weights


def _clipped(at: RowLayout, seen: Row) -> Row:
    """What the statistic gets of the columns so far."""
    return {name: jnp.clip(seen[name], *ends) for name, ends in at.bounds if name in seen}


def _along(axis: Axis, known: dict[str, Any], row: Row, seen: Row, fineness: Fineness) -> AxisNodes:
    """Nodes of the next column: (m,) where it depends on no other, else (J, m)."""
    in_cuts = set().union(*(variables(cut.tree) for cut in axis.cuts))
    needed = {name: row[name] for name in axis.law.needs if name in row}
    looked_at = {name: values for name, values in seen.items() if name in in_cuts}

    def one(given: Row, looked_at: Row) -> AxisNodes:
        theta = axis.law.theta(known, given)
        if axis.discrete:
            found = axes.discrete(axis, theta)
        else:
            found = axes.continuous(axis, theta, given, looked_at, known, fineness)
        if axis.law.missing is None:
            return found
        share, constant = axis.law.missing
        return found.with_missing(known[share], constant, driver=axis.driver)

    return jax.vmap(one)(needed, looked_at) if needed or looked_at else one({}, {})


def _require_slopes(at: RowLayout) -> None:
    """Refuse the one case without derivatives: a density that moves under a statistic that jumps."""
    if at.jumps and any(moves(axis.population) for axis in at.axes if not axis.discrete):
        name = next(axis.name for axis in at.axes if not axis.discrete and moves(axis.population))
        raise IncompatibleError(
            f"the support of the column {name!r}, or a kink of its density, moves with its parameters, and the "
            "statistic jumps: this has no derivative here; use a smooth density, or a statistic without comparisons"
        )
