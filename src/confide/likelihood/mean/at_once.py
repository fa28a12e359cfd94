"""The inversion of `inversion` with its score, in NumPy: what is asked for once does not wait for a compiler.

Continuous noise only. Each contour is summed twice, with a step of the frequency and with a shorter one: they differ by
what is aliased. What lies beyond the last frequency is bounded as in `contour`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood.inversion.atoms import atom_values
from confide.likelihood.inversion.contour import FrequencyGrid, log_beyond
from confide.likelihood.inversion.frequencies import PER_SPREAD, Group
from confide.likelihood.noise.transform import GaussianTransform, LaplaceTransform, NoiseTransform
from confide.likelihood.record_law.moments import nodes_at
from confide.likelihood.slow_inversion.contours import Contour, Record, contours
from confide.likelihood.slow_inversion.pairs import law_for_frequency

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

#: the shorter step
_SHORTER = 0.7
#: |M|² − 1 and |M| where M vanishes, as a fair coin's does at half its period: its n-th power is nothing
_LEAST, _VANISHED = -1.0 + 1e-15, 1e-100
#: steps to a saddlepoint that is known to some percent
_NEWTON = 4
#: the share of a tilted law that is nothing; and how much e^{κs} may change from a node to the next, in the exponent:
#: sixteen nodes of a panel integrate e^{14}, and lie a tenth of it apart at most
_UNSEEN, _GAP = 1e-12, 1.3


def serves(transform: NoiseTransform | None) -> bool:
    """Whether noise is Laplace's or Gaussian, around a statistic without a lattice."""
    return type(transform) in (LaplaceTransform, GaussianTransform)


def invert_at_once(group: Group, thetas: Floats, y: Floats, *, scores: bool = True) -> tuple[Floats, Floats, Floats]:
    """log p, a bound on its error and the score (B, Y, d) at (θ, y) pairs (B, Y); d is 0 where none is asked for."""
    many, model, reference = len(thetas), group.model, float(group.inversion.reference)
    nodes = group.nodes(thetas)
    weights = np.asarray(nodes.weights)
    changes = np.asarray(group.slopes(thetas).weights) if scores else np.empty((many, 0, weights.shape[1]))
    s = np.asarray(nodes.s) - reference
    atoms = atom_values(model.population, model.channel.statistic) - reference
    log_prob, error = np.empty(y.shape), np.empty(y.shape)
    score = np.empty((*y.shape, changes.shape[1]))
    grid, frequencies, n = group.inversion.grid, group.inversion.frequencies, float(group.inversion.n)
    turns = _turns(grid, frequencies, n, s) if s.ndim == 1 else ()
    for row in range(many):
        # nodes that move are as many at each θ, and some of them only fill up
        held = slice(None) if s.ndim == 1 else (weights[row] > 0) | np.any(changes[row] != 0, axis=0)
        values = s if s.ndim == 1 else s[row, held]
        record = Record(values, weights[row : row + 1, held], 0, atoms, changes[row : row + 1, :, held])
        found = _Mean(group, record, turns or _turns(grid, frequencies, n, values))(y[row] - reference)
        log_prob[row], error[row], score[row] = found.log_prob, found.error, found.score
    return log_prob, error, score


@dataclass(frozen=True, eq=False)
class _Turns:
    """Frequencies t (F,), and at each of them e^{its/n} − 1 of every value, as two matrices (F, J)."""

    t: Floats
    real: Floats
    imaginary: Floats


def invert_far(group: Group, thetas: Floats, y: Floats, asked: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """log p and a bound on its error at those pairs of (B, Y) that are asked for, under noise without poles.

    The law that is tilted to a value far from the mean is wider or narrower than the law itself, whose step then
    aliases, or ends too early: each pair has a step of its own.
    """
    many, model, n = len(thetas), group.model, float(group.inversion.n)
    reference, variance = float(group.inversion.reference), float(group.inversion.transform.variance)
    steepest = float(np.max(np.abs(y - reference))) / (variance * n)
    law = group.law
    for frequency in (steepest, 0.1 * steepest, 0.01 * steepest):  # nodes that follow e^{ius} follow e^{us}
        try:
            law = law_for_frequency(group, thetas, frequency)
            break
        except AccuracyError:
            continue
    nodes = nodes_at(law, thetas)
    weights = np.asarray(nodes.weights)
    s = np.broadcast_to(np.asarray(nodes.s) - reference, weights.shape)
    atoms = atom_values(model.population, model.channel.statistic) - reference
    log_prob, error = np.full(y.shape, -np.inf), np.full(y.shape, np.inf)
    for row in range(many):
        held = weights[row] > 0
        record = Record(s[row, held], weights[row : row + 1, held], 0, atoms, np.empty((1, 0, int(held.sum()))))
        values = y[row] - reference
        (table,) = record.saddles(int(n), variance, float(np.max(np.abs(values))), math.inf).each()
        for column in np.flatnonzero(asked[row]):
            value = float(values[column])
            tau, spread = _saddle(record, float(table.tau(value)), value, n, variance)
            contour = Contour(0, np.zeros(1, dtype=int), tau, 0.0, True)
            turns = _turns(FrequencyGrid(1.0 / (PER_SPREAD * spread)), group.inversion.frequencies, n, record.s)
            found = _Mean(group, record, turns).along(contour, values[column : column + 1])
            if _resolved(record, tau / n):
                log_prob[row, column], error[row, column] = found.log_prob[0], found.error[0]
    return log_prob, error


def _resolved(record: Record, kappa: float) -> bool:
    """Whether nodes follow the law that is tilted by e^{κs}, wherever that has mass: no step of the frequency tells."""
    outside = np.flatnonzero(record.atom < 0)
    order = outside[np.argsort(record.s[outside], kind="stable")]
    seen = _tilted(record, kappa)[0][order] > _UNSEEN
    gaps = np.diff(record.s[order])
    return bool(np.all(abs(kappa) * gaps[seen[1:] | seen[:-1]] < _GAP))


def _saddle(record: Record, tau: float, y: float, n: float, variance: float) -> tuple[float, float]:
    """τ at which the tilted mean, moved along by the noise, is y, from one that is near; and the spread there."""
    for _ in range(_NEWTON):
        tilted, _, _ = _tilted(record, tau / n)
        mean = float(tilted @ record.s)
        spread = math.sqrt(float(tilted @ (record.s - mean) ** 2) / n + variance)
        tau += (y - mean - variance * tau) / spread**2
    return tau, spread


def _turns(grid: FrequencyGrid, frequencies: int, n: float, s: Floats) -> tuple[_Turns, ...]:
    """With the step of the grid, and with the shorter one."""
    found = []
    for share in (1.0, _SHORTER):
        t = np.asarray(share * float(grid.step) * np.arange(math.ceil(frequencies / share) + 1), dtype=np.float64)
        phase = np.outer(t / n, s)
        found.append(_Turns(t, -2.0 * np.sin(0.5 * phase) ** 2, np.sin(phase)))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class _Found:
    """log p (Y,), its error relative to p, and the score (Y, d)."""

    log_prob: Floats
    error: Floats
    score: Floats


@dataclass(frozen=True, eq=False)
class _Mean:
    """The noisy mean of records of one θ."""

    group: Group
    record: Record
    turns: tuple[_Turns, ...]

    def __call__(self, y: Floats) -> _Found:
        inversion = self.group.inversion
        log_prob, error, score = np.empty(y.size), np.empty(y.size), np.empty((y.size, len(self._slopes)))
        for contour in contours(inversion.transform, int(inversion.n), float(inversion.grid.step), self.record, y):
            at = contour.which
            found = self.along(contour, y[at])
            log_prob[at], error[at], score[at] = found.log_prob, found.error, found.score
        return _Found(log_prob, error, score)

    def along(self, contour: Contour, y: Floats) -> _Found:
        """Values that share a contour, with both steps of the frequency."""
        coarse, fine = (self._along(contour, y, turns) for turns in self.turns)
        known = np.isfinite(coarse.log_prob) & np.isfinite(fine.log_prob) & contour.fits
        apart = np.where(known, coarse.log_prob, 0.0) - np.where(known, fine.log_prob, 0.0)
        return _Found(fine.log_prob, np.where(known, np.abs(apart) + fine.error, np.inf), fine.score)

    @property
    def _slopes(self) -> Floats:
        assert self.record.weight_slopes is not None
        return np.asarray(self.record.weight_slopes[0])

    def _along(self, contour: Contour, y: Floats, turns: _Turns) -> _Found:
        """One sum over the frequencies; beyond a pole the residue is added, and mostly is all."""
        transform, n, record = self.group.inversion.transform, float(self.group.inversion.n), self.record
        tilted, lift, log_total = _tilted(record, contour.tau / n)
        x, z = turns.real @ tilted, turns.imaginary @ tilted
        # n log M, accurate where M is near 1
        log_m = 0.5 * n * np.log1p(np.maximum(2.0 * x + x * x + z * z, _LEAST)) + 1j * n * np.arctan2(z, 1.0 + x)
        log_noise = _log_noise(transform, contour.tau, turns.t)
        terms = np.exp(log_m + log_noise - log_noise[0].real) * (turns.t[1] / math.pi)
        terms[0] *= 0.5
        moved = (self._slopes * lift).T
        m = 1.0 + x + 1j * z
        seen = np.abs(m) > _VANISHED
        change_of_m = turns.real @ moved + moved.sum(axis=0) + 1j * (turns.imaginary @ moved)
        slope = n * np.where(seen, 1.0 / np.where(seen, m, 1.0), 0.0)[:, None] * change_of_m
        waves = np.exp(-1j * np.outer(y, turns.t))
        total, change = (waves @ terms).real, (waves @ (terms[:, None] * slope)).real
        peak = n * log_total + log_noise[0].real - contour.tau * y
        off = self._beyond(contour.tau, tilted, float(turns.t[-1])) + 2.0**-52 * np.sum(np.abs(terms))
        residue, of_residue = self._residue(contour.crossed, y)
        top = np.maximum(peak, residue)
        down, tail = np.exp(peak - top), np.exp(residue - top)
        p = total * down + tail
        usable = p > 0
        safe = np.where(usable, p, 1.0)
        score = (change * down[:, None] + np.outer(tail, of_residue)) / safe[:, None]
        error = np.where(usable & np.all(np.isfinite(score), axis=1), off * down / safe, np.inf)
        return _Found(np.where(usable, top + np.log(safe), -np.inf), error, np.where(usable[:, None], score, 0.0))

    def _beyond(self, tau: float, tilted: Floats, last: float) -> float:
        """A bound on the integral after the last frequency, over the integrand at the first."""
        n, s = float(self.group.inversion.n), self.record.s
        variance = float(tilted @ (s - tilted @ s) ** 2)
        in_atoms = (self.record.atom >= 0).astype(float)
        log_m = n * float(log_beyond(s, tilted, in_atoms, last / n, variance))
        return math.exp(min(log_m + _log_tail(self.group.inversion.transform, tau, last), 700.0)) / math.pi

    def _residue(self, side: float, y: Floats) -> tuple[Floats, Floats]:
        """log of the residue of a pole that was passed, if one was, and its score (d,)."""
        if side == 0:
            return np.full(y.size, -np.inf), np.zeros(len(self._slopes))
        n, pole = float(self.group.inversion.n), float(self.group.inversion.transform.pole)
        _, lift, log_total = _tilted(self.record, side * pole / n)
        return n * log_total - side * pole * y + math.log(0.5 * pole), n * (self._slopes @ lift)


#: e to this is still a number
_HIGHEST = 700.0


def _tilted(record: Record, kappa: float) -> tuple[Floats, Floats, float]:
    """The weights tilted by e^{κs}, what each of them is multiplied by for that, and log M(κ)."""
    exponent, weights = kappa * record.s, record.weights[0]
    # 1 + Σ w (e^{κs} − 1): n times its logarithm keeps its digits where n is large and κ is small
    gentle = np.max(np.abs(exponent)) < 1.0
    # where a weight is 0 there is nothing to lift, however far: a slope there would be infinite, and is told as such
    top = 0.0 if gentle else float(np.max(exponent[weights > 0]))
    if gentle:
        total = math.log1p(weights @ np.expm1(exponent))
    else:
        total = top + math.log(weights @ np.exp(np.minimum(exponent - top, _HIGHEST)))
    lift = np.exp(np.minimum(exponent - total, _HIGHEST))
    return weights * lift, lift, total


def _log_noise(transform: Any, tau: float, t: Floats) -> Complexes:
    """log of the noise's transform at ζ = τ + it."""
    square = (float(transform.scale) * (tau + 1j * t)) ** 2
    return np.asarray(0.5 * square if isinstance(transform, GaussianTransform) else -np.log(1.0 - square))


def _log_tail(transform: Any, tau: float, last: float) -> float:
    """A bound on log ∫ |N(τ + it)/N(τ)| dt from the last frequency on."""
    b = float(transform.scale)
    if isinstance(transform, GaussianTransform):
        return -0.5 * (b * last) ** 2 - math.log(b * b * last)
    return math.log(abs(1.0 - (b * tau) ** 2)) - 2.0 * math.log(b) - math.log(last)
