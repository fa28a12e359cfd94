"""Which question next: the one after which the posterior covariance is expected to be least.

A few points of equal weight stand for the posterior: quantiles of one parameter; of two, quantiles of the first and
conditional ones of the second. One more answer moves the posterior mean by what the answer's density has in common with
θ: the covariance of the mean is

    R = Σ_y c(y) c(y)ᵀ / p̄(y),        c(y) = E (θ − θ̄) p(y | θ),        p̄(y) = E p(y | θ),

expectations over the posterior. F = C⁻¹ R C⁻¹ is then the information of one answer: the Fisher information where the
posterior is narrow, and where it is wide what an answer tells of θ from afar, where a derivative at one θ says nothing
(a bit is best asked at the median, not at the mode). The criterion is tr W (C⁻¹ + n F)⁻¹ for n persons asked alike.

By a draw from the posterior (Thompson, as Yıldırım 2023 has it) F is that of the same points, drawn together around one
θ of the posterior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

from confide.design.asking.answering import Answerer
from confide.design.asking.mesh import Mesh, along, axes, quantiles, shares, sizes, thetas_of
from confide.design.search.answers import AnswerRule
from confide.population import tails
from confide.prior import Prior

#: points along each coordinate that stand for the posterior, and the variance of such points of a normal law
_CLOUD = {1: (16, 0.9304), 2: (4, 0.7122)}
#: cells of a clipped record: the information of candidates is off by 0.3% of itself at ε = 5, and alike for near ones
CELLS = 24
#: thresholds and middles of clips in standard deviations of the next record; half widths of clips; and the finer steps
#: around the best of them
_AT = np.linspace(-2.4, 2.4, 25)
_MIDDLES, _HALVES = np.linspace(-1.6, 1.6, 5), np.exp(np.linspace(np.log(0.03), np.log(5.0), 11))
_NEAR, _NEAR_HALVES = 0.2 * np.linspace(-1.0, 1.0, 11), np.exp(0.5 * np.linspace(-1.0, 1.0, 7))
_NEAR_MIDDLES = 0.8 * np.linspace(-0.75, 0.75, 3)
#: how near to a draw the points are moved: where the information hardly changes, and differences keep ten digits
_TOGETHER = 0.05


class Weighing(NamedTuple):
    """What decides: weights of the parameters (d,), NaN for 1/posterior variance; how many are asked; what may be."""

    # arrays, of NumPy or traced
    weights: Any
    batch: Any
    #: whether bits and whether clips may be asked
    bits: bool
    clips: bool
    thompson: bool


def _cloud(prior: Prior, mesh: Mesh) -> jax.Array:
    """Points of equal weight (I, d)."""
    lines = axes(mesh)
    count = _CLOUD[len(lines)][0]
    levels = jnp.asarray((np.arange(count) + 0.5) / count)
    first = quantiles(lines[0], along(mesh, 0), levels)
    if len(lines) == 1:
        return prior.constrain(first[:, None])
    weight = shares(mesh).reshape(sizes(mesh))

    def across(at: jax.Array) -> jax.Array:
        """Conditional quantiles of the second coordinate, with the shares of the two rows around a place mixed."""
        after = jnp.clip(jnp.searchsorted(lines[0], at), 1, lines[0].size - 1)
        part = (at - lines[0][after - 1]) / (lines[0][after] - lines[0][after - 1])
        share = (1.0 - part) * weight[after - 1] + part * weight[after]
        return quantiles(lines[1], share / share.sum(), levels)

    second = jax.vmap(across)(first)
    free = jnp.stack([jnp.broadcast_to(first[:, None], second.shape), second], axis=-1)
    return prior.constrain(free.reshape(count * count, -1))


def decide(
    how: Answerer, rule: AnswerRule, prior: Prior, mesh: Mesh, weighing: Weighing, uniform: jax.Array
) -> jax.Array:
    """The next question (3,); the uniform number is for a draw from the posterior."""
    population = how.population
    cloud = _cloud(prior, mesh)
    middle = cloud.mean(axis=0)
    spread = cloud - middle
    around = middle
    if weighing.thompson:
        share = jnp.cumsum(shares(mesh))
        around = thetas_of(prior, mesh)[jnp.clip(jnp.searchsorted(share, uniform), 0, share.size - 1)]
    near = around + _TOGETHER * spread if weighing.thompson else cloud
    near = jnp.where(jnp.all(jnp.isfinite(prior.log_prob(near))), near, cloud)
    scores = jnp.asarray(ndtr(np.asarray([-1.0, 0.0, 1.0])))
    levels = jax.vmap(lambda theta: jax.vmap(lambda q: tails.quantile(population, q, theta))(scores))(near)
    centre = levels[:, 1].mean()
    scale = jnp.sqrt(jnp.mean(0.25 * (levels[:, 2] - levels[:, 0]) ** 2) + jnp.var(levels[:, 1]))
    scored = _Scored(how, rule, near, spread, weighing)
    found = []
    if weighing.bits:
        at = centre + scale * _AT
        best = at[jnp.argmin(scored.bits(at))]
        at = best + scale * _NEAR
        loss = scored.bits(at)
        best = at[jnp.argmin(loss)]
        found.append((jnp.min(loss), jnp.stack([jnp.ones(()), best, best + scale])))
    if weighing.clips:
        middles, halves = (part.ravel() for part in np.meshgrid(_MIDDLES, _HALVES))
        ends = scored.best_clip(centre + scale * jnp.asarray(middles), scale * jnp.asarray(halves))
        half, middle = 0.5 * (ends[1] - ends[0]), 0.5 * (ends[0] + ends[1])
        middles, halves = (part.ravel() for part in np.meshgrid(_NEAR_MIDDLES, _NEAR_HALVES))
        low, high, loss = scored.best_clip(middle + jnp.minimum(half, scale) * middles, half * halves)
        found.append((loss, jnp.stack([jnp.zeros(()), low, high])))
    losses = jnp.stack([loss for loss, _ in found])
    return jnp.stack([question for _, question in found])[jnp.argmin(losses)]


class _Scored:
    """The criterion of questions, by the points that stand for the posterior."""

    def __init__(self, how: Answerer, rule: AnswerRule, near: jax.Array, spread: jax.Array, weighing: Weighing) -> None:
        self.how, self.rule, self.near, self.weighing = how, rule, near, weighing
        size = near.shape[1]
        covariance = spread.T @ spread / len(spread)
        away = near - near.mean(axis=0)
        self.away, self.inverse = away, _inverse(away.T @ away / len(away))
        self.known = _inverse(covariance / _CLOUD[size][1])
        posterior = _CLOUD[size][1] / jnp.diagonal(covariance)
        self.weights = jnp.where(jnp.isnan(weighing.weights), posterior, weighing.weights)

    def loss(self, moved: jax.Array) -> jax.Array:
        """The criterion, from R (…, d, d)."""
        information = self.inverse @ moved @ self.inverse
        left = _inverse(self.known + self.weighing.batch * information)
        return jnp.diagonal(left, axis1=-2, axis2=-1) @ self.weights

    def bits(self, at: jax.Array) -> jax.Array:
        """At thresholds (T,)."""
        population, keep = self.how.population, self.how.keep
        above = jax.vmap(lambda theta: jax.vmap(lambda t: tails.survival(population, t, theta))(at))(self.near)
        yes = 1.0 - keep + (2.0 * keep - 1.0) * above
        mean = yes.mean(axis=0)
        common = jnp.einsum("id,it->td", self.away, yes) / len(yes)
        return self.loss(common[:, :, None] * common[:, None, :] / (mean * (1.0 - mean))[:, None, None])

    def best_clip(self, middle: jax.Array, half: jax.Array) -> jax.Array:
        """The ends of the best of clips (B,), and the criterion there."""
        low, high = middle - half, middle + half
        x = low[:, None] + (high - low)[:, None] * self.rule.edges
        below = jax.vmap(lambda theta: jax.vmap(lambda one: tails.cdf(self.how.population, one, theta))(x.ravel()))(
            self.near
        ).reshape(len(self.near), *x.shape)
        ends = jnp.zeros_like(below[..., :1])
        masses = jnp.diff(jnp.concatenate([ends, below, ends + 1.0], axis=-1), axis=-1)
        density = masses @ self.rule.matrix.T
        mean = density.mean(axis=0)
        common = jnp.einsum("id,ibk->bkd", self.away, density) / len(density)
        weight = self.rule.weights / jnp.maximum(mean, 1e-300)
        loss = self.loss(jnp.einsum("bki,bk,bkj->bij", common, weight, common))
        best = jnp.argmin(loss)
        return jnp.stack([low[best], high[best], loss[best]])


def _inverse(matrix: jax.Array) -> jax.Array:
    """The inverse of matrices (…, d, d) with d up to two, by hand: many of them at once are slow otherwise."""
    if matrix.shape[-1] == 1:
        return 1.0 / matrix
    a, b, c = matrix[..., 0, 0], matrix[..., 0, 1], matrix[..., 1, 1]
    rows = [jnp.stack([c, -b], axis=-1), jnp.stack([-b, a], axis=-1)]
    return jnp.stack(rows, axis=-2) / (a * c - b * b)[..., None, None]
