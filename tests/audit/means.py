"""The law of a noisy mean: powers of an FFT over the lattice of one record, then the noise summed over it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import fft, stats

from tests.audit.laws import Lattice


@dataclass(frozen=True)
class Noise:
    """Laplace or Gaussian noise of a scale; on multiples of `step` if there is one."""

    kind: str
    scale: float
    step: float | None = None

    def density(self, v):
        law = stats.laplace if self.kind == "Laplace" else stats.norm
        return law.pdf(v, scale=self.scale)

    def mass(self, k):
        """P(V = k·step): the discrete Laplace or Gaussian."""
        s = self.scale / self.step
        k = np.asarray(k, dtype=float)
        if self.kind == "Laplace":
            return np.tanh(0.5 / s) * np.exp(-np.abs(k) / s)
        around = np.arange(-np.ceil(60 * s + 10), np.ceil(60 * s + 10) + 1)
        return np.exp(-0.5 * (k / s) ** 2) / np.exp(-0.5 * (around / s) ** 2).sum()


def sum_law(record: Lattice, n: int, most=2**22) -> Lattice:
    """The law of the sum of n records: the whole of it, or a window of 30 standard deviations on either side."""
    if n == 1:
        return record  # without the rounding of a transform, which far out is all that there is
    full = n * (record.mass.size - 1) + 1
    index = np.arange(record.mass.size)
    mean = float(record.mass @ index)
    spread = float(np.sqrt(max(record.mass @ (index - mean) ** 2, 0.0) * n))
    window = int(min(full, 60 * spread + 4 * record.mass.size + 64))
    size = fft.next_fast_len(window, real=True)
    if size > most:
        raise MemoryError(f"the lattice of the sum has {size} points")
    start = 0 if window == full else round(n * mean) - window // 2
    folded = np.zeros(size)
    np.add.at(folded, index % size, record.mass)
    transform = fft.rfft(folded)
    size_of, angle = np.abs(transform), np.angle(transform)
    mass = fft.irfft(size_of**n * np.exp(1j * (n * angle)), size)
    mass = np.roll(mass, -(start % size))[:window]
    return Lattice(n * record.first + start * record.step, record.step, np.maximum(mass, 0.0))


def log_density(record: Lattice, n: int, noise: Noise, y) -> np.ndarray:
    """log p(y) of the mean of n records plus noise."""
    y = np.atleast_1d(np.asarray(y, dtype=float))
    if noise.step is not None:
        return np.log(_on_lattice(record, n, noise, y))
    total = sum_law(record, n)
    u = total.points / n
    return np.log(np.asarray([total.mass @ noise.density(value - u) for value in y]))


def _on_lattice(record: Lattice, n: int, noise: Noise, y):
    """u rounded to the lattice, ⌊u/step + ½⌋, then discrete noise."""
    total, place = sum_law(record, n), np.round(np.asarray(y) / noise.step)
    whole = total if record.step == 1.0 else _all_in_atoms(record, n)
    # ties are decided as exact arithmetic would, by a nudge far below the distance to any other value
    k = np.floor(whole.points / n / noise.step + 0.5 + 1e-9)
    found = np.asarray([whole.mass @ noise.mass(p - k) for p in place])
    if record.step == 1.0:
        return found
    # what is left has a density. Cells' middles and atoms are half a cell apart, so that every other point may be empty
    u, half = total.points / n, 0.5 * total.step / n
    mass = np.convolve(total.mass - whole.mass, [0.25, 0.5, 0.25])
    edges = np.concatenate([[u[0] - 3 * half], u - half, u[-1] + half * np.asarray([1, 3])])
    cumulated = np.concatenate([[0.0], np.cumsum(mass)])
    k = np.arange(np.floor(u[0] / noise.step + 0.5) - 1, np.floor(u[-1] / noise.step + 0.5) + 2)
    below = np.interp((k - 0.5) * noise.step, edges, cumulated)
    mass = np.diff(np.append(below, cumulated[-1]))
    return found + np.asarray([mass @ noise.mass(p - k) for p in place])


def _all_in_atoms(record: Lattice, n: int) -> Lattice:
    """The part of the sum's law in which every record sits in an atom: at the edges of cells, the even places."""
    atoms = np.where(np.arange(record.mass.size) % 2 == 0, record.mass, 0.0)
    share = atoms.sum()
    whole = sum_law(record, n)
    if share == 0.0:
        return Lattice(whole.first, whole.step, np.zeros_like(whole.mass))
    # in the same window: the transform of the atoms alone, at the size of the whole's
    first = round((whole.first - n * record.first) / record.step)
    size = fft.next_fast_len(whole.mass.size, real=True)
    folded = np.bincount(np.arange(atoms.size) % size, atoms, size)
    mass = np.roll(fft.irfft(fft.rfft(folded) ** n, size), -(first % size))[: whole.mass.size]
    return Lattice(whole.first, whole.step, np.where(mass > 1e-16 * share**n, mass, 0.0))


@dataclass(frozen=True)
class Grid:
    """Equally spaced values of y, the same for every θ that is compared."""

    low: float
    step: float
    points: int

    @property
    def y(self):
        return self.low + self.step * np.arange(self.points)


def grid_of(record: Lattice, n: int, noise: Noise, points: int) -> Grid:
    """All y that matter: what the records can make, and the noise around it."""
    total = sum_law(record, n)
    u = total.points[total.mass > 1e-18] / n
    spread = (u[-1] - u[0]) * 0.1
    reach = (40 if noise.kind == "Laplace" else 9) * noise.scale + spread
    low, high = u[0] - reach, u[-1] + reach
    return Grid(low, (high - low) / (points - 1), points)


def profile(record: Lattice, n: int, noise: Noise, grid: Grid):
    """p(y) on a grid: masses shared between neighbouring points of it, so that mean and total stay, then the noise."""
    total = sum_law(record, n)
    place = (total.points / n - grid.low) / grid.step
    inside = (place >= 0) & (place < grid.points - 1)
    place, mass = place[inside], total.mass[inside]
    left = np.floor(place).astype(int)
    split = np.bincount(left, mass * (1 - (place - left)), grid.points)
    split += np.bincount(left + 1, mass * (place - left), grid.points)
    kernel = noise.density(grid.step * (np.arange(2 * grid.points) - grid.points))
    size = fft.next_fast_len(3 * grid.points, real=True)
    found = fft.irfft(fft.rfft(split, size) * fft.rfft(kernel, size), size)
    return np.maximum(found[grid.points : 2 * grid.points], 0.0)
