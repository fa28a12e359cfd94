"""Binned values: many published values summed up, so that a θ costs the same however many there are.

log p(y | θ) is smooth in y between the values of s at its kinks and atoms, and under Laplace noise
it is a straight line beyond the range of s. On panels of y it is the polynomial through 16 nodes c_k as well, and

    Σ_t log p(y_t | θ) = Σ_k N_k log p(c_k | θ) + offset,      N_k = Σ_t ℓ_k(y_t),

where N takes one pass over the values, in blocks. A θ then costs as much as some hundred values, however many there
are. Values on a lattice need no polynomial: N counts them.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import equinox as eqx
import numpy as np

from confide.errors import AccuracyError
from confide.likelihood.local.shared_nodes import rounded
from confide.likelihood.record_law.panels import HALF_NODES, TO_HALVES, TO_LEGENDRE, Mask, halve, on_panels
from confide.likelihood.record_law.record import NODES, ORDER, Floats
from confide.mechanism import Noise

#: how far the polynomial through a panel's nodes may be off in log p(y | θ): panels are halved down to the first, and
#: refused beyond the second
_LOG_INTERPOLATED, _LARGEST_LOG_ERROR = 2e-12, 1e-11
_CHOSEN, _BLOCK = 16, 2**17

D = TypeVar("D", bound="Densities")


class Densities(Protocol):
    """log p(y | θ) at given θ, as `Still` has it."""

    @property
    def thetas(self) -> Floats:
        """The θ (M, d)."""

    def some(self: D, chosen: Any) -> D:
        """The same at some of the θ."""

    def log_prob(self, y: Floats) -> Floats:
        """log p(y | θ), shape (θ, y)."""


class Binned(eqx.Module):
    """Values summed up: Σ_t log p(y_t | θ) = Σ_k N_k log p(c_k | θ) + offset for each data set.

    `error` is the largest error of log p(y | θ) found between the nodes, at any of the θ that the bins were made for.
    """

    nodes: Floats
    weights: Floats
    offset: Floats
    error: float

    def total(self, log_prob: Any) -> Any:
        """The log-likelihoods (…, data sets), from log p(c_k | θ) of shape (…, nodes)."""
        return log_prob @ self.weights.T + self.offset


def count_values(noise: Noise, values: Floats) -> Binned:
    """Values (data sets, n) on a lattice, counted."""
    nodes, index = np.unique(rounded(noise, values), return_inverse=True)
    counts = np.stack([np.bincount(row, minlength=nodes.size) for row in index.reshape(values.shape)])
    return Binned(nodes, counts.astype(float), np.zeros(len(values)), 0.0)


def bin_values(densities: Densities, edges: Floats, slope: float, values: Floats) -> Binned:
    """Values (data sets, n) on panels of y: the given ones, halved until log p(y | θ) is resolved at all θ.

    Beyond the edges log p falls with the given slope.
    """
    smallest = 1e-12 * (edges[-1] - edges[0])
    chosen = np.unique(np.linspace(0, len(densities.thetas) - 1, _CHOSEN).astype(int))
    while True:
        some = densities.some(chosen)

        def settled(a: Floats, b: Floats, some: Densities = some) -> Mask:
            return np.asarray((_log_error(some, a, b).max(axis=0) <= _LOG_INTERPOLATED) | (b - a <= smallest))

        edges = halve(edges, settled)
        error = _log_error(densities, edges[:-1], edges[1:]).max(axis=1)
        rough = np.setdiff1d(np.flatnonzero(error > _LARGEST_LOG_ERROR), chosen)
        if rough.size == 0:
            break
        chosen = np.union1d(chosen, rough[np.linspace(0, rough.size - 1, _CHOSEN).astype(int)])
    if error.max() > _LARGEST_LOG_ERROR:
        raise AccuracyError(f"values can be binned to {error.max():.0e} in log p only; use them as they are")
    moments, beyond = _moments(edges, values)
    weights = np.einsum("dpk,kj->dpj", moments, TO_LEGENDRE).reshape(len(values), -1)
    return Binned(on_panels(edges[:-1], edges[1:], NODES).ravel(), weights, -slope * beyond, float(error.max()))


def _log_error(densities: Densities, a: Floats, b: Floats) -> Floats:
    """How far log p(y | θ) is off the polynomial through the nodes of each panel (a, b), shape (θ, panels)."""
    y = np.concatenate([on_panels(a, b, NODES), on_panels(a, b, HALF_NODES)], axis=1)
    log_p = densities.log_prob(y.ravel()).reshape(-1, *y.shape)
    return np.asarray(np.abs(log_p[..., :ORDER] @ TO_HALVES.T - log_p[..., ORDER:]).max(axis=2))


def _moments(edges: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Σ_t P_k(ξ_t) on each panel for k = 0 … 15, and how far the values lie beyond the edges in all, per data set."""
    panels = edges.size - 1
    moments, beyond = np.zeros((len(values), ORDER, panels)), np.zeros(len(values))
    for row, data in enumerate(values):
        for at in range(0, data.size, _BLOCK):
            y = data[at : at + _BLOCK]
            inside = np.clip(y, edges[0], edges[-1])
            beyond[row] += np.abs(y - inside).sum()
            panel = np.minimum(np.searchsorted(edges, inside, side="right") - 1, panels - 1)
            low, high = edges[panel], edges[panel + 1]
            xi = (2.0 * inside - low - high) / (high - low)
            before, now = np.zeros_like(xi), np.ones_like(xi)
            for k in range(ORDER):
                moments[row, k] += np.bincount(panel, now, minlength=panels)
                before, now = now, ((2 * k + 1) * xi * now - k * before) / (k + 1)
    return moments.swapaxes(1, 2), beyond
