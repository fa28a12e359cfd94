"""Rules for integrals over y, the published value of a noisy mean: panels, or sums over a lattice.

Panels lie around the mean, dense within the statistic's own spread, then through the noise's tails. The mean of few
records, or of records that mostly sit in atoms, reaches further than a few spreads and comes in lumps as narrow as the
noise: panels follow it as far as there is mass, are narrow enough to see each lump, and are cut where what is
integrated is not the polynomial through its nodes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray
from scipy.special import logsumexp

from confide.likelihood.record_law.panels import PANEL, TO_LEGENDRE, GaussRule, panel_rule
from confide.likelihood.score_integral import LARGEST_DOUBT

Floats = NDArray[np.float64]

#: nodes between two points of a lattice
FRACTIONS = 10
_FRACTIONS, _FEW_FRACTIONS = (np.polynomial.legendre.leggauss(k) for k in (FRACTIONS, 4))
#: scales of the noise, in steps of the lattice, beyond which few fractions between two points do
_WIDE = 4.0
_BODY = np.asarray([0.0, 0.7, 1.4, 2.2, 3.1, 4.2, 5.5, 7.0, 9.0, 11.5])  # panel edges in spreads of the mean
_TAIL = np.asarray([0.5, 1.0, 2.0, 4.0, 7.0, 11.0, 16.0, 22.0, 30.0, 40.0])  # and in scales of Laplace noise
_SHOULDER = np.asarray([0.25, 0.5, 1.0, 2.0, 3.0])
#: each panel beyond the body is so many times further out than the one before
_FURTHER = 1.5
#: log of the mass that is left beyond the reach of a mean, and tilts at which it is bounded, in units of a normal law's
_LEFT, _TILTS = -25.0, 2.0 ** np.arange(-8.0, 5.0)
#: the widest panel that does not step over a lump, in scales of the noise, and how many of these there may be
_WIDEST, _MOST = 25.0, 1000


def panel_edges(mean: Float[Floats, " m"], spread: Float[Floats, " m"], scale: float) -> Float[Floats, "m edges"]:
    """Edges of panels in y for each θ: dense within the statistic's own spread, then through the noise's tails."""
    half = spread[:, None] * _BODY
    if scale > 0:
        tails = np.concatenate(
            [half[:, -1:] + scale * _TAIL, np.broadcast_to(scale * _SHOULDER, (len(mean), _SHOULDER.size))], axis=1
        )
        half = np.sort(np.concatenate([half, tails], axis=1), axis=1)
    return np.concatenate([mean[:, None] - half[:, :0:-1], mean[:, None] + half], axis=1)


def panel_nodes(edges: Floats, rule: GaussRule = PANEL) -> tuple[Floats, Floats]:
    """Gauss–Legendre nodes and weights of each row of panels, flattened."""
    y, weight = panel_rule(edges[:, :-1], edges[:, 1:], rule)
    return y.reshape(len(edges), -1), weight.reshape(len(edges), -1)


def reach(s: Floats, weights: Float[Floats, "m nodes"], n: float) -> Float[Floats, "m 2"]:
    """How far below and above its mean (θ, 2) the mean of n records goes, by Chernoff's bound and the range of s.

    s is (J,) or (θ, J), weights (θ, J).
    """
    mean = np.sum(weights * s, axis=1, keepdims=True)
    gap = s - mean
    spread = np.sqrt(np.sum(weights * gap**2, axis=1, keepdims=True))
    with np.errstate(divide="ignore"):
        # carried to values that stand still, a law may weigh one of them by a little less than nothing
        log_weights = np.log(np.maximum(weights, 0.0))
    sides = []
    for side in (-1.0, 1.0):
        furthest = np.max(np.where(weights > 0, side * gap, 0.0), axis=1)
        kappa = _TILTS * np.sqrt(-2.0 * _LEFT / n) / np.where(spread > 0, spread, 1.0)
        log_m = np.stack([logsumexp(log_weights + side * k[:, None] * gap, axis=1) for k in kappa.T], axis=1)
        sides.append(np.minimum(np.min((log_m - _LEFT / n) / kappa, axis=1), furthest))
    return np.stack(sides, axis=1)


def stretched(
    edges: Float[Floats, "m edges"], low: Float[Floats, " m"], high: Float[Floats, " m"]
) -> Float[Floats, "m more"]:
    """Rows of edges with panels that go on, wider and wider, down to `low` and up to `high` (θ,)."""
    middle = edges[:, edges.shape[1] // 2]
    out = np.stack([middle - edges[:, 0], edges[:, -1] - middle])
    needed = np.maximum(np.stack([middle - low, high - middle]) / out, 1.0)
    steps = _FURTHER ** np.arange(1, int(np.ceil(np.log(needed.max()) / np.log(_FURTHER))) + 1)
    left, right = (side[:, None] * np.minimum(steps, most[:, None]) for side, most in zip(out, needed, strict=True))
    return np.concatenate([middle[:, None] - left[:, ::-1], edges, middle[:, None] + right], axis=1)


def narrowed(edges: Float[Floats, "m edges"], scale: float) -> Float[Floats, "m more"]:
    """Rows of edges with panels no wider than a lump of the noise's scale can be seen on."""
    widest = max(_WIDEST * scale, float(np.max(edges[:, -1] - edges[:, 0])) / _MOST)
    parts = np.ceil(np.max(np.diff(edges, axis=1), axis=0) / widest).astype(int).clip(min=1)
    inner = [edges[:, j, None] + np.diff(edges, axis=1)[:, j, None] * np.arange(k) / k for j, k in enumerate(parts)]
    return np.concatenate([*inner, edges[:, -1:]], axis=1)


def roughness(values: Floats, weight: Floats) -> Floats:
    """What the last coefficients of the polynomial through the nodes of each panel integrate to, about.

    Values and weights are (…, panels, 16). The rule itself is good to twice that degree, where values are smooth.
    """
    last = np.abs(values @ TO_LEGENDRE[-3:].T).max(axis=-1)
    return np.asarray(last * weight.sum(axis=-1))


def lattice_rule(
    mean: Floats, spread: Floats, scale: float, step: float, reference: float, fractions: float | None
) -> tuple[Floats, Floats]:
    """Lattice points (and fractions between them) that carry the mass of y; a stride where there are many.

    On a lattice the density of y repeats its kinks from point to point: y = u + f is split into the lattice point u and
    the fraction f, Gauss–Legendre in f, and a sum over u. That sum is a trapezoidal rule for something smooth on the
    scale of the spread, so for many records a few hundred points of u suffice.
    """
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


def short_lattice_rule(ends: tuple[float, float], scale: float, step: float, reference: float) -> tuple[Floats, Floats]:
    """Fractions between all lattice points that a statistic can be at, under Laplace noise.

    Beyond them the density is a pure exponential and the score constant: each tail is the integrand at its end times
    the noise's scale.
    """
    first, last = np.floor((ends[0] - reference) / step + 1e-9), np.ceil((ends[1] - reference) / step - 1e-9)
    points = reference + step * np.arange(first, last + 1.0)
    offsets, weight = _between_points(scale / step)
    y = (points[:-1, None] + step * offsets).ravel()
    weights = np.tile(step * weight, points.size - 1)
    return np.concatenate([y, points[[0, -1]]]), np.concatenate([weights, [scale, scale]])


def _between_points(scale: float) -> tuple[Floats, Floats]:
    """A rule on (0, 1), between two lattice points: finer near the points if the noise's scale is small."""
    half = np.unique(np.minimum(scale * np.asarray([0.0, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0]), 0.5))
    half = np.append(half[half < 0.499], 0.5) if scale < 0.4 else np.asarray([0.0, 1.0])
    edges = half if scale >= 0.4 else np.concatenate([half, 1.0 - half[-2::-1]])
    return tuple(part[0] for part in panel_nodes(edges[None, :], _FRACTIONS if scale < _WIDE else _FEW_FRACTIONS))


@dataclass(frozen=True, eq=False)
class ToldOnPanels:
    """What values y tell at one θ: weights, log p and its error (…,), and scores (…, d), on panels (P, 16) of y."""

    y: Floats
    weight: Floats
    log_prob: Floats
    error: Floats
    score: Floats

    @functools.cached_property
    def mass(self) -> Floats:
        """The share of each value in the whole."""
        with np.errstate(over="ignore", invalid="ignore"):  # a density that is no density is not sure
            return np.asarray(self.weight * np.exp(self.log_prob))

    @functools.cached_property
    def squares(self) -> Floats:
        """The share of each value in the whole, and in the information about each parameter: (1 + d, …)."""
        with np.errstate(over="ignore", invalid="ignore"):
            told = self.mass[..., None] * self.score**2
        return np.concatenate([self.mass[None], np.moveaxis(told, -1, 0)])

    def sure(self, accuracy: float) -> bool:
        """Whether p is known so well wherever there is mass that what is doubtful is no share of the whole.

        An error counts by the mass, and by the information, that it is an error of. That none was lost elsewhere is
        seen in the total.
        """
        with np.errstate(invalid="ignore"):
            doubtful = (self.mass > 0) & ~(self.error * self.mass / self.mass.max() < accuracy)
            error = np.where(doubtful, np.where(self.error < 1.0, self.error, 1.0), 0.0)
            total, told = self.mass.sum(), self.squares[1:].sum(axis=0)
            doubt = (error * self.mass).sum() / total + np.sum(error * told) / (told.sum() or 1.0)
            return bool(np.isfinite(total) and doubt < LARGEST_DOUBT)

    def rough(self, least: Floats) -> Floats:
        """How far off each panel is about, relative to the whole, or to the `least` that matters (1 + d,)."""
        width = np.where(self.weight > 0, self.weight, 1.0)
        whole = np.maximum(self.squares.sum(axis=(1, 2)), least)
        return np.asarray((roughness(self.squares / width, self.weight) / whole[:, None]).max(axis=0))

    def replaced(self, gone: NDArray[np.bool_], others: ToldOnPanels) -> ToldOnPanels:
        """With other panels in place of some."""
        pairs = ((getattr(self, f.name), getattr(others, f.name)) for f in fields(self))
        return ToldOnPanels(*(np.concatenate([own[~gone], other]) for own, other in pairs))
