"""p(y | θ) and ∂p/∂θ from a pool of windows.

p(y | θ) is the mean of g(y | window(θ)) over the pool. Its derivative can be had in several ways that differ in
variance only. Let the ζ of a window move with θ at any velocity c: moving a variable of density w along c multiplies
its law by 1 + div(wc)/w, so that

    ∂p/∂θ = E[ g · (div(wc)/w + d log g(y | window)/dθ along c) ].

* c = 0: the *pathwise* derivative, right if g is continuous in the window and the window in θ. Best where noise
  dominates.
* c = Z for the middle rank, the others following at fixed exponentials: the *anchored* derivative. The middle value
  stays where it is and its own score takes the place of its movement; only the scale moves. Best where noise is
  small.
* c = Z for all ranks: *Fisher's identity*. The whole window stays, and the score of the window is all there is. It
  needs no continuity, so it serves the exponential mechanism, whose density jumps at the window's values, discrete
  records, and expressions with jumps.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.nn import sigmoid
from jax.scipy.special import logsumexp

from confide.likelihood.rank.window import Ranks, WindowPool, window_score, window_values
from confide.likelihood.value_law.steps import DiscreteLaw
from confide.likelihood.value_law.table import QuantileTable, StepTable, quantile_table
from confide.likelihood.value_law.value import TransformedLaw
from confide.mechanism.base import Law


class WindowModel(eqx.Module):
    """Everything about a model that its windows need; numbers are leaves."""

    values: TransformedLaw | DiscreteLaw
    law: Law
    ranks: Ranks
    low: float
    high: float
    #: whether g is continuous in the window and the window in θ, and whether the score of a window exists
    continuous: bool = eqx.field(static=True)
    regular: bool = eqx.field(static=True)
    #: whether y stays in the range of s
    bounded: bool = eqx.field(static=True)

    def table(self, theta: jax.Array, low: jax.Array, high: jax.Array) -> QuantileTable | StepTable:
        """Q and Z at θ for logits of a pool's range."""
        if isinstance(self.values, TransformedLaw):
            return quantile_table(self.values, theta, low, high)
        law = self.values
        velocity = jax.jacfwd(lambda t: law.steps(t).levels)(jax.lax.stop_gradient(theta))
        return StepTable(law.steps(theta), velocity)

    def windows(self, table: QuantileTable | StepTable, zeta: jax.Array) -> jax.Array:
        """The windows of values."""
        return window_values(table, zeta, self.low, self.high)

    def log_terms(self, theta: jax.Array, pool: WindowPool, y: jax.Array) -> jax.Array:
        """log g(y | window)·weight for y (Y,) and all windows (Y, batches, L): the right derivative in θ of its mean.

        Where the pathwise derivative does not exist the windows are held, and each term carries its score instead.
        """
        table = self.table(theta, pool.low, pool.high)
        if self.continuous:
            windows = self.windows(table, pool.zeta)
            return jax.vmap(lambda value: self.law.log_prob(value, windows))(y) + pool.log_weight
        still = jax.lax.stop_gradient(table)
        windows = self.windows(still, pool.zeta)
        score = window_score(still, pool.zeta, self.ranks)
        tilt = score @ (theta - jax.lax.stop_gradient(theta))
        return jax.vmap(lambda value: self.law.log_prob(value, windows))(y) + tilt + pool.log_weight


def log_density(model: WindowModel, theta: jax.Array, pool: WindowPool, y: jax.Array) -> jax.Array:
    """log p(y | θ) for y (Y,): the log of the mean over the pool."""
    terms = model.log_terms(theta, pool, y).reshape(y.size, -1)
    return logsumexp(terms, axis=-1) - jnp.log(terms.shape[-1])


def log_batches(model: WindowModel, theta: jax.Array, pool: WindowPool, y: jax.Array) -> jax.Array:
    """The logs of the means over each batch of the pool, for y (Y,): (Y, batches)."""
    terms = model.log_terms(theta, pool, y)
    return logsumexp(terms, axis=-1) - jnp.log(terms.shape[-1])


def still_table(model: WindowModel, theta: jax.Array, low: jax.Array, high: jax.Array) -> QuantileTable | StepTable:
    """Q at one θ without Z, which only derivatives ask for."""
    table = model.table(theta, low, high)
    if isinstance(table, StepTable):
        return table._replace(velocity=table.velocity[..., :0])
    return table._replace(velocity=table.velocity[..., :0], rung_velocity=table.rung_velocity[..., :0])


def log_sums(
    model: WindowModel, table: QuantileTable | StepTable, zeta: jax.Array, log_weight: jax.Array, y: jax.Array
) -> jax.Array:
    """The logs of the sums of g(y | window)·weight over some windows of each batch, for y (Y,): (Y, batches)."""
    windows = model.windows(table, zeta)
    return logsumexp(jax.vmap(lambda value: model.law.log_prob(value, windows))(y) + log_weight, axis=-1)


def below(model: WindowModel, theta: jax.Array, pool: WindowPool, y: jax.Array) -> jax.Array:
    """P(Y ≤ y | θ) for y (Y,): the mean over the pool, whose weights add up to one, so that it ends at one."""
    windows = model.windows(model.table(theta, pool.low, pool.high), pool.zeta)
    weight = jax.nn.softmax(pool.log_weight, axis=(0, 1))
    return jax.lax.map(lambda value: jnp.sum(weight * model.law.cdf(value, windows)), y)


def log_density_error(
    model: WindowModel, theta: jax.Array, pool: WindowPool, y: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """log p(y | θ) and its standard error, from the spread of the batches."""
    each = log_batches(model, theta, pool, y)
    batches = each.shape[-1]
    log_p = logsumexp(each, axis=-1) - jnp.log(batches)
    ratio = jnp.exp(each - log_p[:, None])
    return log_p, jnp.std(ratio, axis=-1, ddof=1) / jnp.sqrt(batches)


class Slopes(NamedTuple):
    """Batch means of g (batches, Y), and of two unbiased estimates of ∂p/∂θ, each (batches, d, Y)."""

    p: jax.Array
    first: jax.Array
    second: jax.Array


def slopes(
    model: WindowModel,
    table: QuantileTable | StepTable,
    tangent: QuantileTable | StepTable,
    pool: WindowPool,
    y: jax.Array,
) -> Slopes:
    """Densities and derivatives at y (Y,), batch by batch; `tangent` is ∂table/∂θ, with θ's components first."""

    def density(windows: jax.Array, log_weight: jax.Array) -> jax.Array:
        return jnp.exp(jax.vmap(lambda value: model.law.log_prob(value, windows))(y) + log_weight)

    def fisher(batch: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        zeta, log_weight = batch
        p = density(model.windows(table, zeta), log_weight)
        estimate = p @ window_score(table, zeta, model.ranks) / zeta.shape[0]
        return jnp.mean(p, axis=-1), estimate.T, estimate.T

    def moving(batch: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        zeta, log_weight = batch
        cap = zeta.shape[-1] // 2
        middle = zeta[:, cap]
        flow, stretch = table.flow(middle)
        exists = model.ranks.inside(cap)
        held = jnp.where(exists, zeta, 0.0)
        # at fixed exponentials dζ_j/dζ_m is U_m/U_j above the middle and (1−U_m)/(1−U_j) below it
        above = jnp.arange(zeta.shape[-1]) >= cap
        ratio = jnp.where(above, sigmoid(middle)[:, None] / sigmoid(held), sigmoid(-middle)[:, None] / sigmoid(-held))
        ratio = jnp.where(exists, ratio, 0.0)
        still = jnp.zeros_like(zeta)

        def along(shift: jax.Array, change: QuantileTable | StepTable) -> jax.Array:
            return jax.jvp(model.windows, (table, zeta), (change, shift))[1]

        windows = model.windows(table, zeta)
        path = jax.vmap(lambda change: along(still, change))(tangent)
        zero = jax.tree.map(jnp.zeros_like, table)
        drift = jax.vmap(lambda speed: along(ratio * speed[:, None], zero), in_axes=-1)(flow)
        p, push = jax.linearize(lambda moved: density(moved, log_weight), windows)
        by_path, by_drift = (jax.vmap(push)(part) for part in (path, drift))
        weight = (model.ranks.rank - (model.ranks.n + 1.0) * sigmoid(middle))[:, None] * flow + stretch
        pathwise = jnp.mean(by_path, axis=-1)
        anchored = pathwise + jnp.mean(by_drift, axis=-1) + (p @ weight / zeta.shape[0]).T
        return jnp.mean(p, axis=-1), pathwise, anchored if model.regular else pathwise

    return Slopes(*jax.lax.map(moving if model.continuous else fisher, (pool.zeta, pool.log_weight)))
