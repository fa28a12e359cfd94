"""Randomized response (Example 4): every record answers with its level, or with another one.

Let P_l(θ) be the probability that s(clip X) is (nearest to) level l. The answer is level l with probability

    τ_l(θ) = q + (keep − q) P_l(θ),      q = (1 − keep)/(k − 1),

so that n answers with counts n_l have log-likelihood Σ_l n_l log τ_l, and the Fisher information is
n Σ_l (∂τ_l)(∂τ_l)ᵀ/τ_l. For one bit this is n α² (∂P)²/(τ(1 − τ)) with α = 2 keep − 1, the paper's F₁. P_l is exact:
masses between the thresholds of s from the distribution function, or sums over a discrete support; of rows, by the
nodes of their columns. Where each column is answered by itself, τ is P times one such table for each digit of l.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from confide.errors import InvalidArgument
from confide.likelihood.cached import once
from confide.likelihood.completed import Completed
from confide.likelihood.record_law.pieces import pieces_of, s_at
from confide.likelihood.record_law.record import Floats, RecordLaw, log_mass
from confide.likelihood.record_law.rows.axis import Fineness
from confide.likelihood.record_law.rows.law import ClippedRows, clipped_rows
from confide.likelihood.record_law.traced import points
from confide.likelihood.route import Route
from confide.likelihood.score_integral import Told
from confide.mechanism import ResponseLaw
from confide.population import Population, tails, tiles
from confide.statistic import Statistic

if TYPE_CHECKING:
    from confide.model import Model


class ResponseCells(eqx.Module):
    """The masses of intervals of x, from the distribution function: the law of s cut into level sets, atoms last.

    Above the median the mass is a difference of survival functions, so that small masses keep their digits.
    """

    population: Population = eqx.field(static=True)
    edges: Floats
    s: Floats

    def weights(self, theta: jax.Array) -> jax.Array:
        """The mass of each cell and of the two atoms, at one θ (d,); they sum to one."""
        edges = jnp.asarray(self.edges)
        below = jax.vmap(lambda x: tails.cdf(self.population, x, theta))(edges)
        above = jax.vmap(lambda x: tails.survival(self.population, x, theta))(edges)
        mass = jnp.where(below[:-1] > 0.5, above[:-1] - above[1:], below[1:] - below[:-1])
        # not `maximum`, which halves the derivative of a mass that is zero
        return jnp.concatenate([jnp.where(mass < 0, 0.0, mass), below[:1], above[-1:]])

    def log_weights(self, theta: jax.Array) -> jax.Array:
        """Their logarithms."""
        return log_mass(self.weights(theta))

    def weights_at(self, thetas: Any) -> Floats:
        """The same at known θ (M, d): shape (M, cells + 2)."""
        # many cells of one θ would be worked out for all rows of a tile
        alone = len(thetas) == 1 and self.edges.size > tiles.ALONE // 2
        below, above = tiles.tails(self.population, self.edges, thetas, alone=alone)
        mass = _between(below > 0.5, below, above)
        return np.concatenate([np.where(mass < 0, 0.0, mass), below[:, :1], above[:, -1:]], axis=1)

    def slopes_at(self, thetas: Any) -> Floats:
        """Their derivatives in θ: shape (M, cells + 2, d)."""
        known = tiles.tails(self.population, self.edges, thetas)
        below, above = tiles.tail_slopes(self.population, self.edges, thetas)
        upper = known[0] > 0.5
        slope = np.where(_between(upper, *known)[..., None] < 0, 0.0, _between(upper[..., None], below, above))
        return np.concatenate([slope, below[:, :1], above[:, -1:]], axis=1)


def _between(upper: Any, below: Floats, above: Floats) -> Floats:
    """Differences between neighbouring edges (axis 1) of the nearer tail: the upper one where that is said."""
    return np.where(upper[:, :-1], above[:, :-1] - above[:, 1:], below[:, 1:] - below[:, :-1])


def level_law(population: Population, statistic: Statistic, thresholds: Floats) -> ResponseCells | RecordLaw:
    """The law of a scalar s as far as thresholds tell its values apart: `s` holds one value between them per cell."""
    if population.discrete:
        return points(population, statistic)
    pieces = pieces_of(statistic)
    found = [pieces.ends]
    for piece in np.flatnonzero(pieces.directions):
        first, last = np.sort(pieces.values(pieces.ends[piece : piece + 2], int(piece))[0])
        inside = thresholds[(thresholds > first) & (thresholds < last)]
        found.append(pieces.solve(inside, int(piece)))
    edges = np.unique(np.concatenate(found))
    middle = 0.5 * (edges[:-1] + edges[1:])
    s = pieces.values(middle, np.searchsorted(pieces.ends, middle) - 1)[0]
    return ResponseCells(population, edges, np.concatenate([s, s_at(statistic, edges[[0, -1]])[0]])[None])


@once
def _answers(population: Population, statistic: Statistic) -> tuple[ResponseCells | RecordLaw, Floats]:
    """The law of a record's level: its cells, and which cell belongs to which level (levels, cells)."""
    levels = np.asarray(statistic.levels)
    law = level_law(population, statistic, 0.5 * (levels[:-1] + levels[1:]))
    return law, _members(statistic, law.s[0])


def _members(statistic: Statistic, s: Floats) -> Floats:
    """Which values belong to which level (levels, values): the nearest one."""
    levels = np.asarray(statistic.levels)
    nearest = np.argmin(np.abs(s[:, None] - levels), axis=1)
    return (np.arange(levels.size)[:, None] == nearest).astype(float)


class _OfRows(eqx.Module):
    """The law of a row's level, as the route asks for it: one node for each value."""

    law: ClippedRows

    @property
    def s(self) -> Floats:
        """The values."""
        return self.law.s

    def weights(self, theta: jax.Array) -> jax.Array:
        """Their probabilities at one θ, inside a trace."""
        return self.law.at(theta)[1]

    def log_weights(self, theta: jax.Array) -> jax.Array:
        """Their logarithms."""
        return log_mass(self.weights(theta))

    def weights_at(self, thetas: Any) -> Floats:
        """At known θ (M, d)."""
        return self.law.weights_at(thetas)

    def slopes_at(self, thetas: Any) -> Floats:
        """Their derivatives."""
        return self.law.slopes_at(thetas)


def _law_of(model: Model, thetas: Any) -> tuple[Any, Floats]:
    """The law of a record's level, of rows accurate at known θ (None: in a trace), and which level a node is of."""
    statistic = model.channel.statistic
    if model.population.rows is None:
        return _answers(model.population, statistic)
    unknown = thetas is None
    law = _OfRows(
        ClippedRows(model.population, statistic, Fineness())
        if unknown
        else clipped_rows(model.population, statistic, thetas)
    )
    return law, _members(statistic, law.s[0])


@dataclass(frozen=True)
class Response(Route):
    """Randomized response on bits, thresholds or categories, in closed form.

    >>> import math
    >>> from confide import populations
    >>> from confide.channel import Channel
    >>> from confide.mechanism import RandomizedResponse
    >>> from confide.model import Model
    >>> from confide.privacy import PureDP
    >>> from confide.statistic import Each
    >>> channel = Channel(Each("x", (0, 1)), RandomizedResponse(PureDP(math.log(3))), n=100)
    >>> with jax.enable_x64(True):
    ...     print(Response().information(Model(populations.bernoulli(), channel), [[0.5]]))   # n α² / (τ (1 − τ))
    [[[100.]]]
    """

    name = "response"
    error = "none"
    of_rows = True

    def refuses(self, model: Model) -> str | None:
        """Why not, in words."""
        if model.channel.law.answers is None:
            name = type(model.channel.mechanism).__name__
            return f"response needs answers by RandomizedResponse, not by {name}; use records for noise on each record"
        return None

    def completed(self, model: Model, theta: Any, value: Any) -> Completed:
        """Each answer shared out among the cells that may have given it."""
        law, thetas = _law(model), np.asarray(theta).reshape(1, -1)
        cells, member = _law_of(model, thetas)
        weights = cells.weights_at(thetas)[0]
        answers = law.answered(member.T).T  # of each node, (levels, nodes)
        told = _counts(np.asarray(law.levels), np.asarray(value)[None])[0]
        return Completed(cells, weights * ((told / (answers @ weights)) @ answers))

    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """log p(y | θ), traceable in θ and the answers."""
        law = _law(model)
        cells, member = _law_of(model, None)
        log_tau = jnp.log(law.answered(cells.weights(jnp.asarray(theta)) @ member.T))
        between = 0.5 * (jnp.asarray(law.levels)[1:] + jnp.asarray(law.levels)[:-1])
        # the index of the nearest level; argmin's would be of 64 bits, which a caller in single precision cannot have
        answers = jnp.sum(jnp.asarray(value).reshape(-1)[:, None] > between, axis=1, dtype=jnp.int32)
        return jnp.sum(log_tau[answers])

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> Float[Floats, "thetas values"]:
        """log p(y | θ) for all θ (M, d) and answers (Y, n): shape (M, Y), from counts of the levels."""
        law, thetas = _law(model), _as_thetas(model, thetas)
        cells, member = _law_of(model, thetas)
        counts = _counts(np.asarray(law.levels), np.asarray(values, dtype=float))
        return np.asarray(np.log(law.answered(cells.weights_at(thetas) @ member.T)) @ counts.T)

    def told(self, model: Model, thetas: Any) -> Iterator[list[Told]]:
        """By one answer: (∂τ_l)(∂τ_l)ᵀ/τ_l is summed over the levels."""
        law, thetas = _law(model), _as_thetas(model, thetas)
        cells, member = _law_of(model, thetas)
        tau = law.answered(cells.weights_at(thetas) @ member.T)
        slopes = np.swapaxes(law.answered(np.einsum("lj,tjd->tdl", member, cells.slopes_at(thetas))), 1, 2)
        yield from ([Told.by_slopes(np.ones(len(member)), *parts)] for parts in zip(tau, slopes, strict=True))


def _law(model: Model) -> ResponseLaw:
    return cast(ResponseLaw, model.channel.law)  # `refuses` has looked at it


def _as_thetas(model: Model, thetas: Any) -> Floats:
    return np.asarray(thetas, dtype=float).reshape(-1, model.population.dimension)


def _counts(levels: Floats, values: Floats) -> Floats:
    """How often each level was answered, shape (data sets, levels); an answer that is no level is refused."""
    rows = values.reshape(len(values), -1)
    gap = 1e-9 * np.min(np.diff(levels)) + 4 * np.finfo(float).eps * np.max(np.abs(levels))
    above = np.clip(np.searchsorted(levels, rows), 1, levels.size - 1)
    nearest = np.where(rows - levels[above - 1] <= levels[above] - rows, above - 1, above)
    wrong = ~(np.abs(rows - levels[nearest]) <= gap)
    if np.any(wrong):
        names = ", ".join(f"{level:g}" for level in levels[:8]) + (", …" if levels.size > 8 else "")
        raise InvalidArgument(
            "value", float(rows[wrong][0]), f"is none of the levels {names}", "give the answers as published"
        )
    return np.stack([np.bincount(row, minlength=levels.size) for row in nearest]).astype(float)
