"""The law of one clipped record's s(x) on a fine lattice, from SciPy's distribution functions alone.

The range of s is cut into K cells. Points are the cells' middles (odd places) and edges (even places), half a cell apart: a
cell's mass, a difference of distribution functions, sits in its middle, and the atoms of clipping and of flat stretches
sit at the ends of the range, which are edges. What this gets wrong is of the second order in 1/K and smooth, so that two
K give the error and remove most of it. It is smooth in θ too as long as no end of the support or kink passes from cell
to cell as θ moves; where one does, cells are cut into parts whose masses are shared between the two points beside them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.audit.statistics import Formula


@dataclass(frozen=True)
class Lattice:
    """Masses at first + k·step."""

    first: float
    step: float
    mass: Any

    @property
    def points(self):
        return self.first + self.step * np.arange(self.mass.size)


def value_range(formula: Formula, bounds) -> tuple[float, float]:
    """The least and largest value of s on the bounds: at ends of stretches, approached from inside."""
    values = []
    for stretch in formula.stretches:
        low, high = max(stretch.low, bounds[0]), min(stretch.high, bounds[1])
        if low <= high:
            inside = (np.nextafter(low, np.inf), np.nextafter(high, -np.inf)) if low < high else (low,)
            ends = [low, high] if stretch.inverse is not None else []
            near = formula.function(np.asarray([*inside]))
            values += [float(v) for v in near] + [float(v) for v in formula.function(np.asarray(ends, dtype=float))]
    values += [float(v) for v in formula.function(np.asarray(bounds, dtype=float))]
    return min(values), max(values)


def continuous(law, formula: Formula, bounds, cells: int, parts: int = 1, through=None) -> Lattice:
    """A continuous record, clipped to the bounds; or what `through` makes of its masses in the order of their values."""
    low, high = value_range(formula, bounds)
    # values approached from inside differ from the limit in the last bits only
    edges = np.linspace(low, high, cells * parts + 1)
    step = (high - low) / (2 * cells)
    inside = np.zeros(cells * parts)
    ends = formula.function(np.asarray(bounds, dtype=float))
    atoms = [(float(ends[0]), float(law.cdf(bounds[0]))), (float(ends[1]), float(law.sf(bounds[1])))]
    for stretch in formula.stretches:
        left, right = max(stretch.low, bounds[0]), min(stretch.high, bounds[1])
        if left >= right:
            continue
        if stretch.inverse is None:
            flat = float(formula.function(np.asarray(0.5 * (left + right))))
            atoms.append((flat, float(law.cdf(right) - law.cdf(left))))
            continue
        inside += _masses(law, formula, stretch, left, right, edges)
    places = np.concatenate([(2 * np.arange(cells * parts) + 1) / parts, [(value - low) / step for value, _ in atoms]])
    mass = np.concatenate([inside, [weight for _, weight in atoms]])
    if through is not None:
        order = np.argsort(places, kind="stable")
        places, mass = places[order], through(mass[order])
    return Lattice(low, step, _shared(places, mass, 2 * cells + 1))


def _masses(law, formula: Formula, stretch, left, right, edges):
    """The masses between neighbouring edges on a stretch, cut to x between left and right."""
    inside = np.sort(formula.function(np.asarray([left, right], dtype=float)))
    limits = np.sort(formula.function(np.asarray([np.nextafter(left, right), np.nextafter(right, left)])))
    inside = np.where(np.abs(inside - limits) < 1e-9 * (edges[-1] - edges[0]), inside, limits)
    x = np.clip(stretch.inverse(np.clip(edges, *inside)), left, right)
    lower, upper = np.minimum(x[:-1], x[1:]), np.maximum(x[:-1], x[1:])
    below, above = law.cdf(upper) - law.cdf(lower), law.sf(lower) - law.sf(upper)
    return np.where(law.cdf(lower) < 0.5, below, above)


def _shared(places, mass, size):
    """Masses at whole places: each is shared between the two beside it, unless it is at one but for rounding."""
    whole = np.round(places)
    at = np.where(np.abs(places - whole) > 1e-6, places, whole)
    left = np.clip(np.floor(at), 0, size - 2).astype(int)
    share = at - left
    return np.bincount(left, mass * (1 - share), size) + np.bincount(left + 1, mass * share, size)


def whole(law, formula: Formula, bounds) -> Lattice:
    """A discrete record with whole values of s, exactly."""
    codes = np.arange(np.ceil(bounds[0]), np.floor(bounds[1]) + 1)
    weights = law.pmf(codes)
    below, above = float(law.cdf(codes[0] - 1)), float(law.sf(codes[-1]))
    x = np.concatenate([codes, [bounds[0], bounds[1]]])
    w = np.concatenate([weights, [below, above]])
    s = np.round(formula.function(x)).astype(int)
    mass = np.zeros(s.max() - s.min() + 1)
    np.add.at(mass, s - s.min(), w)
    return Lattice(float(s.min()), 1.0, mass)
