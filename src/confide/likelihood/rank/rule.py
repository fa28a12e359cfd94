"""Nodes and weights for the law of an order statistic: E f(u) ≈ Σ_j w_j f(u_j).

u = Q(ζ; θ), where ζ has the density w of a uniform order statistic's logit (see `rank_law`) and Q is the quantile
function of s(clip X). Gauss–Legendre panels on the scale of ζ end

* at the normal scores of w, far into both tails, so that log w changes by a bounded amount on each;
* at the logits of the values where Q is not smooth: atoms, kinks of s, breaks and ends of the density;
* at the logits of a grid of values as fine as the noise, so that log g(y − Q) changes by a bounded amount as well.

Atoms need no special treatment: Q is constant between the two logits of an atom's value. Where a panel ends at a
kink its nodes are graded towards that end by t², which makes a square root there a straight line. Ends move with θ,
and so do the nodes between them: the derivative of the rule is then right also where Q jumps. Hence a weight is a
width, which may be 0 and have a derivative all the same, times the exponential of a logarithm.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp

from confide.likelihood.rank.rank_law import RankLaw
from confide.likelihood.value_law.quantile import Survey
from confide.likelihood.value_law.steps import Steps


class Gauss(NamedTuple):
    """Gauss–Legendre rules on equal parts of (0, 1). As arguments, rules of several orders share compiled functions."""

    #: graded by t² towards neither end, the right, the left, or both: (4, parts·size) each
    nodes: np.ndarray
    weights: np.ndarray
    #: (2k+1) P_k at the nodes of a part, for integrals of the polynomial through them: (size, size)
    basis: np.ndarray

    @property
    def parts(self) -> int:
        """The parts that (0, 1) is cut into."""
        return self.nodes.shape[1] // self.basis.shape[0]

    def last_coefficients(self, values: Any) -> Any:
        """The size of the last Legendre coefficients of values (..., nodes) that are not graded: what is not seen."""
        xp: Any = jnp if isinstance(values, jax.Array) else np
        split = xp.reshape(values * xp.asarray(self.weights[0]) * self.parts, (*values.shape[:-1], self.parts, -1))
        return xp.max(xp.abs(split @ xp.asarray(self.basis[-2:]).T), axis=(-2, -1))

    def partial_shares(self, t: jax.Array) -> jax.Array:
        """Which share of each node's weight belongs to (0, t): ∫₀ᵗ f ≈ Σ share_i(t) w_i f(t_i), shape (..., nodes).

        It is the integral of the polynomial through the nodes of a part, Σ_k (2k+1) P_k(x_i) ∫₀ᵗ P_k for node i; of
        the parts before and after it all and nothing.
        """
        t = jnp.clip(self.parts * jnp.asarray(t)[..., None] - np.arange(self.parts), 0.0, 1.0)
        at = 2 * t - 1
        p = [jnp.ones_like(at), at]
        for k in range(1, self.basis.shape[0]):
            p.append(((2 * k + 1) * at * p[k] - k * p[k - 1]) / (k + 1))
        integrals = [t, *((p[k + 1] - p[k - 1]) / (2 * (2 * k + 1)) for k in range(1, self.basis.shape[0]))]
        shares = jnp.stack(integrals, axis=-1) @ jnp.asarray(self.basis)
        return shares.reshape(*shares.shape[:-2], -1)


@functools.lru_cache(maxsize=32)
def gauss(order: int, size: int | None = None, parts: int = 1) -> Gauss:
    """The rule of an order on each of some parts, filled up to a size with nodes of weight 0."""
    x, w = np.polynomial.legendre.leggauss(order)
    spare = (size or order) - order
    t = np.pad(0.5 * x + 0.5, (0, spare), constant_values=0.5)
    t = ((np.arange(parts)[:, None] + t) / parts).ravel()
    w = np.tile(np.pad(0.5 * w / parts, (0, spare)), parts)
    maps = [
        (t, np.ones_like(t)),
        (1 - (1 - t) ** 2, 2 * (1 - t)),
        (t**2, 2 * t),
        (t**2 * (3 - 2 * t), 6 * t * (1 - t)),
    ]
    nodes, weights = np.stack([node for node, _ in maps]), np.stack([w * slope for _, slope in maps])
    basis = (2 * np.arange(order) + 1)[:, None] * np.polynomial.legendre.legvander(x, order - 1).T
    return Gauss(nodes, weights, np.pad(basis, [(0, spare), (0, spare)]))


#: nodes of a panel
ORDER = 16
RULE = gauss(ORDER)


class Weights(NamedTuple):
    """Weights width·e^{log}: no logarithm is taken of a width that may be 0."""

    width: jax.Array
    log: jax.Array


class RankPanels(NamedTuple):
    """Panels of ζ (P,): left and right ends, and whether each is a kink."""

    left: jax.Array
    right: jax.Array
    left_kink: jax.Array
    right_kink: jax.Array

    @property
    def kind(self) -> jax.Array:
        """How the nodes are graded: a row of a `Gauss`."""
        return 2 * self.left_kink.astype(int) + self.right_kink.astype(int)

    def nodes(self, rank: RankLaw, rule: Gauss) -> tuple[jax.Array, Weights]:
        """Nodes ζ (P, size) and their weights."""
        width = (self.right - self.left)[:, None]
        zeta = self.left[:, None] + width * jnp.asarray(rule.nodes)[self.kind]
        return zeta, Weights(width * jnp.asarray(rule.weights)[self.kind], rank.log_density(zeta))

    def position(self, index: jax.Array, level: jax.Array) -> jax.Array:
        """Where a level lies in the panel of a given index, as the t in (0, 1) of its graded nodes."""
        width = self.right[index] - self.left[index]
        share = jnp.clip((level - self.left[index]) / jnp.where(width > 0, width, 1.0), 0.0, 1.0)
        inner = jnp.clip(share, 1e-14, 1 - 1e-14)  # roots have no derivative at the ends
        both = 0.5 - jnp.sin(jnp.arcsin(1 - 2 * inner) / 3)
        ways = jnp.stack([share, 1 - jnp.sqrt(1 - inner), jnp.sqrt(inner), both])
        return jnp.take_along_axis(ways, self.kind[index][None], axis=0)[0]


def order_panels(rank: RankLaw, found: Survey, grid: jax.Array) -> RankPanels:
    """The panels of an order statistic, given the survey of V and the logits of a grid of values."""
    kinks = jnp.concatenate([found.kinks.strict.logit(), found.kinks.weak.logit()])
    cuts = jnp.asarray(rank.cuts)
    inside = (kinks > cuts[0]) & (kinks < cuts[-1])
    # of ends that meet, those that move with θ come last: nodes exactly at a jump are on its lower side, as quantiles
    # are
    ends = jnp.clip(jnp.concatenate([grid, cuts, kinks]), cuts[0], cuts[-1])
    is_kink = jnp.concatenate([jnp.zeros(grid.size + cuts.size, bool), inside])
    places = jnp.argsort(ends, stable=True)
    ends, is_kink = ends[places], is_kink[places]
    return RankPanels(ends[:-1], ends[1:], is_kink[:-1], is_kink[1:])


def step_rule(rank: RankLaw, steps: Steps, rule: Gauss) -> tuple[jax.Array, Weights]:
    """Values and their weights, for a V that takes finitely many values; a value may be listed more than once."""
    cuts = jnp.asarray(rank.cuts)
    ends = jnp.sort(jnp.concatenate([cuts, jnp.clip(steps.levels, cuts[0], cuts[-1])]))
    smooth = jnp.zeros(ends.size - 1, bool)
    panels = RankPanels(ends[:-1], ends[1:], smooth, smooth)
    _, weights = panels.nodes(rank, rule)
    mean = logsumexp(weights.log, b=jnp.asarray(rule.weights)[0], axis=-1)
    return steps.quantile(0.5 * (ends[:-1] + ends[1:])), Weights(panels.right - panels.left, mean)
