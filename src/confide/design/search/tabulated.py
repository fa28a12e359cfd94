"""A population tabulated for searching: what thousands of candidate statistics share.

The line is cut into a few thousand cells that end at quantiles of every θ: cells are small in probability, however far
out they reach, so that heavy tails cost nothing in the middle. Each cell keeps its probability at
every θ and the derivative of that in θ, both from the distribution function, so they are exact whether the support
moves with θ or not. The moments of any s, clipped anyhow, and their derivatives are then sums over cells: a matrix
product for many candidates at once, and nothing is compiled for any of them. Within a cell s is taken at the middle,
an error of second order in the cell's width; what a search finds is judged afterwards by the exact routes.

Where to clip is asked for in levels of probability, by their normal scores, and never in x: the ends of a table of a
Cauchy law are ±3·10⁸, and everything worth a look lies between ±10.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property, partial

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from confide.design.points import Points
from confide.population import Population, density, tails

Floats = NDArray[np.float64]

#: cells in all, and at least for each θ. The information of a clipped mean is off by 3e-6 at one θ and by 3e-5 over a
#: prior's 40 (half as many: 1e-5 and 5e-4; measured against 24,000 cells), which ranks candidates
_CELLS = 2400
_FEWEST = 60
#: normal scores between which cells end: 2e-9 of the records lie beyond
_SCORES = 6.0
#: integers that have a cell each; beyond, several share one
_MOST_COUNTS = 4000
#: a gap so many times smaller than its neighbour is one of rounding
_TWIN = 1e-7


@dataclass(frozen=True, eq=False)
class Tabulated:
    """Cells of the line with a point each, x (J,), their masses (M, J) and the derivatives of these in θ (M, d, J).

    `edges` (J + 1) are the ends of the cells, infinite at the outside.
    """

    population: Population
    points: Points
    x: Floats
    edges: Floats
    mass: Floats
    slope: Floats

    @cached_property
    def stacked(self) -> Floats:
        """Masses and slopes as one matrix (M·(1 + d), J)."""
        both = np.concatenate([self.mass[:, None], self.slope], axis=1)
        return np.ascontiguousarray(both.reshape(-1, self.x.size))

    @cached_property
    def mixture(self) -> Floats:
        """The mass of each cell averaged over θ."""
        return np.asarray(self.points.weights @ self.mass)

    @cached_property
    def low(self) -> float:
        """The least point."""
        return float(self.x[0])

    @cached_property
    def high(self) -> float:
        """The greatest point."""
        return float(self.x[-1])

    @property
    def reference(self) -> int:
        """The position of a middle θ: the one nearest to the average, in units of the spread."""
        thetas, weights = self.points.thetas, self.points.weights
        middle = np.asarray([_weighted_median(column, weights) for column in thetas.T])
        scale = np.std(thetas, axis=0) + 1e-300
        return int(np.argmin(np.sum(((thetas - middle) / scale) ** 2, axis=1)))

    def means(self, values: Floats) -> tuple[Floats, Floats]:
        """E f and ∂E f of functions given at the points, (B, J) → (M, B) and (M, d, B)."""
        found = (self.stacked @ values.T).reshape(len(self.points.thetas), -1, len(values))
        return found[:, 0], found[:, 1:]

    def levels(self, values: Floats, scores: Floats) -> Floats:
        """Values of f(X) at normal scores of its law averaged over θ: natural coordinates for where to clip.

        Where records are integers, these are values that f takes.
        """
        order = np.argsort(values, kind="stable")
        ordered, mass = values[order], self.mixture[order]
        at = np.cumsum(mass) - 0.5 * mass
        if self.population.discrete:
            place = np.searchsorted(np.cumsum(mass) / mass.sum(), np.minimum(ndtr(scores), 1 - 1e-12))
            return np.asarray(ordered[np.minimum(place, ordered.size - 1)])
        return np.interp(ndtr(scores), at / mass.sum(), ordered)


def _weighted_median(values: Floats, weights: Floats) -> float:
    order = np.argsort(values)
    at = np.searchsorted(np.cumsum(weights[order]), 0.5 * weights.sum())
    return float(values[order][min(at, values.size - 1)])


@functools.lru_cache(maxsize=4)
def tabulate(population: Population, points: Points) -> Tabulated:
    """The table for these θ. In double precision."""
    thetas = points.thetas
    if population.discrete:
        last = _whole(population, thetas)
        edges = np.concatenate([[-np.inf], last[:-1] + 0.5, [np.inf]])
        x = np.floor(0.5 * (np.append(last[0], last[:-1] + 1) + last))
        single = np.array_equal(x, last)
        mass, slope = _masses(population, x, thetas) if single else _between(population, edges, thetas)
        # what lies beyond the last points belongs to them
        mass, slope = np.array(mass), np.array(slope)
        mass[:, -1] += 1.0 - mass.sum(axis=1)
        slope[:, :, -1] -= slope.sum(axis=2)
    else:
        inner = _edges(population, thetas)
        x = np.concatenate([inner[:1], 0.5 * (inner[1:] + inner[:-1]), inner[-1:]])
        edges = np.concatenate([[-np.inf], inner, [np.inf]])
        mass, slope = _between(population, edges, thetas)
    return Tabulated(population, points, x, edges, np.maximum(mass, 0.0), np.nan_to_num(slope))


def _between(population: Population, edges: Floats, thetas: Floats) -> tuple[Floats, Floats]:
    """The masses between edges, of which the first and the last are infinite, and their slopes in θ."""
    inner = edges[1:-1]
    below, gradient = (np.asarray(part) for part in distribution(population, inner, thetas))
    # what a moving end of the support pushes out or draws in belongs to the last cell inside it
    low, high = (np.asarray(end, dtype=float)[:, None] for end in population.support(thetas))
    gradient = np.where(((inner > low) & (inner < high))[:, None, :], gradient, 0.0)
    ends = np.zeros_like(below[:, :1])
    zero = np.zeros_like(gradient[:, :, :1])
    mass = np.diff(np.concatenate([ends, below, ends + 1.0], axis=1), axis=1)
    return mass, np.diff(np.concatenate([zero, gradient, zero], axis=2), axis=2)


def _whole(population: Population, thetas: Floats) -> Floats:
    """The last integer of each cell: all that any θ gives mass to, or, where these are many, quantiles of every θ."""
    ends = np.asarray(population.quantile(np.asarray([1e-12, 1 - 1e-12]), thetas[:, None, :]))
    support = [np.asarray(end, dtype=float) for end in population.support(thetas)]
    low, high = max(ends.min() - 1, support[0].min()), min(ends.max() + 1, support[1].max())
    if high - low <= _MOST_COUNTS:
        return np.arange(low, high + 1)
    return np.unique(np.concatenate([np.round(_quantiles(population, thetas)), np.clip([low, high], -1e15, 1e15)]))


def _edges(population: Population, thetas: Floats) -> Floats:
    """Quantiles of every θ at equally spaced normal scores, merged, with zero and the ends of the support."""
    found = _quantiles(population, thetas)
    support = np.concatenate([np.asarray(end, dtype=float) for end in population.support(thetas)])
    special = support[np.isfinite(support)]
    if found.min() < 0 < found.max():
        special = np.append(special, 0.0)
    return _apart(found, special)


def _quantiles(population: Population, thetas: Floats) -> Floats:
    count = max(_FEWEST, _CELLS // len(thetas))
    levels = ndtr(np.linspace(-_SCORES, _SCORES, count))
    found = np.asarray(population.quantile(levels, thetas[:, None, :])).ravel()
    return found[np.isfinite(found)]


def _apart(points: Floats, special: Floats) -> Floats:
    """Points in order, less those that only rounding sets apart from a neighbour; special ones stay.

    What is a small distance is told by the neighbours: a width that is nothing in a tail is everything in the middle.
    """
    x = np.union1d(points, special)
    if x.size < 3:
        return x
    stays = np.isin(x, special)
    gaps = np.diff(x)
    before, after = np.append(gaps[0], gaps), np.append(gaps, gaps[-1])
    next_stays = np.append(stays[1:], False)
    twin = (before < _TWIN * after) | (next_stays & (after < _TWIN * before))
    return x[stays | ~twin]


@partial(jax.jit, static_argnums=0)
def distribution(population: Population, x: jax.Array, thetas: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The distribution function (M, K) and its derivative in θ (M, d, K)."""

    def at(theta: jax.Array) -> jax.Array:
        return jax.vmap(lambda point: tails.cdf(population, point, theta))(x)

    return jax.vmap(at)(thetas), jnp.swapaxes(jax.vmap(jax.jacfwd(at))(thetas), 1, 2)


@partial(jax.jit, static_argnums=0)
def _masses(population: Population, x: jax.Array, thetas: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The same for the probabilities of integers."""

    def at(theta: jax.Array) -> jax.Array:
        return jnp.exp(jax.vmap(lambda point: density.log_prob(population, point, theta))(x))

    return jax.vmap(at)(thetas), jnp.swapaxes(jax.vmap(jax.jacfwd(at))(thetas), 1, 2)


def vector_moments(law: Tabulated, s: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Of vectors s (B, k, J): means (M, B, k), their ∂θ (M, B, d, k), covariances (M, B, k, k) and their ∂θ."""
    count, size, _ = s.shape
    pairs = [(a, b) for a in range(size) for b in range(a, size)]
    stacked = np.concatenate([s.reshape(count * size, -1), *(s[:, a] * s[:, b] for a, b in pairs)])
    mean, slope = law.means(stacked)
    many = len(mean)
    first = mean[:, : count * size].reshape(many, count, size)
    d_first = np.moveaxis(slope[:, :, : count * size].reshape(many, -1, count, size), 1, 2)
    covariance = np.empty((many, count, size, size))
    d_covariance = np.empty((*d_first.shape[:3], size, size))
    for i, (a, b) in enumerate(pairs):
        at = slice(count * (size + i), count * (size + i + 1))
        covariance[..., a, b] = covariance[..., b, a] = mean[:, at] - first[..., a] * first[..., b]
        change = np.moveaxis(slope[:, :, at], 1, 2)
        change = change - first[..., None, a] * d_first[..., b] - first[..., None, b] * d_first[..., a]
        d_covariance[..., a, b] = d_covariance[..., b, a] = change
    return first, d_first, covariance, d_covariance
