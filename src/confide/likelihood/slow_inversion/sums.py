"""The law of a mean on a lattice, summed: where the inversion would need a whole period of frequencies.

Records with values at whole multiples of h from an origin have a sum on a finite lattice. Its law is the n-th power of
a fast transform of one record's masses, tilted by e^{κs} so that the values of interest lie in its middle, and

    p(y) = Σ_k P(S = k) g(y | k/n)

is a sum over it: of noise with a density, on a lattice of its own, finer or coarser. There is no contour to keep away
from a pole, and nothing to truncate; what is lost is rounding, and known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from confide.likelihood.batched import filled
from confide.likelihood.inversion.saddles import Saddles, saddles
from confide.likelihood.noise.density import log_noise
from confide.likelihood.noise.lattice import lattice_spacing

if TYPE_CHECKING:
    from confide.likelihood.inversion.frequencies import Group
    from confide.likelihood.noise.transform import NoiseTransform

Floats = NDArray[np.float64]

#: the longest lattice; and where only a part of it is summed, the log of the mass beyond, at most
_LONGEST, _BEYOND = 2**22, -34.0
#: the shortest, and the log of the mass beyond a shorter one, which is nothing beside the rounding of the others
_SHORTEST, _NOTHING = 2**12, -60.0
#: what sharing a tilt may cost the values of a run: a factor of e⁹ of the sixteen digits
_COST = 9.0
#: shares of the tilt that are tried until the error is small: noise on a coarse lattice does not move with the mean
_SHARES, _SURE = (1.0, 0.5, 0.2, 0.0), 1e-9
#: rounding of the masses that a fast transform of a law and its n-th power leaves, over the largest of them
ROUNDING = 2.0**-48
#: the largest table of values and lattice points
_LARGEST = 4_000_000


@dataclass(frozen=True, eq=False)
class Masses:
    """One record at one θ: values at origin + spacing·k, their masses, and their slopes (d, levels) or none."""

    origin: float
    spacing: float
    k: NDArray[np.intp]
    mass: Floats
    slopes: Floats

    @property
    def s(self) -> Floats:
        """The values."""
        return np.asarray(self.origin + self.spacing * self.k, dtype=np.float64)


@dataclass(frozen=True, eq=False)
class LatticeSum:
    """The tilted law of a sum of n records: means u (K,), masses and their slopes (1 + d, K), and log E e^{κS}."""

    u: Floats
    masses: Floats
    log_total: float


def in_sums(group: Group, thetas: Floats, y: Floats, *, scores: bool) -> tuple[Floats, Floats, Floats]:
    """log p and its relative error at (θ, y) pairs (B, Y), and the score (B, Y, d) if it is asked for."""
    n = int(group.model.channel.n)
    log_prob, error = np.empty((2, *y.shape))
    score = np.zeros((*y.shape, thetas.shape[1] if scores else 0))
    for row, record in enumerate(_records(group, thetas, scores=scores)):
        log_prob[row], error[row], score[row] = _at(group.inversion.transform, n, record, y[row])
    return log_prob, error, score


def sums_at(group: Group, thetas: Floats) -> Iterator[LatticeSum | None]:
    """The law of the sum at each θ, with its slopes; None where the longest lattice does not hold its mass."""
    for record in _records(group, thetas, scores=True):
        law = _sum(record, int(group.model.channel.n), 0.0)
        yield None if np.any(np.isnan(law.masses)) else law


def _records(group: Group, thetas: Floats, *, scores: bool) -> Iterator[Masses]:
    """One record at each θ: the values that it takes there, which may be few of those between the bounds."""
    lattice = lattice_spacing(group.model.population, group.model.channel.statistic)
    assert lattice is not None
    origin, spacing = lattice
    nodes, slopes = group.nodes(filled(thetas)), group.slopes(filled(thetas)) if scores else None
    k = np.round((np.asarray(nodes.s) - origin) / spacing).astype(int)
    for row in range(len(thetas)):
        moving = np.empty((0, k.size)) if slopes is None else np.asarray(slopes.weights[row])
        mass = np.asarray(nodes.weights[row])
        held = (mass > 0) | np.any(moving != 0, axis=0)
        yield Masses(origin, spacing, k[held], mass[held], moving[:, held])


def _at(transform: NoiseTransform, n: int, record: Masses, y: Floats) -> tuple[Floats, Floats, Floats]:
    """log p (Y,), its error, and the score (Y, d)."""
    held = record.mass > 0
    middle = float(record.mass[held] @ record.s[held])
    s = record.s[held] - middle
    limit = float(transform.pole)  # noise with an exponential tail is tilted no further than it
    variance, furthest = float(transform.variance), float(np.max(np.abs(y - middle)))
    table = saddles(s, record.mass[held], n, variance, furthest, limit)
    log_prob, error, score = np.empty(y.size), np.full(y.size, np.inf), np.empty((y.size, len(record.slopes)))
    for share in _SHARES:
        for at in _runs(table, y, middle, np.flatnonzero(error > _SURE)):
            tau = share * float(table.tau(0.5 * (y[at[0]] + y[at[-1]]) - middle))
            law = _sum(record, n, tau / n)
            for some in _blocks(at, law.u.size):
                found = _with_noise(transform, law, tau, y[some])
                better = (share == _SHARES[0]) | (found[1] < error[some])
                chosen = some[better]
                log_prob[chosen], error[chosen], score[chosen] = (part[better] for part in found)
    return log_prob, error, score


def _runs(table: Saddles, y: Floats, middle: float, which: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Those values that are named, sorted, in runs that share a tilt."""
    order = which[np.argsort(y[which])]
    yield from (order[run] for run in table.runs(y[order] - middle, _COST))


def _blocks(which: NDArray[np.intp], points: int) -> Iterator[NDArray[np.intp]]:
    rows = max(1, _LARGEST // points)
    yield from (which[first : first + rows] for first in range(0, which.size, rows))


def _sum(record: Masses, n: int, kappa: float) -> LatticeSum:
    """The law of the sum of n records, each tilted by e^{κs}: all of it, or as much as has mass (NaN if too long)."""
    log_lift = kappa * record.s
    top = float(np.max(log_lift))
    lift = np.exp(log_lift - top)
    total = float(lift @ record.mass)
    tilted = np.vstack([record.mass, record.slopes]) * lift / total
    first, mean = int(record.k.min()), float(tilted[0] @ record.k)
    whole = n * int(record.k.max() - first) + 1
    points, centred = min(whole, _LONGEST), np.asarray(record.k - mean)
    # a long transform costs time, and leaves rounding where there is no mass
    while points > _SHORTEST and _log_beyond(tilted[0], centred, n, 0.25 * points, 80.0) < _NOTHING:
        points //= 2
    start = n * first if points == whole else round(n * mean) - points // 2
    size = int(fft.next_fast_len(points, real=True))
    folded = np.stack([np.bincount(record.k % size, row, size) for row in tilted])
    transform = fft.rfft(folded, axis=1)
    power = transform[0] ** (n - 1)
    masses = fft.irfft(np.concatenate([transform[:1] * power, n * transform[1:] * power]), size, axis=1)
    masses = np.roll(masses, -(start % size), axis=1)[:, :points]
    if points < whole and _log_beyond(tilted[0], centred, n, 0.5 * points, 40.0) > _BEYOND:
        masses = np.full_like(masses, np.nan)
    u = record.origin + record.spacing * ((start + np.arange(points)) / n)
    return LatticeSum(u, masses, n * (np.log(total) + top))


def _log_beyond(mass: Floats, k: Floats, n: int, reach: float, steep: float) -> float:
    """Chernoff's bound on the log of the mass of a sum of n centred records beyond ±reach, at tilts ±steep/reach."""
    tilt = np.asarray([[-1.0], [1.0]]) * steep / reach
    with np.errstate(over="ignore"):
        return float(np.max(n * np.log(np.exp(tilt * k) @ mass)) - steep + np.log(2.0))


def _with_noise(transform: NoiseTransform, law: LatticeSum, tau: float, y: Floats) -> tuple[Floats, Floats, Floats]:
    """Σ_k P(S = k) g(y | k/n), its error and its score, from the law that is tilted by τ."""
    exponent = log_noise(transform, y[:, None] - law.u) - tau * law.u
    top = exponent.max(axis=1)
    weight = np.exp(exponent - top[:, None])
    found = weight @ law.masses.T
    total = found[:, 0]
    usable = total > 0
    safe = np.where(usable, total, 1.0)
    rounding = ROUNDING * float(np.max(np.abs(law.masses[0]))) * weight.sum(axis=1)
    log_prob = np.where(usable, law.log_total + top + np.log(safe), -np.inf)
    return log_prob, np.where(usable, rounding / safe, np.inf), found[:, 1:] / safe[:, None]
