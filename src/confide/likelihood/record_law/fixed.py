"""Nodes of the law of a record that serve all the θ that are asked for.

Panels are split at the kinks of s and of the density and then halved until every panel integrates p, p·s and p·s² to
rounding. A singularity (abs(x)**0.1 at 0, a gamma density at 0) grades the panels by itself. What is integrated beside
p is ∂p/∂θ, and p may be smooth where that is not: the score of a gamma law has a logarithm at 0 even where its
density, at shape 1 or 2, has none of its powers. A little way off it has: so the panels serve p at a neighbour of
each θ along each parameter too, and with both their difference, which is ∂p/∂θ.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood.batched import filled
from confide.likelihood.record_law.panels import RATIO, panel_rule
from confide.likelihood.record_law.pieces import s_at
from confide.likelihood.record_law.record import LARGEST_DEFECT, ORDER, Floats, RecordLaw, room_for, weighed
from confide.likelihood.record_law.tail_tilts import Tilts, tilts_of
from confide.population import Population
from confide.population.neighbours import neighbours
from confide.population.tiles import densities
from confide.statistic import Statistic
from confide.statistic.transform import Function

#: how far two halves of a panel may be from the whole: the rounding of a mass of one
_TOLERANCE = 1e-14
#: how far the mass is from one where it was not seen at all, and at how many such θ quantiles are asked for at once
_MISSED, _MOST_MISSED = 0.5, 256
#: halvings: a support that ends at 0 leaves a cell of 2⁻⁴⁴·1e-45 of the bounds to the atom, 194 halvings away
_DEPTH = 220
#: a matrix of them for a block of 128 θ takes 61 MB
_MOST_NODES = 60_000
#: mass that no transform notices
NEGLIGIBLE = 1e-18
#: between which the density of a narrow law is found: beyond the outermost lies less than a defect that is noticed
_QUANTILES = np.asarray([1e-14, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-14])
_PHASE = 14.0  # radians of e^{ius} across a panel
#: points of a discrete record: as many for 128 θ are 20 MB
_MOST_POINTS = 20_000


def record_law(
    population: Population,
    statistic: Statistic,
    thetas: Any,
    tilt: float = 0.0,
    frequency: float = 0.0,
    steepest: float = math.inf,
) -> RecordLaw:
    """A rule that is accurate at all the given θ (shape (M, d), concrete).

    With a `tilt` it is as accurate for the law tilted by e^{±κs}, κ = tilt / sd(s) but not above `steepest`, which is
    what the tail of a mean of few records looks at; with a `frequency` for e^{ius} up to u.
    """
    thetas = np.asarray(thetas, dtype=np.float64).reshape(-1, population.dimension)
    asked = (float(tilt), float(frequency), float(steepest))
    return _cached(population, statistic, thetas.tobytes(), asked)


@functools.lru_cache(maxsize=64)
def _cached(
    population: Population,
    statistic: Statistic,
    content: bytes,
    asked: tuple[float, float, float],
) -> RecordLaw:
    thetas = np.frombuffer(content).reshape(-1, population.dimension)
    with jax.enable_x64(True):
        if population.discrete:
            return _discrete(population, statistic, thetas)
        return _refine(population, statistic, thetas, *asked)


def _finish(
    population: Population, statistic: Statistic, x: Floats, base: Floats, low: float, high: float
) -> RecordLaw:
    s = s_at(statistic, np.concatenate([x, [low, high]]))
    return RecordLaw(population, x, base, s, low, high)


def _discrete(population: Population, statistic: Statistic, thetas: Floats) -> RecordLaw:
    """Integers: the support itself, cut where no θ has mass."""
    low, high = statistic.bounds
    ends = [np.asarray(end) for end in population.support(thetas)]
    first = max(math.floor(low) + 1, math.ceil(float(ends[0].min())))
    last = min(math.ceil(high) - 1, float(ends[1].max()))
    if last - first > _MOST_POINTS:  # far tails carry no mass: beyond these quantiles lies less than 1e-18
        first = max(first, int(np.min(population.quantile(1e-18, thetas))) - 1)
        last = min(last, float(np.max(population.quantile(1 - 1e-16, thetas))) * 1.5 + 40)
    x = np.arange(first, last + 1, dtype=np.float64)
    if x.size > _MOST_POINTS:
        raise AccuracyError(
            f"{population.name} has more than {_MOST_POINTS} points inside the bounds {statistic.bounds}; narrow them"
        )
    lower, upper = max(low, first - 1.0), min(high, last + 1.0)
    return _finish(population, statistic, x, np.ones_like(x), lower, upper)


def _edges(population: Population, statistic: Statistic, thetas: Floats) -> tuple[Floats, float, float]:
    """Where panels must begin and end, and where the atoms begin.

    Where the support ends inside the bounds, the density may be singular there: a cell too small for s to notice is
    given to the atom, whose weight is exact.
    """
    low, high = statistic.bounds
    support = population.facts.fixed_ends or tuple(np.asarray(end) for end in population.support(thetas))
    first, last = float(np.min(support[0])), float(np.max(support[1]))
    start, stop = max(low, first), min(high, last)
    cell = 2.0**-44 * (high - low)
    # not where records are clipped: s may jump on a bound, and the atom is s at the bound itself
    if first >= low:
        start += cell * (1e-45 if start == 0 else 1.0)
    if last <= high:
        stop -= cell * (1e-45 if stop == 0 else 1.0)
    stop = max(start, stop)  # a support that ends on a bound leaves nothing between the atoms
    kinks = {
        edge
        for transform in statistic.transforms
        if not isinstance(transform, Function)
        for piece in transform.pieces(*statistic.bounds)
        for edge in (piece.low, piece.high)
    }
    inner = [edge for edge in sorted(kinks) if start < edge < stop]
    return np.asarray([start, *inner, stop]), start, stop


def _refine(
    population: Population, statistic: Statistic, thetas: Floats, tilt: float, frequency: float, steepest: float
) -> RecordLaw:
    """Panels for a few θ and their neighbours, then for those whose total mass is not one; then for tilted laws."""
    edges, low, high = _edges(population, statistic, thetas)
    first = edges
    chosen = np.unique(np.linspace(0, len(thetas) - 1, 9).astype(int))
    tilts = Tilts(np.zeros((0, len(thetas))), np.zeros((0, len(thetas))))
    for _ in range(14):
        beside, of = neighbours(population.space, thetas[chosen])
        some, own = np.concatenate([thetas[chosen], beside]), np.concatenate([chosen, chosen[of]])
        a, b = _halve(population, statistic, first, edges, some, tilts.only(own))
        if frequency > 0:
            heavy = _panel_mass(population, statistic, a, b, thetas, tilts) > NEGLIGIBLE
            a, b = _cut_by_phase(statistic, a, b, frequency, heavy)
        if a.size * ORDER > _MOST_NODES:
            break
        x, base = panel_rule(a, b)
        # nodes of weight zero, up to a number of them for which programs are compiled
        spare = (0, room_for(x.size + 2) - x.size - 2)
        filled_up = np.pad(x.ravel(), spare, mode="edge"), np.pad(base.ravel(), spare)
        law = _finish(population, statistic, *filled_up, low, high)
        weights = law.masses_at(thetas)
        _require_numbers(population, thetas, weights)
        defect = np.abs(weights.sum(axis=-1) - 1.0)
        worst = np.argsort(defect)[::-1][:8]
        worst = worst[defect[worst] >= LARGEST_DEFECT]
        if worst.size == 0 and (tilt == 0 or len(tilts.kappa) > 0):
            return law
        if worst.size == 0:
            tilts = tilts_of(law.s[0], weights, tilt, steepest)
        stuck = chosen[defect[chosen] >= LARGEST_DEFECT]
        if stuck.size:  # panels were halved for it, and no node of any has seen its law
            missed = np.flatnonzero(defect > _MISSED)
            some = missed[np.linspace(0, missed.size - 1, min(missed.size, _MOST_MISSED)).astype(int)]
            first = _with_quantiles(population, first, thetas[np.union1d(stuck, some)])
        chosen = np.unique(np.concatenate([chosen, worst]))
    raise AccuracyError(
        f"the law of a record of {population.name} on {statistic.bounds} cannot be integrated to {LARGEST_DEFECT:g}; "
        "declare where its density is not smooth (breaks), or narrow the range of theta"
    )


def _with_quantiles(population: Population, edges: Floats, thetas: Floats) -> Floats:
    """Edges between which there is the mass of laws so narrow that no node of any panel has seen it."""
    found = np.ravel(population.quantile(_QUANTILES[:, None], filled(thetas, fewest=8)))
    return np.unique(np.concatenate([edges, found[(found > edges[0]) & (found < edges[-1])]]))


def _require_numbers(population: Population, thetas: Floats, weights: Floats) -> None:
    """Refuse a law whose density or distribution function is not a number somewhere."""
    broken = ~np.all(np.isfinite(weights), axis=-1)
    if np.any(broken):
        raise AccuracyError(
            f"the density or the distribution function of {population.name} at {_shown(thetas[broken][0])} is not a "
            "number; give a family that is computed accurately there, or a prior or a range of theta that stays away"
        )


def _shown(theta: Floats) -> str:
    return f"theta = ({', '.join(f'{part:g}' for part in theta)})"


def _panel_mass(
    population: Population, statistic: Statistic, a: Floats, b: Floats, thetas: Floats, tilts: Tilts
) -> Floats:
    """The largest mass of each panel over all θ, as it is and tilted."""
    x, base = panel_rule(a, b)
    p = densities(population, x.ravel(), thetas).reshape(len(thetas), *x.shape)
    mass = weighed(base, p)
    most = np.max(np.sum(mass, axis=-1), axis=0)
    if len(tilts.kappa) == 0:
        return np.asarray(most)
    s = s_at(statistic, x.ravel())[0].reshape(x.shape)
    with np.errstate(divide="ignore"):
        log_p = np.log(mass)
    for kappa, total in zip(tilts.kappa, tilts.log_total, strict=True):
        tilted = np.exp(log_p + kappa[:, None, None] * s - total[:, None, None]).sum(axis=-1)
        most = np.maximum(most, tilted.max(axis=0))
    return np.asarray(most)


def _cut_by_phase(
    statistic: Statistic, a: Floats, b: Floats, frequency: float, heavy: NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Cut panels that hold mass until e^{ius} turns by no more than the nodes of a panel can follow."""
    for _ in range(30):
        turns = frequency * np.abs(s_at(statistic, b) - s_at(statistic, a))[0]
        long = heavy & (turns > _PHASE)
        if not long.any():
            break
        middle = 0.5 * (a + b)[long]
        a, b = np.concatenate([a[~long], a[long], middle]), np.concatenate([b[~long], middle, b[long]])
        heavy = np.concatenate([heavy[~long], heavy[long], heavy[long]])
    order = np.argsort(a)
    return a[order], b[order]


def _halve(
    population: Population, statistic: Statistic, first: Floats, edges: Floats, thetas: Floats, tilts: Tilts
) -> tuple[Floats, Floats]:
    """Halve the first panels until their integrals stand still: of p, p·s, p·s², and of p tilted by e^{κs} (κ per θ).

    Where the density or s may be singular, at `edges`, panels are graded.
    """

    def integrals(a: Floats, b: Floats) -> Floats:
        x, base = panel_rule(a, b)
        p = densities(population, x.ravel(), thetas).reshape(len(thetas), *x.shape)
        s = s_at(statistic, x.ravel()).reshape(-1, *x.shape)
        powers = np.stack([np.ones_like(s), s / scale, (s / scale) ** 2])
        plain = np.einsum("tpn,mkpn,pn->tmkp", p, powers, base).reshape(-1, len(a))
        with np.errstate(divide="ignore"):
            exponent = tilts.kappa[..., None, None] * s[0] + np.log(p) - tilts.log_total[..., None, None]
        with np.errstate(over="ignore"):  # what is no number is named later
            tilted = np.einsum("ktpn,pn->ktp", np.exp(exponent), base)
        return np.concatenate([plain, tilted.reshape(-1, len(a))])

    def share(a: Floats, b: Floats) -> Floats:
        """Where to cut: near an end of the support or of a piece of s, so that a singularity is approached fast."""
        return np.asarray(0.5 + (0.5 - 1.0 / RATIO) * (np.isin(b, edges).astype(float) - np.isin(a, edges)))

    scale = np.asarray([max(abs(low), abs(high), 1e-300) for low, high in statistic.ranges])[:, None, None]
    a, b = first[:-1], first[1:]
    whole = integrals(a, b)
    done_a, done_b = [], []
    for _ in range(_DEPTH):
        middle = a + share(a, b) * (b - a)
        left, right = integrals(a, middle), integrals(middle, b)
        with np.errstate(invalid="ignore"):
            error = np.max(np.abs(whole - left - right), axis=0)
        still = ~(error > _TOLERANCE) | (middle <= a) | (middle >= b)  # what is no number is named later
        done_a.append(a[still])
        done_b.append(b[still])
        if np.all(still):
            break
        go = ~still
        if 2 * np.count_nonzero(go) * ORDER > _MOST_NODES:
            raise AccuracyError(
                f"the law of a record of {population.name} on {statistic.bounds} needs more than {_MOST_NODES:,} nodes "
                "far out in its tail; narrow the bounds or the range of theta"
            )
        a, b = np.concatenate([a[go], middle[go]]), np.concatenate([middle[go], b[go]])
        whole = np.concatenate([left[..., go], right[..., go]], axis=-1)
    starts, stops = np.concatenate(done_a), np.concatenate(done_b)
    order = np.argsort(starts)
    return starts[order], stops[order]
