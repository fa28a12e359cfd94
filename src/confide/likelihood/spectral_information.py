"""Fisher information by the spectral route: F = ∫ score scoreᵀ p dy, the score by differentiating the inversion.

A panel rule in y around the mean, wide enough for the noise's tails. On a lattice the density of y repeats its kinks
from point to point: y = u + f is split into the lattice point u and the fraction f, Gauss–Legendre in f, and a sum
over u. That sum is a trapezoidal rule for something smooth on the scale of the spread, so for many records a few
hundred points of u suffice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import jax
import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood import inversion as inv
from confide.likelihood import slow
from confide.likelihood.atoms import atom_values, ways
from confide.likelihood.blocks import blocks, filled
from confide.likelihood.channel_noise import lattice_period, noise_step
from confide.likelihood.law import moments_at
from confide.likelihood.spectral import Group, plan

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_FRACTIONS, _FEW_FRACTIONS = (np.polynomial.legendre.leggauss(k) for k in (10, 4))
#: scales of the noise, in steps of the lattice, beyond which few fractions between two points do
_WIDE = 4.0
_BODY = np.asarray([0.0, 0.7, 1.4, 2.2, 3.1, 4.2, 5.5, 7.0, 9.0, 11.5])  # panel edges in spreads of the mean
_TAIL = np.asarray([0.5, 1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 30.0, 40.0])  # and in scales of Laplace noise
_SPOILT, _NEGLIGIBLE = 1e-9, -46.0
_CUT = 1e-9
#: the share of the mass and of the information that far tails may hold whose p has not reached its accuracy
_LARGEST_DOUBT = 1e-6
#: kinks of the density of y at which panels are cut
_MOST_KINKS = 300
_SHOULDER = np.asarray([0.25, 0.5, 1.0, 2.0, 3.0])


def spectral_information(model: Model, thetas: Floats) -> jax.Array:
    """F(θ) for each θ of (M, d): shape (M, d, d)."""
    result = np.empty((len(thetas), thetas.shape[1], thetas.shape[1]))
    for group in plan(model, thetas):
        found, sure = _integrate(model, group, group.thetas, *_y_rule(group, group.thetas), _scores)
        if not np.all(sure):
            rule = _y_rule(group, group.thetas[~sure], atoms=True)
            found[~sure], sure[~sure] = _integrate(model, group, group.thetas[~sure], *rule, _slow_scores)
        if not np.all(sure):
            raise AccuracyError(
                f"the transform of {model.channel.statistic} with n = {model.channel.n} decays too slowly to be "
                "inverted; use method='replicates', or 'normal' for an approximation"
            )
        result[group.index] = found
    return jax.device_put(result)


Scores = Callable[[Group, Floats, Floats], tuple[Floats, Floats, Floats]]


def _integrate(
    model: Model, group: Group, thetas: Floats, y: Floats, weight: Floats, scores: Scores
) -> tuple[Floats, NDArray[np.bool_]]:
    """F at each θ, and where the inversion has reached its accuracy."""
    log_prob, cut, score = scores(group, thetas, y)
    with np.errstate(over="ignore", invalid="ignore"):  # a density that is no density is not sure
        mass = weight * np.exp(log_prob)
        # what is cut off matters only where there is mass; that none was lost elsewhere is seen in the total
        share = mass / mass.max(axis=1, keepdims=True)
        doubtful = (mass > 0) & ~(cut * share < (_CUT if scores is _scores else slow.SETTLED))
        told = mass * np.sum(score**2, axis=-1)
        sure = _doubt(mass, doubtful) + _doubt(told, doubtful) < _LARGEST_DOUBT
        total = mass.sum(axis=1)
    if np.any(np.abs(total - 1.0) > 1e-6, where=sure):
        raise AccuracyError(
            f"the density of y integrates to {total} for {model.channel.statistic} with n = {model.channel.n}; "
            "use method='replicates', or 'normal' for an approximation"
        )
    return np.einsum("ty,tyi,tyj->tij", mass, score, score), sure


def _doubt(parts: Floats, doubtful: NDArray[np.bool_]) -> Floats:
    """The share of a sum that comes from doubtful values of y."""
    return np.asarray(np.sum(np.where(doubtful, parts, 0.0), axis=1) / np.sum(parts, axis=1))


def _slow_scores(group: Group, thetas: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """log p, its error and the score at (θ, y) pairs, for laws that decay slowly."""
    if np.isinf(group.inversion.grid.half):
        return slow.invert_slowly_with_score(group, thetas, y)
    log_prob, cut, score, _ = _in_runs(group, group.whole, thetas, y, 1)
    return log_prob, cut, score


def _scores(group: Group, thetas: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """log p, the cut-off and the score at (θ, y) pairs.

    The nodes of a panel, never wider than three spreads, share a contour; but one by one where that costs digits that
    matter: where p falls steeply at an edge of what the statistic can be, next to which the noise is narrow.
    """
    inversion = group.inversion
    on_lattice = noise_step(inversion.transform) > 0 or lattice_period(inversion.transform) > 0
    for run in (1,) if on_lattice else (_NODES.size, 1):
        log_prob, cut, score, rounding = _in_runs(group, inversion, thetas, y, run)
        sure = np.max(np.where(rounding < _SPOILT, log_prob, -np.inf), axis=1, keepdims=True)
        if not np.any((rounding >= _SPOILT) & (log_prob > sure + _NEGLIGIBLE)):
            break
    return log_prob, cut, score


def _in_runs(group: Group, inversion: inv.Inversion, thetas: Floats, y: Floats, run: int) -> tuple[Floats, ...]:
    log_prob, cut, rounding = np.empty((3, *y.shape))
    score = np.empty((*y.shape, thetas.shape[1]))
    for block in blocks(thetas, y, run):
        at = block.thetas
        runs = block.y.reshape(len(block.y), -1, run)
        density, found = inv.invert_with_score(inversion, group.nodes(at), group.slopes(at), runs)
        block.scatter(log_prob, density.log_prob)
        block.scatter(cut, density.truncation)
        block.scatter(rounding, density.rounding)
        block.scatter(score, found)
    return log_prob, cut, score, rounding


def _moments(group: Group, thetas: Floats) -> tuple[Floats, Floats]:
    found = moments_at(group.law, filled(thetas))
    mean, covariance = (np.asarray(part)[: len(thetas)] for part in found)
    return mean[:, 0], np.sqrt(covariance[:, 0, 0] / group.inversion.n + group.inversion.transform.variance)


def _y_rule(group: Group, thetas: Floats, *, atoms: bool = False) -> tuple[Floats, Floats]:
    """Nodes and weights in y for each θ, with panels that end where all records may sit in atoms if that is asked."""
    mean, spread = _moments(group, thetas)
    transform, reference = group.inversion.transform, group.inversion.reference
    scale = 0.0 if np.isinf(transform.pole) else 1.0 / float(transform.pole)
    step, period = noise_step(transform), lattice_period(transform)
    if step > 0:
        start = step * np.round(reference / step)
        return _lattice_rule(mean, spread, scale, step, start, None)
    if period > 0:
        return _lattice_rule(mean, spread, scale, period, reference, transform.scale)  # type: ignore[attr-defined]
    edges = panel_edges(mean, spread, scale)
    return panel_nodes(np.sort(np.concatenate([edges, _kinks(group, edges)], axis=1), axis=1) if atoms else edges)


def _kinks(group: Group, edges: Floats) -> Floats:
    """Means of n records that all sit in atoms, with the ends of each row of panels in place of those outside."""
    values = atom_values(group.model.population, group.model.channel.statistic)  # type: ignore[arg-type]
    n = group.model.channel.n
    if values.size < 2 or math.comb(n + values.size - 1, n) > _MOST_KINKS:
        values = values[[0, -1]]
    if math.comb(n + values.size - 1, n) > _MOST_KINKS:
        return edges[:, :0]
    kinks = np.unique(ways(n, values.size).counts @ values / n)
    return np.clip(kinks[None, :], edges[:, :1], edges[:, -1:])


def panel_edges(mean: Floats, spread: Floats, scale: float) -> Floats:
    """Edges of panels in y for each θ: dense within the statistic's own spread, then through the noise's tails."""
    half = spread[:, None] * _BODY
    if scale > 0:
        tails = np.concatenate(
            [half[:, -1:] + scale * _TAIL, np.broadcast_to(scale * _SHOULDER, (len(mean), _SHOULDER.size))], axis=1
        )
        half = np.sort(np.concatenate([half, tails], axis=1), axis=1)
    return np.concatenate([mean[:, None] - half[:, :0:-1], mean[:, None] + half], axis=1)


def panel_nodes(edges: Floats) -> tuple[Floats, Floats]:
    """Gauss–Legendre nodes and weights of each row of panels, flattened."""
    return _panels(edges, _NODES, _WEIGHTS)


def _panels(edges: Floats, nodes: Floats, weights: Floats) -> tuple[Floats, Floats]:
    width = np.diff(edges, axis=1)[..., None]
    y = edges[:, :-1, None] + 0.5 * width * (nodes + 1.0)
    return y.reshape(len(edges), -1), (0.5 * width * weights).reshape(len(edges), -1)


def _lattice_rule(
    mean: Floats, spread: Floats, scale: float, step: float, reference: float, fractions: float | None
) -> tuple[Floats, Floats]:
    """Lattice points (and fractions between them) that carry the mass of y; a stride where there are many."""
    smooth = spread.min() / step
    stride = max(1, int(smooth / 8.0))
    reach = int(np.ceil((12.0 * spread.max() + 45.0 * scale) / step / stride)) + 2
    reach = 1 << (reach - 1).bit_length()  # few shapes, so that little is compiled
    centre = np.round((mean - reference) / step)
    points = reference + step * (centre[:, None] + stride * np.arange(-reach, reach + 1))
    if fractions is None:
        return points, np.full(points.shape, float(stride))
    offsets, weight = _between_points(fractions / step)
    y = points[..., None] + step * offsets
    weight = np.broadcast_to(step * stride * weight, y.shape)
    return y.reshape(len(mean), -1), weight.reshape(len(mean), -1)


def _between_points(scale: float) -> tuple[Floats, Floats]:
    """A rule on (0, 1), between two lattice points: finer near the points if the noise's scale is small."""
    half = np.unique(np.minimum(scale * np.asarray([0.0, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0]), 0.5))
    half = np.append(half[half < 0.499], 0.5) if scale < 0.4 else np.asarray([0.0, 1.0])
    edges = half if scale >= 0.4 else np.concatenate([half, 1.0 - half[-2::-1]])
    return tuple(part[0] for part in _panels(edges[None, :], *(_FRACTIONS if scale < _WIDE else _FEW_FRACTIONS)))
