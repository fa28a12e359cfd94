"""Which contours the inversion of slowly decaying transforms takes, and the law of a record that it sees."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from confide.likelihood.atoms import nearest_atom
from confide.likelihood.transforms import NoiseTransform

Floats = NDArray[np.float64]

#: the aliasing of an exponential tail is below e^{−34} = 2e-15
_ALIAS = 34.0
#: what sharing a contour may cost the values of a run: a factor of e⁴ in digits
_COST = 4.0
#: spreads of a tilted law that must fit in half a period of the frequency grid
_ROOM = 10.0
#: the steepest tilt worth looking for, times the range of s: beyond it all mass is at an end of the range
_STEEPEST = 60.0
#: tilts at which the mean of a record is tabulated to choose contours, and the cells in which its law is summed up
_TILTS = np.concatenate([-np.geomspace(1.0, 1e-4, 24), [0.0], np.geomspace(1e-4, 1.0, 24)])
_CELLS = 256


@dataclass(frozen=True, eq=False)
class Record:
    """The law of one record at one θ, its values and those of y measured from a reference.

    Values s (J,) come in panels of sixteen nodes first; slopes of weights are (d, J).
    """

    s: Floats
    weights: Floats
    panels: int
    atoms: Floats
    weight_slopes: Floats | None = None

    @functools.cached_property
    def atom(self) -> NDArray[np.intp]:
        """Which atom each node sits in; −1 for none."""
        return nearest_atom(self.s, self.atoms)

    def in_atoms(self, weights: Floats) -> Floats:
        """Weights (…, J) summed over each atom: (…, atoms)."""
        each = [np.where(self.atom == a, weights, 0.0).sum(axis=-1) for a in range(self.atoms.size)]
        return np.stack(each, axis=-1) if each else np.zeros((*weights.shape[:-1], 0))

    def outside(self, weights: Floats) -> Floats:
        """The weights of nodes that are in no atom."""
        return np.where(self.atom < 0, weights, 0.0)

    @functools.cached_property
    def cells(self) -> tuple[Floats, Floats]:
        """The law summed up in cells: their mean values and masses. It is good enough to choose a contour by."""
        low, high = float(self.s.min()), float(self.s.max())
        cell = np.minimum(((self.s - low) * (_CELLS / max(high - low, 1e-300))).astype(int), _CELLS - 1)
        mass = np.asarray(np.bincount(cell, self.weights, _CELLS), dtype=np.float64)
        mean = np.asarray(np.bincount(cell, self.weights * self.s, _CELLS), dtype=np.float64)
        return mean[mass > 0] / mass[mass > 0], mass[mass > 0]


@dataclass(frozen=True, eq=False)
class Contour:
    """Values that share a contour: which they are, its τ, on which side it passes the poles (−1, 0, 1).

    And whether the law, tilted by τ, fits with them in a period of the frequency grid.
    """

    which: NDArray[np.intp]
    tau: float
    crossed: float
    fits: bool


def contours(transform: NoiseTransform, n: int, step: float, record: Record, y: Floats) -> list[Contour]:
    """Runs of neighbouring values, each with a contour near its saddlepoint, on the right side of the poles."""
    variance = float(transform.variance)
    pole, margin = float(transform.pole), _ALIAS * step / (2.0 * math.pi)
    s, mass = record.cells
    width = float(s.max() - s.min()) + 1e-300
    far = float(np.max(np.abs(y))) / (variance * n) if variance > 0 else 0.0
    kappa = _TILTS * min(max(_STEEPEST / width, 2.0 * far), (pole + margin) / n)
    exponent = kappa[:, None] * s
    tilted = mass * np.exp(exponent - exponent.max(axis=1, keepdims=True))
    tilted /= tilted.sum(axis=1, keepdims=True)
    mean = tilted @ s
    spread = np.sqrt(np.sum(tilted * (s - mean[:, None]) ** 2, axis=1) / n + variance) + 1e-300
    reached = np.maximum.accumulate(mean + variance * n * kappa)
    middle = float(np.interp(0.0, kappa, reached))

    def placed(value: float) -> tuple[float, float]:
        tau, side = n * float(np.interp(value, reached, kappa)), 1.0 if value >= middle else -1.0
        if not transform.crossable:
            return float(np.clip(tau, margin - pole, pole - margin)), 0.0
        crosses = side * tau > pole - margin
        return side * (pole + margin if crosses else max(side * tau, 0.0)), side if crosses else 0.0

    everything = 2.0 * math.pi / step > 2.0 * float(record.s.max() - record.s.min())
    order, found, start = np.argsort(y), [], 0
    ranked = y[order]
    slope = n * np.interp(ranked, reached, kappa)  # of −log p, nearly
    while start < y.size:
        crossed = placed(ranked[start])[1]
        ends = np.arange(start + 1, y.size + 1)
        middle_of_run = 0.5 * (ranked[start] + ranked[start:])
        tau_there = n * np.interp(middle_of_run, reached, kappa)
        cost = (middle_of_run - ranked[start]) * np.maximum(tau_there - slope[start], slope[start:] - tau_there)
        stop = int(ends[max(np.searchsorted(np.maximum.accumulate(cost), _COST, side="right") - 1, 0)])
        while crossed != 0 and stop < y.size and placed(ranked[stop])[1] == crossed:
            stop += 1  # one contour serves all values beyond a pole
        tau, crossed = placed(0.5 * (ranked[start] + ranked[stop - 1]))
        # the law, tilted, and the values must fit in a period
        around = float(np.interp(tau / n, kappa, mean)), float(np.interp(tau / n, kappa, spread))
        apart = max(around[0] - ranked[start], ranked[stop - 1] - around[0], 0.0) if crossed == 0 else 0.0
        reach = apart + _ROOM * around[1]
        found.append(Contour(order[start:stop], tau, crossed, fits=reach < math.pi / step or everything))
        start = stop
    return found
