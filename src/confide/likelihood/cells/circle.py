"""The mean over the circle: the probability that independent counts with tilted laws add up to n."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from confide.likelihood.cells.nodes import NODES, RESOLVED

if TYPE_CHECKING:
    from confide.likelihood.cells.sums import Tilted

Floats = NDArray[np.float64]

#: frequencies at a time; after this many blocks the circle is closed by fast transforms
_BLOCK, _MOST_BLOCKS = 32, 6
#: a product of transforms below this adds nothing any more
_DECAYED = 1e-18


class Circle:
    """Transforms of the weights of all cells, and what they say of the sum."""

    def __init__(self, tilted: Tilted) -> None:
        self.tilted, self.n = tilted, tilted.counted.n
        self.starts = np.array([nodes.counts[0] for nodes in tilted.nodes])
        self.longest = max(nodes.length for nodes in tilted.nodes)

    def mean(self, m: int, *, slopes: bool) -> tuple[Floats, Floats] | None:
        """P(Σc = n) (T,) and its derivatives in q (T, J), with m points of the circle."""
        mass, slope = np.zeros(len(self.tilted.q)), np.zeros(self.tilted.q.shape)
        for block in range(_MOST_BLOCKS):
            k = np.arange(block * _BLOCK, min((block + 1) * _BLOCK, m // 2 + 1))
            if self.longest > NODES and math.pi * k[-1] / m * self.longest > RESOLVED:
                return None
            product = self._add(k, m, self._transforms(k, m, slopes=slopes), mass, slope)
            if k[-1] == m // 2 or np.all(np.abs(product[:, -4:]) < _DECAYED):
                return mass, slope
        if self.longest > NODES:
            return None
        size = fft.next_fast_len(max(m, *(nodes.counts.size for nodes in self.tilted.nodes)), real=True)
        mass, slope = np.zeros(len(self.tilted.q)), np.zeros(self.tilted.q.shape)
        self._add(np.arange(size // 2 + 1), size, self._fast_transforms(size, slopes=slopes), mass, slope)
        return mass, slope

    def _transforms(self, k: Any, m: int, *, slopes: bool) -> tuple[Floats, Floats | None]:
        """E e^{iφ(c − start)} of each cell, and E (c − start) e^{iφ(c − start)}; (T, J, K)."""
        found, ahead = [], []
        for nodes, w in zip(self.tilted.nodes, self.tilted.weights, strict=True):
            places = nodes.counts - nodes.counts[0]
            angle = (2 * math.pi / m) * np.outer(places, k)
            waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=1)
            found.append(_complex(w @ waves))
            if slopes:
                ahead.append(_complex(w @ (places[:, None] * waves)))
        return np.stack(found, axis=1), np.stack(ahead, axis=1) if slopes else None

    def _fast_transforms(self, size: int, *, slopes: bool) -> tuple[Floats, Floats | None]:
        """The same at all frequencies of whole numbers."""
        found, ahead = [], []
        for nodes, w in zip(self.tilted.nodes, self.tilted.weights, strict=True):
            found.append(fft.rfft(w, size).conj())
            if slopes:
                ahead.append(fft.rfft(w * (nodes.counts - nodes.counts[0]), size).conj())
        return np.stack(found, axis=1), np.stack(ahead, axis=1) if slopes else None

    def _add(self, k: Any, m: int, transforms: tuple[Floats, Floats | None], mass: Floats, slope: Floats) -> Floats:
        """The share of frequencies k in the mass at n, and in its derivatives; the product of the transforms."""
        own, ahead = transforms
        product = np.asarray(np.prod(own, axis=1))
        # exactly reduced where starts are whole, which they are but for panels of other lengths
        offset = self.starts.sum() - self.n
        angle = (2 * math.pi / m) * np.mod(k * offset, m)
        twice = np.where((k == 0) | (2 * k == m), 1.0, 2.0) / m
        phase = twice * np.exp(1j * angle)
        mass += np.real(product @ phase)
        if ahead is not None:
            slope += np.real(self._derivatives(k, m, own, ahead) @ phase)
        return product

    def _derivatives(self, k: Any, m: int, transforms: Floats, ahead: Floats) -> Floats:
        """z G_j'(q_j z) Π_{i≠j} G_i(q_i z), in units of Π G_i at the radius; (T, J, K)."""
        tilted = self.tilted
        with np.errstate(divide="ignore", invalid="ignore"):
            own = (ahead + self.starts[:, None] * transforms) / tilted.q[..., None]
        none = tilted.q == 0
        if np.any(none):  # then c = 1 is all there is, as c = 0 is of the cell itself
            noise, y = tilted.counted.noise, tilted.counted.y
            rise = tilted.log_radius[:, None] + (noise.log_g(np, y, 1.0) - noise.log_g(np, y, 0.0))
            own[none] = np.exp(rise[none])[:, None] * np.exp(2j * math.pi / m * k)
        ones = np.ones_like(transforms[:, :1])
        before = np.concatenate([ones, np.cumprod(transforms[:, :-1], axis=1)], axis=1)
        after = np.concatenate([ones, np.cumprod(transforms[:, :0:-1], axis=1)], axis=1)[:, ::-1]
        return np.asarray(own * before * after)


def _complex(both: Floats) -> Floats:
    """Cosine and sine sums, one after the other on the last axis, as complex numbers."""
    half = both.shape[-1] // 2
    return np.asarray(both[..., :half] + 1j * both[..., half:])
