"""The inversion where the transform decays slowly: few records, atoms, narrow noise.

Samples with at most one record outside the atoms are in closed form (`atoms`); the rest of φⁿ is inverted with as many
frequencies as it takes, which `nufft` makes cheap; θ that share the nodes of a record and all values are computed
together. Nothing is compiled here. The integrand is faded out over the upper half of the frequencies, and the answer is
taken where twice as many move it by less than is asked: what lies beyond is smaller still, for what is left of the
transform falls like a power of the frequency.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, erfc

from confide.likelihood.inversion.atoms import Part, too_many
from confide.likelihood.noise.transform import DiscreteTransform, GaussianTransform, LaplaceTransform, NoiseTransform
from confide.likelihood.slow_inversion import nufft
from confide.likelihood.slow_inversion.closed_terms import closed_parts
from confide.likelihood.slow_inversion.contours import Contour, Record, contours
from confide.likelihood.slow_inversion.extrapolated import extrapolated

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

#: frequencies of all contours that are summed at once
_AT_ONCE = 2**18
#: e to this is still a number
_HIGHEST = 700.0


@dataclass(frozen=True, eq=False)
class FineResult:
    """log p (B, Y), how far twice the frequencies move it, and the score (B, Y, d) if slopes were given."""

    log_prob: Floats
    error: Floats
    score: Floats | None


@dataclass(frozen=True, eq=False)
class Sums:
    """Shares in p over e^{top}, how far they may be off on the same scale, each (B, Y), and derivatives (B, Y, d)."""

    top: Floats
    total: Floats
    moved: Floats
    slope: Floats

    def plus(self, part: Part) -> Sums:
        """With a part that is known in closed form."""
        top = np.maximum(self.top, np.where(np.isfinite(part.log_prob), part.log_prob, -np.inf))
        down, share = np.exp(self.top - top), np.exp(part.log_prob - top)
        slope = self.slope * down[..., None]
        slope += 0.0 if part.slope is None else share[..., None] * part.slope
        return Sums(top, self.total * down + share, self.moved * down, slope)


#: the share of the frequencies that are not faded out, about; points at which is looked ahead, eight for each time that
#: the noise comes back; and how many times more must be there than was seen
_SEEN, _AHEAD, _MORE_AHEAD = 0.7, 2**12, 4.0


@dataclass(frozen=True, eq=False)
class Fine:
    """The inversion for a mean of n records under noise on a continuum, at multiples of a step of the frequency."""

    transform: NoiseTransform
    n: int
    step: float
    frequencies: int

    def __call__(self, record: Record, y: Floats, spread: Any = None) -> FineResult:
        """p(y | θ) of the mean of such records; `spread` are the nodes spread for `nufft`, if they are known."""
        record = self._with_atoms_taken_out(record)
        y, log_share = self._pulled_in(record, y)
        spread = nufft.spreading(record.s * (self.step / self.n), self.frequencies) if spread is None else spread
        sums = self._inverted(record, y, spread)
        for part in closed_parts(self.transform, self.n, self._closed, record, y):
            sums = sums.plus(part)
        usable = sums.total > 0
        safe = np.where(usable, sums.total, 1.0)
        log_prob = np.where(usable, sums.top + np.log(safe), -np.inf) + log_share
        error = np.where(usable, sums.moved / safe, np.inf)
        return FineResult(log_prob, error, sums.slope / safe[..., None] if record.weight_slopes is not None else None)

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
        shares = record.in_atoms(record.weights).max(axis=0)
        kept = np.argsort(shares)[::-1][: np.count_nonzero(shares)] if self._closed else np.empty(0, dtype=int)
        while kept.size > 1 and too_many(self.n, kept.size):
            kept = kept[:-1]
        return replace(record, atoms=np.sort(record.atoms[kept]))

    def _pulled_in(self, record: Record, y: Floats) -> tuple[Floats, Floats]:
        """y, and log p(y) minus log p there: beyond the range of s discrete Laplace noise has a geometric tail."""
        if not isinstance(self.transform, DiscreteTransform) or self.transform.gaussian:
            return y, np.zeros_like(y)
        step = float(self.transform.step)
        beyond = np.maximum(record.s.min() - y, y - record.s.max())
        points = np.maximum(np.ceil(beyond / step) - 1.0, 0.0)
        return y - np.sign(y) * points * step, -points * step / _scale(self.transform)

    def _inverted(self, record: Record, y: Floats, spread: Any) -> Sums:
        """What is not in closed form, at all θ and values, each along its own contour."""
        top, total, moved = np.zeros((3, len(record.weights), y.size))
        slope = np.zeros((*top.shape, record.dimension))
        found = contours(self.transform, self.n, self.step, record, y)
        at_once = max(1, _AT_ONCE // self.frequencies)
        for first in range(0, len(found), at_once):
            some = found[first : first + at_once]
            sums = self._along(record, y, some, spread)
            for row, contour in enumerate(some):
                at, which = (contour.theta, contour.which), (row, contour.which)
                top[at], total[at], slope[at] = sums.top[which], sums.total[which], sums.slope[which]
                moved[at] = sums.moved[which] if contour.fits else np.inf
        return Sums(top, total, moved, slope)

    def _along(self, record: Record, y: Floats, some: Sequence[Contour], spread: Any) -> Sums:
        """The same along each of some contours, at all values: (contours, Y)."""
        rows, tau, crossed = (np.asarray([getattr(c, name) for c in some]) for name in ("theta", "tau", "crossed"))
        log_total, rest, derivative = self._rest(record, rows, tau / self.n, spread)
        log_noise, noise = self._noise(tau)
        rest *= noise
        (total, moved) = extrapolated(np.stack([self._summed(y, rest, part) for part in (8, 4, 2, 1)]))
        slope = np.empty((*total.shape, len(derivative)))
        for i, each in enumerate(derivative):
            slope[..., i] = self._summed(y, each * noise, 1)
        moved += 2.0**-50 * np.sum(np.abs(rest), axis=1)[:, None]  # what rounding costs
        if isinstance(self.transform, DiscreteTransform) and record.atoms.size > 1:
            moved += self._ahead(record, rows, tau)[:, None]
        peak = (self.n * log_total + log_noise)[:, None] - tau[:, None] * y
        if not np.any(crossed):
            return Sums(peak, total, moved, slope)
        side = np.where(crossed == 0, 1.0, crossed)
        at_pole, share, d_share = self._rest(record, rows, side * float(self.transform.pole) / self.n, None)
        residue = self.n * at_pole[:, None] + _log_residue(self.transform, y, side[:, None])
        residue[crossed == 0] = -np.inf
        top = np.maximum(peak, residue)
        down, tail = np.exp(peak - top), np.exp(residue - top)
        slope *= down[..., None]
        for i, each in enumerate(d_share):
            slope[..., i] += tail * each[:, None]
        return Sums(top, total * down + tail * share[:, None], moved * down, slope)

    def _ahead(self, record: Record, rows: NDArray[np.intp], tau: Floats) -> Floats:
        """What is left beyond the last frequency, if that is more than was seen before it; 0 where it is not.

        Atoms that all turn alike come back together. Where they do so when the noise on its lattice does, which may be
        for the first time after the last frequency, no sum up to there shows it.
        """
        last, back = _SEEN * self.step * self.frequencies, 2.0 * math.pi / float(self.transform.step)  # type: ignore[attr-defined]
        u = np.concatenate([last * np.linspace(0.4, 1.0, 256), last + back / 8.0 * np.arange(1, _AHEAD + 1)])
        turns = np.exp(1j / self.n * np.outer(record.atoms, u))
        outer_turns = np.exp(1j / self.n * np.outer(record.s, last * np.linspace(0.9, 1.0, 8)))
        log_noise = self._at_each(tau, np.append(0.0, u)).real
        found = np.empty(rows.size)
        for at, row in enumerate(rows):
            exponent = tau[at] / self.n * record.s
            tilted = record.weights[row] * np.exp(exponent - exponent.max())
            tilted /= tilted.sum()
            alpha = np.abs(record.in_atoms(tilted) @ turns)
            psi = np.max(np.abs(record.outside(tilted) @ outer_turns))
            more = np.minimum(alpha + psi, 1.0) ** self.n - alpha**self.n
            size = more * np.exp(log_noise[at, 1:] - log_noise[at, 0])
            seen, ahead = np.max((u * size)[:256]), np.max((u * size)[256:])
            found[at] = size[256:].sum() * back / 8.0 / math.pi if ahead > _MORE_AHEAD * seen else 0.0
        return found

    def _at_each(self, tau: Floats, u: Floats) -> Complexes:
        """log N at τ + iu, for each τ (contours,): contours next to a pole have the same, which is asked for once."""
        each, which = np.unique(tau, return_inverse=True)
        return np.asarray([np.asarray(_compiled(self.transform, one + 1j * u)) for one in each])[which]

    def _summed(self, y: Floats, terms: Complexes, part: int) -> Floats:
        """The sum over a part of the frequencies, faded out, at all values."""
        reach = self.frequencies // part
        return nufft.values(self.step * y, terms[:, : reach + 1] * _fade(reach))

    def _noise(self, tau: Floats) -> tuple[Floats, Complexes]:
        """log |N| where each contour begins, and over that N times the weights of the trapezoidal rule along it."""
        u: Floats = self.step * np.arange(self.frequencies + 1.0)
        zeta: Any = tau[:, None] + 1j * u
        noise: Any
        if type(self.transform) is LaplaceTransform:
            noise = 1.0 / (1.0 - (_scale(self.transform) * zeta) ** 2)
            first = np.abs(noise[:, 0])
            log_first, noise = np.log(first), noise / first[:, None]
        else:
            gaussian = type(self.transform) is GaussianTransform
            log = 0.5 * (_scale(self.transform) * zeta) ** 2 if gaussian else self._at_each(tau, u)
            log_first = log[:, 0].real
            noise = np.exp(log - log_first[:, None])
        noise *= self.step / math.pi
        noise[:, 0] *= 0.5
        return log_first, noise

    def _rest(
        self, record: Record, rows: NDArray[np.intp], kappa: Floats, spread: Any
    ) -> tuple[Floats, Any, list[Any]]:
        """log M(κ), what is left of (M(ζ)/M(κ))ⁿ without the closed terms, and its derivatives, at some of the θ.

        At all frequencies with nodes that are spread for them; at ζ = κ alone without.
        """
        # nodes without mass are nothing that the sum is measured by; but where a support ends some have a slope
        weights, exponent = record.weights[rows], kappa[:, None] * record.s
        shift = np.where(weights > 0, exponent, -np.inf).max(axis=1)
        total = np.einsum("rj,rj->r", np.exp(np.minimum(exponent - shift[:, None], 0.0)), weights)
        lift = np.exp(np.minimum(exponent - (shift + np.log(total))[:, None], _HIGHEST))

        def summed(weights: Floats) -> Any:
            tilted = weights * lift
            inside, outside = record.in_atoms(tilted), record.outside(tilted)
            if spread is None:
                return inside.sum(axis=1), outside.sum(axis=1)
            turns = _turns(record.atoms.tobytes(), self.step / self.n, self.frequencies)
            return np.einsum("ra,ak->rk", inside, turns), nufft.transform(spread, outside, self.frequencies)

        alpha, psi = summed(record.weights[rows])
        atoms = record.atoms.size > 0
        if spread is None:  # a probability: the binomial law keeps its digits
            rest = bdtrc(self._closed - 1, self.n, np.minimum(1.0, psi)) if atoms else np.ones_like(psi)
        else:
            rest = self._without_closed(self.n, alpha, psi, atoms)
        derivative = []
        for i in range(record.dimension):
            d_alpha, d_psi = summed(record.weight_slopes[rows, i])  # type: ignore[index]
            derivative.append(self.n * self._slope(alpha, psi, d_alpha, d_psi, atoms))
        return np.log(total) + shift, rest, derivative

    def _without_closed(self, n: int, alpha: Any, psi: Any, atoms: bool) -> Any:
        """(α + ψ)ⁿ without its closed terms."""
        rest = power(alpha + psi, n)
        if atoms and self._closed > 0:
            rest -= power(alpha, n - 1) * (alpha + n * psi if self._closed > 1 else alpha)
        return rest

    def _slope(self, alpha: Any, psi: Any, d_alpha: Any, d_psi: Any, atoms: bool) -> Any:
        """The derivative of that, over n: one closed term less for a record that moves outside the atoms."""
        outer = self._without_closed(self.n - 1, alpha, psi, atoms)
        inner = power(alpha + psi, self.n - 1)
        if atoms and self._closed > 1:
            inner -= power(alpha, self.n - 1)
        return outer * d_alpha + inner * d_psi


def power(z: Any, n: int) -> Any:
    """zⁿ by squaring, which is several times faster than through logarithms."""
    result, square = None, z
    while n > 0:
        if n % 2:
            result = square if result is None else result * square
        n //= 2
        square = square * square if n else square
    return np.ones_like(z) if result is None else result


@functools.lru_cache(maxsize=8)
def _fade(reach: int) -> Floats:
    """1 on the lower half of so many frequencies, and smoothly down to 0 at the last of them."""
    share = np.arange(reach + 1) / max(reach, 1)
    return np.asarray(0.5 * erfc(24.0 * (share - 0.75)))


@functools.lru_cache(maxsize=4)
def _turns(content: bytes, step: float, frequencies: int) -> Complexes:
    """e^{iua} for atoms a, as bytes, at all frequencies u: shape (atoms, frequencies + 1). All θ share it."""
    angle = np.outer(np.frombuffer(content), step * np.arange(frequencies + 1))
    return np.cos(angle) + 1j * np.sin(angle)


def _scale(transform: NoiseTransform) -> float:
    return float(transform.scale)  # type: ignore[attr-defined]


@jax.jit
def _compiled(transform: NoiseTransform, zeta: jax.Array) -> jax.Array:
    return transform(zeta, zeta.real)


def _log_residue(transform: NoiseTransform, y: Floats, side: Floats) -> Floats:
    assert isinstance(transform, LaplaceTransform)
    return -side * y / _scale(transform) - math.log(2.0 * _scale(transform))
