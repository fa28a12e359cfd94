"""Which contours the inversion of slowly decaying transforms takes, and the law of a record that it sees."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from confide.likelihood.atoms import nearest_atom
from confide.likelihood.saddles import saddles
from confide.likelihood.transforms import NoiseTransform

Floats = NDArray[np.float64]

#: the aliasing of an exponential tail is below e^{−34} = 2e-15
_ALIAS = 34.0
#: what sharing a contour may cost the values of a run: a factor of e⁴ in digits
_COST = 4.0
#: spreads of a tilted law that must fit in half a period of the frequency grid
_ROOM = 10.0
#: cells in which the law of a record is summed up
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
    pole, margin = float(transform.pole), _ALIAS * step / (2.0 * math.pi)
    furthest = float(np.max(np.abs(y)))
    table = saddles(*record.cells, n, float(transform.variance), furthest, pole + margin)
    middle = table.around(0.0)[0]

    def placed(value: float) -> tuple[float, float]:
        tau, side = float(table.tau(value)), 1.0 if value >= middle else -1.0
        if not transform.crossable:
            return float(np.clip(tau, margin - pole, pole - margin)), 0.0
        crosses = side * tau > pole - margin
        return side * (pole + margin if crosses else max(side * tau, 0.0)), side if crosses else 0.0

    everything = 2.0 * math.pi / step > 2.0 * float(record.s.max() - record.s.min())
    order = np.argsort(y)
    found: list[Contour] = []
    for run in table.runs(y[order], _COST):
        values = y[order[run]]
        tau, crossed = placed(0.5 * (values[0] + values[-1]))
        # the law, tilted, and the values must fit in a period
        mean, spread = table.around(tau)
        apart = max(mean - values[0], values[-1] - mean, 0.0) if crossed == 0 else 0.0
        fits = (apart + _ROOM * spread < math.pi / step or everything) and (transform.crossable or margin < pole)
        if found and crossed != 0 and found[-1].crossed == crossed:  # one contour serves all values beyond a pole
            found[-1] = replace(found[-1], which=np.append(found[-1].which, order[run]), fits=found[-1].fits and fits)
        else:
            found.append(Contour(order[run], tau, crossed, fits))
    return found
