"""The inversion at pairs of θ and y for which a few frequencies do not suffice.

On a continuum `contour_sums` takes the atoms out and is given more and more frequencies, and nodes that can follow
them, until the answer stands still. On a lattice the law of the sum is finite, and `sums` adds it up.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood.batched import filled
from confide.likelihood.inversion.atoms import atom_values
from confide.likelihood.inversion.frequencies import SCALES, SPREADS, Group, tilt_of, unnoticed_width
from confide.likelihood.noise.channel import noise_step
from confide.likelihood.record_law.fixed import NEGLIGIBLE, record_law
from confide.likelihood.record_law.moments import AnyRecordLaw, MovingLaw, nodes_at, slopes_at
from confide.likelihood.record_law.record import ORDER, RecordLaw
from confide.likelihood.record_law.rows.law import ClippedRows, clipped_rows
from confide.likelihood.record_law.skeleton import CHANGES
from confide.likelihood.slow_inversion import nufft
from confide.likelihood.slow_inversion.contour_sums import Fine, FineResult
from confide.likelihood.slow_inversion.contours import Record
from confide.likelihood.slow_inversion.sums import in_sums

if TYPE_CHECKING:
    pass

Floats = NDArray[np.float64]
#: which θ and values are answered, and what was found there
Answer = tuple[tuple[NDArray[np.intp], ...], FineResult]

#: frequencies to begin with, how many times more at each attempt, and the most
_FEWEST, _MORE, _MOST = 2**11, 4, 2**17
#: radians of e^{ius} across the range of s that nodes can follow: 60,000 of them that stay, 16,000 that move
_MOST_TURNS, _MOST_TURNS_MOVING = 24_000.0, 14_000.0
#: the largest error that is let pass; the error at which no more frequencies are tried, while they are few: less error
#: is worth four times more of them then
SETTLED = 1e-7
_TRIED, _CHEAP = 3e-8, 2**13
#: the period of the density on the frequency grid, in ranges of s and steps of Laplace noise (see `frequencies`)
_RANGES, _STEPS = 4.0, 8.0
#: the share of the longest period above which a shorter one is not worth it
_SHORT = 0.3
#: each period between the shortest and those is so many times the one before: three of them span noise of 500 spreads
_LONGER = 8.0
#: radians of e^{ius} across a panel that its nodes can follow
_PHASE = 14.0
#: nodes that are made together, of all θ
_NODES = 2**22
#: how often the transform of noise on a lattice must have come back, and a factor for what is only looked at
_PERIODS, _SAFETY = 2.5, 10.0


def invert_slowly(group: Group, thetas: Floats, y: Floats) -> tuple[Floats, Floats]:
    """log p and its error at (θ, y) pairs (B, Y); an error is 0 where it is below `SETTLED`."""
    return _inverted(group, thetas, y, scores=False)[:2]


def invert_slowly_with_score(group: Group, thetas: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """The same with the score (B, Y, d)."""
    return _inverted(group, thetas, y, scores=True)


def _inverted(group: Group, thetas: Floats, y: Floats, *, scores: bool) -> tuple[Floats, Floats, Floats]:
    if group.on_lattice:
        log_prob, error, score = in_sums(group, thetas, y, scores=scores)
    else:
        log_prob, error, score = _settled(group, thetas, y, scores=scores)
    return log_prob, np.where(error < SETTLED, 0.0, error), score


def _settled(group: Group, thetas: Floats, y: Floats, *, scores: bool) -> tuple[Floats, Floats, Floats]:
    """log p, its error and the score: with more and more frequencies where they do not stand still yet."""
    log_prob, error = np.full(y.shape, -np.inf), np.full(y.shape, np.inf)
    score = np.zeros((*y.shape, thetas.shape[1] if scores else 0))
    breadth = _breadth(group, thetas)
    for period in _periods(group, breadth):
        first, most = _first(group, period), _most(group, period, breadth)
        frequencies = first if first <= most else _FEWEST
        unseen = _unseen(group, thetas, y) if first > most else np.zeros(len(thetas))
        while np.any(waiting := error > (_TRIED if frequencies <= _CHEAP else SETTLED)):
            try:
                for at, found in _attempt(group, thetas, y, waiting, frequencies, period, breadth, scores=scores):
                    told = found.error + unseen[at[0]]
                    better = ~(told > error[at])
                    log_prob[at] = np.where(better, found.log_prob, log_prob[at])
                    error[at] = np.where(better, told, error[at])
                    if found.score is not None:
                        score[at] = np.where(better[..., None], found.score, score[at])
            except AccuracyError:
                if frequencies == _FEWEST:
                    raise
                break  # no nodes can follow so many: what there is stays, with its error
            if frequencies >= most:
                break
            frequencies = min(frequencies * _MORE, most)
    return log_prob, error, score


def _periods(group: Group, breadth: float) -> tuple[float, ...]:
    """Periods of the density that the sum over frequencies makes periodic, to be tried one after the other.

    The last holds a few ranges of s, and so everything, however tilted. For many records less is mostly enough: so much
    that the contour, which keeps its distance from the poles, need not leave the saddlepoint. Noise far wider than the
    mean would make that long too, and its poles are passed: at a distance that shrinks as the period grows, so that
    there is one at which a statistic with long tails can still be tilted as far. A period so short that nodes cannot
    follow the frequencies that one begins with is of no use: few records, or a mean that stands still.
    """
    low, high = group.model.channel.statistic.ranges[0]
    transform = group.inversion.transform
    everything = _RANGES * (high - low) + SPREADS * math.sqrt(float(transform.variance))
    if not transform.crossable:  # contours stay between the poles, and a rounded mean is half a step away from itself
        everything += _STEPS * noise_step(transform) + SCALES / float(transform.pole)
    short = SPREADS * max(group.widest, unnoticed_width(transform))
    found = (everything,) if short > _SHORT * everything else (short, everything)
    if not transform.crossable or group.widest == 0:
        return found
    times = range(1, 1 + math.ceil(math.log(max(_SHORT * found[0] / (SPREADS * group.widest), 1.0), _LONGER)))
    passed = [_LONGER**k * SPREADS * group.widest for k in times]
    followed = [
        each for each in passed if each < _SHORT * found[0] and _first(group, each) <= _most(group, each, breadth)
    ]
    return (*followed, *found)


def _first(group: Group, period: float) -> int:
    """Frequencies to begin with: where the noise has a lattice, so many that its transform has come back twice."""
    step, found = noise_step(group.inversion.transform), _FEWEST
    while step > 0 and found < _PERIODS * period / step:
        found *= _MORE
    return found


def _unseen(group: Group, thetas: Floats, y: Floats) -> Floats:
    """About how much, relative to p, a transform that comes back after the last frequency can add, for each θ.

    At 2πk/step the noise is as it was at 0, and the box of rounding is |τ|·step/(2πk) instead of 1: what is left is the
    mean's own transform there, which is looked at around the first three of these frequencies.
    """
    model, transform = group.model, group.inversion.transform
    n, step = model.channel.n, noise_step(transform)
    if step == 0:
        return np.zeros(len(thetas))  # noise of a continuum does not come back
    around = np.linspace(-1.0, 1.0, 9) * min(15.0 / group.spread if group.spread > 0 else math.inf, math.pi / step)
    u = (2.0 * math.pi / step * np.arange(1, 4)[:, None] + around) / n
    try:
        nodes = nodes_at(law_for_frequency(group, thetas, float(u.max())), thetas)
    except AccuracyError:
        return np.full(len(thetas), np.inf)
    s, weights = np.asarray(nodes.s) - float(group.inversion.reference), np.asarray(nodes.weights)
    s = np.broadcast_to(s, weights.shape)
    largest = np.stack([np.abs(np.sum(weights * np.exp(1j * each * s), axis=-1)) for each in u.ravel()])
    back = largest.reshape(*u.shape, -1).max(axis=1) ** n
    variance = float(transform.variance)
    furthest = np.max(np.abs(y - np.sum(weights * s, axis=-1)[:, None] - float(group.inversion.reference)), axis=1)
    gaussian = (furthest + math.sqrt(variance)) / variance if math.isinf(transform.pole) else math.inf
    tilt = np.minimum(float(transform.pole), gaussian)
    return np.asarray(_SAFETY * tilt * step / (2.0 * math.pi) * np.sum(back / np.arange(1, 4)[:, None], axis=0))


def _breadth(group: Group, thetas: Floats) -> float:
    """How far values of s lie apart that nodes must tell apart: of those that stay, where they have mass at all."""
    low, high = group.model.channel.statistic.ranges[0]
    if not isinstance(group.law, RecordLaw):
        return high - low
    nodes = nodes_at(group.law, filled(thetas))
    s = np.asarray(nodes.s)[np.any(np.asarray(nodes.weights) > NEGLIGIBLE, axis=0)]
    return float(s.max() - s.min()) or high - low


def _most(group: Group, period: float, breadth: float) -> int:
    """How many frequencies nodes can follow."""
    turns = _MOST_TURNS_MOVING if isinstance(group.law, MovingLaw) else _MOST_TURNS
    return min(_MOST, int(turns * group.model.channel.n * period / (2.0 * math.pi * breadth)))


def _attempt(
    group: Group,
    thetas: Floats,
    y: Floats,
    waiting: NDArray[np.bool_],
    frequencies: int,
    period: float,
    breadth: float,
    *,
    scores: bool,
) -> Iterator[Answer]:
    """Answers where pairs (B, Y) wait for one."""
    step, n = 2.0 * math.pi / period, int(group.model.channel.n)
    nodes = max(_FEWEST, ORDER / _PHASE * step * frequencies / n * breadth)
    rows = np.flatnonzero(np.any(waiting, axis=1))
    fine = Fine(group.inversion.transform, n, step, frequencies)
    for some in np.array_split(rows, min(rows.size, math.ceil(rows.size * nodes / _NODES))):
        yield from _at(fine, group, thetas, y, waiting, some, scores=scores)


def _at(
    fine: Fine,
    group: Group,
    thetas: Floats,
    y: Floats,
    waiting: NDArray[np.bool_],
    rows: NDArray[np.intp],
    *,
    scores: bool,
) -> Iterator[Answer]:
    """The same at some of the θ, with nodes that serve them all."""
    model, reference = group.model, float(group.inversion.reference)
    law = law_for_frequency(group, thetas[rows], fine.step * fine.frequencies / fine.n)
    asked = filled(thetas[rows])
    nodes, slopes = nodes_at(law, asked), slopes_at(law, asked) if scores else None
    order, panels = panels_first(law, asked, np.shape(nodes.s)[-1])
    s, weights = np.asarray(nodes.s)[..., order] - reference, np.asarray(nodes.weights)[: rows.size, order]
    moving = None if slopes is None else np.asarray(slopes.weights)[: rows.size][..., order]
    atoms = atom_values(model.population, model.channel.statistic) - reference
    shared = nufft.spreading(s * (fine.step / fine.n), fine.frequencies) if s.ndim == 1 else None
    for some in _together(s, weights, atoms, y[rows]):
        values = s if s.ndim == 1 else s[some[0]]
        record = Record(values, weights[some], panels, atoms, None if moving is None else moving[some])
        # where a bound and an end of the support meet there is no atom yet, but mass is about to move there
        held = np.any(record.in_atoms(record.weights) > 0, axis=0)
        columns = np.flatnonzero(np.any(waiting[rows[some]], axis=0))
        found = fine(dataclasses.replace(record, atoms=atoms[held]), y[rows[some[0]], columns] - reference, shared)
        yield np.ix_(rows[some], columns), found


def _together(s: Floats, weights: Floats, atoms: Floats, y: Floats) -> list[NDArray[np.intp]]:
    """Runs of θ with the same nodes, atoms and values."""
    if s.ndim == 2:
        return [np.asarray([row]) for row in range(len(y))]
    held = Record(s, weights, 0, atoms).in_atoms(weights) > 0
    same = np.all(y[1:] == y[:-1], axis=1) & np.all(held[1:] == held[:-1], axis=1)
    return np.split(np.arange(len(y)), np.flatnonzero(~same) + 1)


def law_for_frequency(group: Group, thetas: Floats, frequency: float) -> AnyRecordLaw:
    """The record's law with nodes dense enough for a frequency."""
    model = group.model
    low, high = model.channel.statistic.ranges[0]
    if isinstance(group.law, ClippedRows):
        return clipped_rows(model.population, model.channel.statistic, thetas, frequency * (high - low))
    if isinstance(group.law, MovingLaw):
        changes = math.ceil(math.log2(max(frequency * (high - low) / _PHASE, 1.0)))
        return MovingLaw(model.population, model.channel.statistic, max(CHANGES, changes))
    tilt, steepest = tilt_of(model)
    return record_law(model.population, model.channel.statistic, thetas, tilt, frequency, steepest)


def panels_first(law: AnyRecordLaw, thetas: Floats, size: int) -> tuple[NDArray[np.intp], int]:
    """An order of so many nodes in which the panels' come first, and how many panels there are.

    Panels that follow a support have two more nodes, their ends: without weight, where mass passes as θ moves. After
    them come the sides of jumps, the atoms and nodes that only fill up.
    """
    if isinstance(law, ClippedRows):
        return np.arange(size), 0 if law.listed else law.panels
    if isinstance(law, RecordLaw):
        return np.arange(size), 0 if law.population.discrete else int(np.count_nonzero(law.base)) // ORDER
    panels = law.nodes(thetas)[0].half.shape[1]
    index = np.arange(panels * (ORDER + 2)).reshape(panels, -1)
    order = np.concatenate([index[:, 1:-1].ravel(), index[:, [0, -1]].ravel(), np.arange(index.size, size)])
    return order, panels
