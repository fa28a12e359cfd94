"""A log density that is smooth but for a few places: polynomials on panels that are halved until they follow it.

The likelihood of a maximum of uniform records, say, has a second derivative in θ that jumps where the end of the
support passes the published value, and equal steps resolve that only when there are thousands of them. Panels are
halved towards such a place, a few hundred values in all, and then tell the density wherever it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LogDensity = Callable[[Floats], Floats]

#: points of a panel, on (−1, 1), and those between them at which it is checked
_NODES = -np.cos(np.pi * np.arange(13) / 12)
_CHECKS = np.asarray([-0.93, -0.38, 0.38, 0.93])
#: panels to begin with, and how often one may be halved
_FIRST, _HALVINGS = 8, 16
#: how far log p may be off, times p over its largest value and the width of a panel over that of the first ones: it is
#: integrals over panels that are wanted, and a kink in a short one is a small part of them
_TOLERANCE = 1e-8
#: log densities so much below the largest are nothing
_NOTHING = 80.0


def barycentric(nodes: Floats, at: Floats) -> Floats:
    """The matrix (nodes, points) that interpolates from Chebyshev points of the second kind."""
    weights = np.where(np.arange(nodes.size) % 2, -1.0, 1.0)
    weights[[0, -1]] *= 0.5
    gap = at[None, :] - nodes[:, None]
    exact = gap == 0
    terms = weights[:, None] / np.where(exact, 1.0, gap)
    terms = np.where(exact.any(axis=0), exact.astype(float), terms)
    return np.asarray(terms / terms.sum(axis=0))


class LogDensityPanels:
    """The polynomials, which are a function of the free coordinate between the ends of the panels."""

    def __init__(self, starts: Floats, stops: Floats, values: Floats) -> None:
        order = np.argsort(starts)
        self._starts, self._stops, self._values = starts[order], stops[order], values[order]

    def __call__(self, free: Floats) -> Floats:
        """The log density at free coordinates (M,)."""
        panel = np.clip(np.searchsorted(self._starts, free, side="right") - 1, 0, self._starts.size - 1)
        start, stop = self._starts[panel], self._stops[panel]
        local = np.clip((2.0 * free - start - stop) / (stop - start), -1.0, 1.0)
        return np.asarray(np.sum(barycentric(_NODES, local).T * self._values[panel], axis=1))


def in_panels(log_density: LogDensity, low: float, high: float) -> LogDensityPanels:
    """Panels from end to end, as short as each must be."""
    edges = np.linspace(low, high, _FIRST + 1)
    starts, stops = edges[:-1], edges[1:]
    places = np.concatenate([_NODES, _CHECKS])
    guess_from = barycentric(_NODES, _CHECKS)
    top, done = -np.inf, []
    for halvings in range(_HALVINGS + 1):
        x = 0.5 * (starts + stops)[:, None] + 0.5 * (stops - starts)[:, None] * places
        values = log_density(x.ravel()).reshape(x.shape)
        top = max(top, float(values.max()))
        values = np.maximum(values, top - _NOTHING)
        nodes, truth = values[:, : _NODES.size], values[:, _NODES.size :]
        off = np.abs(nodes @ guess_from - truth) * np.exp(truth - top) * 0.5**halvings
        good = np.all(off < _TOLERANCE, axis=1) | (halvings == _HALVINGS)
        done.append((starts[good], stops[good], nodes[good]))
        if np.all(good):
            break
        left, right = starts[~good], stops[~good]
        middle = 0.5 * (left + right)
        starts, stops = np.concatenate([left, middle]), np.concatenate([middle, right])
    return LogDensityPanels(*(np.concatenate(parts) for parts in zip(*done, strict=True)))
