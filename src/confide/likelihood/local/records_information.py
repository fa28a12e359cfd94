"""What one noisy record tells about θ: a rule over y that serves many θ, and p and its slopes there.

Under Laplace noise p is a multiple of e^{∓y/b} beyond the range of s, and each tail is what its end tells times b.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from confide.errors import AccuracyError
from confide.likelihood.local.noisy_record import MOST_LEVELS, Moving, NoisyRecord
from confide.likelihood.local.shared_nodes import SharedNodes
from confide.likelihood.record_law.panels import HALVES, PANEL, GaussRule, halve, panel_rule
from confide.likelihood.record_law.record import Floats
from confide.likelihood.score_integral import Told
from confide.mechanism import Noise

#: standard deviations of Gaussian noise beyond the range of s: less than e^{−50} of the mode is left
TAIL = 10.0
#: pairs of θ and y at once, 32 MB of doubles
_TOGETHER = 2**22
_SETTLED, _LARGEST_ERROR = 1e-12, 1e-9


def told(one: NoisyRecord, densities: SharedNodes | Moving) -> Iterator[list[Told]]:
    """What a value tells at each θ."""
    y, weight = _y_rule(one, densities)
    thetas = len(densities.thetas)
    for some in np.array_split(np.arange(thetas), min(thetas, -(-thetas * y.size // _TOGETHER))):
        p, slopes = densities.some(some).with_slopes(y)
        yield from ([Told.by_slopes(weight, *parts)] for parts in zip(p, slopes, strict=True))


def _y_rule(one: NoisyRecord, densities: SharedNodes | Moving) -> GaussRule:
    (low, high), noise = one.statistic.range, one.noise
    if noise.step is not None:
        return _lattice(noise, low, high)
    if not noise.exponential:
        return _panels(densities, spread(noise, low - TAIL * noise.scale, high + TAIL * noise.scale))
    y, weight = _panels(densities, np.unique(np.clip([low, *one.breaks(densities), high], low, high)))
    return np.append(y, [low, high]), np.append(weight, [noise.scale, noise.scale])


def _panels(densities: SharedNodes | Moving, edges: Floats) -> GaussRule:
    """Panels of y that are halved until what they tell at every θ stands still against the whole.

    Slopes that cancel, where y says nothing about a parameter, leave rounding of 1e-16 of their variation: information
    below (1e-7 of it)² counts as none.
    """

    def diagonals(y: Floats) -> Floats:
        """(∂p)²/p (θ, y, d), which bounds the rest."""
        p, slopes = densities.with_slopes(y)
        return np.asarray((slopes * np.where(p > 0, 1.0 / np.sqrt(np.where(p > 0, p, 1.0)), 0.0)[..., None]) ** 2)

    def both(a: Floats, b: Floats) -> tuple[Floats, Floats]:
        parts = []
        for rule in (PANEL, HALVES):
            y, weights = panel_rule(a, b, rule)
            values = diagonals(y.ravel())
            parts.append(np.einsum("tpnd,pn->tpd", values.reshape(len(values), *y.shape, -1), weights))
        return parts[0], parts[1]

    def error(coarse: Floats, fine: Floats, total: Floats) -> Floats:
        difference = np.abs(coarse - fine)
        whole = np.broadcast_to((total + 1e-14 * densities.variation**2)[:, None], difference.shape)
        # where no weight moves with θ at all there is nothing to be wrong about
        return np.asarray(np.divide(difference, whole, out=difference.copy(), where=whole > 0).max(axis=(0, 2)))

    whole = both(edges[:-1], edges[1:])[1].sum(axis=1)
    edges = halve(edges, lambda a, b: error(*both(a, b), whole) <= _SETTLED)
    coarse, fine = both(edges[:-1], edges[1:])
    missed = float(error(coarse, fine, fine.sum(axis=1)).sum())
    if missed > _LARGEST_ERROR:
        raise AccuracyError(
            f"the Fisher information is known within {missed:.0e} of itself only; give fewer θ at a time"
        )
    y, weight = panel_rule(edges[:-1], edges[1:], HALVES)
    return y.ravel(), weight.ravel()


def _lattice(noise: Any, low: float, high: float) -> GaussRule:
    """The points of a lattice; beyond the range of s Laplace noise makes the rest a geometric series."""
    reach = 0.0 if noise.exponential else TAIL * noise.scale
    first, last = (math.floor(end / noise.step + 0.5) for end in (low - reach, high + reach))
    if last - first > 4 * MOST_LEVELS:
        raise AccuracyError(f"the step {noise.step:g} is too fine against the noise to sum over; leave the step out")
    weight = np.ones(last - first + 1)
    if noise.exponential:
        beyond = 1.0 / math.expm1(noise.step / noise.scale)
        weight[0], weight[-1] = weight[0] + beyond, weight[-1] + beyond
    return noise.step * np.arange(first, last + 1.0), weight


def spread(noise: Noise, low: float, high: float) -> Floats:
    """Edges from low to high, at most two standard deviations of Gaussian noise apart."""
    high = max(high, low + noise.scale)
    return np.linspace(low, high, math.ceil((high - low) / (2.0 * noise.scale)) + 1)
