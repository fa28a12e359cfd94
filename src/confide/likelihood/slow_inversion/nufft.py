"""Fourier sums at points that are not equally spaced, by spreading them over a grid and one fast transform.

    f_k = Σ_j w_j e^{ikx_j},   k = 0 … K        and        g(x) = Re Σ_k c_k e^{−ikx}

Each point is spread over the sixteen nearest grid points by a bump whose own transform is known, and the transform of
the grid is divided by it (Barnett, Magland and af Klinteberg 2019). The error is 1e-13 of Σ|w| or Σ|c|.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray
from scipy import fft, sparse

Floats = NDArray[np.float64]
Complexes = NDArray[np.complex128]

#: grid points that a point is spread over, and the exponent of the bump, for a grid twice as fine as it needs to be
_WIDTH = 16
_BETA = 2.3 * _WIDTH
#: a fast transform is worth as much as so many points one by one, and their phases as so many rows
_FEW, _PHASES, _STRIDE = 48, 8, 256


def _bump(distance: Floats) -> Floats:
    """exp(β(√(1 − r²) − 1)) with r the distance in half widths; 0 beyond."""
    square = 1.0 - (2.0 * distance / _WIDTH) ** 2
    return np.where(square > 0, np.exp(_BETA * (np.sqrt(np.maximum(square, 0.0)) - 1.0)), 0.0)


@functools.lru_cache(maxsize=32)
def _deconvolution(frequencies: int) -> Floats:
    """One over the transform of the bump at k = 0 … K, on the grid of that many frequencies."""
    nodes, weights = np.polynomial.legendre.leggauss(60)
    place = 0.5 * _WIDTH * 0.5 * (nodes + 1.0)
    turns = np.outer(np.arange(frequencies + 1) * (2.0 * np.pi / _size(frequencies)), place)
    return np.asarray(1.0 / (0.5 * _WIDTH * (np.cos(turns) @ (weights * _bump(place)))))


def _size(frequencies: int) -> int:
    return int(fft.next_fast_len(4 * max(frequencies, _WIDTH), real=True))


def spreading(x: Floats, frequencies: int) -> sparse.csr_array:
    """The matrix that spreads points x, periodic in 2π, over the grid for k = 0 … K: shape (grid, points)."""
    size = _size(frequencies)
    place = (x % (2.0 * np.pi)) * (size / (2.0 * np.pi))
    first = np.floor(place).astype(np.int64) - _WIDTH // 2 + 1
    cells = first[:, None] + np.arange(_WIDTH)
    entries = _bump(cells - place[:, None])
    columns = np.repeat(np.arange(x.size), _WIDTH)
    return sparse.csr_array((entries.ravel(), ((cells % size).ravel(), columns)), shape=(size, x.size))


def transform(spread: sparse.csr_array, weights: Floats, frequencies: int) -> Complexes:
    """Σ_j w_j e^{ikx_j} for rows of weights (B, J): shape (B, K+1)."""
    grid = np.asarray(spread @ weights.T).T
    return np.conj(fft.rfft(grid, axis=-1)[..., : frequencies + 1]) * _deconvolution(frequencies)


def values(x: Floats, coefficients: Complexes) -> Floats:
    """Re Σ_k c_k e^{−ikx} at points x, periodic in 2π, for rows of coefficients (B, K+1): shape (B, points)."""
    rows, frequencies = len(coefficients), coefficients.shape[-1] - 1
    if x.size * (rows + _PHASES) <= _FEW * rows:
        return _plainly(x, coefficients)
    size, spread = _size(frequencies), spreading(x, frequencies)
    scaled = np.conj(coefficients * _deconvolution(frequencies))
    scaled[..., 1:] *= 0.5  # irfft counts each frequency twice
    grid = fft.irfft(scaled, n=size, axis=-1, overwrite_x=True) * size
    return np.asarray((spread.T @ grid.T).T)


def _plainly(x: Floats, coefficients: Complexes) -> Floats:
    """The same for few points, where a fast transform computes far more than is asked; e^{−ikx} from k = Ka + b."""
    count = coefficients.shape[-1]
    blocks = -(-count // _STRIDE)
    inner = np.exp(-1j * np.outer(x, np.arange(min(_STRIDE, count))))
    outer = np.exp(-1j * np.outer(x, np.arange(blocks) * _STRIDE))
    turns = (outer[:, :, None] * inner[:, None, :]).reshape(x.size, -1)[:, :count]
    return np.asarray(coefficients.real @ turns.real.T - coefficients.imag @ turns.imag.T)
