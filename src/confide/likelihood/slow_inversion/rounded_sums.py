"""The law of a mean that is rounded to the lattice of its noise, by cells: where no inversion settles.

Few records with atoms, with jumps and poles of their density, have a transform that hardly decays, and that of noise on
a lattice comes back for ever. But p(y) = Σ_j q_j g(y − j), with q_j the probability that the mean is rounded to j: all
terms are positive, and differences of a distribution function. With no record outside the atoms, or one, that is known.
The rest has a density: a record's is cut into cells, whose masses are put in their middles and summed by a fast
transform. What this gets wrong is a power of a cell's width: three widths remove most of it, and say how much may be
left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from confide.likelihood.inversion.atoms import atom_values, nearest_atom, too_many, ways
from confide.likelihood.local.response import ResponseCells, level_law
from confide.likelihood.noise.channel import noise_step, noise_transform
from confide.likelihood.noise.density import log_noise
from confide.likelihood.record_law.pieces import pieces_of

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: cells of a record's law at most, and points of the lattice of the sum
_CELLS, _LONGEST = 2**14, 2**22
#: points at which the distribution function of one record is asked for at most
_MOST_POINTS = 6000
#: how near to a half a mean, in steps, is one: halves are rounded up
_TIE = 1e-9
_ROUNDING = 1e-15
#: ratios of successive changes, on halving the cells, that are taken for those of a power
_SLOWEST, _FASTEST = 1.8, 5.0
#: the least error of that, as a share of what was extrapolated
_LEFT = 1e-2


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


def log_likelihood(model: Model, theta: Floats, ends: tuple[float, float], y: Floats) -> tuple[Floats, Floats]:
    """log p at values y for one θ at which s lies between `ends`, and how far off p may be, relative to it."""
    record = CellRecord(model, theta, atom_values(model.population, model.channel.statistic), ends)  # type: ignore[arg-type]
    n, transform = model.channel.n, noise_transform(model)
    assert transform is not None
    step = noise_step(transform)
    first, last = (np.floor(end / step + 0.5 + _TIE) for end in ends)
    many = too_many(n, max(record.atoms.size, 1)) or (last - first) * n > _LONGEST
    if many or not ends[0] < ends[1]:
        return np.full(y.shape, np.nan), np.full(y.shape, np.inf)
    index = np.arange(first, last + 1)
    exact, single = _few_outside(record, n, step, index)
    cells = min(_CELLS, _LONGEST // (4 * n))
    laws = [
        exact + np.diff(_more_outside(record, n, step, index, count, single)) for count in (cells // 2, cells, 2 * cells)
    ]
    log_g = log_noise(transform, y[:, None] - step * index)
    top = log_g.max(axis=1)
    noise = np.exp(log_g - top[:, None])
    p, moved = _extrapolated(*(noise @ law for law in laws))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(p) + top, np.where(p > 0, (moved + _ROUNDING * noise.sum(axis=1)) / p, np.inf)


def _extrapolated(coarse: Floats, middle: Floats, fine: Floats) -> tuple[Floats, Floats]:
    """The limit of sums by cells of three widths, each half of the one before, and its error.

    Errors are of the second order where the densities that meet are smooth, and of a lower one, still a power, where
    they are not: the ratio of the changes shows which. Where it shows none, nothing is extrapolated.
    """
    first, second = middle - coarse, fine - middle
    ratio = np.where(second != 0, first / np.where(second != 0, second, 1.0), 0.0)
    steady = (ratio > _SLOWEST) & (ratio < _FASTEST)
    left = np.where(steady, second / (np.where(steady, ratio, 2.0) - 1.0), 0.0)
    return fine + left, np.where(steady, np.abs(left - second / 3.0) + _LEFT * np.abs(left), np.abs(second))


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


def _more_outside(record: CellRecord, n: int, step: float, index: Floats, cells: int, single: bool) -> Floats:
    """P(sum below the first point's cell, between points, and all), with two records outside the atoms, or one."""
    low, high = record.ends
    width = (high - low) / cells
    shares, s, mass = record.cut(np.asarray(low + width * np.arange(1.0, cells)))
    # points half a cell apart: middles of cells are at odd places
    law, atoms = np.zeros(2 * cells + 1), np.zeros(2 * cells + 1)
    law[1::2] = np.bincount(np.clip((s - low) // width, 0, cells - 1).astype(int), mass, cells)
    for value, share in zip(record.atoms, shares, strict=True):
        place = np.clip(2.0 * (value - low) / width, 0.0, 2.0 * cells)
        left = min(int(place), 2 * cells - 1)
        atoms[left : left + 2] += share * np.asarray([1.0 - (place - left), place - left])
    size = fft.next_fast_len(2 * cells * n + 1, real=True)
    rest, held = fft.rfft(law, size), fft.rfft(atoms, size)
    power = (rest + held) ** n - held**n - (n * held ** (n - 1) * rest if single else 0.0)
    sums = fft.irfft(power, size)[: 2 * cells * n + 1]
    # a mass in the middle of a cell is spread over it
    place = 2.0 * (n * step * (index[1:] - 0.5) - n * low) / width
    total = np.concatenate([[0.0], np.cumsum(sums)])
    near = np.floor(place).astype(int)[:, None] + np.arange(-1, 3)
    shares = np.clip(0.5 * (place[:, None] - near) + 0.5, 0.0, 1.0)
    partly = np.where((near >= 0) & (near < sums.size), shares * sums[np.clip(near, 0, sums.size - 1)], 0.0)
    below = total[np.clip(near[:, 0], 0, sums.size)] + partly.sum(axis=1)
    return np.concatenate([[0.0], below, total[-1:]])
