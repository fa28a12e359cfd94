"""What a noisy order statistic tells about θ: a rule over y, and scores there.

Where y is continuous, Gauss–Legendre panels of y end wherever p is not smooth or changes its scale: at the kinks and
atoms of the law of V (under Laplace noise p is twice smoother than that law, not more), at the normal scores of u,
and at steps of a noise scale. Beyond the range of u, Laplace noise makes p a pure exponential and the score
constant, so each tail is what its end tells times b. On a lattice the points of y are taken one by one, and the Laplace
tails are geometric series.

The result is computed with two orders of all rules, and must not depend on it by more than 1e-8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from confide._compile import FAST_COMPILE, on_the_cpu
from confide.errors import AccuracyError
from confide.likelihood.rank.at_once.known_order import KnownOrder
from confide.likelihood.rank.density import NoisyOrder, finer_panels
from confide.likelihood.rank.rule import ORDER, Gauss, gauss
from confide.likelihood.score_integral import Told, integrals
from confide.likelihood.value_law.value import TransformedLaw

#: nodes a panel or part of one, of two rules that must agree; they share a compiled function
_ORDERS = (12, ORDER)
_TOLERANCE, _ROUNDING = 1e-8, 1e-14
#: the share of what all records tell below which information is the rounding of scores that cancel
_NOTHING = 1e-14
_GAUSSIAN_REACH, _GAUSSIAN_SPAN = 10.0, 1.5
_LAPLACE_SPAN = 1.0
#: with so many ends panels of y are so short that half as many nodes suffice
_MANY = 200


class RankValues(NamedTuple):
    """Where y is integrated: ends of panels, and single points with weights."""

    ends: np.ndarray
    points: np.ndarray
    weights: np.ndarray


def told(noisy: NoisyOrder, thetas: np.ndarray, name: str, of_records: Callable[[], np.ndarray]) -> list[list[Told]]:
    """What y tells at each θ (M, d): F has a relative error below 1e-8, or is next to nothing.

    Two orders of all rules must agree, on panels as fine as it takes. `of_records` computes what all records tell about
    each parameter, (M, d), which is asked for if need be.
    """
    values, smooth = values_of_y(noisy), isinstance(noisy.values, TransformedLaw) and not noisy.count
    with on_the_cpu():  # 1e-8 of a sum of squares of scores asks for all digits of these
        for finer, parts in finer_panels(noisy):
            each = [KnownOrder(finer, theta) if smooth else StepOrder(finer, theta) for theta in thetas]
            found = [_at_order(each, values, order, parts, smooth) for order in _ORDERS]
            last, better = (np.stack([integrals(parts).matrix for parts in told]) for told in found)
            if np.all(np.abs(better - last) <= _allowed(better, thetas)):
                return found[1]
            whole = of_records()
            nothing = _NOTHING * np.sqrt(whole[:, :, None] * whole[:, None, :])
            if np.all(np.abs(better) <= nothing) and np.all(np.abs(last) <= nothing):
                return found[1]
    raise AccuracyError(
        f"the information of {name} does not settle to {_TOLERANCE:g} with {ORDER} nodes on each of its finest panels; "
        "declare where the population's density is not smooth (breaks)"
    )


def _at_order(
    each: list[KnownOrder | StepOrder], values: RankValues, order: int, parts: int, smooth: bool
) -> list[list[Told]]:
    """With rules of an order on so many parts of each panel, of one size where a function is compiled."""
    rule, half = (gauss(k, None if smooth else room, parts) for k, room in ((order, ORDER), (order // 2, ORDER // 2)))
    over_y = half if values.ends.size > _MANY else rule
    return [[_told(known, values, rule, over_y)] for known in each]


def _allowed(information: np.ndarray, thetas: np.ndarray) -> np.ndarray:
    """1e-8 of √(F_ii F_jj), or the rounding error of a direction of θ in which there is next to no information."""
    diagonal = np.diagonal(information, axis1=1, axis2=2)
    size = np.where(thetas == 0, 1.0, np.abs(thetas))
    largest = np.max(diagonal * size**2, axis=1)[:, None, None]
    relative = np.sqrt(diagonal[:, :, None] * diagonal[:, None, :])
    return _TOLERANCE * relative + _ROUNDING * largest / (size[:, :, None] * size[:, None, :])


def values_of_y(noisy: NoisyOrder) -> RankValues:
    """Where to integrate over y, as far as that does not depend on θ."""
    noise, law = noisy.law.noise, noisy.values
    low, high = (
        float(end) for end in (law.values[[0, -1]] if not isinstance(law, TransformedLaw) else law.cuts[[0, -1]])
    )
    none = np.zeros(0)
    if noise.step is not None:
        return _lattice(noisy, noise)
    laplace = noise.kinked
    margin, span = (0.0, _LAPLACE_SPAN) if laplace else (_GAUSSIAN_REACH * noise.scale, _GAUSSIAN_SPAN)
    panels = 8 * math.ceil((high - low + 2 * margin) / (8 * span * noise.scale))
    grid = np.linspace(low - margin, high + margin, panels + 1)
    if not laplace:
        return RankValues(grid, none, none)
    tails = np.asarray([low, high]), np.full(2, noise.scale)
    if isinstance(law, TransformedLaw):
        return RankValues(grid, *tails)
    # under Laplace noise p is a sum of exponentials between neighbouring values of u
    return RankValues(np.sort(np.concatenate([grid, law.values])), *tails)


def _lattice(noisy: NoisyOrder, noise: Any) -> RankValues:
    """The lattice points that y can be at; Laplace tails are summed into the outermost points of u."""
    none = np.zeros(0)
    if noise.exponential:
        index = noisy.first + np.arange(noisy.count)
        weights = np.ones(index.size)
        share = 1.0 / -math.expm1(-noise.step / noise.scale)
        # the end point and all points beyond it; a single point has both tails
        weights[0] += share - 1.0
        weights[-1] += share - 1.0
        return RankValues(none, index * noise.step, weights)
    reach = 2 ** math.ceil(math.log2(max((_GAUSSIAN_REACH + 1) * noise.scale / noise.step, 4.0)))
    index = noisy.first + np.arange(-reach, noisy.count + reach)
    return RankValues(none, index * noise.step, np.ones(index.size))


def _panel_nodes(ends: np.ndarray, kinks: np.ndarray, rule: Gauss) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights on panels between ends, graded towards those that are kinks."""
    kind = 2 * kinks[:-1].astype(int) + kinks[1:].astype(int)
    width = np.diff(ends)[:, None]
    return (ends[:-1, None] + width * rule.nodes[kind]).ravel(), (width * rule.weights[kind]).ravel()


def _told(known: KnownOrder | StepOrder, values: RankValues, rule: Gauss, over_y: Gauss) -> Told:
    """At one θ."""
    ends, kinks = values.ends, np.zeros(values.ends.shape, bool)
    if isinstance(known, KnownOrder) and known.noisy.law.noise.kinked:
        breaks = known.law.survey.kinks
        ends = np.clip(np.concatenate([breaks, known.normal_scores, ends]), *known.law.law.cuts[[0, -1]])
        kinks = np.arange(ends.size) < breaks.size
        places = np.argsort(ends, kind="stable")
        ends, kinks = ends[places], kinks[places]
    y, weight = _panel_nodes(ends, kinks, over_y)
    y, weight = np.concatenate([y, values.points]), np.concatenate([weight, values.weights])
    log_p, score = known.scores(y, rule)
    return Told(weight * np.exp(log_p), score)


class StepOrder(NamedTuple):
    """An order statistic of finitely many values, at one θ (d,)."""

    noisy: NoisyOrder
    theta: np.ndarray

    def scores(self, y: np.ndarray, rule: Gauss) -> tuple[np.ndarray, np.ndarray]:
        """log p (Y,) and its derivatives (Y, d)."""
        log_p, score = _of_steps(self.noisy, self.theta, y, rule)
        return np.asarray(log_p), np.asarray(score)


@partial(jax.jit, compiler_options=FAST_COMPILE)
def _of_steps(noisy: NoisyOrder, theta: jax.Array, y: jax.Array, rule: Gauss) -> tuple[jax.Array, jax.Array]:
    def log_prob(t: jax.Array) -> tuple[jax.Array, jax.Array]:
        value = noisy.log_prob(t, y, rule)
        return value, value

    score, log_p = jax.jacfwd(log_prob, has_aux=True)(theta)
    return log_p, score
