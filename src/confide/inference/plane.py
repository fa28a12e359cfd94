"""The posterior of two parameters, integrated on a plane.

Free coordinates are turned and scaled by the posterior's own covariance, found from coarser planes, so that a ridge
becomes round; then the trapezoidal rule on equal steps serves as it does on a line.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import RectBivariateSpline

from confide.errors import AccuracyError
from confide.inference.line import NEGLIGIBLE, clean, invert, no_mass

Floats = NDArray[np.float64]
LogDensity = Callable[[Floats], Floats]

_POINTS = 64
_MOST_POINTS = 512
_ROUNDS = 40
_TOLERANCE = 1e-4
#: how much of the box the mass must fill, each way
_FILL = 0.3


class Plane(NamedTuple):
    """Coordinates t on two axes of equal steps, free = origin + turn·t, and the density over t."""

    origin: Floats
    turn: Floats
    first: Floats
    second: Floats
    density: Floats

    def free(self, t: Floats) -> Floats:
        """Free coordinates of points t (…, 2)."""
        return np.asarray(self.origin + t @ self.turn.T)


class Box(NamedTuple):
    """A frame and a rectangle in it."""

    origin: Floats
    turn: Floats
    low: Floats
    high: Floats


def _grid(box: Box, points: int) -> tuple[Floats, Floats, Floats]:
    first, second = (np.linspace(box.low[j], box.high[j], points) for j in (0, 1))
    t = np.stack(np.meshgrid(first, second, indexing="ij"), axis=-1)
    return first, second, np.asarray(box.origin + t.reshape(-1, 2) @ box.turn.T)


def _locate(log_density: LogDensity, low: Floats, high: Floats) -> Box:
    """A box that the mass fills, in a frame that makes it round."""
    box = Box(np.zeros(2), np.eye(2), low, high)
    for _ in range(_ROUNDS):
        first, second, free = _grid(box, _POINTS)
        values = clean(log_density(free)).reshape(_POINTS, _POINTS)
        top = np.max(values)
        if top == -np.inf:
            raise no_mass()
        seen = values > top - NEGLIGIBLE
        spans = [np.flatnonzero(seen.any(axis=1 - j)) for j in (0, 1)]
        at_edge = [(span[0] == 0, span[-1] == _POINTS - 1) for span in spans]
        if any(any(pair) for pair in at_edge):
            width = box.high - box.low
            grow = np.asarray(at_edge, dtype=float) * width[:, None]
            box = box._replace(low=box.low - grow[:, 0], high=box.high + grow[:, 1])
            continue
        fill = min((span[-1] - span[0]) / _POINTS for span in spans)
        step = (box.high - box.low) / (_POINTS - 1)
        edges = np.stack([axis[[span[0], span[-1]]] for axis, span in zip((first, second), spans, strict=True)])
        tight = box._replace(low=edges[:, 0] - 2 * step, high=edges[:, 1] + 2 * step)
        frame = _turned(box, first, second, values)
        if fill > _FILL and frame is not None and _round(frame):
            return tight
        box = tight if frame is None or fill <= _FILL / 3 else _framed(frame, tight)
    raise AccuracyError(
        "the posterior of two parameters could not be located: its mass does not fall off, or is a thin curve; "
        "use method='nuts'"
    )


def _turned(box: Box, first: Floats, second: Floats, values: Floats) -> tuple[Floats, Floats] | None:
    """The mean and the root of the covariance in the box's own frame; None if the mass is on one line of points."""
    weight = np.exp(values - values.max())
    weight /= weight.sum()
    mean = np.asarray([weight.sum(axis=1) @ first, weight.sum(axis=0) @ second])
    a, b = first - mean[0], second - mean[1]
    cross = a @ weight @ b
    covariance = np.asarray([[weight.sum(axis=1) @ a**2, cross], [cross, weight.sum(axis=0) @ b**2]])
    steps = np.asarray([first[1] - first[0], second[1] - second[0]])
    if np.any(np.diag(covariance) < (0.7 * steps) ** 2) or np.linalg.det(covariance) <= 0:
        return None
    return mean, np.linalg.cholesky(covariance)


def _round(frame: tuple[Floats, Floats]) -> bool:
    root = frame[1]
    correlation = root[1, 0] / np.hypot(root[1, 0], root[1, 1])
    return bool(abs(correlation) < 0.9)


def _framed(frame: tuple[Floats, Floats], box: Box) -> Box:
    """The box that holds an old one, in a frame of unit covariance."""
    mean, root = frame
    corners = np.asarray([[x, y] for x in (box.low[0], box.high[0]) for y in (box.low[1], box.high[1])])
    inside = np.linalg.solve(root, (corners - mean).T).T
    reach = np.minimum(np.max(np.abs(inside), axis=0), 40.0)
    return Box(box.origin + box.turn @ mean, box.turn @ root, -reach, reach)


def integrate(log_density: LogDensity, low: Floats, high: Floats) -> Plane:
    """A density on as many points as its moments need, checked against half of them."""
    box = _locate(log_density, low, high)
    points = 2 * _POINTS
    while points <= _MOST_POINTS:
        first, second, free = _grid(box, points + 1)
        values = clean(log_density(free)).reshape(points + 1, points + 1)
        weight = np.exp(values - values.max())
        fine, coarse = _moments(first, second, weight), _moments(first[::2], second[::2], weight[::2, ::2])
        if np.all(np.abs(fine - coarse) < _TOLERANCE * np.concatenate([fine[2:], fine[2:]])):
            cell = (first[1] - first[0]) * (second[1] - second[0])
            return Plane(box.origin, box.turn, first, second, weight / (weight.sum() * cell))
        points *= 2
    raise AccuracyError(
        f"{_MOST_POINTS} points each way do not resolve the posterior to {_TOLERANCE:g}; use method='nuts'"
    )


def _moments(first: Floats, second: Floats, weight: Floats) -> Floats:
    share = weight / weight.sum()
    means = [share.sum(axis=1) @ first, share.sum(axis=0) @ second]
    spreads = [
        np.sqrt(share.sum(axis=1 - j) @ (axis - mean) ** 2)
        for j, (axis, mean) in enumerate(zip((first, second), means, strict=True))
    ]
    return np.asarray([*means, *spreads])


def draw(plane: Plane, uniforms: Floats) -> Floats:
    """Free coordinates (…, 2) from three uniform numbers each (…, 3).

    The density is refined through a spline of its logarithm and then taken bilinear: the first coordinate comes from
    its marginal, the second from one of the two neighbouring rows, in proportion.
    """
    first, second, density = _refined(plane)
    marginal = density.sum(axis=1)
    one = _along(uniforms[..., 0], first, marginal)
    index = np.clip(np.searchsorted(first, one, side="right") - 1, 0, first.size - 2)
    share = (one - first[index]) / (first[1] - first[0])
    left, right = (1 - share) * marginal[index], share * marginal[index + 1]
    total = left + right
    row = index + (uniforms[..., 1] * total > left)
    two = _rows(uniforms[..., 2], row, second, density)
    return plane.free(np.stack([one, two], axis=-1))


def _refined(plane: Plane, factor: int = 4) -> tuple[Floats, Floats, Floats]:
    log_density = np.log(np.maximum(plane.density, np.exp(-2.5 * NEGLIGIBLE) * plane.density.max()))
    axes = [np.linspace(axis[0], axis[-1], factor * (axis.size - 1) + 1) for axis in (plane.first, plane.second)]
    fine = RectBivariateSpline(plane.first, plane.second, log_density)(*axes)
    return axes[0], axes[1], np.exp(fine - fine.max())


def _along(level: Floats, axis: Floats, density: Floats) -> Floats:
    step = axis[1] - axis[0]
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * step)])
    return invert(level, axis, density / cumulative[-1], cumulative / cumulative[-1])


def _rows(level: Floats, row: NDArray[np.int64], axis: Floats, density: Floats) -> Floats:
    """A quantile along each row's own distribution, linear between points: rows are laid end to end and searched."""
    part = 0.5 * (density[:, 1:] + density[:, :-1])
    cumulative = np.concatenate([np.zeros((density.shape[0], 1)), np.cumsum(part, axis=1)], axis=1)
    total = cumulative[:, -1:]
    cumulative = np.divide(cumulative, total, out=np.zeros_like(cumulative), where=total > 0)
    offset = 2.0 * np.arange(density.shape[0])[:, None]
    place = np.searchsorted((cumulative + offset).ravel(), level + 2.0 * row, side="right") - 1
    column = np.clip(place - row * axis.size, 0, axis.size - 2)
    below, above = cumulative[row, column], cumulative[row, column + 1]
    share = np.clip((level - below) / np.where(above > below, above - below, 1.0), 0.0, 1.0)
    return np.asarray(axis[column] + share * (axis[1] - axis[0]))
