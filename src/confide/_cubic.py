"""The cubic spline through values (de Boor, *A Practical Guide to Splines*, chapter IV; the ends are "not a knot").

SciPy has one too, in a package that takes longer to load than a posterior takes to compute.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_banded

Floats = NDArray[np.float64]


class Cubic(NamedTuple):
    """Knots (M,), and of each piece the coefficients of the cube, the square, … of the way from its first knot."""

    knots: Floats
    coefficients: Floats

    @classmethod
    def through(cls, knots: Floats, values: Floats) -> Cubic:
        """Through values (M, …): the first two pieces are one cubic, as the last two are; through three, one parabola.

        >>> import numpy as np
        >>> knots = np.array([0.0, 1.0, 2.0, 4.0])
        >>> round(float(Cubic.through(knots, knots**3)(np.array([3.0]))[0]), 9)
        27.0
        """
        if knots.size < 4:
            all_of_them = [np.linalg.solve(np.vander(knots - first), values) for first in knots[:-1]]
            absent = np.zeros((4 - knots.size, knots.size - 1, *values.shape[1:]))
            return cls(knots, np.concatenate([absent, np.stack(all_of_them, axis=1)]))
        rows = (-1, *[1] * (values.ndim - 1))
        step = np.diff(knots)
        wide = step.reshape(rows)
        rise = np.diff(values, axis=0) / wide
        # of the slopes at the knots each equation has three, the first and the last two
        bands, known = np.zeros((3, knots.size)), np.empty(values.shape)
        bands[0, 2:], bands[1, 1:-1], bands[2, :-2] = step[:-1], 2.0 * (step[:-1] + step[1:]), step[1:]
        known[1:-1] = 3.0 * (wide[1:] * rise[:-1] + wide[:-1] * rise[1:])
        for end, inner, band in ((0, 1, 0), (-1, -2, 2)):
            both = step[end] + step[inner]
            bands[1, end], bands[band, inner] = step[inner], both
            known[end] = ((step[end] + 2.0 * both) * step[inner] * rise[end] + step[end] ** 2 * rise[inner]) / both
        slope = solve_banded((1, 1), bands, known)
        bend = (slope[:-1] + slope[1:] - 2.0 * rise) / wide
        return cls(knots, np.stack([bend / wide, (rise - slope[:-1]) / wide - bend, slope[:-1], values[:-1]]))

    def __call__(self, points: Floats) -> Floats:
        """The spline (…, …) at points of any shape, and its first and last cubic beyond the knots."""
        piece = np.searchsorted(self.knots[1:-1], points, side="right")
        cube, square, line, value = self.coefficients[:, piece]
        way = (points - self.knots[piece]).reshape(*points.shape, *[1] * (value.ndim - points.ndim))
        return np.asarray(((cube * way + square) * way + line) * way + value)
