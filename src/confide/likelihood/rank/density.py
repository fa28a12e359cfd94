"""p(y | θ) of an order statistic with additive noise: the noise density summed over the nodes of u's law.

One rule of nodes serves every y. Laplace noise has a kink at y, in the panel that contains the logit of F_s(y; θ):
there g is e^{−(y−u)/b}/2b up to that point t of the panel and e^{(y−u)/b}/2b beyond it, each a smooth function of
the whole panel, of which only the integral up to t, or from t, is taken. Discrete records, and noise on a lattice
(for which u is first rounded to the lattice), make u a variable of finitely many values, and the sum is exact as it
stands.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from confide.likelihood.rank.rank_law import RankLaw
from confide.likelihood.rank.rule import ORDER, RULE, Gauss, Weights, gauss, order_panels, step_rule
from confide.likelihood.value_law.quantile import quantile, survey
from confide.likelihood.value_law.steps import DiscreteLaw, cells
from confide.likelihood.value_law.value import TransformedLaw
from confide.mechanism.additive import AdditiveLaw

#: how many noise scales a panel of values may span; log g changes by as much on it under Laplace noise
_LAPLACE_SPAN, _GAUSSIAN_SPAN = 4.0, 2.0
#: the most noise scales that the range of s may span: 256 panels of Laplace noise; a thousandth is written in many ways
WIDEST = 1024.0
#: terms of the sums over nodes, of all y together, that are in memory at once
_TERMS = 2**20
#: θ that are computed together
_ROWS = 16
#: so many θ, or fewer, are computed one by one: a compiled function for all of them takes longer than they do
_FEW = 4
#: what may remain unseen of Q, in scales of the noise: in the integrals far less of it is left
_RESOLVED = 1e-9
#: panels with less mass than this count for less when it is asked whether Q is resolved
_LEAST_MASS = 1e-4


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
    #: whether panels end at quantiles of the population as well
    fine: bool = eqx.field(static=True, default=False)

    def log_prob(self, theta: jax.Array, y: jax.Array, rule: Gauss = RULE) -> jax.Array:
        """log p(y | θ) at one θ (d,) for y of shape (Y,)."""
        return self.with_doubt(theta, y, rule)[0]

    def with_doubt(self, theta: jax.Array, y: jax.Array, rule: Gauss = RULE) -> tuple[jax.Array, jax.Array]:
        """log p(y | θ), and how much of Q, in scales of the noise, polynomials through a panel's nodes do not see."""
        if isinstance(self.values, TransformedLaw) and not self.count:
            return self._continuous(self.values, theta, y, rule)
        u, weights = self._points(theta, rule)
        return self._sum(u, weights, y), jnp.zeros(())

    def _points(self, theta: jax.Array, rule: Gauss) -> tuple[jax.Array, Weights]:
        """The values of a discrete u and their weights."""
        if isinstance(self.values, DiscreteLaw):
            return step_rule(self.rank, self.values.steps(theta), rule)
        assert self.law.noise.step is not None
        return step_rule(self.rank, cells(self.values, self.law.noise.step, self.first, self.count, theta), rule)

    def _sum(self, u: jax.Array, weights: Weights, y: jax.Array) -> jax.Array:
        return _in_blocks(lambda v: _log_sum(weights.width, weights.log + self.law.log_prob(v, u[:, None])), y, u.size)

    def _continuous(
        self, values: TransformedLaw, theta: jax.Array, y: jax.Array, rule: Gauss
    ) -> tuple[jax.Array, jax.Array]:
        kinked = self.law.noise.kinked
        grid = jnp.asarray(self.grid)
        found = survey(values, theta, jnp.concatenate([grid, y]) if kinked else grid)
        logits = found.asked.weak.logit()
        more = [found.ladder.left, found.ladder.right] if self.fine else []
        panels = order_panels(self.rank, found, jnp.concatenate([logits[: grid.size], *more]))
        zeta, weights = panels.nodes(self.rank, rule)
        u = quantile(values, found.ladder, zeta, theta)
        mass = jnp.sum(weights.width * jnp.exp(weights.log), axis=1)
        doubt = doubt_of(rule.last_coefficients(jax.lax.stop_gradient(u)) / self.law.noise.scale, mass)
        if not kinked:
            return self._sum(u.ravel(), Weights(weights.width.ravel(), weights.log.ravel()), y), doubt
        asked, first, last = logits[grid.size :], panels.left[0], panels.right[-1]
        level = jnp.clip(asked, first, last)
        index = jnp.clip(jnp.searchsorted(panels.right, level), 0, panels.left.size - 1)
        shares = rule.partial_shares(panels.position(index, level))
        # beyond all panels the share is 1 or 0 to the last bit: the other branch of g is astronomically large there
        shares = jnp.where((asked >= last)[:, None], 1.0, jnp.where((asked <= first)[:, None], 0.0, shares))

        def one(argument: tuple[jax.Array, ...]) -> jax.Array:
            value, panel, below = argument
            # next to a gap of u the level of y is an end of a panel that does not hold y: nothing is divided then
            holds = _holds(u[panel], value)
            here = ((jnp.arange(panels.left.size) == panel) & holds)[:, None]
            # in the panel that holds y, `far` is the branch of g that holds up to y and `beyond` the one beyond it
            distance = (value - u) / self.law.noise.scale
            far = weights.log - jnp.where(here, distance, jnp.abs(distance))
            beyond = weights.log[panel] + distance[panel]
            width = weights.width[panel]
            terms = jnp.concatenate([far.ravel(), beyond])
            rest = jnp.where(holds, (1 - below) * width, 0.0)
            widths = jnp.concatenate([jnp.where(here, below * width, weights.width).ravel(), rest])
            return _log_sum(widths, terms) - jnp.log(2 * self.law.noise.scale)

        return _in_blocks(one, (y, index, shares), u.size), doubt


def doubt_of(unseen: Any, mass: Any) -> Any:
    """What is not seen of Q on panels, as far as they have mass; in JAX or NumPy."""
    return (unseen * (mass / _LEAST_MASS).clip(max=1.0)).sum()


def _holds(u: jax.Array, y: jax.Array) -> jax.Array:
    """Whether y is among the values of a panel, of which some are known: they reach half their spread further at most.

    Where that is too far, y is a panel's end to rounding, and either branch of g is a few e's there.
    """
    low, high = jax.lax.stop_gradient((jnp.min(u), jnp.max(u)))
    return jnp.abs(y - 0.5 * (low + high)) <= high - low


def _log_sum(width: jax.Array, log: jax.Array) -> jax.Array:
    """log Σ width·e^{log}, with a derivative in widths that are 0."""
    top = jax.lax.stop_gradient(jnp.max(jnp.where(width > 0, log, -jnp.inf)))
    return top + jnp.log(jnp.sum(width * jnp.exp(jnp.minimum(log - top, 600.0))))


def _in_blocks(function: Callable[[Any], jax.Array], arguments: Any, terms: int) -> jax.Array:
    """A function of one element over all elements, a block at a time so that memory is bounded."""
    size = jax.tree.leaves(arguments)[0].shape[0]
    apply = jax.vmap(function)
    block = max(_TERMS // terms, 1)
    if size <= block:
        return apply(arguments)
    blocks = -(-size // block)

    def fold(part: jax.Array) -> jax.Array:
        padded = jnp.concatenate([part, jnp.repeat(part[-1:], blocks * block - size, axis=0)])
        return padded.reshape(blocks, block, *part.shape[1:])

    return jax.lax.map(apply, jax.tree.map(fold, arguments)).ravel()[:size]


@jax.jit
def _each(noisy: NoisyOrder, thetas: jax.Array, y: jax.Array, rule: Gauss) -> tuple[jax.Array, jax.Array]:
    # one after the other: a search for quantiles ends with its own θ, and no tail is integrated for another's sake
    found: tuple[jax.Array, jax.Array] = jax.lax.map(lambda theta: noisy.with_doubt(theta, y, rule), thetas)
    return found


def log_likelihood(noisy: NoisyOrder, thetas: np.ndarray, y: np.ndarray, few: int = _FEW) -> np.ndarray:
    """log p(y | θ) for all θ (M, d) and y (Y,): (M, Y); on finer panels where Q is not resolved.

    So few θ are computed without compiling anything for them.
    """
    from confide.likelihood.rank.at_once.known_order import at_known_thetas

    found = np.zeros((len(thetas), y.size))
    left = np.arange(len(thetas))
    alone = len(thetas) <= few and isinstance(noisy.values, TransformedLaw) and not noisy.count
    for finer, parts in finer_panels(noisy):
        on_panels = at_known_thetas if alone else _on_panels
        found[left], doubt = on_panels(finer, gauss(ORDER, parts=parts), thetas[left], y)
        left = left[doubt > _RESOLVED]
        if left.size == 0:
            break
    return found


def finer_panels(noisy: NoisyOrder) -> tuple[tuple[NoisyOrder, int], ...]:
    """Panels that serve most laws; those that end at quantiles too, for several modes; and so many parts of these."""
    if not isinstance(noisy.values, TransformedLaw) or noisy.count:
        return (noisy, 1), (noisy, 4)  # a law of steps has no quantiles to be resolved
    fine = dataclasses.replace(noisy, fine=True)
    return (noisy, 1), (fine, 1), (fine, 4)


def _on_panels(noisy: NoisyOrder, rule: Gauss, thetas: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log p(y | θ) (M, Y), and doubts (M,).

    θ are taken sixteen at a time and y filled up to a power of two, so that one compiled function serves all scales,
    bounds, n and numbers of θ.
    """
    rows = 1 if len(thetas) == 1 else _ROWS
    columns = 1 if y.size == 1 else 2 ** max(3, (y.size - 1).bit_length())
    padded = np.pad(thetas, [(0, -len(thetas) % rows), (0, 0)], mode="edge").reshape(-1, rows, thetas.shape[1])
    values = np.pad(y, (0, columns - y.size), mode="edge")
    blocks = [[np.asarray(part) for part in _each(noisy, block, values, rule)] for block in padded]
    log_p, doubt = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    return log_p[: len(thetas), : y.size], doubt[: len(thetas)]


def noise_grid(low: float, high: float, law: AdditiveLaw) -> np.ndarray:
    """Values between low and high as fine as the noise; few sizes, so that few programs are compiled."""
    if law.noise.step is not None:
        return np.zeros(0)
    span = _LAPLACE_SPAN if law.noise.kinked else _GAUSSIAN_SPAN
    needed = max((high - low) / (span * law.noise.scale), 4.0)
    panels = 2 ** math.ceil(math.log2(needed))
    return np.linspace(low, high, panels + 1)[1:-1]
