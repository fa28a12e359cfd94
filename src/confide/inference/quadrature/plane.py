"""The posterior of two parameters, integrated as a line of lines.

For each point of an outer line, along one free coordinate, the other has a line of its own, which begins and ends where
the posterior does there. A ridge is followed by them however thin and bent it is, as each is found by itself; the sums
over them are a smooth function along the outer line, so that the trapezoidal rule serves there as well. A ridge that
is upright beside one coordinate lies flat beside the other: that one is tried if the first is not resolved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from confide.errors import AccuracyError
from confide.inference.quadrature.line import FILLED, Care, FarTails, better_ends, cells, clean, no_mass

Floats = NDArray[np.float64]
LogDensity = Callable[[Floats], Floats]

#: points to begin with, each way; how well moments are to stand still, in standard deviations; and what is left out:
#: e^{−18} of the largest density, 1e-8, for an end of a prior that is an exponential tail is long
CARE = Care(points=64, tolerance=1e-3, negligible=18.0)
_MOST_POINTS = 512
_ROUNDS = 40
#: the error of half the outer points at which the other coordinate is tried
_POOR = 0.02


class Lines(NamedTuple):
    """A line of one free coordinate at each point of an outer line, which is along the other."""

    along: int
    outer: Floats
    low: Floats
    high: Floats

    def inner(self, points: int) -> Floats:
        """Equal steps on each line (outer, points)."""
        return np.linspace(self.low, self.high, points, axis=1)

    def free(self, inner: Floats) -> Floats:
        """Free coordinates (outer · points, 2)."""
        parts = [inner, np.broadcast_to(self.outer[:, None], inner.shape)]
        return np.stack(parts if self.along else parts[::-1], axis=-1).reshape(-1, 2)

    def between(self, outer: Floats) -> Lines:
        """Lines at other points: each holds those of the two old points around it."""
        after = np.searchsorted(self.outer, outer).clip(1, self.outer.size - 1)
        low, high = np.minimum(self.low[after - 1], self.low[after]), np.maximum(self.high[after - 1], self.high[after])
        return Lines(self.along, outer, low, high)


class Plane(NamedTuple):
    """Lines, and on equal steps of each the share of the posterior (outer, points), which adds up to one."""

    lines: Lines
    inner: Floats
    share: Floats

    @property
    def free(self) -> Floats:
        """Free coordinates of all points (outer · points, 2)."""
        return self.lines.free(self.inner)

    @property
    def log_density(self) -> Floats:
        """At all points, but for a constant."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.share / (self.inner[:, 1] - self.inner[:, 0])[:, None]).ravel())


class Unresolved(AccuracyError):
    """A plane whose mass was found, but not resolved: chains may start in it."""

    def __init__(self, plane: Plane, *parts: object) -> None:
        super().__init__(*parts)
        self.plane = plane


class Located(NamedTuple):
    """Lines that the mass fills, and what was computed last on the way there, on half as many points each way."""

    lines: Lines
    plane: Plane


def integrate(
    log_density: LogDensity, low: Floats, high: Floats, care: Care = CARE, theta: LogDensity | None = None
) -> Plane:
    """A density on as many points as its moments need, checked against half of them each way.

    With θ of free coordinates, tails that its moments need are followed.
    """
    lines, found = _flatter(log_density, low, high, care)
    if theta is not None:
        lines, found = _with_tails(log_density, theta, Located(lines, found), care)
    # a posterior that is near normal is resolved by what was computed in order to find it, or nearly
    points = [lines.outer.size - 1, found.inner.shape[1] - 1]
    while max(points) <= _MOST_POINTS:
        wanting = errors(found) > care.tolerance
        if not np.any(wanting):
            return found
        if found.lines is lines:
            points = [2 * count if more else count for count, more in zip(points, wanting, strict=True)]
        lines = _finer(log_density, lines, points[0], care)
        found = _on(log_density, lines, points[1])
    raise Unresolved(
        found,
        f"{_MOST_POINTS} points each way do not resolve the posterior to {care.tolerance:g}; use method='nuts'",
    )


def _flatter(log_density: LogDensity, low: Floats, high: Floats, care: Care) -> Located:
    """Lines across the coordinate beside which the posterior lies flatter: where few outer points say the most."""
    candidates: list[Located] = []
    failure: Exception | None = None
    for along in (1, 0):
        outer = cells(low[along], high[along], care.points // 2 + 1)
        ends = (np.full_like(outer, end[1 - along]) for end in (low, high))
        try:
            found = _locate(log_density, Lines(along, outer, *ends), care)
        except AccuracyError as error:
            failure = error
            continue
        if errors(found.plane)[0] < _POOR:
            return found
        candidates.append(found)
    if not candidates:
        assert failure is not None
        raise failure
    if len(candidates) == 1:
        return candidates[0]
    finer = [_finer(log_density, found.lines, care.points, care) for found in candidates]
    planes = [_on(log_density, lines, care.points // 2) for lines in finer]
    best = int(np.argmin([errors(found)[0] for found in planes]))
    return Located(finer[best], planes[best])


def _locate(log_density: LogDensity, lines: Lines, care: Care) -> Located:
    """Widen and narrow the outer line until the mass fills it, with each inner line settled on the way."""
    for _ in range(_ROUNDS):
        lines, inner, values = _settled(log_density, lines, care)
        mass = logsumexp(values, axis=1) + np.log(inner[:, 1] - inner[:, 0])
        top = float(np.max(mass))
        if top == -np.inf:
            raise no_mass()
        start, stop, seen = better_ends(lines.outer, mass - top, care.negligible)
        following = lines.between(cells(start, stop, lines.outer.size))
        if seen > FILLED * lines.outer.size:
            return Located(following, _shared(lines, inner, values))
        lines = following
    raise AccuracyError(
        "the posterior of two parameters could not be located: its mass does not fall off, or is too narrow; "
        "check that the prior is proper, or use method='nuts'"
    )


def _settled(log_density: LogDensity, lines: Lines, care: Care) -> tuple[Lines, Floats, Floats]:
    """Each inner line widened and narrowed until the mass fills it; points on the lines, and log densities there."""
    low, high = lines.low.copy(), lines.high.copy()
    inner, values = np.empty((2, low.size, care.points // 2 + 1))
    pending = np.arange(low.size)
    for _ in range(_ROUNDS):
        some = Lines(lines.along, lines.outer[pending], low[pending], high[pending])
        inner[pending] = some.inner(inner.shape[1])
        values[pending] = clean(log_density(some.free(inner[pending]))).reshape(pending.size, -1)
        some_mass = pending[np.max(values[pending], axis=1) > -np.inf]
        filled = np.zeros(low.size, dtype=bool)
        for row in some_mass:
            relative = values[row] - np.max(values[row])
            low[row], high[row], seen = better_ends(inner[row], relative, care.negligible)
            filled[row] = seen > FILLED * inner.shape[1]
        pending = some_mass[~filled[some_mass]]
        if pending.size == 0:
            break
    return lines._replace(low=low, high=high), inner, values


def _with_tails(log_density: LogDensity, theta: LogDensity, located: Located, care: Care) -> Located:
    """Lines that go on where the moments of θ need what is beyond them."""
    found = located.plane
    tails = FarTails.of(theta, care, found.free, found.log_density, found.share.ravel())
    if not tails.needed(found.free, found.log_density):
        return located
    try:
        longer = _locate(tails.both(log_density), located.lines, care)
    except AccuracyError:
        return located
    if not tails.followed(longer.plane.free, longer.plane.log_density):
        return located
    return Located(longer.lines, _on(log_density, longer.lines, care.points // 2))


def _finer(log_density: LogDensity, lines: Lines, steps: int, care: Care) -> Lines:
    """Lines that the mass fills at so many steps of the outer one."""
    if steps + 1 == lines.outer.size:
        return lines
    return _settled(log_density, lines.between(cells(lines.outer[0], lines.outer[-1], steps + 1)), care)[0]


def _on(log_density: LogDensity, lines: Lines, across: int) -> Plane:
    """The density on so many steps of each line."""
    inner = lines.inner(across + 1)
    return _shared(lines, inner, clean(log_density(lines.free(inner))).reshape(inner.shape))


def _shared(lines: Lines, inner: Floats, values: Floats) -> Plane:
    """The share of the posterior at points of lines, from the log density there."""
    weight = np.exp(values - np.max(values)) * (inner[:, 1] - inner[:, 0])[:, None]
    return Plane(lines, inner, weight / weight.sum())


def errors(found: Plane) -> Floats:
    """By how much half of the points move means and spreads, in spreads: of the outer points, and of the inner."""
    fine, half = moments(found), slice(None, None, 2)
    lines, inner, share = found
    few = moments(Plane(lines._replace(outer=lines.outer[half]), inner[half], share[half]))
    short = moments(Plane(lines, inner[:, half], share[:, half]))
    spread = np.concatenate([fine[2:], fine[2:]])
    return np.asarray([np.max(np.abs(each - fine) / spread) for each in (few, short)])


def moments(found: Plane) -> Floats:
    """The means of the outer and the inner coordinate, and their standard deviations."""
    share = found.share / found.share.sum()
    outer, inner = found.lines.outer, found.inner
    means = share.sum(axis=1) @ outer, float(np.sum(share * inner))
    spreads = share.sum(axis=1) @ (outer - means[0]) ** 2, float(np.sum(share * (inner - means[1]) ** 2))
    return np.asarray([*means, *np.sqrt(spreads)])
