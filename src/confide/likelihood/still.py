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
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.distributions import constraints

from confide.errors import AccuracyError
from confide.likelihood.frames import Frame
from confide.likelihood.frames import frame as frame_of
from confide.likelihood.gauss import HALF_NODES, TO_HALVES, Mask, halve, lagrange, on_panels
from confide.likelihood.pieces import Pieces
from confide.likelihood.record import NODES, ORDER, WEIGHTS, Floats, RecordLaw
from confide.likelihood.response import Cells
from confide.mechanism import DiscreteLaplace, LaplaceNoise, LatticeNoise, Noise
from confide.population import Population
from confide.statistic import Statistic

#: how far the polynomial through a panel's nodes may be off, relative to the density's largest value on the panel
_INTERPOLATED = 1e-11
_LARGEST_DEFECT = 1e-10
_ROUNDING = 16 * np.finfo(float).eps
_CHOSEN = 16
#: θ for which panels are looked for among those of others
_MANY = 32
#: the widest range that panels of others may have
_OCTAVES = 32
_ROWS, _COLUMNS, _ENTRIES = 32, 1024, 4_000_000
_FINE_NODES, _FINE_WEIGHTS = np.polynomial.legendre.leggauss(20)


def is_laplace(noise: Noise) -> bool:
    """Whether the noise decays like e^{−|v|/b}; otherwise like a Gaussian."""
    return isinstance(noise, LaplaceNoise | DiscreteLaplace)


def rounded(noise: Noise, values: Floats) -> Floats:
    """Values on the noise's lattice, if it has one."""
    return noise.step * np.floor(values / noise.step + 0.5) if isinstance(noise, LatticeNoise) else values


@jax.jit
def _weights(law: RecordLaw | Cells, thetas: jax.Array) -> jax.Array:
    return jnp.asarray(jax.vmap(law.weights)(thetas))


@jax.jit
def _slopes(law: RecordLaw | Cells, thetas: jax.Array) -> jax.Array:
    return jnp.asarray(jax.vmap(jax.jacfwd(law.weights))(thetas))


def _tabulated(compute: Callable[..., jax.Array], law: RecordLaw | Cells, thetas: Floats) -> Floats:
    """Weights or their slopes at all θ, in blocks of one size: compiled once per population."""
    rows = []
    for at in range(0, len(thetas), _ROWS):
        block = thetas[at : at + _ROWS]
        padded = np.concatenate([block, np.repeat(block[-1:], _ROWS - len(block), axis=0)])
        rows.append(_one_block(compute, law, padded)[: len(block)])
    return np.concatenate(rows)


def _one_block(compute: Callable[..., jax.Array], law: RecordLaw | Cells, thetas: Floats) -> Floats:
    if isinstance(law, Cells):
        return np.asarray(compute(law, thetas))
    parts = []
    for at in range(0, max(law.x.size, 1), _COLUMNS):
        some = law.x[at : at + _COLUMNS]
        x = np.concatenate([some, np.full(_COLUMNS - some.size, law.x[-1] if law.x.size else law.low)])
        chunk = RecordLaw(law.population, x, np.ones(_COLUMNS), np.zeros(0), law.low, law.high)
        part = np.asarray(compute(chunk, thetas))
        parts.append(part[:, : some.size])
    return np.concatenate([*parts, part[:, _COLUMNS:]], axis=1)  # the atoms are the same in every chunk


@dataclass(frozen=True, eq=False)
class Still:
    """p(y | θ) at given θ from nodes that serve them all: points, level sets, or panels (a frame and their edges)."""

    noise: Noise
    law: RecordLaw | Cells
    thetas: Floats
    weights: Floats
    panels: tuple[Frame, Floats] | None = None

    def some(self, chosen: Any) -> Still:
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

    @property
    def variation(self) -> Floats:
        """∫ |∂p(x | θ)/∂θ| dx, shape (θ, d): what slopes in θ are made of before they cancel."""
        base = np.ones(self._s.size) if self.panels is None else _base(self.panels[1])
        return np.asarray(np.einsum("j,tjd->td", base, np.abs(self._weight_slopes)))

    @functools.cached_property
    def _weight_slopes(self) -> Floats:
        return _tabulated(_slopes, self.law, self.thetas)

    @functools.cached_property
    def _s(self) -> Floats:
        return rounded(self.noise, self.law.s[0])

    def _blocks(self, y: Floats) -> list[Floats]:
        rows = max(1, _ENTRIES // self._s.size)
        return [y[at : at + rows] for at in range(0, y.size, rows)]

    def _beyond(self, y: Floats) -> Floats:
        """How far y lies outside the range of s."""
        return np.asarray(np.maximum(np.maximum(self._s.min() - y, y - self._s.max()), 0.0))

    def _kernel(self, y: Floats, s: Floats) -> Floats:
        """g(y − s) over its value at the end of the range nearest to y, so that nothing underflows beyond the range."""
        nearest, gap = self._beyond(y), np.asarray(y - s)
        np.abs(gap, out=gap)  # the matrix is large, and every copy of it takes as long as the arithmetic
        if is_laplace(self.noise):
            np.subtract(nearest, gap, out=gap)
            np.divide(gap, self.noise.scale, out=gap)
            return np.exp(gap, out=gap)
        return np.asarray(np.exp(0.5 * (nearest - gap) * (nearest + gap) / self.noise.scale**2))

    def _matrix(self, y: Floats) -> tuple[Floats, Floats]:
        """A (y, nodes), relative to the noise at the end of the range nearest to y, and the log of that."""
        matrix = self._kernel(y[:, None], self._s)
        if self.panels is not None:
            frame, edges = self.panels
            matrix *= _base(edges)
            if isinstance(self.noise, LaplaceNoise):
                for piece in frame.piece[frame.pieces.directions[frame.piece] != 0]:
                    self._integrate_kink(frame, edges, matrix, y, int(piece))
        nearest = self._beyond(y) / self.noise.scale
        exponent = -nearest if is_laplace(self.noise) else -0.5 * nearest**2
        return matrix, exponent + float(self.noise.log_prob(jnp.zeros(())))

    def _integrate_kink(self, frame: Frame, edges: Floats, matrix: Floats, y: Floats, piece: int) -> None:
        """Put ∫ ℓ_j(x) g(y − s(x)) dx, split where s(x) = y on this piece, into the panel that holds that point."""
        ends = np.clip(frame.pieces.ends[piece : piece + 2], edges[0], edges[-1])
        first, last = np.searchsorted(edges, ends) - np.array([0, 1])
        root = np.clip(_roots(frame.pieces, piece, y.tobytes()), *ends)
        panel = np.clip(np.searchsorted(edges, root, side="right") - 1, first, last)
        a, b = edges[panel], edges[panel + 1]
        low, high = np.stack([a, root], axis=1), np.stack([root, b], axis=1)
        x = on_panels(low, high, _FINE_NODES)
        s = frame.pieces.values(x, piece)[0]
        g = 0.5 * (high - low)[..., None] * _FINE_WEIGHTS * self._kernel(y[:, None, None], s)
        basis = lagrange((2.0 * x - (a + b)[:, None, None]) / (b - a)[:, None, None])
        columns = panel[:, None] * ORDER + np.arange(ORDER)
        matrix[np.arange(y.size)[:, None], columns] = np.einsum("ypn,ypnj->yj", g, basis)


@functools.lru_cache(maxsize=64)
def _roots(pieces: Pieces, piece: int, content: bytes) -> Floats:
    """Where s(x) = y on a piece: the same for all θ, and asked for at every set of them."""
    return np.asarray(pieces.solve(np.frombuffer(content), piece))


def still_on(law: RecordLaw | Cells, noise: Noise, thetas: Floats) -> Still:
    """Still nodes that are given: points or level sets."""
    return Still(noise, law, thetas, _tabulated(_weights, law, thetas))


def still_panels(
    population: Population, statistic: Statistic, noise: Noise, thetas: Floats, changes: int, nats: float
) -> Still:
    """Still panels for the θ (M, d), which resolve the density down to e^{−nats} of the mass."""
    depth = 50.0 * math.ceil(nats / 50.0)
    frame, edges, law, weights = _panels(population, statistic, changes, depth, thetas.tobytes())
    return Still(noise, law, thetas, weights, (frame, edges))


@functools.lru_cache(maxsize=32)
def _panels(
    population: Population, statistic: Statistic, changes: int, nats: float, content: bytes
) -> tuple[Frame, Floats, RecordLaw, Floats]:
    """Panels that serve all θ: those of a round range around them, if they do, or their own; and weights."""
    thetas = np.frombuffer(content).reshape(-1, population.dimension)
    frame = frame_of(population, statistic, changes)
    around = _round_range(population, thetas)
    edges = None if around is None else _round_edges(population, statistic, changes, nats, *around)
    if edges is not None:
        law, rough, weights, missing = _looked_at(population, frame, edges, thetas, nats)
        if not np.any(rough) and missing.max() <= _LARGEST_DEFECT:
            return frame, edges, law, weights
    return frame, *_refined(population, frame, thetas, nats)


def _round_range(population: Population, thetas: Floats) -> tuple[int, int] | None:
    """Powers of two around many values of a positive parameter: data that differ a little share their panels."""
    positive = [parameter.constraint for parameter in population.space] == [constraints.positive]
    if not positive or len(thetas) < _MANY or thetas.min() <= 0 or not np.all(np.isfinite(thetas)):
        return None
    low, high = math.floor(math.log2(thetas.min())), math.ceil(math.log2(thetas.max()))
    return (low, high) if high - low <= _OCTAVES else None


@functools.lru_cache(maxsize=32)
def _round_edges(
    population: Population, statistic: Statistic, changes: int, nats: float, low: int, high: int
) -> Floats | None:
    """Panels for a range of θ from one power of two to another; None where that is more than can be integrated."""
    thetas = 2.0 ** np.linspace(low, high, 8 * (high - low) + 1)[:, None]
    try:
        return _refined(population, frame_of(population, statistic, changes), thetas, nats)[0]
    except AccuracyError:
        return None


def _looked_at(
    population: Population, frame: Frame, edges: Floats, thetas: Floats, nats: float
) -> tuple[RecordLaw, Mask, Floats, Floats]:
    """The law on panels; which are too wide at which θ; the weights; and by how much their sums miss one."""
    law = _panel_law(population, frame, edges)
    wide = np.diff(edges) > _smallest(frame)
    rough = ~_resolved(population, thetas, edges[:-1], edges[1:], _floor(nats)) & wide
    weights = _tabulated(_weights, law, thetas)
    return law, rough, weights, np.abs(weights @ _base(edges) - 1.0)


def _smallest(frame: Frame) -> float:
    return float(2.0**-44 * (frame.high - frame.low))


def _floor(nats: float) -> float:
    return max(1e-17 * math.exp(-nats), 1e-280)


def _refined(population: Population, frame: Frame, thetas: Floats, nats: float) -> tuple[Floats, RecordLaw, Floats]:
    """Panels for a few θ, then for those at which a panel is still too wide or the total mass not one; and weights."""
    smallest = _smallest(frame)
    edges, chosen = frame.edges, np.unique(np.linspace(0, len(thetas) - 1, _CHOSEN).astype(int))
    while True:
        some = thetas[chosen]
        edges = halve(
            edges,
            lambda a, b: _resolved(population, some, a, b, _floor(nats)).all(axis=0) | (b - a <= smallest),  # noqa: B023
        )
        law, rough, weights, missing = _looked_at(population, frame, edges, thetas, nats)
        more = np.setdiff1d(np.flatnonzero(rough.any(axis=1) | (missing > _LARGEST_DEFECT)), chosen)
        if more.size == 0:
            break
        chosen = np.union1d(chosen, more[np.linspace(0, more.size - 1, _CHOSEN).astype(int)])
    if missing.max() > _LARGEST_DEFECT:
        raise AccuracyError(
            f"the law of a record of {population.name} on {(frame.low, frame.high)} sums to one within "
            f"{missing.max():.0e} only; declare where its density is not smooth (breaks), or narrow the range of theta"
        )
    return edges, law, weights


def _base(edges: Floats) -> Floats:
    """Gauss–Legendre weights on the panels, and one for each atom."""
    return np.concatenate([(0.5 * np.diff(edges)[:, None] * WEIGHTS).ravel(), [1.0, 1.0]])


def _panel_law(population: Population, frame: Frame, edges: Floats) -> RecordLaw:
    """A record's law whose interior weights are densities, without the panels' own weights."""
    x = on_panels(edges[:-1], edges[1:], NODES)
    s = frame.pieces.values(x, frame.pieces.at(x)).reshape(len(frame.atoms), -1)
    return RecordLaw(population, x.ravel(), np.ones(x.size), np.concatenate([s, frame.atoms], 1), frame.low, frame.high)


def _resolved(population: Population, thetas: Floats, a: Floats, b: Floats, floor: float) -> Mask:
    """Whether the density at each θ is the polynomial through its nodes on each panel (or tiny), shape (θ, panels).

    A panel that meets the mass of a θ but is far wider than it might not see it at all, and is not resolved. Near an
    end of the support the rounding of x is felt: the distance to the end is known with fewer digits than x.
    """
    x = np.concatenate([on_panels(a, b, NODES), on_panels(a, b, HALF_NODES)], axis=1)
    law = RecordLaw(population, x.ravel(), np.ones(x.size), np.zeros(0), float(a[0]), float(b[-1]))
    p = _tabulated(_weights, law, thetas)[:, :-2].reshape(len(thetas), *x.shape)
    largest = p.max(axis=2)
    error = np.abs(p[..., :ORDER] @ TO_HALVES.T - p[..., ORDER:]).max(axis=2)
    start, stop = np.asarray(population.support(thetas))[..., None]
    rounding = _ROUNDING * np.maximum(np.abs(a), np.abs(b)) / np.minimum(a - start, stop - b)
    low, high = np.asarray(population.quantile(np.array([1e-12, 1.0 - 1e-12]), thetas[:, None])).T[..., None]
    blind = (a <= high) & (b >= low) & (b - a > 3.0 * (high - low))
    smooth = (error <= np.maximum(_INTERPOLATED, rounding) * largest) | (largest * (b - a) <= floor)
    return np.asarray(smooth & ~blind)
