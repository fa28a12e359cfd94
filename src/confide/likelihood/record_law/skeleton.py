"""The frame: panels of a record as far as they are known without θ.

The bounds, the smooth monotone pieces of s, cuts inside them until s is a polynomial of degree 15 to rounding, and a
grading towards the fixed ends of the support, where the density may be singular.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood.cached import once
from confide.likelihood.record_law.panels import HALF_NODES, RATIO, TO_HALVES, Mask, halve, on_panels
from confide.likelihood.record_law.pieces import Pieces, pieces_of, s_at
from confide.likelihood.record_law.record import NODES, Floats
from confide.population import Population
from confide.statistic import Statistic

#: s changes by at most 2^−CHANGES of its range on a panel, unless more is asked for
CHANGES = 2
_MOST_CHANGES = 12
_RESOLVED = 1e-13
_SMALLEST, _SMALLEST_AT_ZERO = 2.0**-40, 1e-20
#: the smallest jump of s, as a share of its range: pieces are known to 2^-44 of their length, and s may have an
#: infinite slope at their ends
_JUMP = 1e-6


@once
def _cuts(statistic: Statistic, changes: int) -> Floats:
    """Edges of panels on which s is a polynomial to rounding and changes by at most 2^−changes of its range."""
    pieces = pieces_of(statistic)
    scale = np.asarray([max(abs(low), abs(high), 1e-300) for low, high in pieces.ranges])[:, None, None]
    width = np.asarray([high - low for low, high in pieces.ranges])[:, None]
    length = pieces.ends[-1] - pieces.ends[0]

    def settled(a: Floats, b: Floats) -> Mask:
        piece = pieces.at(0.5 * (a + b))[:, None]
        s, finer = (pieces.values(on_panels(a, b, nodes), piece) for nodes in (NODES, HALF_NODES))
        smooth = np.max(np.abs(s @ TO_HALVES.T - finer) / scale, axis=(0, 2)) <= _RESOLVED
        change = np.max(finer, axis=-1) - np.min(finer, axis=-1)
        smallest = np.where((a == 0) | (b == 0), _SMALLEST_AT_ZERO, _SMALLEST) * length
        return np.asarray((smooth & np.all(change <= 2.0**-changes * width, axis=0)) | (b - a <= smallest))

    return halve(pieces.ends, settled, grade=pieces.ends)


class Jumps(NamedTuple):
    """Where s jumps, and its values on the left and on the right of each place, one row per component."""

    x: Floats
    left: Floats
    right: Floats


@dataclass(frozen=True, eq=False)
class PanelSkeleton:
    """Panels as far as they are known without θ: their edges, between the atoms, and the pieces of s.

    The panels from `edges[begins[i]]` on lie in the piece of number `piece[i]`. `atoms` is s at the two atoms; `jumps`
    are those between pieces, and between them and the atoms.
    """

    pieces: Pieces
    edges: Floats
    begins: NDArray[np.intp]
    piece: NDArray[np.intp]
    atoms: Floats
    jumps: Jumps

    @property
    def low(self) -> float:
        """Where the lower atom ends."""
        return float(self.edges[0])

    @property
    def high(self) -> float:
        """Where the upper atom begins."""
        return float(self.edges[-1])


@once
def frame(population: Population, statistic: Statistic, changes: int = CHANGES) -> PanelSkeleton:
    """The frame of a continuous population; s changes by at most 2^−changes of its range on a panel."""
    if changes > _MOST_CHANGES:
        raise AccuracyError(
            f"the noise is below one part in {2**_MOST_CHANGES:,} of the range of {statistic}, too small to integrate "
            "over; narrow the bounds"
        )
    pieces, edges = pieces_of(statistic), _cuts(statistic, changes)
    low, high = statistic.bounds
    start, stop = population.facts.fixed_ends or (-math.inf, math.inf)
    inner = [edges]
    if low <= start < high:
        inner.append(_graded(start, min(stop, high), edges))
        low = float(inner[-1][-1])
    if low < stop <= high:
        inner.append(_graded(stop, low, edges))
        high = float(inner[-1][-1])
    everything = np.unique(np.concatenate(inner))
    kept = np.concatenate([[low], everything[(everything > low) & (everything < high)], [high]])
    first, last = np.searchsorted(pieces.ends, low, side="right") - 1, np.searchsorted(pieces.ends, high) - 1
    begins = np.searchsorted(kept, np.maximum(pieces.ends[first : last + 1], low))
    piece, atoms = np.arange(first, last + 1), s_at(statistic, kept[[0, -1]])
    return PanelSkeleton(
        pieces, kept, begins, piece, atoms, _jumps(pieces, np.append(kept[begins], high), piece, atoms)
    )


def _jumps(pieces: Pieces, ends: Floats, piece: NDArray[np.intp], atoms: Floats) -> Jumps:
    """The jumps of s at the ends of its pieces, beyond which it takes the values of the atoms."""
    left = np.concatenate([atoms[:, :1], pieces.values(ends[1:], piece)], axis=1)
    right = np.concatenate([pieces.values(ends[:-1], piece), atoms[:, 1:]], axis=1)
    width = np.asarray([high - low for low, high in pieces.ranges])[:, None]
    jump = np.any(np.abs(right - left) > _JUMP * width, axis=0)
    return Jumps(ends[jump], left[:, jump], right[:, jump])


def _graded(end: float, other: float, edges: Floats) -> Floats:
    """Cuts that approach an end of the support geometrically; what is nearer than the last one belongs to the atom.

    Numbers are dense near zero, and the last cell can be as small as a singular s needs it. Elsewhere the rounding of x
    spoils a singular density, and a cell of 1e-9 costs a smooth s nothing.
    """
    singular = np.min(np.abs(edges[edges != end] - end)) < 2.0**-30 * abs(other - end)
    depth = (1e-60 if singular else 1e-13) if end == 0 else 1e-9
    return np.asarray(end + (other - end) * RATIO ** -np.arange(1.0, math.ceil(-math.log(depth, RATIO)) + 1.0))
