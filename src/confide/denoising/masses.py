"""Masses on a run of whole numbers, and their sums: all terms are positive, so that no digit is lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import fftconvolve

from confide.errors import IncompatibleError

Floats = NDArray[np.float64]

#: masses below this share of the largest are left out at the ends: a total may still lie that far out
_LEAST = 1e-120
#: products of a convolution beyond which it is done by fast transforms, and beyond which it is refused
_DIRECT, _MOST = 4e8, 4e12
#: decades of masses that are transformed together: a product keeps eight digits beside the largest of its pair of runs
_DECADES = 4.0
#: masses so few that they are multiplied out
_SHORT = 64


@dataclass(frozen=True)
class CountMasses:
    """p(first), p(first + 1), …, up to a factor."""

    first: int
    p: Floats

    @property
    def counts(self) -> Floats:
        """The whole numbers."""
        return self.first + np.arange(self.p.size, dtype=float)

    def scaled(self) -> CountMasses:
        """The largest made 1, and what is negligible at both ends left out."""
        p = self.p / self.p.max()
        kept = np.flatnonzero(p > _LEAST)
        return CountMasses(self.first + int(kept[0]), p[kept[0] : kept[-1] + 1])

    def times(self, factor: Floats) -> CountMasses:
        """Each mass by its factor."""
        return CountMasses(self.first, self.p * factor).scaled()

    def plus(self, other: CountMasses) -> CountMasses:
        """The masses of the sum of two independent counts."""
        return CountMasses(self.first + other.first, _convolved(self.p, other.p)).scaled()

    def before(self, other: CountMasses) -> CountMasses:
        """Σ_r self(c + r)·other(r) for every c: what is known of a count from its sum with another."""
        found = _convolved(self.p, other.p[::-1])
        return CountMasses(self.first - other.first - other.p.size + 1, found)

    def at(self, counts: Floats) -> Floats:
        """The masses of some whole numbers; 0 outside."""
        places = np.asarray(counts, dtype=np.int64) - self.first
        inside = (places >= 0) & (places < self.p.size)
        return np.where(inside, self.p[np.clip(places, 0, self.p.size - 1)], 0.0)


def _convolved(one: Floats, two: Floats) -> Floats:
    work = one.size * two.size
    if work > _MOST:
        raise IncompatibleError(
            f"the sums of so many cells with so much noise take {work:.1g} products; denoise parts of the table, or "
            "leave out the total"
        )
    if work <= _DIRECT:
        return np.convolve(one, two)
    found = np.zeros(one.size + two.size - 1)
    for first, p in _runs(one):
        for second, q in _runs(two):
            # a transform loses what is small beside the largest product; within a pair of runs nothing is
            product = np.convolve(p, q) if min(p.size, q.size) < _SHORT else np.maximum(fftconvolve(p, q), 0.0)
            found[first + second : first + second + product.size] += product
    return found


def _runs(p: Floats) -> list[tuple[int, Floats]]:
    """Where masses of nearly one magnitude begin, and these masses: a total may lie where only small ones are."""
    with np.errstate(divide="ignore"):
        magnitude = np.floor(np.log10(p) / _DECADES)
    starts = np.append(0, np.flatnonzero(magnitude[1:] != magnitude[:-1]) + 1)
    ends = np.append(starts[1:], p.size)
    return [(int(a), p[a:b]) for a, b in zip(starts, ends, strict=True) if p[a] > 0]
