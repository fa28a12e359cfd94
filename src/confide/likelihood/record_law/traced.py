"""The law of a clipped record at one θ that may be traced, with nodes that move where the density does.

`record` keeps its nodes where they are and must know θ beforehand. Here θ may be a tracer (inside somebody's
`jax.grad`, in NUTS), and the ends of the support or a kink of the density may depend on it. The number of panels is
fixed, their places are not:

* the *frame* is all that can be said without θ (`skeleton`);
* at θ the frame is cut at quantiles of the population, from the far tails to the middle, at the ends of the support
  and at the kinks of the density. All of these only place panels, and have no derivative;
* where the support and the kinks stay, the derivative of a weight is that of the density; where they move, it comes
  from the distribution function (`slopes`).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from confide.errors import AccuracyError
from confide.likelihood.cached import once
from confide.likelihood.record_law.panels import PANEL, GaussRule, panel_rule
from confide.likelihood.record_law.pieces import s_at
from confide.likelihood.record_law.record import RecordLaw
from confide.likelihood.record_law.rows.axis import Fineness
from confide.likelihood.record_law.rows.law import rows_at
from confide.likelihood.record_law.skeleton import CHANGES, PanelSkeleton, frame
from confide.likelihood.record_law.slopes import WITH_ENDS, moves, panel_weights
from confide.population import Population, density, quadrature, tails
from confide.population.splitting import middles
from confide.statistic import Statistic

#: points of a discrete record, as where θ is known (`fixed`)
_MOST_POINTS = 20_000
#: probabilities at whose quantiles panels end; at 1e-14 what is left is the rounding of a mass of one
_LOWER = np.array([1e-14, 1e-9, 1e-6, 1e-4, 3e-3, 0.03, 0.15])
_QUANTILES = np.concatenate([_LOWER, [0.5], 1.0 - _LOWER[:0:-1]])
_OUTWARD = 1.3 ** np.arange(1, 7)  # times the distance of the outermost quantile from the median
#: the same for quantiles of draws, which do not reach as far out
_FURTHER = 1.6 ** np.arange(1, 11)
ROUNDS, SPLITS = 10, 6


class TracedPanels(NamedTuple):
    """The panels at one θ, in order, and the piece of s of each; piece i has panels first[i] to last[i]."""

    edges: jax.Array
    piece: jax.Array
    first: jax.Array
    last: jax.Array


def panels(population: Population, at: PanelSkeleton, theta: jax.Array) -> TracedPanels:
    """The frame, cut at θ's quantiles, kinks and ends of the support. Their number does not depend on θ."""
    theta = lax.stop_gradient(theta)
    start, stop = (jnp.clip(end, at.low, at.high) for end in density.support(population, theta))
    parts = [jnp.asarray(at.edges[:-1]), *places(population, theta), density.breaks(population, theta)]
    if population.closed.quantile is None:  # of no known shape: perhaps with several modes
        parts.append(_worst_panels(population, theta, jnp.clip(jnp.concatenate(parts), start, stop)))
    edges = jnp.concatenate([*parts, at.edges[-1:]])
    edges = jnp.clip(jnp.where(jnp.isnan(edges), at.low, edges), start, stop)
    # Stable, with the frame's edges first and its end last: ties leave the pieces in order and every panel in one.
    order = jnp.argsort(edges, stable=True)
    begin = jnp.zeros(edges.size, dtype=int).at[at.begins].set(1)[order]
    position = jnp.zeros(edges.size, dtype=int).at[order].set(jnp.arange(edges.size))
    first = position[at.begins]
    last = jnp.concatenate([first[1:], jnp.asarray([edges.size - 1])]) - 1
    return TracedPanels(edges[order], jnp.asarray(at.piece)[jnp.cumsum(begin)[:-1] - 1], first, last)


def places(population: Population, theta: jax.Array) -> list[jax.Array]:
    """Points that follow the population: quantiles, and beyond the outermost on either side.

    Where quantiles must be searched for, those of draws place panels as well, and are known much sooner.
    """
    if tails.searches(population):
        line, coordinates = quadrature.survey(population, theta)
        quantiles, further = line.record(coordinates), _FURTHER
    else:
        quantiles, further = jax.vmap(lambda q: tails.quantile(population, q, theta))(jnp.asarray(_QUANTILES)), _OUTWARD
    middle = quantiles[quantiles.size // 2]
    return [quantiles, *(middle + (quantiles[end] - middle) * further for end in (0, -1))]


def _worst_panels(population: Population, theta: jax.Array, edges: jax.Array) -> jax.Array:
    """The middles of panels on which two rules disagree the most about the mass, a few at a time."""

    def error(a: jax.Array, b: jax.Array) -> jax.Array:
        mass = [_weighed(population, theta, a, b, rule)[1].sum(-1) for rule in TWO_RULES]
        return jnp.abs(mass[0] - mass[1])

    return middles(error, jnp.sort(edges), ROUNDS, SPLITS)


TWO_RULES: tuple[GaussRule, GaussRule] = PANEL, np.polynomial.legendre.leggauss(11)


def _weighed(
    population: Population, theta: jax.Array, a: jax.Array, b: jax.Array, rule: GaussRule
) -> tuple[jax.Array, jax.Array]:
    """Nodes on the panels (a, b), and their weights times the density."""
    x, weights = panel_rule(a, b, rule)
    log_density = jax.vmap(lambda point: density.log_prob(population, point, theta))(x.reshape(-1)).reshape(x.shape)
    return x, weights * jnp.exp(log_density)


def nodes(population: Population, theta: jax.Array, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Nodes on the panels (a, b), on a new last axis, and their weights, whose derivative in θ is that of the law."""
    if not moves(population):
        return _weighed(population, theta, a, b, PANEL)
    half = 0.5 * (b - a)
    x = 0.5 * (a + b)[..., None] + half[..., None] * WITH_ENDS
    return x, panel_weights(population, x, half, theta)


def edges_and_atoms(population: Population, at: PanelSkeleton, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """What is not on a panel: values and weights of the mass up to the first edge and from the last one on.

    Where the derivative comes from the distribution function, which needs no atoms for it, also the two sides of every
    jump of s, of weight zero: as θ moves, mass passes from one to the other.
    """
    atoms = jnp.stack(
        [
            tails.cdf(population, jnp.asarray(at.low), theta),
            tails.survival(population, jnp.asarray(at.high), theta),
        ]
    )
    if not moves(population):
        return jnp.asarray(at.atoms), atoms
    below = jax.vmap(lambda c: tails.cdf(population, c, theta))(jnp.asarray(at.jumps.x))
    past = below - lax.stop_gradient(below)
    values = jnp.concatenate([at.jumps.left, at.jumps.right, at.atoms], axis=1)
    return values, jnp.concatenate([past, -past, lax.stop_gradient(atoms)])


def moving_law(
    population: Population, statistic: Statistic, theta: jax.Array, changes: int = CHANGES
) -> tuple[jax.Array, jax.Array]:
    """Values s_j (components, J) and weights w_j (J,) with E f(s(clip X)) ≈ Σ_j w_j f(s_j) at one θ (d,).

    The weights are differentiable in θ, and the values do not move. The atoms at the bounds come last. J depends on the
    population and the statistic only.
    Accurate to 1e-10 of max |f| for f that is smooth on the scale of 2^−changes times the range of s.

    >>> from confide import populations
    >>> from confide.statistic import Each
    >>> with jax.enable_x64(True):
    ...     s, w = moving_law(populations.uniform_width(), Each("x**2", bounds=(-1, 1)), jnp.array([0.5]))
    ...     print(f"{w @ s[0]:.12f}")                                               # width² / 3
    0.083333333333
    """
    if population.rows is not None:
        return rows_at(population, statistic, theta, Fineness(halvings=changes - CHANGES))
    if population.discrete:
        law = points(population, statistic)
        return jnp.asarray(law.s), law.weights(theta)
    at = frame(population, statistic, changes)
    cut = panels(population, at, theta)
    x, weights = nodes(population, theta, cut.edges[:-1], cut.edges[1:])
    s = at.pieces.values(x, cut.piece[:, None]).reshape(statistic.dimension, -1)
    others, other_weights = edges_and_atoms(population, at, theta)
    return jnp.concatenate([s, others], axis=1), jnp.concatenate([weights.reshape(-1), other_weights])


@once
def points(population: Population, statistic: Statistic) -> RecordLaw:
    """The law of a discrete record whatever θ: the points of the support inside the bounds, and the two atoms."""
    low, high = statistic.bounds
    start, stop = population.facts.fixed_ends or (-math.inf, math.inf)
    first, last = max(math.floor(low) + 1.0, start), min(math.ceil(high) - 1.0, stop)
    if last - first >= _MOST_POINTS:
        raise AccuracyError(
            f"{population.name} has more than {_MOST_POINTS:,} points inside the bounds {statistic.bounds}; "
            "narrow the bounds"
        )
    x = np.arange(first, last + 1.0)
    ends = max(low, first - 1.0), min(high, last + 1.0)
    return RecordLaw(population, x, np.ones_like(x), s_at(statistic, np.concatenate([x, ends])), *ends)
