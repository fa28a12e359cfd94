"""Parameters a little way off: what happens to be smooth at a round θ is not smooth beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import constraints

from confide.population.space import Parameter, Space

Floats = NDArray[np.float64]

#: how far off, as a share of θ
_SHARE = 2.0**-7


def neighbours(space: Space, thetas: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """For each θ of (M, d) one neighbour along each of its entries, and the row that each is a neighbour of.

    None where an entry cannot move either way inside the space.

    >>> from confide import populations
    >>> neighbours(populations.beta().space, np.array([[1.0, 2.0]]))[0].tolist()
    [[1.0078125, 2.0], [1.0, 2.015625]]
    """
    found, rows, start = [thetas[:0]], [np.zeros(0, dtype=int)], 0
    for part in space:
        own = slice(start, start + part.size)
        for entry in range(part.size):
            left = np.arange(len(thetas))
            for moved in _moved(part, thetas[:, own], entry):
                beside = thetas.copy()
                beside[:, own] = moved
                inside = left[_inside(part, moved)[left]]
                found.append(beside[inside])
                rows.append(inside)
                left = np.setdiff1d(left, inside)
        start += part.size
    return np.concatenate(found), np.concatenate(rows)


def _moved(part: Parameter, values: Floats, entry: int) -> list[Floats]:
    """The values of a parameter (M, size) with one entry moved up or down; a vector towards a corner of a simplex."""
    if part.vector:
        return [(1.0 - _SHARE) * values + _SHARE * np.eye(part.size)[entry]]
    real: Any = part.constraint is constraints.real
    width = _SHARE * (np.maximum(np.abs(values), 1.0) if real else np.abs(values))
    return [values + width, values - width]


def _inside(part: Parameter, values: Floats) -> NDArray[np.bool_]:
    return np.asarray(part.constraint(values if part.vector else values[:, 0]), dtype=bool)
