"""Nodes and weights along one column, given the columns before it: E f(X) ≈ Σ_j w_j(θ) f(x_j).

Nodes lie on Gauss panels in a coordinate in which every density decays exponentially on both sides (`population.line`).
Panels end at quantiles, graded towards the tails (from 1e-16 by factors of at most a few thousand, fewer near the
middle), at the column's bounds and kinks, and where a switching sub-expression vanishes given the columns before. Where
a later column's law turns sharply along this one, because its own bound or kink comes into reach, panels are halved
until two rules agree about that. All of this only places nodes: their derivative in θ is that of the density.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from confide.expression.evaluate import evaluate
from confide.likelihood.record_law.panels import panel_rule
from confide.likelihood.record_law.rows.layout import Axis, Cut
from confide.likelihood.record_law.slopes import WITH_ENDS, moves, panel_weights
from confide.population import Population, density, tails
from confide.population.line import RealLine
from confide.population.splitting import middles

Values = Mapping[str, Any]

#: where panels end, as levels of either tail: z = ±8.2, ±3.2 and 0 of a normal law; and towards an end of the support,
#: which is infinitely far away in the coordinate, some more. Found by trying: with twelve nodes a panel normal laws are
#: integrated to 1e-14, exponential and gamma laws to 1e-11
_TAIL, _TO_AN_END = np.array([1e-16, 7e-4]), np.array([1e-16, 1e-11, 1e-7, 7e-4])
#: parts of a panel between which signs are compared, roots that are looked for, and steps towards each
_LOOKS, _ROOTS, _BISECTIONS = 2, 2, 50
#: coordinates beyond which a square or a reciprocal overflows
_REACH = 340.0
#: panels that are halved in a round
_SPLITS = 2
_ROUGH = np.polynomial.legendre.leggauss(7)


class Fineness(NamedTuple):
    """Nodes a panel, rounds in which panels are halved where they must be, and how often all of them are halved."""

    nodes: int = 12
    rounds: int = 8
    halvings: int = 0


class AxisNodes(NamedTuple):
    """Values of a column, what is written down of them, and their weights, each (m,)."""

    x: jax.Array
    weights: jax.Array
    seen: jax.Array

    def with_missing(self, share: Any, constant: float, *, driver: bool) -> AxisNodes:
        """The same where a share of the values is missing, and a constant is written down for them."""
        gone = jnp.full_like(self.x, constant)
        if driver:  # later columns follow the value that there would have been
            weights = jnp.concatenate([self.weights * (1.0 - share), self.weights * share])
            return AxisNodes(jnp.concatenate([self.x, self.x]), weights, jnp.concatenate([self.seen, gone]))
        weights = jnp.append(self.weights * (1.0 - share), share)
        return AxisNodes(jnp.append(self.x, self.x[0]), weights, jnp.append(self.seen, constant))


def discrete(axis: Axis, theta: jax.Array) -> AxisNodes:
    """The values of a discrete column; the last of an endless list has all that is left."""
    x = np.asarray(axis.points)
    population = axis.population
    masses = jnp.exp(jax.vmap(lambda value: density.log_prob(population, value, theta))(jnp.asarray(x)))
    if axis.open_above:
        masses = masses.at[-1].set(1.0 - jnp.sum(masses[:-1]))
    return AxisNodes(jnp.asarray(x), masses, jnp.asarray(x))


def continuous(axis: Axis, theta: jax.Array, row: Values, seen: Values, known: Values, fineness: Fineness) -> AxisNodes:
    """Nodes on panels at θ of the column, given the columns before it and what is seen of them."""
    population = axis.population
    still, given = lax.stop_gradient(theta), lax.stop_gradient(dict(row))
    line, extent = _line(population, still)
    first, last = extent[0], extent[-1]
    low, high = (first, last) if axis.driver or axis.ends is None else axis.ends
    edges = [extent, jnp.asarray(axis.kinks), density.breaks(population, still)]
    cuts = jnp.clip(jnp.concatenate(edges), first, last)
    roots = _roots(axis, lax.stop_gradient(dict(seen)), jnp.sort(cuts))
    cuts = jnp.clip(jnp.concatenate([cuts, *roots]), low, high)
    places = jnp.sort(jnp.clip(line.coordinate(cuts), -_REACH, _REACH))
    places = _halved(axis, line, places, still, given, known, fineness)
    if moves(population):
        x, weights = _following(population, line, places, theta)
    else:
        x, weights = _staying(population, line, places, theta, fineness.nodes)
    if axis.driver or axis.ends is None:
        return AxisNodes(x, weights, x)
    return _with_atoms(population, axis.ends, x, weights, theta)


def _line(population: Population, theta: jax.Array) -> tuple[RealLine, jax.Array]:
    """The coordinate, and the quantiles between which panels lie."""
    below, above = (_TO_AN_END if ends else _TAIL for ends in population.facts.bounded)
    levels = np.concatenate([[0.25, 0.75], below, [0.5], 1.0 - above[::-1]])
    quantiles = jax.vmap(lambda level: tails.quantile(population, level, theta))(jnp.asarray(levels))
    spread, extent = 0.5 * (quantiles[1] - quantiles[0]), quantiles[2:]
    ends = density.support(population, theta)
    line = RealLine(*ends, extent[below.size], jnp.where(spread > 0, spread, 1.0), *population.facts.bounded)
    return line, lax.stop_gradient(extent)


def _roots(axis: Axis, row: Values, edges: jax.Array) -> list[jax.Array]:
    """Where the switching sub-expressions vanish along the column, two for each."""
    if not axis.cuts or axis.ends is None:
        return []
    share = np.arange(_LOOKS) / _LOOKS
    points = jnp.append((edges[:-1, None] + jnp.diff(edges)[:, None] * share).ravel(), edges[-1])
    return [_roots_of(axis, cut, row, jnp.clip(points, *axis.ends)) for cut in axis.cuts]


def _roots_of(axis: Axis, cut: Cut, row: Values, points: jax.Array) -> jax.Array:
    def value(x: jax.Array) -> jax.Array:
        return jnp.asarray(evaluate(cut.tree, {**row, **dict(cut.later), axis.name: x}), dtype=jnp.float64)

    signs = jnp.sign(jax.vmap(value)(points))
    changed = signs[:-1] * signs[1:] < 0
    first = jnp.argmax(changed)
    second = changed.size - 1 - jnp.argmax(changed[::-1])
    found = []
    for place in (first, second)[:_ROOTS]:
        a, b = points[place], points[place + 1]
        rises = signs[place + 1] > signs[place]

        def step(_: int, ends: tuple[jax.Array, jax.Array], rises: jax.Array = rises) -> tuple[jax.Array, jax.Array]:
            a, b = ends
            middle = 0.5 * (a + b)
            right = (value(middle) < 0) == rises
            return jnp.where(right, middle, a), jnp.where(right, b, middle)

        a, b = lax.fori_loop(0, _BISECTIONS, step, (a, b))
        found.append(jnp.where(changed[place], 0.5 * (a + b), points[0]))
    return jnp.stack(found)


def _halved(
    axis: Axis, line: RealLine, places: jax.Array, theta: jax.Array, row: Values, known: Values, fineness: Fineness
) -> jax.Array:
    """More panels: where later columns turn sharply, and everywhere as often as is asked."""
    if axis.seen_by and fineness.rounds:

        def seen(v: jax.Array) -> jax.Array:
            x = line.record(v)
            mass = jnp.exp(density.log_prob(axis.population, x, theta) + line.log_slope(v))
            here = {**row, axis.name: x}
            below = [
                tails.cdf(law.population, jnp.asarray(kink), lax.stop_gradient(law.theta(known, here)))
                for law, kinks in axis.seen_by
                for kink in kinks
            ]
            return jnp.where(mass > 0, mass * jnp.stack([jnp.ones(()), *below]), 0.0)

        def error(a: jax.Array, b: jax.Array) -> jax.Array:
            rules = np.polynomial.legendre.leggauss(fineness.nodes), _ROUGH
            sums = []
            for rule in rules:
                v, weights = panel_rule(a, b, rule)
                sums.append(jnp.einsum("pqk,pq->pk", jax.vmap(jax.vmap(seen))(v), weights))
            return jnp.max(jnp.abs(sums[0] - sums[1]), axis=1)

        places = jnp.sort(jnp.concatenate([places, middles(error, places, fineness.rounds, _SPLITS)]))
    for _ in range(fineness.halvings):
        places = jnp.sort(jnp.concatenate([places, 0.5 * (places[1:] + places[:-1])]))
    return lax.stop_gradient(places)


def _staying(
    population: Population, line: RealLine, places: jax.Array, theta: jax.Array, order: int
) -> tuple[jax.Array, jax.Array]:
    """Gauss nodes in the coordinate, and their weights times the density."""
    rule = np.polynomial.legendre.leggauss(order)
    v, base = (part.ravel() for part in panel_rule(places[:-1], places[1:], rule))
    x = lax.stop_gradient(line.record(v))
    # an empty panel may lie at an end of the support, where the density is infinite
    full = base > 0
    inside = jnp.where(full, x, line.centre)
    log_mass = jax.vmap(lambda point: density.log_prob(population, point, theta))(inside)
    return x, jnp.where(full, base * jnp.exp(log_mass + lax.stop_gradient(line.log_slope(v))), 0.0)


def _following(
    population: Population, line: RealLine, places: jax.Array, theta: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """The same for a support or a kink that moves with θ: the derivative comes from the distribution function."""
    edges = lax.stop_gradient(line.record(places))
    half = 0.5 * jnp.diff(edges)
    x = 0.5 * (edges[1:] + edges[:-1])[:, None] + half[:, None] * WITH_ENDS
    return x.ravel(), panel_weights(population, x, half, theta).ravel()


def _with_atoms(
    population: Population, ends: tuple[float, float], x: jax.Array, weights: jax.Array, theta: jax.Array
) -> AxisNodes:
    """The nodes inside the bounds, and all mass up to the lower one and from the upper one on."""
    low, high = jnp.asarray(ends[0]), jnp.asarray(ends[1])
    below = tails.cdf(population, low, theta)
    # what 1 − F loses is nothing beside the whole, and a survival function may have to be integrated
    given = population.closed.survival is not None
    above = tails.survival(population, high, theta) if given else 1.0 - tails.cdf(population, high, theta)
    atoms = jnp.stack([below, above])
    if moves(population):  # the derivative is that of the panels' ends
        atoms = lax.stop_gradient(atoms)
    x = jnp.concatenate([x, jnp.stack([low, high])])
    return AxisNodes(x, jnp.concatenate([weights, atoms]), x)
