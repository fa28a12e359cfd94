"""Which contours the inversion of slowly decaying transforms takes, and the laws of a record that it sees."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from confide.likelihood.inversion.atoms import nearest_atom
from confide.likelihood.inversion.saddles import Saddles, saddles
from confide.likelihood.noise.transform import NoiseTransform

Floats = NDArray[np.float64]

#: the aliasing of an exponential tail is below e^{−34} = 2e-15
_ALIAS = 34.0
#: what sharing a contour may cost the values of a run: a factor of e⁴ in digits
_COST = 4.0
#: spreads of a tilted law that must fit in half a period of the frequency grid
_ROOM = 10.0
#: the logarithm of the share of p up to which mass a period away is not noticed: 7e-11, a share of what is asked
_NOTICED = -23.4
#: cells in which the law of a record is summed up
_CELLS = 64


@dataclass(frozen=True, eq=False)
class Record:
    """The law of one record at some θ that share its nodes, their values and those of y measured from a reference.

    Values s (J,) come in panels of sixteen nodes first; weights are (B, J) and their slopes (B, d, J).
    """

    s: Floats
    weights: Floats
    panels: int
    atoms: Floats
    weight_slopes: Floats | None = None

    @property
    def dimension(self) -> int:
        """Of θ, if slopes are known."""
        return 0 if self.weight_slopes is None else self.weight_slopes.shape[1]

    def only(self, rows: slice) -> Record:
        """At some of the θ."""
        slopes = None if self.weight_slopes is None else self.weight_slopes[rows]
        return replace(self, weights=self.weights[rows], weight_slopes=slopes)

    @functools.cached_property
    def atom(self) -> NDArray[np.intp]:
        """Which atom each node sits in; −1 for none."""
        return nearest_atom(self.s, self.atoms)

    def in_atoms(self, weights: Floats) -> Floats:
        """Weights (…, J) summed over each atom: (…, atoms)."""
        each = [weights[..., self.atom == a].sum(axis=-1) for a in range(self.atoms.size)]
        return np.stack(each, axis=-1) if each else np.zeros((*weights.shape[:-1], 0))

    def outside(self, weights: Floats) -> Floats:
        """The weights of nodes that are in no atom."""
        return np.where(self.atom < 0, weights, 0.0)

    def saddles(self, n: int, variance: float, furthest: float, limit: float) -> Saddles:
        """Their tables, by laws summed up in cells, which is good enough to choose contours by."""
        # a third of the cells hold as many nodes each, a third as much mass, a third are as wide: nodes crowd at
        # singularities, mass may be narrow beside its bounds, and tilts go where there is hardly any
        order = np.argsort(self.s, kind="stable")
        size, ranked, mass = self.s.size, self.s[order], self.weights.sum(axis=0)[order]
        along = np.arange(size) / size + (np.cumsum(mass) - mass) / mass.sum()
        along += (ranked - ranked[0]) / (ranked[-1] - ranked[0] + 1e-300)
        cell = np.empty(size, dtype=int)
        cell[order] = np.clip(along / 3.0 * _CELLS, 0, _CELLS - 1).astype(int)
        summing = sparse.csr_array((np.ones(cell.size), (np.arange(cell.size), cell)), shape=(cell.size, _CELLS))
        mass, first = self.weights @ summing, (self.weights * self.s) @ summing
        # a cell without mass is anywhere among the others
        middle = (first.sum(axis=1) / mass.sum(axis=1))[:, None]
        mean = np.where(mass > 0, first / np.where(mass > 0, mass, 1.0), middle)
        return saddles(mean, mass, n, variance, furthest, limit)


@dataclass(frozen=True, eq=False)
class Contour:
    """Values that share a contour at one of the θ: which they are, its τ, on which side it passes the poles (−1, 0, 1).

    And whether the law, tilted by τ, fits with them in a period of the frequency grid.
    """

    theta: int
    which: NDArray[np.intp]
    tau: float
    crossed: float
    fits: bool


def contours(transform: NoiseTransform, n: int, step: float, record: Record, y: Floats) -> list[Contour]:
    """Runs of neighbouring values, each with a contour near its saddlepoint, on the right side of the poles."""
    pole, margin = float(transform.pole), _ALIAS * step / (2.0 * math.pi)
    tables = record.saddles(n, float(transform.variance), float(np.max(np.abs(y))), pole + margin)
    everything = 2.0 * math.pi / step > 2.0 * float(record.s.max() - record.s.min())
    order = np.argsort(y)
    ranked = y[order]
    found: list[Contour] = []

    def add(theta: int, table: Saddles, run: slice, tau: float, crossed: float) -> None:
        # the law, tilted, and the values must fit in a period
        mean, spread = table.around(tau)
        apart = max(mean - ranked[run.start], ranked[run.stop - 1] - mean, 0.0) if crossed == 0 else 0.0
        fits = everything or (apart + _ROOM * spread < math.pi / step and not comes_back(theta, run, tau, crossed))
        fits = fits and (transform.crossable or margin < pole)
        found.append(Contour(theta, order[run], tau, crossed, fits))

    def comes_back(theta: int, run: slice, tau: float, crossed: float) -> bool:
        """Whether mass a period P from y may be noticed where a pole π was passed.

        What is inverted there vanishes beyond all mass, and a period away it is e^{τP} times as large: by Chernoff's
        bound at 2τ that is e^{K(2τ) − 2τy − τP}, beside the residue e^{K(π) − πy}, of which p is a fraction.
        """
        if crossed == 0:
            return False
        tilts = np.stack([2.0 * tau, crossed * pole])
        log_m = n * _log_mean_exp(tilts / n, record.s, record.weights[theta])
        nearest = ranked[run.start if crossed > 0 else run.stop - 1]
        beside = float(np.diff(log_m - tilts * nearest)[0])
        return -beside - 2.0 * math.pi / step * abs(tau) > _NOTICED

    for theta, table in enumerate(tables.each()):
        middle, slope = table.around(0.0)[0], table.tau(ranked)
        first, last = 0, ranked.size
        if transform.crossable:  # one contour serves all values beyond a pole
            first = int(np.count_nonzero((slope < margin - pole) & (ranked < middle)))
            last -= int(np.count_nonzero((slope > pole - margin) & (ranked >= middle)))
            if first > 0:
                add(theta, table, slice(0, first), -(pole + margin), -1.0)
            if last < ranked.size:
                add(theta, table, slice(last, ranked.size), pole + margin, 1.0)
        for run in table.runs(ranked[first:last], _COST):
            start, stop = first + run.start, first + run.stop
            value = 0.5 * (ranked[start] + ranked[stop - 1])
            tau = float(np.clip(table.tau(value), margin - pole, pole - margin))
            if transform.crossable:  # never on the other side of the mean
                tau = max(tau, 0.0) if value >= middle else min(tau, 0.0)
            add(theta, table, slice(start, stop), tau, 0.0)
    return found


def _log_mean_exp(tilts: Floats, s: Floats, weights: Floats) -> Floats:
    """log Σ w e^{κs} of each tilt κ: by the largest term: the weight of the largest e^{κs} may be next to nothing."""
    with np.errstate(divide="ignore"):
        log_terms = tilts[:, None] * s + np.log(weights)
    top = log_terms.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.sum(np.exp(log_terms - top), axis=1)) + top[:, 0])
