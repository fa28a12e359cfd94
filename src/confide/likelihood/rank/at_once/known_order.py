"""log p(y | θ) of a noisy order statistic and its score at one known θ: the sums of `density`, differentiated by hand.

Panels of ζ, their ends, nodes and weights are those of `rule`; numbers that move with θ carry their derivatives on a
last axis of length 1 + d. In the panel that holds y the kink of Laplace noise divides the weights, as in `density`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.polynomial.legendre import legvander
from numpy.typing import NDArray

from confide._compile import on_the_cpu
from confide.likelihood.rank.at_once.known_law import Floats, KnownLaw, logit
from confide.likelihood.rank.density import NoisyOrder, doubt_of
from confide.likelihood.rank.rank_law import deviance, deviance_slope
from confide.likelihood.rank.rule import Gauss
from confide.likelihood.value_law.value import TransformedLaw

#: entries of the largest table of values and nodes
_TABLE = 2**22
_INNER = 1e-14
_OUTER = 7


class KnownPanels(NamedTuple):
    """Panels of ζ: left and right ends (P, 1 + d), and how the nodes of each are graded, as a row of a `Gauss`."""

    left: Floats
    right: Floats
    kind: NDArray[np.intp]


class KnownNodes(NamedTuple):
    """Nodes of the law of u (N,): u, the width and the logarithm of each weight, and their derivatives (N, d)."""

    u: Floats
    width: Floats
    log: Floats
    u_slope: Floats
    width_slope: Floats
    log_slope: Floats


@dataclass(frozen=True, eq=False)
class KnownOrder:
    """An order statistic with continuous noise, at one θ (d,)."""

    noisy: NoisyOrder
    theta: Floats
    #: whether scores are asked for; without them no number has derivatives
    slopes: bool = True

    @cached_property
    def law(self) -> KnownLaw:
        """The law of V."""
        assert isinstance(self.noisy.values, TransformedLaw)
        return KnownLaw(self.noisy.values, self.theta)

    @cached_property
    def _ends(self) -> Floats:
        """The logits at which panels may end, and their derivatives: of the grid, the cuts and the kinks."""
        grid, kinks, cuts = np.asarray(self.noisy.grid), self.law.survey.kinks, self.noisy.rank.cuts
        levels = self.law.levels(np.concatenate([grid, kinks]), self.slopes)
        weak, strict = logit(levels.weak), logit(levels.strict)[grid.size :]
        ladder = self.law.survey.ladder
        still = np.concatenate([ladder.left, ladder.right, cuts] if self.noisy.fine else [cuts])
        still = np.pad(still[:, None], [(0, 0), (0, weak.shape[1] - 1)])
        return np.concatenate([weak[: grid.size], still, strict, weak[grid.size :]])

    @cached_property
    def panels(self) -> KnownPanels:
        """As `rule.order_panels`."""
        ends, cuts = self._ends, self.noisy.rank.cuts
        inside = (ends[:, 0] > cuts[0]) & (ends[:, 0] < cuts[-1])
        kink = inside & (np.arange(len(ends)) >= len(ends) - 2 * self.law.survey.kinks.size)
        held = np.where(inside[:, None], ends, 0.0)
        held[:, 0] = np.clip(ends[:, 0], cuts[0], cuts[-1])
        order = np.argsort(held[:, 0], kind="stable")
        held, kink = held[order], kink[order].astype(int)
        return KnownPanels(held[:-1], held[1:], 2 * kink[:-1] + kink[1:])

    @cached_property
    def normal_scores(self) -> Floats:
        """u at the normal scores of its rank; beyond nine of them it contributes less than e^{−40}."""
        return self.law.quantile(self.noisy.rank.cuts[_OUTER:-_OUTER])

    def _nodes(self, rule: Gauss) -> KnownNodes:
        """As `RankPanels.nodes`, with Q at them."""
        (left, right, kind), rank = self.panels, self.noisy.rank
        width, at = right - left, rule.nodes[kind]
        zeta = (left[:, None] + width[:, None] * at[..., None]).reshape(-1, left.shape[1])
        weight = (width[:, None] * rule.weights[kind][..., None]).reshape(zeta.shape)
        delta = zeta[:, 0] - rank.centre
        log = rank.log_peak - np.asarray(deviance(np, rank.rank, rank.n, delta))
        u = self.law.quantile(zeta[:, 0])
        slopes = weight[:, 1:], -deviance_slope(rank.rank, rank.n, delta)[:, None] * zeta[:, 1:]
        return KnownNodes(u, weight[:, 0], log, self._quantile_slope(zeta, u), *slopes)

    def _quantile_slope(self, zeta: Floats, u: Floats) -> Floats:
        """∂u/∂θ, from logit F_s(Q(ζ; θ); θ) = ζ; 0 inside an atom."""
        if not self.slopes:
            return zeta[:, 1:]
        levels, steep = self.law.with_density(u, slopes=True)
        below, above = levels.weak
        change = zeta[:, 1:] * below[:, :1] * above[:, :1] - below[:, 1:] * above[:, :1] + above[:, 1:] * below[:, :1]
        usable = (self.law.survey.ladder.position(zeta[:, 0]) % 2 == 0) & (steep > 0) & (steep < np.inf)
        return np.where(usable[:, None], change / np.where(usable, steep, 1.0)[:, None], 0.0)

    def scores(self, y: Floats, rule: Gauss) -> tuple[Floats, Floats]:
        """log p (Y,) and its derivatives (Y, d)."""
        return self._summed(y, self._nodes(rule), rule)

    def with_doubt(self, y: Floats, rule: Gauss) -> tuple[Floats, float]:
        """As `NoisyOrder.with_doubt`."""
        nodes = self._nodes(rule)
        u, mass = (part.reshape(len(self.panels.kind), -1) for part in (nodes.u, nodes.width * np.exp(nodes.log)))
        unseen = rule.last_coefficients(u) / float(self.noisy.law.noise.scale)
        return self._summed(y, nodes, rule)[0], float(doubt_of(unseen, mass.sum(axis=1)))

    def _summed(self, y: Floats, nodes: KnownNodes, rule: Gauss) -> tuple[Floats, Floats]:
        rows = max(1, _TABLE // nodes.u.size)
        sums = self._laplace_sums if self.noisy.law.noise.kinked else self._gaussian_sums
        parts = [sums(y[start : start + rows], nodes, rule) for start in range(0, y.size, rows)]
        log_prob, score = (np.concatenate(part) for part in zip(*parts, strict=True))
        return log_prob, score

    def _gaussian_sums(self, y: Floats, nodes: KnownNodes, rule: Gauss) -> tuple[Floats, Floats]:
        del rule
        scale = float(self.noisy.law.noise.scale)
        distance = (y[:, None] - nodes.u) / scale
        table, top = _lifted(nodes.log - 0.5 * distance**2, nodes.width)
        total = table @ nodes.width
        change = table @ (nodes.width_slope + nodes.width[:, None] * nodes.log_slope)
        change += (table * distance) @ (nodes.width[:, None] * nodes.u_slope) / scale
        return _quotient(total, change, top - math.log(scale) - 0.5 * math.log(2 * math.pi))

    def _laplace_sums(self, y: Floats, nodes: KnownNodes, rule: Gauss) -> tuple[Floats, Floats]:
        scale = float(self.noisy.law.noise.scale)
        distance = (y[:, None] - nodes.u) / scale
        table, top = _lifted(nodes.log - np.abs(distance), nodes.width)
        panel, share, share_slope = self._divided(y, rule)
        size = rule.nodes.shape[1]
        here = panel[:, None] * size + np.arange(size)
        u, log = nodes.u[here], nodes.log[here]
        # next to a gap of u the level of y is an end of a panel that does not hold y: nothing is divided then
        low, high = u.min(axis=1), u.max(axis=1)
        holds = (np.abs(y - 0.5 * (low + high)) <= high - low)[:, None]
        np.put_along_axis(table, here, np.where(holds, 0.0, np.take_along_axis(table, here, axis=1)), axis=1)
        total = table @ nodes.width
        change = table @ (nodes.width_slope + nodes.width[:, None] * nodes.log_slope)
        change += (table * np.sign(distance)) @ (nodes.width[:, None] * nodes.u_slope) / scale
        # in the panel that holds y, up to y one branch of g holds, and the other beyond it
        apart = (y[:, None] - u) / scale
        for sign, part, part_slope in ((1.0, share, share_slope), (-1.0, 1.0 - share, -share_slope)):
            term = np.where(holds, np.exp(np.minimum(log - sign * apart - top[:, None], 600.0)), 0.0)
            width = part * nodes.width[here]
            moved = part_slope * nodes.width[here][..., None] + part[..., None] * nodes.width_slope[here]
            moved += width[..., None] * (nodes.log_slope[here] + sign * nodes.u_slope[here] / scale)
            total += np.sum(term * width, axis=1)
            change += np.einsum("yk,ykd->yd", term, moved)
        return _quotient(total, change, top - math.log(2 * scale))

    def _divided(self, y: Floats, rule: Gauss) -> tuple[NDArray[np.intp], Floats, Floats]:
        """The panel of each y, the share of each node's weight that lies below y (Y, size), and its derivatives."""
        left, right, kind = self.panels
        asked, first, last = logit(self.law.levels(y, self.slopes).weak), left[0, 0], right[-1, 0]
        inside = (asked[:, 0] > first) & (asked[:, 0] < last)
        level = np.where(inside[:, None], asked, 0.0)
        level[:, 0] = np.clip(asked[:, 0], first, last)
        panel = np.clip(np.searchsorted(right[:, 0], level[:, 0]), 0, len(left) - 1)
        width = (right - left)[panel]
        wide = np.where(width[:, 0] > 0, width[:, 0], 1.0)
        share = np.clip((level[:, 0] - left[panel, 0]) / wide, 0.0, 1.0)
        moved = (level - left[panel] - share[:, None] * width)[:, 1:] / wide[:, None]
        t, slope = _graded(share, kind[panel])
        shares, by_t = _partial_shares(rule, t)
        below, above = (asked[:, 0] <= first)[:, None], (asked[:, 0] >= last)[:, None]
        slopes = np.where((below | above)[..., None], 0.0, by_t[..., None] * (slope[:, None] * moved)[:, None])
        return panel, np.where(above, 1.0, np.where(below, 0.0, shares)), slopes


def at_known_thetas(noisy: NoisyOrder, rule: Gauss, thetas: Floats, y: Floats) -> tuple[Floats, Floats]:
    """log p(y | θ) (M, Y), and doubts (M,), one θ after the other."""
    with on_the_cpu():
        each = [KnownOrder(noisy, theta, slopes=False).with_doubt(y, rule) for theta in thetas]
    return np.stack([log_prob for log_prob, _ in each]), np.asarray([doubt for _, doubt in each])


def _lifted(log: Floats, width: Floats) -> tuple[Floats, Floats]:
    """e^{log − top}, and the largest of each row as its top."""
    top = np.max(np.where(width > 0, log, -np.inf), axis=1)
    return np.exp(np.minimum(log - top[:, None], 600.0)), top


def _quotient(total: Floats, change: Floats, log_scale: Floats) -> tuple[Floats, Floats]:
    with np.errstate(all="ignore"):  # a sum may be nothing, and then is given no weight
        return log_scale + np.log(total), change / total[:, None]


def _graded(share: Floats, kind: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Where a share of a panel lies among its graded nodes, as `RankPanels.position`, and the derivative of that."""
    inner = np.clip(share, _INNER, 1 - _INNER)
    angle = np.arcsin(1 - 2 * inner) / 3
    ways = np.stack([share, 1 - np.sqrt(1 - inner), np.sqrt(inner), 0.5 - np.sin(angle)])
    slopes = 1.0, 0.5 / np.sqrt(1 - inner), 0.5 / np.sqrt(inner), np.cos(angle) / 3 / np.sqrt(inner * (1 - inner))
    strictly = np.where(kind == 0, (share > 0) & (share < 1), share == inner)
    chosen = kind[None], np.stack([slope + 0.0 * share for slope in slopes])
    at, slope = (np.take_along_axis(rows, chosen[0], axis=0)[0] for rows in (ways, chosen[1]))
    return at, np.where(strictly, slope, 0.0)


def _partial_shares(rule: Gauss, t: Floats) -> tuple[Floats, Floats]:
    """As `Gauss.partial_shares`, and the derivatives in t."""
    size, parts = rule.basis.shape[0], rule.parts
    inside = parts * t[:, None] - np.arange(parts)
    within = np.clip(inside, 0.0, 1.0)
    p, k = legvander(2 * within - 1, size), np.arange(1, size)
    integrals = np.concatenate([within[..., None], (p[..., 2:] - p[..., :-2]) / (2 * (2 * k + 1))], axis=-1)
    slopes = np.where((inside == within)[..., None], parts * (p[..., :-1] @ rule.basis), 0.0)
    return (integrals @ rule.basis).reshape(t.size, -1), slopes.reshape(t.size, -1)
