"""What slow inversions need not invert: no record outside the atoms, or one, for a few θ and values at a time.

There may be 200,000 ways to put records in atoms, and each has its own noise density at every value: so the table of
θ, values and ways is made in tiles.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from confide.likelihood.inversion.atoms import Outside, Part, all_in_atoms, one_outside, ways
from confide.likelihood.noise.density import log_noise
from confide.likelihood.noise.transform import NoiseTransform
from confide.likelihood.slow_inversion.contours import Record

Floats = NDArray[np.float64]

#: entries of a tile
_LARGEST = 2**21


def closed_parts(transform: NoiseTransform, n: int, closed: int, record: Record, y: Floats) -> Iterator[Part]:
    """Parts of p(y | θ) with fewer records than `closed` outside the atoms, each (B, Y)."""
    if record.atoms.size == 0:
        return
    size = len(ways(n, record.atoms.size).counts)
    rows = max(1, min(len(record.weights), _LARGEST // size))
    columns = max(1, _LARGEST // (rows * size))
    tiles = [
        [
            _tile(transform, n, closed, record.only(np.s_[row : row + rows]), y[column : column + columns])
            for column in range(0, y.size, columns)
        ]
        for row in range(0, len(record.weights), rows)
    ]
    for part in range(closed):
        each = [[tile[part] for tile in line] for line in tiles]
        log_prob = np.block([[tile.log_prob for tile in line] for line in each])
        if record.weight_slopes is None:
            yield Part(log_prob)
        else:
            lines = [np.concatenate([tile.slope for tile in line if tile.slope is not None], axis=1) for line in each]
            yield Part(log_prob, np.concatenate(lines))


def _tile(transform: NoiseTransform, n: int, closed: int, record: Record, y: Floats) -> list[Part]:
    shares, dw = record.in_atoms(record.weights), record.weight_slopes
    slopes = None if dw is None else record.in_atoms(dw).swapaxes(1, 2)
    gap = y[:, None] - ways(n, record.atoms.size).counts @ record.atoms / n
    found = [all_in_atoms(n, shares, slopes, log_noise(transform, gap))]
    if closed == 2:
        moving = None if dw is None else record.outside(dw)
        outside = Outside(record.s, record.outside(record.weights), record.panels, moving)
        scale = float(transform.scale)  # type: ignore[attr-defined]
        found.append(one_outside(n, record.atoms, shares, slopes, outside, y, scale))
    return found
