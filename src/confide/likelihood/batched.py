"""Arrays in few shapes only, so that one compiled program serves many calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: pairs of a block: a larger one calls its program less often, and fills up more where there are few pairs
_ROWS, _COLUMNS = 128, 64
#: rows where one is dear, and θ that are made together at least: what is asked for by 32 or fewer compiles once
_FEWEST = 32


def filled(thetas: Float[Floats, "m d"], fewest: int = _FEWEST) -> Float[Floats, "filled d"]:
    """θ (M, d) with the last repeated up to a power of two: few shapes, so that a program serves many calls."""
    room = max(fewest, 1 << (len(thetas) - 1).bit_length()) - len(thetas)
    return np.concatenate([thetas, np.repeat(thetas[-1:], room, axis=0)])


@dataclass(frozen=True)
class Block:
    """A rectangle of (θ, y) pairs of one of few shapes, so that little is compiled, and where its entries belong."""

    thetas: Floats
    y: Floats
    flat: NDArray[np.intp]

    def scatter(self, target: Floats, found: Any) -> None:
        """Put the entries that are not padding where they belong."""
        real = self.flat >= 0
        target.reshape(-1, *target.shape[2:])[self.flat[real]] = np.asarray(found).reshape(-1, *target.shape[2:])[
            : self.flat.size
        ][real]


def blocks(thetas: Floats, y: Floats, run: int = 1, *, dear: bool = False) -> Iterator[Block]:
    """Cut pairs (B, Y) into blocks of 128 × 1, of 32 × 1 where a row is dear, or of 16 × 64.

    A row has one θ and some of its values; what fills a block up costs as much as the rest. Where values come in runs
    that belong together, as long as a divisor of 64, no run is cut.
    """
    single = run == 1 and (y.shape[1] == 1 or y.size <= _ROWS)
    rows, columns = (_FEWEST if dear else _ROWS, 1) if single else (_ROWS // 8, _COLUMNS)
    parts = -(-y.shape[1] // columns)
    padded = np.pad(y, [(0, 0), (0, parts * columns - y.shape[1])], mode="edge").reshape(-1, columns)
    place = np.pad(
        np.arange(y.size).reshape(y.shape), [(0, 0), (0, parts * columns - y.shape[1])], constant_values=-1
    ).reshape(-1, columns)
    each = np.repeat(np.arange(len(thetas)), parts)
    for start in range(0, len(each), rows):
        chosen = np.s_[start : start + rows]
        missing = rows - len(each[chosen])
        some = np.pad(thetas[each[chosen]], [(0, missing), (0, 0)], mode="edge")
        values = np.pad(padded[chosen], [(0, missing), (0, 0)], mode="edge")
        yield Block(some, values, place[chosen].reshape(-1))
