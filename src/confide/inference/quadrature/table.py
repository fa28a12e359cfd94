"""Functions of one free coordinate, tabulated for chains, which ask for them at tens of thousands of θ, one by one.

A polynomial through some hundred Chebyshev points is right to 1e-8 where a function is smooth, as its last coefficients
tell; a cubic spline in equal steps follows it, which costs a chain nothing.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from confide._cubic import Cubic
from confide.errors import AccuracyError
from confide.inference.quadrature import line

Floats = NDArray[np.float64]

#: knots of the spline, from and to; points of the polynomial; and how far log p may be off
_KNOTS, _MOST_KNOTS = 256, 2**13
_MOST_POINTS = 2**9
_TOLERANCE = 1e-8


class ChainTable(eqx.Module):
    """A cubic spline over equal steps, of one function or several."""

    low: jax.Array
    step: jax.Array
    #: (4, knots − 1) or (4, knots − 1, functions), the highest power first
    coefficients: jax.Array

    def at(self, free: jax.Array) -> tuple[jax.Array, jax.Array]:
        """The functions at a free coordinate, held at the ends, and whether it is between them."""
        place = (free - self.low) / self.step
        size = self.coefficients.shape[1]
        index = jnp.clip(jnp.nan_to_num(jnp.floor(place)), 0, size - 1).astype(int)
        inside = (place >= 0) & (place <= size)
        offset = jnp.where(inside, free, self.low) - jnp.where(inside, self.low + index * self.step, self.low)
        c = self.coefficients[:, index]
        return ((c[0] * offset + c[1]) * offset + c[2]) * offset + c[3], inside


def through(free: Floats, values: Floats) -> ChainTable:
    """The table through values at equal steps."""
    spline = Cubic.through(free, values)
    return ChainTable(*jax.device_put((free[0], free[1] - free[0], spline.coefficients)))


def tabulated(
    function: Callable[[Floats], Floats], low: float, high: float, tolerance: float | Floats | None = None
) -> ChainTable:
    """The table of a function (M,) → (M,) or (M, functions), or `AccuracyError` if it is not smooth enough.

    The tolerance is absolute; without one it is that of a log-likelihood, 1e-8 of its range or of one nat.
    """
    degree = line.POINTS  # as many points as the search for a posterior has, whose compiled programs serve
    while degree <= _MOST_POINTS:
        nodes = chebyshev.chebpts1(degree + 1)
        values = np.asarray(function(low + 0.5 * (high - low) * (nodes + 1.0)))
        found = chebyshev.chebvander(nodes, degree).T @ values * (2.0 / nodes.size)
        found[0] *= 0.5
        size = np.abs(found)
        # its error is that of the coefficients which are missing, and those fall off as the last ones do
        wanted = _TOLERANCE * max(1.0, float(np.sum(size[1:]))) if tolerance is None else tolerance
        if np.all(np.sum(size[-degree // 4 :], axis=0) < wanted):
            return _along(found, low, high, wanted)
        degree *= 2
    raise AccuracyError("a likelihood is not smooth enough to be tabulated; use method='grid' or 'mhaar'")


def _along(coefficients: Floats, low: float, high: float, tolerance: float | Floats) -> ChainTable:
    """A spline with as many knots as follow a polynomial."""
    knots = _KNOTS
    while True:
        x = np.linspace(-1.0, 1.0, 2 * knots - 1)
        values = np.asarray(chebyshev.chebval(x, coefficients), dtype=np.float64).T
        off = np.max(np.abs(Cubic.through(x[::2], values[::2])(x) - values), axis=0)
        if knots >= _MOST_KNOTS or np.all(off < tolerance):
            return through(np.linspace(low, high, x.size), values)
        knots *= 2
