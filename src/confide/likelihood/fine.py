"""The inversion where the transform decays slowly: few records, atoms, narrow noise.

Samples with at most one record outside the atoms are in closed form (`atoms`); the rest of φⁿ is inverted with as many
frequencies as it takes, which `nufft` makes cheap. Nothing is compiled here. The integrand is faded out over the upper
half of the frequencies, and the answer is taken where twice as many move it by less than is asked: what lies beyond is
smaller still, for what is left of the transform falls like a power of the frequency.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, erfc

from confide.likelihood import nufft
from confide.likelihood.atoms import Outside, Part, all_in_atoms, joined, one_outside, too_many, ways
from confide.likelihood.fine_contours import Contour, Record, contours
from confide.likelihood.noise_density import log_noise
from confide.likelihood.transforms import DiscreteTransform, GaussianTransform, LaplaceTransform, NoiseTransform

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

#: ratios of successive changes, on doubling the frequencies, that are taken for those of a power
_SLOWEST, _FASTEST = 1.5, 40.0
#: the least error of that, as a share of what was extrapolated, should two extrapolations agree by chance
_LEFT = 2e-3
#: values and ways to fill the atoms that are looked at together: 16 MB for each table of them
_ROOM = 2**21


@dataclass(frozen=True, eq=False)
class Found:
    """log p (Y,), how far twice the frequencies move it, and the score (Y, d) if slopes were given."""

    log_prob: Floats
    error: Floats
    score: Floats | None


@dataclass(frozen=True, eq=False)
class Fine:
    """The inversion for a mean of n records under noise on a continuum, at multiples of a step of the frequency."""

    transform: NoiseTransform
    n: int
    step: float
    frequencies: int

    def __call__(self, record: Record, y: Floats, spread: Any = None) -> Found:
        """p(y | θ) of the mean of such records; `spread` are the nodes spread for `nufft`, if many θ share them."""
        record = self._with_atoms_taken_out(record)
        y, log_share = self._pulled_in(record, y)
        spread = nufft.spreading(record.s * (self.step / self.n), self.frequencies) if spread is None else spread
        top, total, moved = np.zeros((3, y.size))
        dimension = 0 if record.weight_slopes is None else len(record.weight_slopes)
        slope = np.zeros((y.size, dimension))
        for contour in contours(self.transform, self.n, self.step, record, y):
            at = contour.which
            top[at], total[at], moved[at], slope[at] = self._inverted(record, y[at], contour, spread)
            moved[at] = moved[at] if contour.fits else np.inf
        for part in self._exact(record, y):
            higher = np.maximum(top, np.where(np.isfinite(part.log_prob), part.log_prob, -np.inf))
            down, share = np.exp(top - higher), np.exp(part.log_prob - higher)
            top, total, moved, slope = higher, total * down + share, moved * down, slope * down[:, None]
            slope += 0.0 if part.slope is None else share[:, None] * part.slope
        usable = total > 0
        safe = np.where(usable, total, 1.0)
        log_prob = np.where(usable, top + np.log(safe), -np.inf) + log_share
        error = np.where(usable, moved / safe, np.inf)
        return Found(log_prob, error, slope / safe[:, None] if dimension else None)

    @property
    def _closed(self) -> int:
        """Samples with fewer records outside the atoms than this are in closed form.

        Gaussian noise decays fast and needs none; a rounded record has jumps where the noise's lattice does.
        """
        if isinstance(self.transform, DiscreteTransform):
            return 1
        return 2 if isinstance(self.transform, LaplaceTransform) else 0

    def _with_atoms_taken_out(self, record: Record) -> Record:
        """The record with those of its atoms that are taken out: the heaviest, if all are too many to enumerate."""
        shares = record.in_atoms(record.weights)
        kept = np.argsort(shares)[::-1][: np.count_nonzero(shares)] if self._closed else np.empty(0, dtype=int)
        while kept.size > 1 and too_many(self.n, kept.size):
            kept = kept[:-1]
        return replace(record, atoms=np.sort(record.atoms[kept]))

    def _exact(self, record: Record, y: Floats) -> list[Part]:
        """No record outside the atoms, and one; a few values at a time, where there are many ways to fill the atoms."""
        if record.atoms.size == 0:
            return []
        rows = max(1, _ROOM // ways(self.n, record.atoms.size).log_orders.size)
        found = [self._exact_at(record, y[first : first + rows]) for first in range(0, y.size, rows)]
        return [joined(parts) for parts in zip(*found, strict=True)]

    def _exact_at(self, record: Record, y: Floats) -> list[Part]:
        shares, dw = record.in_atoms(record.weights), record.weight_slopes
        slopes = None if dw is None else record.in_atoms(dw).T
        gap = y[:, None] - ways(self.n, record.atoms.size).counts @ record.atoms / self.n
        found = [all_in_atoms(self.n, record.atoms, shares, slopes, log_noise(self.transform, gap))]
        if self._closed == 2:
            moving = None if dw is None else record.outside(dw)
            outside = Outside(record.s, record.outside(record.weights), record.panels, moving)
            found.append(one_outside(self.n, record.atoms, shares, slopes, outside, y, _scale(self.transform)))
        return found

    def _pulled_in(self, record: Record, y: Floats) -> tuple[Floats, Floats]:
        """y, and log p(y) minus log p there: beyond the range of s discrete Laplace noise has a geometric tail."""
        if not isinstance(self.transform, DiscreteTransform) or self.transform.gaussian:
            return y, np.zeros_like(y)
        step = float(self.transform.step)
        beyond = np.maximum(record.s.min() - y, y - record.s.max())
        points = np.maximum(np.ceil(beyond / step) - 1.0, 0.0)
        return y - np.sign(y) * points * step, -points * step / _scale(self.transform)

    def _inverted(
        self, record: Record, y: Floats, contour: Contour, spread: Any
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """What is not in closed form: over e^{top} its share in p, how far that moves, and its derivatives in θ."""
        n, kappa = self.n, contour.tau / self.n
        k = np.arange(self.frequencies + 1)
        zeta = np.asarray(contour.tau + 1j * self.step * k, dtype=np.complex128)
        log_total, rest, derivative = self._rest(record, kappa, spread)
        log_noise, noise = _relative_transform(self.transform, zeta)
        noise *= self.step / math.pi
        noise[0] *= 0.5
        fades = [_fade(self.frequencies, self.frequencies / part) for part in (8, 4, 2, 1)]
        rows = np.stack([*(rest * noise * fade for fade in fades), *(part * noise * fades[-1] for part in derivative)])
        found = nufft.values(self.step * y, rows)
        peak = n * log_total + log_noise - contour.tau * y
        (total, moved), slope = _extrapolated(found[:4]), found[4:].T
        rounding = 2.0**-50 * float(np.sum(np.abs(rows[3])))
        if contour.crossed == 0:
            return peak, total, moved + rounding, slope
        at_pole, share, d_share = self._rest(record, contour.crossed * float(self.transform.pole) / n, None)
        residue = n * at_pole + np.asarray(_log_residue(self.transform, y, contour.crossed))
        top = np.maximum(peak, residue)
        down, tail = np.exp(peak - top), np.exp(residue - top)
        slope = slope * down[:, None] + tail[:, None] * np.asarray([part.real for part in d_share]).reshape(1, -1)
        return top, total * down + tail * float(share.real), (moved + rounding) * down, slope

    def _rest(self, record: Record, kappa: float, spread: Any) -> tuple[float, Any, list[Any]]:
        """log M(κ), what is left of (M(ζ)/M(κ))ⁿ without the closed terms, and its derivatives.

        At all frequencies with nodes that are spread for them; at ζ = κ alone without.
        """
        n, shift = self.n, float(np.max(kappa * record.s))
        lift = np.exp(kappa * record.s - shift)
        total = float(lift @ record.weights)
        tilt = lift / total

        def summed(weights: Floats) -> Any:
            outside, inside = record.outside(weights * tilt), record.in_atoms(weights * tilt)
            if spread is None:
                return np.sum(inside), np.sum(outside)
            turn = _turns(record.atoms.tobytes(), self.step / n, self.frequencies) @ inside
            return turn, nufft.transform(spread, outside[None], self.frequencies)[0]

        alpha, psi = summed(record.weights)
        if spread is None:  # a probability: the binomial law keeps its digits
            rest = bdtrc(self._closed - 1, n, min(1.0, psi)) if record.atoms.size else 1.0 + 0j
        else:
            rest = self._without_closed(n, alpha, psi, record.atoms.size)
        derivative = []
        for i in range(0 if record.weight_slopes is None else len(record.weight_slopes)):
            d_alpha, d_psi = summed(record.weight_slopes[i])  # type: ignore[index]
            derivative.append(n * self._slope(alpha, psi, d_alpha, d_psi, record.atoms.size))
        return math.log(total) + shift, np.asarray(rest), derivative

    def _without_closed(self, n: int, alpha: Any, psi: Any, atoms: int) -> Any:
        """(α + ψ)ⁿ without its closed terms."""
        rest = _power(alpha + psi, n)
        if atoms and self._closed > 0:
            rest = rest - _power(alpha, n)
        if atoms and self._closed > 1:
            rest = rest - n * _power(alpha, n - 1) * psi
        return rest

    def _slope(self, alpha: Any, psi: Any, d_alpha: Any, d_psi: Any, atoms: int) -> Any:
        """The derivative of that, over n: one closed term less for a record that moves outside the atoms."""
        outer = self._without_closed(self.n - 1, alpha, psi, atoms)
        if not atoms or self._closed < 2:
            inner = _power(alpha + psi, self.n - 1)
        else:
            inner = _power(alpha + psi, self.n - 1) - _power(alpha, self.n - 1)
        return outer * d_alpha + inner * d_psi


def _extrapolated(sums: Floats) -> tuple[Floats, Floats]:
    """The limit of sums over an eighth, a quarter, half and all of the frequencies (4, Y), and its error.

    Where y is as far from the atoms as a kink of p, the sum converges like a power of their number, and what is left is
    a geometric series, whose error is what half of the frequencies would have said; elsewhere it converges much faster,
    and is left alone.
    """
    steps = np.diff(sums, axis=0)
    known = steps[1:] != 0
    ratio = np.where(known, steps[:-1] / np.where(known, steps[1:], 1.0), 0.0)
    steady = (ratio > _SLOWEST) & (ratio < _FASTEST)
    left = np.where(steady, steps[1:] / (np.where(steady, ratio, 2.0) - 1.0), 0.0)
    limit = sums[2:] + left
    error = np.abs(limit[1] - limit[0]) + _LEFT * np.abs(left[1])
    return limit[1], np.where(steady[1], error, np.abs(steps[2]))


def _power(z: Any, n: int) -> Any:
    """zⁿ by squaring, which is several times faster than through logarithms."""
    result, square = np.ones_like(z), z
    while n > 0:
        result = result * square if n % 2 else result
        square, n = square * square, n // 2
    return result


@functools.lru_cache(maxsize=8)
def _fade(frequencies: int, reach: float) -> Floats:
    """1 on the lower half of the frequencies up to `reach`, and smoothly down to 0 at the last of them."""
    share = np.arange(frequencies + 1) / reach
    return np.asarray(0.5 * erfc(np.clip(24.0 * (share - 0.75), -7.0, 7.0)))


@functools.lru_cache(maxsize=4)
def _turns(content: bytes, step: float, frequencies: int) -> Complexes:
    """e^{iua} for atoms a, as bytes, at all frequencies u: shape (frequencies + 1, atoms). All θ share it."""
    angle = np.outer(step * np.arange(frequencies + 1), np.frombuffer(content))
    return np.cos(angle) + 1j * np.sin(angle)


def _scale(transform: NoiseTransform) -> float:
    return float(transform.scale)  # type: ignore[attr-defined]


def _relative_transform(transform: NoiseTransform, zeta: Complexes) -> tuple[float, Complexes]:
    """log |N| at the first ζ, and N over that at all."""
    if type(transform) is LaplaceTransform:
        noise = 1.0 / (1.0 - (_scale(transform) * zeta) ** 2)
        return math.log(abs(noise[0])), noise / abs(noise[0])
    log = 0.5 * (_scale(transform) * zeta) ** 2 if type(transform) is GaussianTransform else _compiled(transform, zeta)
    return float(log[0].real), np.exp(np.asarray(log) - float(log[0].real))


@jax.jit
def _compiled(transform: NoiseTransform, zeta: jax.Array) -> jax.Array:
    return transform(zeta, zeta.real)


def _log_residue(transform: NoiseTransform, y: Floats, side: float) -> Floats:
    assert isinstance(transform, LaplaceTransform)
    return -side * y / _scale(transform) - math.log(2.0 * _scale(transform))
