"""The law of V = s(clip X): what an order statistic is an order statistic of.

The real line falls into the monotone pieces of s between the bounds and two rays beyond them. On an increasing piece
(a, b)

    P(X in piece, s(X) ≤ v) = P(a < X ≤ x(v)),        x(v) the inverse of s on the piece, held inside it,

on a decreasing one P(x(v) ≤ X < b), and a constant piece, like either ray (all of which is clipped to a bound), is
an atom. So F_s(v; θ) and its complement are sums of masses of intervals whose ends do not depend on θ, and
derivatives in θ are those of the population's distribution function. Each mass is computed from the nearer tail and
all terms are positive: both tails keep their digits however small they are.

The density is f_s(v) = Σ f(x_k)/|s'(x_k)| over the pieces that reach v.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._compile import materialize
from confide.errors import IncompatibleError
from confide.expression import Expression
from confide.expression.evaluate import evaluate
from confide.expression.tree import Tree
from confide.likelihood.value_law.inverse import inverse, slope
from confide.population import Population, density, tails
from confide.statistic import Statistic

Floats = NDArray[np.float64]

#: values of s that differ by less than this share of the range are the same value, computed twice
_SAME = 1e-13
TINY = 1e-300
_EPS = 2.0**-52


class Tails(NamedTuple):
    """A probability and its complement, each with its own digits."""

    below: Any
    above: Any

    def logit(self) -> Any:
        """log(below/above), held within ±690, without derivative beyond."""
        return _log(self.below) - _log(self.above)

    def at(self, index: int) -> Tails:
        """One entry of each."""
        return Tails(self.below[index], self.above[index])


class Levels(NamedTuple):
    """The distribution function at a value."""

    #: P(V < v) and P(V ≥ v)
    strict: Tails
    #: P(V ≤ v) and P(V > v)
    weak: Tails
    #: how far rounding can have moved the logit of `weak`
    rounding: Any


def _log(probability: Any) -> Any:
    xp: Any = jnp if isinstance(probability, jax.Array) else np
    positive = probability > TINY
    return xp.where(positive, xp.log(xp.where(positive, probability, 1.0)), math.log(TINY))


class TransformedLaw(eqx.Module):
    """The law of s(clip X) for a continuous X. Only the population and the shape of s are static."""

    population: Population = eqx.field(static=True)
    #: s itself, and on each piece with its direction: 1 up, −1 down, 0 constant
    tree: Tree = eqx.field(static=True)
    trees: tuple[Tree, ...] = eqx.field(static=True)
    directions: tuple[int, ...] = eqx.field(static=True)
    #: the ends of the pieces, the first and last of which are the bounds, shape (pieces + 1,)
    knots: Floats
    #: s at both ends of each piece, shape (pieces, 2)
    values: Floats
    #: the values of the atoms: s at the lower bound, at the upper bound, and on the constant pieces
    atoms: Floats
    #: all values at which the law has an atom or is not smooth, in order; the first and last are the range of V
    cuts: Floats

    @property
    def moving(self) -> tuple[int, ...]:
        """The pieces on which s is not constant."""
        return tuple(k for k, direction in enumerate(self.directions) if direction)

    def apply(self, x: jax.Array) -> jax.Array:
        """s(clip x), held in the range."""
        value = evaluate(self.tree, jnp.clip(x, self.knots[0], self.knots[-1]))
        return jnp.clip(value, self.cuts[0], self.cuts[-1])

    def tails(self, v: jax.Array, theta: jax.Array) -> Levels:
        """The distribution function at v of any shape, with derivatives in θ (v is held)."""
        return self._levels(v, self.preimages(v), theta)

    def density(self, v: jax.Array, theta: jax.Array) -> jax.Array:
        """f_s(v), the density of the continuous part, with derivatives in θ (v is held)."""
        return self._density(v, self.preimages(v), theta)

    def tails_and_density(self, v: jax.Array, theta: jax.Array) -> tuple[Levels, jax.Array]:
        """Both, for the price of one inversion of s."""
        x = self.preimages(v)
        return self._levels(v, x, theta), self._density(v, x, theta)

    def from_one_side(self, v: jax.Array, theta: jax.Array, mirrored: bool) -> tuple[jax.Array, jax.Array]:
        """The x with s(x) = v, of v (M,), and its f(x)/|s'(x)|, for a monotone s, or the right half of an even one."""
        first, *others = self.moving[len(self.moving) // 2 if mirrored else 0 :]
        x = self._preimage(v, first)
        steep = jnp.abs(slope(self.trees[first], x))
        for k in others:
            ends, found = self.values[k], self._preimage(v, k)
            reached = v >= jnp.min(ends) if self.directions[k] > 0 else v <= jnp.max(ends)
            x = jnp.where(reached, found, x)
            steep = jnp.where(reached, jnp.abs(slope(self.trees[k], found)), steep)
        inside = (v > self.cuts[0]) & (v < self.cuts[-1]) & (steep > 0)
        log_p = jax.vmap(lambda t: density.log_prob(self.population, t, theta))(x)
        return x, jnp.where(inside, jnp.exp(log_p) / jnp.where(inside, steep, 1.0), 0.0)

    def preimages(self, v: jax.Array) -> jax.Array:
        """The inverse images of v on the pieces that are not constant: (pieces, *v.shape)."""
        v = jax.lax.stop_gradient(v)
        rows = [self._preimage(v, k) for k in self.moving]
        return jnp.stack(rows) if rows else jnp.zeros((0, *jnp.shape(v)))

    def _preimage(self, v: jax.Array, k: int) -> jax.Array:
        """The inverse image of v on a piece, held inside it."""
        ends, low, high = self.values[k], self.knots[k], self.knots[k + 1]
        held = jnp.clip(v, jnp.min(ends), jnp.max(ends))
        x = inverse(self.trees[k], self.directions[k], held, low, high)
        return jnp.where(held == ends[0], low, jnp.where(held == ends[1], high, x))

    def _levels(self, v: jax.Array, x: jax.Array, theta: jax.Array) -> Levels:
        v = jax.lax.stop_gradient(v)
        points = jnp.concatenate([jnp.asarray(self.knots), x.ravel()])
        # or else they are computed anew for each of the masses below
        lower = materialize(jax.vmap(lambda p: tails.cdf(self.population, p, theta))(points))
        upper = materialize(tails.survivals(self.population, points, theta))
        levels = self.levels_from(v, lower[:, None], upper[:, None])
        return jax.tree.map(lambda part: part[..., 0], levels)

    def levels_from(self, v: Any, lower: Any, upper: Any) -> Levels:
        """The distribution function at v, given both tails of a record at the knots and at the inverse images of v.

        In JAX or NumPy. The last axis of either tail, and of what comes of it, is a number and, if wanted, its
        derivatives: all that is done to masses is linear.
        """
        xp: Any = jnp if isinstance(lower, jax.Array) else np
        count, shape = self.knots.size, (len(self.moving), *v.shape, lower.shape[-1])
        knots = Tails(lower[:count], upper[:count])
        at = Tails(lower[count:].reshape(shape), upper[count:].reshape(shape))
        below = above = low_size = high_size = xp.zeros(shape[1:])
        for row, k in enumerate(self.moving):
            (left, left_size), (right, right_size) = _mass(knots.at(k), at.at(row)), _mass(at.at(row), knots.at(k + 1))
            if self.directions[k] < 0:
                left, left_size, right, right_size = right, right_size, left, left_size
            below, above = below + left, above + right
            low_size, high_size = low_size + left_size, high_size + right_size
        masses = self._atom_masses(knots)
        reached, passed = (each[..., None] for each in (self.atoms <= v[..., None], self.atoms < v[..., None]))
        strict = Tails(below + xp.where(passed, masses, 0.0).sum(-2), above + xp.where(passed, 0.0, masses).sum(-2))
        weak = Tails(below + xp.where(reached, masses, 0.0).sum(-2), above + xp.where(reached, 0.0, masses).sum(-2))
        rounding = _EPS * (low_size / xp.maximum(weak.below, TINY) + high_size / xp.maximum(weak.above, TINY))
        return Levels(strict, weak, rounding)

    def _atom_masses(self, knots: Tails) -> Any:
        flat = [_mass(knots.at(k), knots.at(k + 1))[0] for k, direction in enumerate(self.directions) if not direction]
        masses = [knots.below[0], knots.above[-1], *flat]
        return jnp.stack(masses) if isinstance(knots.below, jax.Array) else np.stack(masses)

    def _density(self, v: jax.Array, x: jax.Array, theta: jax.Array) -> jax.Array:
        log_p = jax.vmap(lambda t: density.log_prob(self.population, t, theta))(x.ravel()).reshape(x.shape)
        found: jax.Array = self.density_from(jax.lax.stop_gradient(v), jnp.exp(log_p), self.steepness(x))
        return found

    def steepness(self, x: jax.Array) -> jax.Array:
        """|s'| at the inverse images (pieces, …)."""
        rows = [jnp.abs(slope(self.trees[k], x[row])) for row, k in enumerate(self.moving)]
        return jnp.stack(rows) if rows else x

    def density_from(self, v: Any, p: Any, steep: Any) -> Any:
        """f_s(v), given the density of a record and |s'| at the inverse images, in JAX or NumPy."""
        xp: Any = jnp if isinstance(p, jax.Array) else np
        total = xp.zeros(v.shape)
        for row, k in enumerate(self.moving):
            inside = (v > self.values[k].min()) & (v < self.values[k].max()) & (steep[row] > 0)
            total += xp.where(inside, p[row] / xp.where(inside, steep[row], 1.0), 0.0)
        return total


def _mass(start: Tails, stop: Tails) -> tuple[Any, Any]:
    """The mass between two points, from the nearer tail, and the size of the numbers that were subtracted."""
    xp: Any = jnp if isinstance(start.below, jax.Array) else np
    near = start.below[..., :1] < 0.5
    mass = xp.where(near, stop.below - start.below, start.above - stop.above)
    # not `maximum`, which halves the derivative of a mass that is zero
    return xp.where(mass[..., :1] < 0, 0.0, mass), xp.where(near, stop.below, start.above)


def transformed_law(population: Population, statistic: Statistic) -> TransformedLaw:
    """The law of s(clip X), read from the monotone pieces of s on the bounds.

    >>> from confide import populations
    >>> from confide.statistic import Median
    >>> with jax.enable_x64(True):
    ...     law = transformed_law(populations.normal_variance(), Median("abs(x)", bounds=(-3, 3)))
    ...     levels = law.tails(jnp.asarray([1.0, 3.0]), jnp.asarray([1.0]))
    >>> print(np.round(levels.strict.below, 4), np.round(levels.weak.below, 4))  # an atom of clipped records at 3
    [0.6827 0.9973] [0.6827 1.    ]
    """
    if population.discrete:
        raise IncompatibleError(f"the records of {population.name} are integers; use discrete_law")
    (transform,) = statistic.transforms
    if not isinstance(transform, Expression):
        raise IncompatibleError(
            f"the monotone pieces of {transform} cannot be read; write the statistic as an expression"
        )
    pieces = transform.pieces(*statistic.bounds)
    knots = np.asarray([pieces[0].low, *(piece.high for piece in pieces)])
    ends = np.asarray([[float(evaluate(p.tree, np.float64(x))) for x in (p.low, p.high)] for p in pieces])
    bounds = np.asarray([float(evaluate(transform.tree, np.float64(x))) for x in statistic.bounds])
    flat = [ends[k, 0] for k, piece in enumerate(pieces) if not piece.direction]
    everything = np.concatenate([ends.ravel(), bounds])
    cuts = distinct(np.clip(everything, *statistic.ranges[0]))

    def snap(values: np.ndarray) -> np.ndarray:
        return cuts[np.argmin(np.abs(np.asarray(values)[..., None] - cuts), axis=-1)]

    return TransformedLaw(
        population=population,
        tree=transform.tree,
        trees=tuple(piece.tree for piece in pieces),
        directions=tuple(piece.direction for piece in pieces),
        knots=knots,
        values=snap(ends),
        atoms=snap(np.concatenate([bounds, flat])),
        cuts=cuts,
    )


def distinct(values: np.ndarray) -> np.ndarray:
    """The values in order, with those that differ only by rounding taken as one."""
    ordered = np.unique(values)
    apart = np.diff(ordered, prepend=-np.inf) > _SAME * (ordered[-1] - ordered[0])
    return ordered[apart]
