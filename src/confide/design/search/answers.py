"""What one record's noisy answer tells: its density at a few places, as a matrix times the masses of a clipped record.

Clipped to (low, high) and with noise in proportion to the width, an answer is the same in units of the width whatever
the clip is. Let m be the masses of the atom below, of equal cells, and of the atom above. The density of the answer at
fixed places is then A m, with A known from the ratio of width to noise alone: the noise's density, averaged over each
cell. Nothing depends on how narrow the record's law is beside the clip, as masses come from its distribution function.

Beyond the ends a Laplace density falls as an exponential whatever the record was: all that is told there is that the
answer lies there, which is one more row with weight one.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

Floats = NDArray[np.float64]

#: scales of normal noise that are looked at beyond the ends: what lies further has a probability of 1e-9
_REACH = 6.0


class AnswerRule(NamedTuple):
    """The density of an answer at K places is `matrix` (K, J + 2) @ masses, and an integral over it has `weights` (K,).

    `edges` (J + 1) are the ends of the cells, from 0 to 1 between the bounds.
    """

    matrix: Floats
    weights: Floats
    edges: Floats


@functools.lru_cache(maxsize=64)
def answer_rule(ratio: float, cells: int, *, laplace: bool) -> AnswerRule:
    """The rule for noise whose scale is the width of the range over `ratio`.

    >>> rule = answer_rule(1.0, 64, laplace=True)
    >>> masses = np.full(66, 1 / 66)
    >>> print((rule.weights @ (rule.matrix @ masses)).round(5))
    1.0
    """
    edges = np.linspace(0.0, 1.0, cells + 1)
    reach = 0.0 if laplace else _REACH / ratio
    between = np.linspace(-reach, 1.0 + reach, max(cells, round(cells * (1 + 2 * reach))) + 1)
    step = between[1] - between[0]
    # two Gauss points in each step
    y = (0.5 * (between[:-1] + between[1:])[:, None] + step * np.asarray([-0.5, 0.5]) / np.sqrt(3.0)).ravel()
    weights = np.full(y.size, 0.5 * step)
    if not laplace:
        below = ndtr(ratio * (y[:, None] - edges))
        inside = (below[:, :-1] - below[:, 1:]) * cells
        ends = ratio * np.exp(-0.5 * (ratio * (y[:, None] - np.asarray([0.0, 1.0]))) ** 2) / np.sqrt(2 * np.pi)
        return AnswerRule(np.concatenate([ends[:, :1], inside, ends[:, 1:]], axis=1), weights, edges)
    inside = np.diff(_laplace_above(ratio * (edges - y[:, None])), axis=1) * cells
    ends = 0.5 * ratio * np.exp(-ratio * np.abs(y[:, None] - np.asarray([0.0, 1.0])))
    matrix = np.concatenate([ends[:, :1], inside, ends[:, 1:]], axis=1)
    decay = np.exp(-ratio * edges)
    cell = 0.5 * (decay[:-1] - decay[1:]) * cells / ratio
    low = np.concatenate([[0.5], cell, [0.5 * decay[-1]]])
    return AnswerRule(np.concatenate([matrix, [low, low[::-1]]]), np.append(weights, [1.0, 1.0]), edges)


def _laplace_above(z: Floats) -> Floats:
    """The distribution function of a standard Laplace law."""
    tail = 0.5 * np.exp(-np.abs(z))
    return np.where(z < 0, tail, 1.0 - tail)
