"""The Fisher information of one noisy record, ∫ (∂p)(∂p)ᵀ/p dy.

Under Laplace noise p is a multiple of e^{∓y/b} beyond the range of s, and each tail contributes b (∂p)(∂p)ᵀ/p at its
end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from confide.errors import AccuracyError
from confide.likelihood.local.noisy_record import MOST_LEVELS, Moving, NoisyRecord
from confide.likelihood.local.shared_nodes import SharedNodes
from confide.likelihood.record_law.panels import HALVES, PANEL, halve, panel_rule
from confide.likelihood.record_law.record import Floats
from confide.mechanism import Noise

#: standard deviations of Gaussian noise beyond the range of s: less than e^{−50} of the mode is left
TAIL = 10.0
_BLOCK = 4096
_SETTLED, _LARGEST_ERROR = 1e-12, 1e-9


def fisher(one: NoisyRecord, densities: SharedNodes | Moving) -> Floats:
    """∫ (∂p)(∂p)ᵀ/p dy, shape (θ, d, d)."""
    (low, high), noise = one.statistic.range, one.noise

    def integrand(y: Floats) -> Floats:
        p, slopes = densities.with_slopes(y)
        half_score = slopes * np.where(p > 0, 1.0 / np.sqrt(np.where(p > 0, p, 1.0)), 0.0)[..., None]
        return np.asarray(half_score[..., :, None] * half_score[..., None, :])

    if noise.step is not None:
        return _lattice_sum(noise, low, high, integrand)
    if not noise.exponential:
        edges = spread(noise, low - TAIL * noise.scale, high + TAIL * noise.scale)
        return _integrate(integrand, edges, densities.variation)
    tails = noise.scale * integrand(np.asarray([low, high])).sum(axis=1)
    edges = np.unique(np.clip([low, *one.breaks(densities), high], low, high))
    return np.asarray(_integrate(integrand, edges, densities.variation) + tails)


def _integrate(integrand: Callable[[Floats], Floats], edges: Floats, variation: Floats) -> Floats:
    """Integrals over y of (θ, y, d, d), by halving panels until they stand still against the whole.

    Slopes that cancel, where y says nothing about a parameter, leave rounding of 1e-16 of their variation: information
    below (1e-7 of it)² counts as none.
    """

    def both(a: Floats, b: Floats) -> tuple[Floats, Floats]:
        parts = []
        for rule in (PANEL, HALVES):
            y, weights = panel_rule(a, b, rule)
            values = integrand(y.ravel())
            parts.append(np.einsum("tpnij,pn->tpij", values.reshape(len(values), *y.shape, *values.shape[2:]), weights))
        return parts[0], parts[1]

    def error(coarse: Floats, fine: Floats, total: Floats) -> Floats:
        """On the diagonal, which bounds the rest."""
        difference, size = (np.einsum("t...ii->t...i", part) for part in (np.abs(coarse - fine), total))
        whole = np.broadcast_to((size + 1e-14 * variation**2)[:, None], difference.shape)
        # where no weight moves with θ at all there is nothing to be wrong about
        return np.asarray(np.divide(difference, whole, out=difference.copy(), where=whole > 0).max(axis=(0, 2)))

    whole = both(edges[:-1], edges[1:])[1].sum(axis=1)
    edges = halve(edges, lambda a, b: error(*both(a, b), whole) <= _SETTLED)
    coarse, fine = both(edges[:-1], edges[1:])
    total = fine.sum(axis=1)
    missed = float(error(coarse, fine, total).sum())
    if missed > _LARGEST_ERROR:
        raise AccuracyError(
            f"the Fisher information is known within {missed:.0e} of itself only; give fewer θ at a time"
        )
    return np.asarray(total)


def _lattice_sum(noise: Any, low: float, high: float, integrand: Callable[[Floats], Floats]) -> Floats:
    """The same as a sum over the lattice; beyond the range of s a geometric series for Laplace noise."""
    reach = 0.0 if noise.exponential else TAIL * noise.scale
    first, last = (math.floor(end / noise.step + 0.5) for end in (low - reach, high + reach))
    if last - first > 4 * MOST_LEVELS:
        raise AccuracyError(f"the step {noise.step:g} is too fine against the noise to sum over; leave the step out")
    y = noise.step * np.arange(first, last + 1.0)
    total = np.sum([integrand(y[at : at + _BLOCK]).sum(axis=1) for at in range(0, y.size, _BLOCK)], axis=0)
    if noise.exponential:
        total = total + integrand(y[[0, -1]]).sum(axis=1) / math.expm1(noise.step / noise.scale)
    return np.asarray(total)


def spread(noise: Noise, low: float, high: float) -> Floats:
    """Edges from low to high, at most two standard deviations of Gaussian noise apart."""
    high = max(high, low + noise.scale)
    return np.linspace(low, high, math.ceil((high - low) / (2.0 * noise.scale)) + 1)
