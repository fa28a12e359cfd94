"""The posterior of one parameter, integrated on a line.

On the free coordinate of the prior's support the posterior density is smooth and falls off at both ends, so that the
trapezoidal rule converges faster than any power of the step. What takes care is to find where the mass is: the search
starts from the reach of the prior, widens while the density at an end is not negligible, and narrows onto the mode
until the mass fills the line. Ghost modes cannot arise, as every density is computed on its own grid.

**Where a tail is cut.** Places where the density of the free coordinate is below e^{−30} of the largest (e^{−18} on a
plane) are left out, unless the second moment of θ needs them: a line goes on until p·(θ − mean)² is below e^{−15}
(e^{−9}) of its largest as well (`FarTails`). A variance with a tail v^{−4} has 1e-8 of its mass beyond 400, and a
hundredth of E v². Where p·(θ − mean)² does not fall off, no line is long enough: the posterior says that its sd may be
infinite. Averages over simulated windows are cut at e^{−14} and not followed: few windows tell of a far tail.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError, InvalidArgument
from confide.inference.quadrature.panels import LogDensityPanels, in_panels
from confide.prior import Prior, free_probes

Floats = NDArray[np.float64]
LogDensity = Callable[[Floats], Floats]

#: densities that are smaller than e^{−30} of the largest are left out: 1e-13
NEGLIGIBLE = 30.0
#: with the one more that a rule has, and its half, they fit the blocks of 128 in which likelihoods are computed
POINTS = 126
_MOST_POINTS = 2**14
#: where polynomials tell the density, a point costs next to nothing: what is narrow may have a long tail
_MOST_OF_PANELS = 2**17
#: how many times as many points as there were to begin with resolve a density that is smooth
_SMOOTH = 2
_ROUNDS = 60
#: the share of a line that the mass must fill to be located, and for its points to be as close as they are to be
FILLED, _WELL_FILLED = 1 / 3, 2 / 3
#: how many times its own length a line may go on at either end for the sake of moments
_ROOM = 4.0
#: by how many cells the line exceeds where the mass was seen
_MARGIN = 2
#: how much further down an approximate density is followed
_ROUGH = 4.0
#: the shares by which a line is made longer where the density at its end is not negligible
_LEAST, _MOST = 0.1, 1.0
TOLERANCE = 1e-6


class PosteriorLine(NamedTuple):
    """Free coordinates in equal steps, and the normalised density on them."""

    free: Floats
    density: Floats


def reach(prior: Prior) -> tuple[Floats, Floats]:
    """Where the prior's mass lies on each free coordinate, by simulation, widened by a quarter on either side."""
    with jax.enable_x64(True):
        free = np.asarray(free_probes(prior))
    free = np.where(np.isfinite(free), free, np.nan)
    low, high = np.nanmin(free, axis=0), np.nanmax(free, axis=0)
    width = np.maximum(high - low, 1e-3)
    return low - 0.25 * width, high + 0.25 * width


def cells(low: float, high: float, points: int) -> Floats:
    """Equal steps."""
    return np.asarray(np.linspace(low, high, points))


class LocatedMass(NamedTuple):
    """The ends of where a density is not negligible, and what was computed last on the way there."""

    low: float
    high: float
    grid: Floats
    values: Floats
    #: the cells of the grid that are not negligible
    cells: int


def locate(
    log_density: LogDensity, low: float, high: float, points: int, negligible: float = NEGLIGIBLE
) -> tuple[float, float]:
    """The ends of where a density is not negligible."""
    return search(log_density, low, high, points, negligible)[:2]


def search(
    log_density: LogDensity, low: float, high: float, points: int, negligible: float, filled: float = FILLED
) -> LocatedMass:
    """Widen the line while its ends are not negligible, narrow it until the mass fills a share of it."""
    for _ in range(_ROUNDS):
        grid = cells(low, high, points + 1)
        values = clean(log_density(grid))
        top = float(np.max(values))
        if top == -np.inf:
            raise no_mass()
        low, high, seen = better_ends(grid, values - top, negligible)
        if seen > filled * grid.size:
            return LocatedMass(low, high, grid, values, seen)
    raise AccuracyError(
        "the posterior could not be located: its mass does not fall off, or is too narrow; "
        "check that the prior is proper, or use method='mhaar'"
    )


def better_ends(grid: Floats, relative: Floats, negligible: float) -> tuple[float, float, int]:
    """Where a line should begin and end, from log densities less the largest on it; and how many cells the mass fills.

    None of them where an end is not negligible: then the line goes on as it ends.
    """
    seen = np.flatnonzero(relative > -negligible)
    first, last, width = int(seen[0]), int(seen[-1]), grid[-1] - grid[0]
    if first == 0 or last == grid.size - 1:
        more = _missing(relative, negligible)
        return float(grid[0] - width * more[0]), float(grid[-1] + width * more[1]), 0
    step = width / (grid.size - 1)
    return float(grid[first] - _MARGIN * step), float(grid[last] + _MARGIN * step), last - first


def _missing(relative: Floats, negligible: float) -> tuple[float, float]:
    """How much further a line must go at either end, as a share of it, until the log density is negligible.

    It goes on as it ends: likelihoods far out are dear, and doubling the line would ask for them.
    """

    def beyond(ending: Floats) -> float:
        if ending[0] <= -negligible:
            return 0.0
        slope = (ending[2] - ending[0]) / 2.0 * (relative.size - 1)  # a whole line
        share = (ending[0] + negligible) / slope if slope > 0 else _MOST
        return float(np.clip(1.2 * share, _LEAST, _MOST))

    return beyond(relative[:3]), beyond(relative[:-4:-1])


def locate_roughly(
    log_density: LogDensity, low: float, high: float, points: int, negligible: float = NEGLIGIBLE
) -> tuple[float, float]:
    """Where an approximate density lies, and a little more: a place to begin the search by the exact one."""
    try:
        return locate(log_density, low, high, points, negligible + _ROUGH)
    except (AccuracyError, InvalidArgument):
        return low, high


def clean(values: Floats) -> Floats:
    """−∞ where a density could not be computed: far outside the prior's reach a transform may overflow."""
    return np.where(np.isnan(values), -np.inf, values)


def no_mass() -> InvalidArgument:
    """The error of a prior and a likelihood that do not meet."""
    return InvalidArgument(
        "prior",
        "the given prior",
        "has no mass where the likelihood of the published value is positive",
        "check the value, the channel and the prior; they do not fit each other",
    )


class Care(NamedTuple):
    """How carefully a density is integrated: points to begin with, what moments are held to, what is left out."""

    points: int = POINTS
    tolerance: float = TOLERANCE
    negligible: float = NEGLIGIBLE


@dataclass(frozen=True)
class FarTails:
    """Where p·(θ − mean)² is not negligible, given θ (M, d) of free coordinates; its logarithm goes half as far."""

    theta: Callable[[Floats], Floats]
    negligible: float
    mean: Floats
    sd: Floats
    #: the largest log p, and by how much the largest of log p(θ − mean)²/sd² exceeds it
    top: float
    more: float
    #: free coordinates are followed so far
    low: Floats
    high: Floats

    @classmethod
    def of(cls, theta: Callable[[Floats], Floats], care: Care, free: Floats, values: Floats, share: Floats) -> FarTails:
        """From what was computed to find the mass: free coordinates (M, …), log densities and shares (M,)."""
        nodes = theta(free)
        mean = share @ nodes
        sd = np.sqrt(share @ (nodes - mean) ** 2)
        room = _ROOM * (free.max(axis=0) - free.min(axis=0))
        ends = free.min(axis=0) - room, free.max(axis=0) + room
        plain = cls(theta, care.negligible, mean, sd, float(np.max(values)), 0.0, *ends)
        return replace(plain, more=float(np.max(values + plain.weight(free))) - plain.top)

    def weight(self, free: Floats) -> Floats:
        """The logarithm of (θ − mean)²/sd² for the parameter that is furthest out, if it is positive."""
        with np.errstate(over="ignore", invalid="ignore"):
            away = np.max(np.abs(self.theta(free) - self.mean) / self.sd, axis=-1)
        return np.asarray(2.0 * np.log(np.where(np.isfinite(away), np.maximum(away, 1.0), 1.0)))

    def needed(self, free: Floats, values: Floats) -> bool:
        """Whether a moment needs places that the mass does not."""
        rare = values - self.top < 2.0 - self.negligible
        return bool(np.any(rare & (values + self.weight(free) - self.top - self.more > -0.5 * self.negligible)))

    def followed(self, free: Floats, raised: Floats) -> bool:
        """Whether what `both` gives falls off as far as it is followed; else the second moment may be infinite."""
        width = 0.01 * (self.high - self.low)
        last = ((free < self.low + width) | (free > self.high - width)).reshape(len(free), -1).any(axis=-1)
        return not np.any(last & (raised > np.max(raised) - self.negligible))

    def both(self, log_density: LogDensity) -> LogDensity:
        """A log density that is negligible where both the mass and the moments are."""

        def raised(free: Floats) -> Floats:
            inside = ((free >= self.low) & (free <= self.high)).reshape(len(free), -1).all(axis=-1)
            more = np.maximum(self.weight(free) - self.more - 0.5 * self.negligible, 0.0)
            return np.where(inside, log_density(free) + more, -np.inf)

        return raised


def integrate(
    log_density: LogDensity, low: float, high: float, care: Care, theta: Callable[[Floats], Floats] | None = None
) -> PosteriorLine:
    """A density on as many points as its first two moments need, checked against half of them.

    With θ of free coordinates, tails that its moments need are followed.
    """
    points, tolerance, negligible = care
    low, high, grid, values, filled = search(log_density, low, high, points, negligible)
    coarse: tuple[float, float] | None = None
    # what was computed in order to find the mass may be all that is needed
    known = (grid, values) if filled > _WELL_FILLED * points else None
    ends, smooth = (low, high), _SMOOTH * points
    if theta is not None:
        weight = np.exp(values - np.max(values))
        tails = FarTails.of(theta, care, grid, values, weight / weight.sum())
        if tails.needed(grid, values):
            longer = search(tails.both(log_density), low, high, points, negligible)
            if tails.followed(longer.grid, longer.values):
                low, high, known, smooth = longer.low, longer.high, None, 2 * smooth
    while points <= (_MOST_OF_PANELS if isinstance(log_density, LogDensityPanels) else _MOST_POINTS):
        grid = cells(low, high, points + 1) if known is None else known[0]
        values = clean(log_density(grid)) if known is None else known[1]
        weight = np.exp(values - np.max(values))
        density = weight / (np.sum(weight) * (grid[1] - grid[0]))
        mean, spread = _moments(grid, weight)
        half = coarse if coarse is not None else _moments(grid[::2], weight[::2])
        if abs(mean - half[0]) < tolerance * spread and abs(spread - half[1]) < tolerance * spread:
            return PosteriorLine(grid, density)
        if known is None:
            coarse, points = (mean, spread), points * 2
        known = None
        if points > smooth and tolerance <= TOLERANCE and not isinstance(log_density, LogDensityPanels):
            # it is not smooth somewhere: what follows it there tells the rest, but knows nothing of far tails
            low, high = ends
            log_density, coarse = in_panels(log_density, low, high), None
    raise AccuracyError(
        f"{points // 2} points do not resolve the posterior to {tolerance:g}; use method='nuts' or method='mh'"
    )


def _moments(grid: Floats, weight: Floats) -> tuple[float, float]:
    share = weight / weight.sum()
    mean = float(share @ grid)
    return mean, float(np.sqrt(share @ (grid - mean) ** 2))


def carried(line: PosteriorLine) -> slice:
    """Where a density is positive, from the first place to the last."""
    positive = line.density > 0
    return slice(int(np.argmax(positive)), line.density.size - int(np.argmax(positive[::-1])))
