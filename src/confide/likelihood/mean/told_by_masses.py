"""What y tells about θ where the mean, before noise, has masses at equally spaced points.

With P_k(θ) the mass at u_k and f the noise, p(y) = Σ P_k f(y − u_k) and ∂p(y) = Σ ∂P_k f(y − u_k) are sums, and so
F = ∫ ∂p ∂pᵀ/p dy needs no transform. Nodes in y are placed alike between any two neighbouring points: the noise from
point to node then depends on how many points are between them alone, and both sums are convolutions.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.likelihood.record_law.panels import PANEL, panel_rule
from confide.likelihood.score_integral import Told
from confide.mechanism.lattice import lattice_index

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]
Rule = tuple[Floats, Floats]

#: numbers held at once, 32 MB of doubles
ROOM = 2**22
#: products of a convolution, beyond which a fast transform is used: it keeps sixteen digits of the largest mass
_DIRECTLY = 2**27
#: Gauss–Legendre nodes on each panel of y where the noise hardly changes from point to point
_FEW = np.polynomial.legendre.leggauss(6)
#: scales of the noise, in distances of points, from which few serve
_WIDE = 4.0
#: edges of panels, in scales of the noise: from a kink of f outwards, and beyond the last point
_BESIDE = 0.75 * 1.6 ** np.arange(40)
_BEYOND = np.asarray([0.0, 0.5, 1.0, 2.0, 3.5, 5.5, 8.0, 11.0, 16.0, 22.0, 30.0, 45.0])
#: u/step is off by a few units in its last place, which must not decide a half
_TIE = 1e-9


def rounded(model: Model, points: Floats) -> Floats:
    """Points as the mechanism rounds them, in whole steps (halves up), where the noise is on a lattice."""
    noise = model.channel.law.noise  # type: ignore[attr-defined]
    return np.floor(points / noise.step + 0.5 + _TIE) if noise.step is not None else points


def log_noise(model: Model, values: Any, points: Any) -> jax.Array:
    """log f(y − u) of each value and (rounded) point: shapes broadcast."""
    noise = model.channel.law.noise  # type: ignore[attr-defined]
    if noise.step is not None:
        index, on_lattice = lattice_index(values, noise.step)
        return jnp.where(on_lattice, noise.log_mass(index - points), -jnp.inf)
    return noise.log_prob(values - points)


def lumped(points: Floats, masses: Floats, times: int) -> tuple[Floats, Floats]:
    """So many times fewer points: masses between two of them are shared, so that total and mean stay.

    The variance grows by less than a squared distance of points, which is nothing beside that of a law on many.
    """
    if times == 1:
        return points, masses
    count = -(-points.size // times)
    each = np.pad(masses, [(0, 0), (0, count * times - points.size)]).reshape(len(masses), count, times)
    share = np.arange(times) / times
    found = np.pad(each @ (1.0 - share), [(0, 0), (0, 1)])
    found[:, 1:] += each @ share
    return points[0] + times * (points[1] - points[0]) * np.arange(count + 1.0), found


def tails(model: Model, points: Floats, masses: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Both tails at values (Y,) of noise on a statistic with masses (M, K) at points (K,), of a lattice if it has one.

    Points are in whole steps where the noise has a lattice. The noise is symmetric, so P(V ≥ v) = P(V ≤ −v).
    """
    noise: Any = model.channel.law.added
    if noise.step is not None:
        gap = np.floor(values / noise.step + 0.5)[:, None] - points
        below, above = np.asarray(noise.cdf_index(gap)), np.asarray(noise.cdf_index(-gap))
    else:
        gap = values[:, None] - points
        below, above = np.asarray(noise.cdf(gap)), np.asarray(noise.cdf(-gap))
    return masses @ below.T, masses @ above.T


def told(model: Model, points: Floats, masses: Floats) -> Iterator[Told]:
    """What y tells, from the points in order (K,), their masses and the derivatives of these (1 + d, K)."""
    if model.channel.law.noise.step is not None:  # type: ignore[attr-defined]
        yield _on_lattice(model, rounded(model, points), masses)
        return
    outside, between = _y_rule(model, points)
    yield from _at(model, points, masses, *outside)
    if between is not None:
        for offset, weight in zip(*between, strict=True):
            yield _between(model, points, masses, offset, weight)


def _told(sums: Floats, weight: Any) -> Told:
    """Of nodes, from p and ∂p (1 + d, Y)."""
    return Told.by_slopes(weight, sums[0], sums[1:].T)


def _at(model: Model, points: Floats, masses: Floats, y: Floats, weight: Floats) -> Iterator[Told]:
    """At nodes y with weights."""
    rows = max(1, ROOM // points.size)
    for start in range(0, y.size, rows):
        some = slice(start, start + rows)
        log_f = np.asarray(log_noise(model, y[some, None], points))
        top = log_f.max(axis=1)
        yield _told(masses @ np.exp(log_f - top[:, None]).T, weight[some] * np.exp(top))


def _between(model: Model, points: Floats, masses: Floats, offset: float, weight: float) -> Told:
    """Between the first point and the last, at a node so far beyond each point."""
    count = points.size
    apart = (points[-1] - points[0]) / (count - 1) * np.arange(-(count - 1), count - 1)
    log_f = np.asarray(log_noise(model, offset + apart, 0.0))
    top = float(log_f.max())
    return _told(_convolved(masses, np.exp(log_f - top))[:, count - 1 : 2 * count - 2], weight * np.exp(top))


def _on_lattice(model: Model, points: Floats, masses: Floats) -> Told:
    """At each point of a lattice, on which points are whole numbers."""
    noise = model.channel.law.noise  # type: ignore[attr-defined]
    reach = int(np.ceil(_BEYOND[-1] * max(1.0, noise.scale / noise.step)))
    index = (points - points[0]).astype(int)
    spread = np.stack([np.bincount(index, row, index[-1] + 1).astype(np.float64) for row in masses])
    return _told(_convolved(spread, np.exp(np.asarray(noise.log_mass(jnp.arange(-reach, reach + 1.0))))), 1.0)


def _convolved(rows: Floats, noise: Floats) -> Floats:
    if rows.shape[1] * noise.size <= _DIRECTLY:
        return np.stack([np.convolve(row, noise) for row in rows])
    from scipy import signal  # a quarter of a second of every start, for what few answers need

    found = np.asarray(signal.oaconvolve(rows, noise[None], axes=1))
    # beside the largest density, what is left of a smaller one is rounding
    return np.where(found[:1] > 1e-14 * found[0].max(), found, 0.0)


def _y_rule(model: Model, points: Floats) -> tuple[Rule, Rule | None]:
    """Nodes and weights beyond all points; and those from one point to the next, at which panels end, if any."""
    scale = model.channel.law.noise.scale  # type: ignore[attr-defined]
    if model.channel.law.noise.kinked:  # type: ignore[attr-defined]
        # p and ∂p fall like the noise, e^{−|y|/scale}, and what they tell at the last point is told by a whole scale
        outside = points[[0, -1]], np.full(2, scale)
    else:
        tail = scale * _BEYOND
        below, above = _panels(points[0] - tail[::-1]), _panels(points[-1] + tail)
        outside = np.concatenate([below[0], above[0]]), np.concatenate([below[1], above[1]])
    if points.size == 1:
        return outside, None
    gap = (points[-1] - points[0]) / (points.size - 1)
    if scale > _WIDE * gap:
        return outside, _panels(np.asarray([0.0, gap]), _FEW)
    beside = scale * _BESIDE
    beside = beside[beside < 0.5 * gap]
    edges = [[0.0], beside, [0.5 * gap] if beside.size else [], gap - beside, [gap]]
    return outside, _panels(np.unique(np.concatenate(edges)))


def _panels(edges: Floats, rule: Rule = PANEL) -> Rule:
    nodes, weights = panel_rule(edges[:-1], edges[1:], rule)
    return nodes.ravel(), weights.ravel()
