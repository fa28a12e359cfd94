"""The law of a mean that is rounded to the lattice of its noise, by cells: where no inversion settles.

Few records with atoms, with jumps and poles of their density, have a transform that hardly decays, and that of noise on
a lattice comes back for ever. But p(y) = Σ_j q_j g(y − j), with q_j the probability that the mean is rounded to j: all
terms are positive, and differences of a distribution function. With no record outside the atoms, or one, that is known.
The rest has a density: a record's is cut into cells, whose masses are put in their middles and summed by a fast
transform. What this gets wrong is a power of a cell's width: four widths remove most of it, and say how much may be
left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from confide.likelihood.inversion.atoms import atom_values, nearest_atom, too_many, ways
from confide.likelihood.local.response import ResponseCells, level_law
from confide.likelihood.noise.channel import noise_step, noise_transform
from confide.likelihood.noise.density import log_noise
from confide.likelihood.record_law.pieces import pieces_of
from confide.likelihood.slow_inversion.contour_sums import power
from confide.likelihood.slow_inversion.extrapolated import extrapolated

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: points of the lattice of the sum
_LONGEST = 2**23
#: points at which the distribution function of one record is asked for at most
_MOST_POINTS = 6000
#: how near to a half a mean, in steps, is one: halves are rounded up
_TIE = 1e-9
_ROUNDING = 1e-15
#: errors at which finer cells are tried, and the log of a share of p that is nothing
_UNSETTLED, _NOTHING = 3e-8, -25.0
#: the share of the range of s above which a window is not worth it
_NARROWER = 0.7


@dataclass(frozen=True, eq=False)
class CellRecord:
    """One record at one θ: its atoms with their shares, the range of its values, and how it is cut into cells."""

    model: Model
    theta: Floats
    atoms: Floats
    ends: tuple[float, float]

    def cut(self, thresholds: Floats) -> tuple[Floats, Floats, Floats]:
        """The shares of the atoms; and of cells between thresholds, outside of atoms, a value and the mass of each."""
        law = level_law(self.model.population, self.model.channel.statistic, thresholds)
        assert isinstance(law, ResponseCells)
        mass, s = law.weights_at(self.theta[None])[0], law.s[0]
        place = nearest_atom(s, self.atoms)
        # a cell on which s moves is in no atom, though the middle of it may have an atom's value
        middle, pieces = 0.5 * (law.edges[:-1] + law.edges[1:]), pieces_of(self.model.channel.statistic)
        place[:-2][pieces.directions[np.searchsorted(pieces.ends, middle) - 1] != 0] = -1
        shares = np.bincount(place[place >= 0], mass[place >= 0], self.atoms.size)
        # the middle of a cell may lie where there are no records, beyond the end of their values
        return shares.astype(np.float64), np.clip(s[place < 0], *self.ends), mass[place < 0]


def log_likelihood(
    model: Model, theta: Floats, ends: tuple[float, float], y: Floats, most: int
) -> tuple[Floats, Floats]:
    """log p at values y for one θ at which s lies between `ends`, and how far off p may be, relative to it.

    A record's values are cut into so many cells at most.
    """
    record = CellRecord(model, theta, atom_values(model.population, model.channel.statistic), ends)
    n, transform = model.channel.n, noise_transform(model)
    assert transform is not None
    step = noise_step(transform)
    first, last = (np.floor(end / step + 0.5 + _TIE) for end in ends)
    many = too_many(n, max(record.atoms.size, 1)) or (last - first) * n > _LONGEST
    if many or not ends[0] < ends[1]:
        return np.full(y.shape, np.nan), np.full(y.shape, np.inf)
    index = np.arange(first, last + 1)
    if index.size == 1:  # whatever the records are, their mean is rounded to one point
        return log_noise(transform, y - step * first), np.zeros(y.shape)
    exact, single = _few_outside(record, n, step, index)
    log_g = log_noise(transform, y[:, None] - step * index)
    found = Summed(record, n, step, index, exact, single, most)
    log_p, error = found(log_g, ends)
    for side in (y < np.mean(ends), y >= np.mean(ends)):
        again = np.flatnonzero(side & (error > _UNSETTLED) & np.isfinite(log_p))
        if again.size == 0:
            continue
        window = _window(ends, n, step, index[np.any(log_g[again] > log_p[again, None] + _NOTHING, axis=0)])
        if window[1] - window[0] < _NARROWER * (ends[1] - ends[0]):  # finer cells where the records must have been
            log_p[again], error[again] = found(log_g[again], window)
    return log_p, error


def _window(ends: tuple[float, float], n: int, step: float, index: Floats) -> tuple[float, float]:
    """Where each of n records lies whose mean is rounded to one of these points: the others can do no more than so."""
    low, high = step * (index[0] - 0.5), step * (index[-1] + 0.5)
    return max(ends[0], n * low - (n - 1) * ends[1]), min(ends[1], n * high - (n - 1) * ends[0])


@dataclass(frozen=True, eq=False)
class Summed:
    """The law of the rounded mean of n records: what is exact at each point, and if one record outside is in that."""

    record: CellRecord
    n: int
    step: float
    index: Floats
    exact: Floats
    single: bool
    most: int

    def __call__(self, log_g: Floats, window: tuple[float, float]) -> tuple[Floats, Floats]:
        """log p and its relative error under noise (Y, points), of records that lie in a window, in cells of it."""
        cells = _cut_up(self.record, self.n, window, self.most)
        laws = [
            self.exact + np.diff(_more_outside(cells.joined(k), self.n, self.step, self.index, self.single))
            for k in (8, 4, 2, 1)
        ]
        top = log_g.max(axis=1)
        noise = np.exp(log_g - top[:, None])
        p, moved = extrapolated(np.stack(laws) @ noise.T)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(p) + top, np.where(p > 0, (moved + _ROUNDING * noise.sum(axis=1)) / p, np.inf)


def _few_outside(record: CellRecord, n: int, step: float, index: Floats) -> tuple[Floats, bool]:
    """P(rounded to each point, and no record outside the atoms, or one); and whether one was asked for."""
    found, shares = np.zeros(index.size), record.cut(np.zeros(0))[0]
    atoms, shares = record.atoms[shares > 0], shares[shares > 0]
    if atoms.size == 0:
        return found, False
    every = ways(n, atoms.size)
    place = np.floor(every.counts @ atoms / (n * step) + 0.5 + _TIE) - index[0]
    held = (place >= 0) & (place < index.size)  # others have no probability
    found += np.bincount(place[held].astype(int), np.exp(every.log_mass(shares[None])[0])[held], index.size)
    others = ways(n - 1, atoms.size)
    weight = n * np.exp(others.log_mass(shares[None])[0])
    seen = weight > 1e-18
    at = (n * step * (index[1:, None] - 0.5) - (others.counts @ atoms)[seen]).ravel()
    inside = np.unique(at[(at > record.ends[0]) & (at < record.ends[1])])
    if inside.size > _MOST_POINTS:
        return found, False
    _, s, mass = record.cut(inside)
    order = np.argsort(s)
    total = np.concatenate([[0.0], np.cumsum(mass[order])])
    below = total[np.searchsorted(s[order], at)].reshape(index.size - 1, -1) @ weight[seen]
    return found + np.diff(np.concatenate([[0.0], below, [total[-1] * weight.sum()]])), True


@dataclass(frozen=True, eq=False)
class CutRecord:
    """A record's values from `low` on in cells of one width: masses outside the atoms, and the atoms with theirs."""

    low: float
    width: float
    mass: Floats
    atoms: Floats
    shares: Floats

    def joined(self, k: int) -> CutRecord:
        """So many cells in one."""
        return replace(self, width=k * self.width, mass=self.mass.reshape(-1, k).sum(axis=1))


def _cut_up(record: CellRecord, n: int, window: tuple[float, float], most: int) -> CutRecord:
    """So many cells, or as many as there is room for, from the least value on: if densities are rough, it is there."""
    low, high = window
    cells = 8 * (min(most, _LONGEST // (2 * n)) // 8)
    width = (high - low) / cells
    shares, s, mass = record.cut(np.asarray(low + width * np.arange(cells + 1.0)))
    inside, held = (s >= low) & (s <= high), (record.atoms >= low) & (record.atoms <= high)
    place = np.clip((s[inside] - low) // width, 0, cells - 1).astype(int)
    masses = np.bincount(place, mass[inside], cells).astype(np.float64)
    return CutRecord(low, width, masses, record.atoms[held], shares[held])


def _more_outside(record: CutRecord, n: int, step: float, index: Floats, single: bool) -> Floats:
    """P(sum below the first point's cell, between points, and all), with two records outside the atoms, or one."""
    low, width, cells = record.low, record.width, record.mass.size
    # points half a cell apart: middles of cells are at odd places
    law, atoms = np.zeros(2 * cells + 1), np.zeros(2 * cells + 1)
    law[1::2] = record.mass
    for value, share in zip(record.atoms, record.shares, strict=True):
        place = np.clip(2.0 * (value - low) / width, 0.0, 2.0 * cells)
        left = min(int(place), 2 * cells - 1)
        atoms[left : left + 2] += share * np.asarray([1.0 - (place - left), place - left])
    size = fft.next_fast_len(2 * cells * n + 1, real=True)
    rest, held = fft.rfft(law, size), fft.rfft(atoms, size)
    fewer = power(held, n - 1)
    sums = fft.irfft(power(rest + held, n) - fewer * (held + n * rest if single else held), size)[: 2 * cells * n + 1]
    # a mass in the middle of a cell is spread over it
    place = 2.0 * (n * step * (index[1:] - 0.5) - n * low) / width
    total = np.concatenate([[0.0], np.cumsum(sums)])
    near = np.floor(place).astype(int)[:, None] + np.arange(-1, 3)
    shares = np.clip(0.5 * (place[:, None] - near) + 0.5, 0.0, 1.0)
    partly = np.where((near >= 0) & (near < sums.size), shares * sums[np.clip(near, 0, sums.size - 1)], 0.0)
    below = total[np.clip(near[:, 0], 0, sums.size)] + partly.sum(axis=1)
    return np.concatenate([[0.0], below, total[-1:]])
