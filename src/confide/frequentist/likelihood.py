"""The log-likelihood of what was published, in free coordinates, and where it is largest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import constraints
from scipy import optimize
from scipy.stats import qmc

from confide._precision import float64
from confide.errors import AccuracyError
from confide.inference.quadrature.fallback import Careful
from confide.likelihood.joint_law import Joint
from confide.population import Population, space
from confide.statistic.columns import ColumnBounds

Floats = NDArray[np.float64]

#: distances from the middle of the bounds, in their width, at which a location is looked for
_LOCATIONS = 2.0 ** np.arange(-8.0, 7.0)
#: the same for the logarithm of a scale or rate and the logit of a probability: far beyond what a noisy number tells
_LOGARITHMS = np.arange(-14.0, 14.1, 0.5)
#: slopes of a normal column on those before it, in units of what is left of it
_SLOPES = np.concatenate([-(2.0 ** np.arange(3.0, -5.0, -1.0)), [0.0], 2.0 ** np.arange(-4.0, 4.0)])
#: points at which several parameters are looked for, and of how many of the best a maximum is climbed to
_LOOKED_AT, _CLIMBED = 512, 3
#: how often a climb that lost its way goes on with a new matrix, and what it must have gained for that
_AGAIN, _GAINED = 8, 1e-7
#: points of a zoom, and how often: each is a tenth as wide as the one before
_ZOOM, _ZOOMS = 21, 5
#: nats below the largest likelihood at which no set that anybody asks for reaches
_NATS = 60.0
#: half the width, in units of a free coordinate, of the difference that a second derivative is taken by
_DIFFERENCE = 1e-4


@dataclass(frozen=True, eq=False)
class FreeLikelihood:
    """log p(y | θ(v)), v the free coordinates of the parameter space."""

    population: Population
    joint: Joint
    values: tuple[Any, ...]
    #: for each entry of θ the place at which its space has it: entries that trade places are another set of coordinates
    order: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "order", self.order or tuple(range(self.population.dimension)))

    @property
    def size(self) -> int:
        """The number of free coordinates."""
        return sum(part.free for part in self.population.space)

    def thetas(self, free: Floats) -> Floats:
        """θ (M, d) of free coordinates (M, k), never quite on an edge that the space leaves out."""
        return np.asarray(space.constrain(self.population.space, jnp.asarray(free)))[..., list(self.order)]

    def free(self, thetas: Any) -> Floats:
        """Free coordinates (…, k) of θ."""
        placed = np.asarray(thetas)[..., np.argsort(self.order)]
        return np.asarray(space.unconstrain(self.population.space, jnp.asarray(placed)))

    def trading(self, places: tuple[int, int]) -> FreeLikelihood:
        """The same in other coordinates: two entries of a parameter that trade places."""
        order = list(range(self.population.dimension))
        first, second = places
        order[first], order[second] = second, first
        return FreeLikelihood(self.population, self.joint, self.values, tuple(order))

    @cached_property
    def _careful(self) -> Careful:
        return Careful(self.joint)

    def __call__(self, free: Floats) -> Floats:
        """At all v (M, k); −∞ where it underflows."""
        return self._careful.log_likelihood(self.thetas(free), self.values)

    def screened(self, free: Floats) -> Floats:
        """The same, but by a quick approximation where that says that it is nothing beside the largest."""
        rough = self._careful.rough()
        if rough is None:
            return self(free)
        found = rough.log_likelihood(self.thetas(free), self.values)
        near = found > found.max() - _NATS
        found[near] = self(free[near])
        return found

    def with_values(self, values: tuple[Any, ...]) -> FreeLikelihood:
        """Of other published values."""
        return FreeLikelihood(self.population, self.joint, values, self.order)

    def value_and_slope(self, free: Floats) -> tuple[float, Floats]:
        """log p and its gradient at one v (k,)."""
        values = tuple(jnp.asarray(each) for each in self.values)
        value, slope = _value_and_slope(self.population, self.joint, jnp.asarray(free), values, np.asarray(self.order))
        return float(value), np.asarray(slope)

    def curvature(self, free: Floats) -> Floats:
        """−∂² log p/∂v² (k, k), by central differences of the gradient."""
        rows = [
            (self.value_and_slope(free - step)[1] - self.value_and_slope(free + step)[1]) / (2 * _DIFFERENCE)
            for step in _DIFFERENCE * np.eye(free.size)
        ]
        return 0.5 * (np.asarray(rows) + np.asarray(rows).T)

    @cached_property
    def lines(self) -> list[Floats]:
        """Where each free coordinate is looked for."""
        return [line for part in self.population.space for line in _lines(self.joint, part)]

    def starts(self) -> Floats:
        """Coordinates (M, k) at which to look: all magnitudes that the bounds of the statistics leave plausible."""
        lines = self.lines
        if len(lines) == 1:
            return lines[0][:, None]
        place = qmc.Sobol(len(lines), seed=0).random(_LOOKED_AT)
        # nearer to the middle where several parameters leave little room for extremes
        inner = [line[np.abs(np.arange(line.size) - line.size // 2) < line.size // 3 + 1] for line in lines]
        return np.stack([np.quantile(line, at) for line, at in zip(inner, place.T, strict=True)], axis=1)


@partial(jax.jit, static_argnums=(0, 1))
def _value_and_slope(population: Population, joint: Joint, free: Any, values: Any, order: Any) -> Any:
    def log_prob(v: jax.Array) -> jax.Array:
        return joint.log_prob(space.constrain(population.space, v)[order], values)

    return jax.value_and_grad(log_prob)(free)


def entry_constraint(part: space.Parameter) -> Any:
    """The constraint of a scalar, or of each entry of a vector whose entries are constrained one by one."""
    return getattr(part.constraint, "base_constraint", part.constraint)


def _lines(joint: Joint, part: space.Parameter) -> list[Floats]:
    """Where the free coordinates of one parameter are looked for.

    A simplex is looked for by log odds. A covariance has slopes of a column on those before it, and then logarithms.
    """
    if part.constraint.event_dim == 2:
        below = part.free - math.isqrt(part.size)
        return [_SLOPES] * below + [_line(joint, constraints.positive)] * (part.free - below)
    constraint = constraints.unit_interval if part.constraint is constraints.simplex else entry_constraint(part)
    return [_line(joint, constraint)] * part.free


def _line(joint: Joint, constraint: Any) -> Floats:
    """Where one free coordinate is looked for."""
    bounds = [model.channel.statistic.bounds for model in joint.models]
    ends = [end for each in bounds for end in (each.ends if isinstance(each, ColumnBounds) else [each])]
    low, high = min(low for low, _ in ends), max(high for _, high in ends)
    if getattr(constraint, "lower_bound", None) is None and getattr(constraint, "upper_bound", None) is None:
        apart = (high - low) * _LOCATIONS
        return np.concatenate([-apart[::-1], [0.0], apart]) + 0.5 * (low + high)
    if getattr(constraint, "upper_bound", None) is None:  # a scale, a rate or a variance is as large as the bounds
        return np.unique(np.concatenate([_LOGARITHMS, _LOGARITHMS + np.log(high - low)]))
    return _LOGARITHMS


@dataclass(frozen=True, eq=False)
class Peak:
    """Where the likelihood is largest: v (k,), log p there, and −∂² log p/∂v² (k, k)."""

    free: Floats
    log_prob: float
    curvature: Floats
    #: −1 or 1 where it grows towards the lower or upper edge of the space of one parameter, else 0
    edge: int = 0
    #: of several parameters, where the climbs to it began (…, k)
    starts: Floats = field(default_factory=lambda: np.zeros((0, 0)))


#: from a start to a maximum: where it is, and the logarithm of the likelihood there
Climb = Callable[["FreeLikelihood", Floats], tuple[Floats, float]]


@float64
def maximum(likelihood: FreeLikelihood, climbing: Climb | None = None) -> Peak:
    """The largest of all maxima that are found from everywhere, by Newton's method or another way to climb."""
    starts = likelihood.starts()
    log_p = likelihood.screened(starts)
    if starts.shape[1] == 1:
        return _on_a_line(likelihood, starts[:, 0], log_p, climbing)
    best, tried = None, starts[np.argsort(-log_p)[:_CLIMBED]]
    for start in tried:
        found = climb(likelihood, start) if climbing is None else climbing(likelihood, start)
        best = found if best is None or found[1] > best[1] else best
    assert best is not None
    return Peak(best[0], best[1], likelihood.curvature(best[0]), starts=tried)


class Sloped(Protocol):
    """What can be climbed."""

    def value_and_slope(self, free: Floats) -> tuple[float, Floats]:
        """A number and its gradient at one v (k,)."""


def climb(likelihood: Sloped, start: Floats, held: int | None = None) -> tuple[Floats, float]:
    """From a start to a maximum by Newton's method, its matrix built up from gradients; one coordinate may be held.

    A matrix that was built up far from the maximum may lead nowhere near it: the climb then goes on with a new one.
    """
    moving = np.arange(start.size) != (-1 if held is None else held)

    def loss(part: Floats) -> tuple[float, Floats]:
        at = start.copy()
        at[moving] = part
        value, slope = likelihood.value_and_slope(at)
        if not np.isfinite(value):
            return 1e30, np.zeros(part.size)
        return -value, -slope[moving]

    if not np.any(moving):
        return start, likelihood.value_and_slope(start)[0]
    at, before = start.copy(), np.inf
    for _ in range(_AGAIN):
        found = optimize.minimize(loss, at[moving], jac=True, method="BFGS", options={"gtol": 1e-7})
        at[moving] = found.x
        if found.success or not before - found.fun > _GAINED:
            break
        before = found.fun
    return at, -float(found.fun)


def _on_a_line(likelihood: FreeLikelihood, line: Floats, log_p: Floats, climbing: Climb | None) -> Peak:
    """One parameter: zoom in on the best point, then the vertex of a polynomial through the last points."""
    at = int(np.argmax(log_p))
    level = 1e-9 * (1.0 + abs(float(log_p[at])))
    edge = -1 if log_p[0] >= log_p[at] - level else 1 if log_p[-1] >= log_p[at] - level else 0
    if edge:
        end = line[0 if edge < 0 else -1]
        return Peak(np.asarray([end]), float(log_p[at]), np.zeros((1, 1)), edge)
    if climbing is not None:
        top_free, top_log_p = climbing(likelihood, line[at : at + 1])
        return Peak(top_free, top_log_p, likelihood.curvature(top_free))
    low, high = line[at - 1], line[at + 1]
    for _ in range(_ZOOMS):
        points = np.linspace(low, high, _ZOOM)
        found = likelihood(points[:, None])
        best = int(np.clip(np.argmax(found), 1, _ZOOM - 2))
        if found[best] - found.min() < 2e-3:  # narrow enough for a polynomial, wide enough for its digits
            break
        low, high = points[best - 1], points[best + 1]
    polynomial = np.polynomial.Polynomial.fit(points, found - found.max(), 6)
    roots = polynomial.deriv().roots()
    real = roots[np.abs(roots.imag) < 1e-9].real
    real = real[(real > points[0]) & (real < points[-1])]
    top = float(real[np.argmax(polynomial(real))]) if real.size else float(points[best])
    bend = -float(polynomial.deriv(2)(top))
    if not bend > 0:
        raise AccuracyError(
            "the likelihood has no curvature at its maximum: the published value says nothing about the parameter "
            "there; use method='exact', which needs none"
        )
    return Peak(np.asarray([top]), float(polynomial(top) + found.max()), np.asarray([[bend]]))
