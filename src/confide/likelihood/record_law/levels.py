"""The law of a statistic of few values as masses of these values: a few numbers instead of many nodes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.likelihood.noise.lattice import finite_values, lattice_spacing
from confide.likelihood.record_law.moments import Nodes

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: levels are made room for in powers of two from here on
_FEWEST = 16


def _levels(model: Model) -> Floats | None:
    """The values of a statistic on a lattice; None for others."""
    statistic: Any = model.channel.statistic
    if lattice_spacing(model.population, statistic) is None:
        return None
    return np.asarray(finite_values(model.population, statistic))


def _summed(s: Floats, weights: Floats, levels: Floats) -> Any:
    """Weights (B, …, J) of values (J,) or (B, J) summed over levels, on the last axis, with room for more."""
    between = 0.5 * (levels[1:] + levels[:-1])
    room = max(_FEWEST, 1 << (levels.size - 1).bit_length())
    place = np.searchsorted(between, s)
    place = place.reshape(*place.shape[:-1], *(1,) * (weights.ndim - place.ndim), place.shape[-1])
    rows = np.arange(math.prod(weights.shape[:-1])).reshape(*weights.shape[:-1], 1)
    summed = np.bincount((room * rows + place).ravel(), weights.ravel(), minlength=room * rows.size)
    return summed.reshape(*weights.shape[:-1], room)


def on_levels(model: Model, nodes: Nodes) -> Nodes:
    """The law of a statistic on a lattice, one node per level in order; other laws as they are."""
    levels = _levels(model)
    if levels is None:
        return nodes
    s, weights = np.asarray(nodes.s), np.asarray(nodes.weights)
    masses = _summed(s, weights, levels)
    padded: Any = np.pad(levels, (0, masses.shape[1] - levels.size), mode="edge")
    return Nodes(padded, masses)


def slopes_on_levels(model: Model, nodes: Nodes, slopes: Nodes) -> Nodes:
    """The derivatives of these masses (B, d, levels): a level does not move."""
    levels = _levels(model)
    if levels is None:
        return slopes
    masses = _summed(np.asarray(nodes.s), np.asarray(slopes.weights), levels)
    still: Any = np.zeros_like(masses)
    return Nodes(still, masses)
