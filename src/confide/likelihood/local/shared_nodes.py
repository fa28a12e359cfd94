"""Still nodes: the law of a record on nodes that many θ share.

With nodes x_j that do not move, p(y | θ) = Σ_j A(y)_j p(x_j | θ): a matrix that knows y but not θ,
times densities that know θ but not y. Panels are halved until the density at each of the given θ is the polynomial
through its 16 nodes, relative to its size on the panel, so that tails keep their digits. On a panel without a kink
A(y)_j is the Gauss–Legendre weight times the noise. Laplace noise has a kink at s(x) = y, at most one on a monotone
piece of s; on its panel

    A(y)_j = ∫ ℓ_j(x) g(y − s(x)) dx,

split at the kink, with the Lagrange basis ℓ_j: product integration, as good as the polynomial is, whatever θ.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.likelihood.local.response import ResponseCells
from confide.likelihood.local.shared_panels import SharedPanels, panels_for
from confide.likelihood.record_law.panels import TO_LEGENDRE, panel_rule
from confide.likelihood.record_law.pieces import Pieces
from confide.likelihood.record_law.record import ORDER, Floats, RecordLaw
from confide.mechanism import Noise
from confide.population import Population
from confide.statistic import Statistic

#: entries of a matrix of values and nodes that are held at once: 32 MB
_ENTRIES = 4_000_000
_FINE = np.polynomial.legendre.leggauss(20)


def rounded(noise: Noise, values: Floats) -> Floats:
    """Values on the noise's lattice, if it has one."""
    return noise.step * np.floor(values / noise.step + 0.5) if noise.step is not None else values


@dataclass(frozen=True, eq=False)
class SharedNodes:
    """p(y | θ) at given θ from nodes that serve them all: points, level sets, or panels."""

    noise: Noise
    law: RecordLaw | ResponseCells
    thetas: Floats
    weights: Floats
    panels: SharedPanels | None = None

    def some(self, chosen: Any) -> SharedNodes:
        """The same at some of the θ."""
        return replace(self, thetas=self.thetas[chosen], weights=self.weights[chosen])

    def log_prob(self, y: Floats) -> Floats:
        """log p(y | θ), shape (θ, y); −∞ where it underflows."""
        parts = []
        for matrix, offset in map(self._matrix, self._blocks(y)):
            total = self.weights @ matrix.T
            with np.errstate(divide="ignore"):
                parts.append(np.log(np.where(total > 1e-290, total, 0.0)) + offset)
        return np.concatenate(parts, axis=1)

    def with_slopes(self, y: Floats) -> tuple[Floats, Floats]:
        """p(y | θ) and ∂p/∂θ, shapes (θ, y) and (θ, y, d)."""
        p, slopes = [], []
        for relative, offset in map(self._matrix, self._blocks(y)):
            matrix = relative * np.exp(offset)[:, None]
            p.append(self.weights @ matrix.T)
            slopes.append(np.einsum("yj,tjd->tyd", matrix, self._weight_slopes, optimize=True))
        return np.concatenate(p, axis=1), np.concatenate(slopes, axis=1)

    def expected(self, y: Floats) -> Floats:
        """How many of the records behind y are expected at each node, at the first θ."""
        counts = np.zeros_like(self.weights[0])
        for matrix, _ in map(self._matrix, self._blocks(y)):
            counts += self.weights[0] * ((1.0 / (matrix @ self.weights[0])) @ matrix)
        return counts

    @property
    def variation(self) -> Floats:
        """∫ |∂p(x | θ)/∂θ| dx, shape (θ, d): what slopes in θ are made of before they cancel."""
        base = np.ones(self._s.size) if self.panels is None else self.panels.base
        return np.asarray(np.einsum("j,tjd->td", base, np.abs(self._weight_slopes)))

    @functools.cached_property
    def _weight_slopes(self) -> Floats:
        return self.law.slopes_at(self.thetas)

    @functools.cached_property
    def _s(self) -> Floats:
        return rounded(self.noise, self.law.s[0])

    def _blocks(self, y: Floats) -> list[Floats]:
        rows = max(1, _ENTRIES // self._s.size)
        return [y[at : at + rows] for at in range(0, y.size, rows)]

    def _matrix(self, y: Floats) -> tuple[Floats, Floats]:
        """A (y, nodes), relative to the noise at the end of the range nearest to y, and the log of that."""
        nearest = _beyond(y, self._s)
        if self.panels is not None:
            matrix = _on_panels(self.noise, self.panels, y.tobytes())
        else:
            matrix = _kernel(self.noise, nearest[:, None], y[:, None], self._s)
        far = nearest / self.noise.scale
        exponent = -far if self.noise.exponential else -0.5 * far**2
        return matrix, exponent + _log_peak(self.noise)


@functools.lru_cache(maxsize=64)
def _log_peak(noise: Noise) -> float:
    return float(noise.log_prob(jnp.zeros(())))


def _beyond(y: Floats, s: Floats) -> Floats:
    """How far y lies outside the range of s."""
    return np.asarray(np.maximum(np.maximum(s.min() - y, y - s.max()), 0.0))


def _kernel(noise: Noise, nearest: Floats, y: Floats, s: Floats) -> Floats:
    """g(y − s) over its value at the end of the range nearest to y, so that nothing underflows beyond the range."""
    gap = np.asarray(y - s)
    np.abs(gap, out=gap)  # the matrix is large, and every copy of it takes as long as the arithmetic
    if noise.exponential:
        np.subtract(nearest, gap, out=gap)
        np.divide(gap, noise.scale, out=gap)
        return np.exp(gap, out=gap)
    return np.asarray(np.exp(0.5 * (nearest - gap) * (nearest + gap) / noise.scale**2))


# the search for a posterior asks for the same values at one set of θ after another
@functools.lru_cache(maxsize=1)
def _on_panels(noise: Noise, panels: SharedPanels, content: bytes) -> Floats:
    """A (y, nodes) on panels."""
    y, s = np.frombuffer(content), panels.law.s[0]
    nearest, frame = _beyond(y, s), panels.frame
    matrix = _kernel(noise, nearest[:, None], y[:, None], s)
    matrix *= panels.base
    if noise.kinked:
        for piece in frame.piece[frame.pieces.directions[frame.piece] != 0]:
            panel, entries = _kink(noise, panels, nearest, y, int(piece))
            matrix[np.arange(y.size)[:, None], panel[:, None] * ORDER + np.arange(ORDER)] = entries
    matrix.flags.writeable = False
    return matrix


def _kink(
    noise: Noise, panels: SharedPanels, nearest: Floats, y: Floats, piece: int
) -> tuple[NDArray[np.intp], Floats]:
    """The panel on which s(x) = y, on a piece, and ∫ ℓ_j(x) g(y − s(x)) dx there, split at that point."""
    pieces, edges = panels.frame.pieces, panels.edges
    ends = np.clip(pieces.ends[piece : piece + 2], edges[0], edges[-1])
    first, last = np.searchsorted(edges, ends) - np.array([0, 1])
    root = np.clip(_roots(pieces, piece, y.tobytes()), *ends)
    panel = np.clip(np.searchsorted(edges, root, side="right") - 1, first, last)
    a, b = edges[panel], edges[panel + 1]
    low, high = np.stack([a, root], axis=1), np.stack([root, b], axis=1)
    x, weights = panel_rule(low, high, _FINE)
    s = pieces.values(x, piece)[0]
    g = weights * _kernel(noise, nearest[:, None, None], y[:, None, None], s)
    place = (2.0 * x - (a + b)[:, None, None]) / (b - a)[:, None, None]
    legendre = np.polynomial.legendre.legvander(place.reshape(y.size, -1), ORDER - 1)
    return panel, (g.reshape(y.size, 1, -1) @ legendre)[:, 0] @ TO_LEGENDRE


@functools.lru_cache(maxsize=64)
def _roots(pieces: Pieces, piece: int, content: bytes) -> Floats:
    """Where s(x) = y on a piece: the same for all θ, and asked for at every set of them."""
    return np.asarray(pieces.solve(np.frombuffer(content), piece))


def still_on(law: RecordLaw | ResponseCells, noise: Noise, thetas: Floats) -> SharedNodes:
    """Still nodes that are given: points or level sets."""
    return SharedNodes(noise, law, thetas, law.weights_at(thetas))


def still_panels(
    population: Population, statistic: Statistic, noise: Noise, thetas: Floats, changes: int, nats: float
) -> SharedNodes:
    """Still panels for the θ (M, d), which resolve the density down to e^{−nats} of the mass."""
    panels, weights = panels_for(population, statistic, changes, 50.0 * math.ceil(nats / 50.0), thetas)
    return SharedNodes(noise, panels.law, thetas, weights, panels)
