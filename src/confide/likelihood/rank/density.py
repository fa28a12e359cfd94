"""p(y | θ) of an order statistic with additive noise: the noise density summed over the nodes of u's law.

One rule of nodes serves every y. Laplace noise has a kink at y, in the panel that contains the logit of F_s(y; θ):
there g is e^{−(y−u)/b}/2b up to that point t of the panel and e^{(y−u)/b}/2b beyond it, each a smooth function of
the whole panel, of which only the integral up to t, or from t, is taken. Discrete records, and noise on a lattice
(for which u is first rounded to the lattice), make u a variable of finitely many values, and the sum is exact as it
stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from confide.likelihood.rank.rank_law import RankLaw
from confide.likelihood.rank.rule import RULE, Gauss, Weights, order_panels, step_rule
from confide.likelihood.value_law.quantile import quantile, survey
from confide.likelihood.value_law.steps import DiscreteLaw, cells
from confide.likelihood.value_law.value import TransformedLaw
from confide.mechanism.additive import AdditiveLaw
from confide.mechanism.lattice import LatticeNoise
from confide.mechanism.noise import GaussianNoise, LaplaceNoise

#: how many noise scales a panel of values may span; log g changes by as much on it under Laplace noise
_LAPLACE_SPAN, _GAUSSIAN_SPAN = 4.0, 2.0
#: the most noise scales that the range of s may span
WIDEST = 1000.0
#: values of y whose terms are in memory at once
_BLOCK = 1024
#: θ that are computed together
_ROWS = 16


class NoisyOrder(eqx.Module):
    """An order statistic and its noise, ready for any θ. Only structure is static: n, scales and bounds are leaves."""

    values: TransformedLaw | DiscreteLaw
    rank: RankLaw
    law: AdditiveLaw
    #: values as fine as the noise, at which panels end
    grid: np.ndarray
    #: the first lattice point that u can be rounded to, in steps, and how many there are (0: not on a lattice)
    first: float
    count: int = eqx.field(static=True)

    def log_prob(self, theta: jax.Array, y: jax.Array, rule: Gauss = RULE) -> jax.Array:
        """log p(y | θ) at one θ (d,) for y of shape (Y,)."""
        if isinstance(self.values, TransformedLaw) and not self.count:
            return self._continuous(self.values, theta, y, rule)
        u, weights = self._points(theta, rule)
        return self._sum(u, weights, y)

    def _points(self, theta: jax.Array, rule: Gauss) -> tuple[jax.Array, Weights]:
        """The values of a discrete u and their weights."""
        if isinstance(self.values, DiscreteLaw):
            return step_rule(self.rank, self.values.steps(theta), rule)
        assert isinstance(self.law.noise, LatticeNoise)
        return step_rule(self.rank, cells(self.values, self.law.noise.step, self.first, self.count, theta), rule)

    def _sum(self, u: jax.Array, weights: Weights, y: jax.Array) -> jax.Array:
        return _in_blocks(lambda v: _log_sum(weights.width, weights.log + self.law.log_prob(v, u[:, None])), y)

    def _continuous(self, values: TransformedLaw, theta: jax.Array, y: jax.Array, rule: Gauss) -> jax.Array:
        kinked = isinstance(self.law.noise, LaplaceNoise)
        grid = jnp.asarray(self.grid)
        found = survey(values, theta, jnp.concatenate([grid, y]) if kinked else grid)
        logits = found.asked.weak.logit()
        panels = order_panels(self.rank, found, logits[: grid.size])
        zeta, weights = panels.nodes(self.rank, rule)
        u = quantile(values, found.ladder, zeta, theta)
        if not kinked:
            return self._sum(u.ravel(), Weights(weights.width.ravel(), weights.log.ravel()), y)
        asked, first, last = logits[grid.size :], panels.left[0], panels.right[-1]
        level = jnp.clip(asked, first, last)
        index = jnp.clip(jnp.searchsorted(panels.right, level), 0, panels.left.size - 1)
        shares = rule.partial_shares(panels.position(index, level))
        # beyond all panels the share is 1 or 0 to the last bit: the other branch of g is astronomically large there
        shares = jnp.where((asked >= last)[:, None], 1.0, jnp.where((asked <= first)[:, None], 0.0, shares))

        def one(argument: tuple[jax.Array, ...]) -> jax.Array:
            value, panel, below = argument
            here = (jnp.arange(panels.left.size) == panel)[:, None]
            # in the panel that holds y, `far` is the branch of g that holds up to y and `near` the one beyond it
            distance = (value - u) / self.law.noise.scale
            far = weights.log - jnp.where(here, distance, jnp.abs(distance))
            beyond = weights.log[panel] + distance[panel]
            width = weights.width[panel]
            terms = jnp.concatenate([far.ravel(), beyond])
            widths = jnp.concatenate([jnp.where(here, below * width, weights.width).ravel(), (1 - below) * width])
            return _log_sum(widths, terms) - jnp.log(2 * self.law.noise.scale)

        return _in_blocks(one, (y, index, shares))


def _log_sum(width: jax.Array, log: jax.Array) -> jax.Array:
    """log Σ width·e^{log}, with a derivative in widths that are 0."""
    top = jax.lax.stop_gradient(jnp.max(jnp.where(width > 0, log, -jnp.inf)))
    return top + jnp.log(jnp.sum(width * jnp.exp(jnp.minimum(log - top, 600.0))))


def _in_blocks(function: Callable[[Any], jax.Array], arguments: Any) -> jax.Array:
    """A function of one element over all elements, a block at a time so that memory is bounded."""
    size = jax.tree.leaves(arguments)[0].shape[0]
    apply = jax.vmap(function)
    if size <= _BLOCK:
        return apply(arguments)
    blocks = -(-size // _BLOCK)

    def fold(part: jax.Array) -> jax.Array:
        padded = jnp.concatenate([part, jnp.repeat(part[-1:], blocks * _BLOCK - size, axis=0)])
        return padded.reshape(blocks, _BLOCK, *part.shape[1:])

    return jax.lax.map(apply, jax.tree.map(fold, arguments)).ravel()[:size]


@jax.jit
def _each(noisy: NoisyOrder, thetas: jax.Array, y: jax.Array) -> jax.Array:
    # one after the other: a search for quantiles ends with its own θ, and no tail is integrated for another's sake
    return jax.lax.map(lambda theta: noisy.log_prob(theta, y), thetas)


def log_likelihood(noisy: NoisyOrder, thetas: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log p(y | θ) for all θ (M, d) and y (Y,): (M, Y).

    θ are taken sixteen at a time and y filled up to a power of two, so that one compiled function serves all scales,
    bounds, n and numbers of θ.
    """
    rows = 1 if len(thetas) == 1 else _ROWS
    columns = 1 if y.size == 1 else 2 ** max(3, (y.size - 1).bit_length())
    padded = np.pad(thetas, [(0, -len(thetas) % rows), (0, 0)], mode="edge").reshape(-1, rows, thetas.shape[1])
    values = np.pad(y, (0, columns - y.size), mode="edge")
    found = [np.asarray(_each(noisy, block, values)) for block in padded]
    return np.concatenate(found)[: len(thetas), : y.size]


def noise_grid(low: float, high: float, law: AdditiveLaw) -> np.ndarray:
    """Values between low and high as fine as the noise; few sizes, so that few programs are compiled."""
    if not isinstance(law.noise, LaplaceNoise | GaussianNoise):
        return np.zeros(0)
    span = _LAPLACE_SPAN if isinstance(law.noise, LaplaceNoise) else _GAUSSIAN_SPAN
    needed = max((high - low) / (span * law.noise.scale), 4.0)
    panels = 2 ** math.ceil(math.log2(needed))
    return np.linspace(low, high, panels + 1)[1:-1]
