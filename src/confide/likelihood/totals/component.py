"""One published number of a private number of records: whether it counts them, and the law of what it sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.channel import Channel
from confide.likelihood.noise.lattice import lattice_spacing
from confide.likelihood.record_law.fixed import record_law
from confide.likelihood.record_law.moments import MovingLaw, law_for, moments_at, nodes_at
from confide.likelihood.route import Floats
from confide.likelihood.totals.inversion import TiltedRecords, log_noise
from confide.mechanism.noise import Noise
from confide.model import Model
from confide.statistic import Mean, Statistic

#: frequencies that nodes serve, times the spread of a record, and times the width of its range; radians a panel holds
_HIGHEST, _MOST_PHASE, _PHASE = 120.0, 2e4, 14.0


@dataclass(frozen=True)
class Component:
    """One published number: which expression of which model, its noise and its value."""

    model: Model
    index: int
    value: float

    @property
    def ends(self) -> tuple[float, float]:
        """The certified range of s."""
        return self.model.channel.statistic.ranges[self.index]

    @property
    def constant(self) -> bool:
        """Whether it counts records."""
        return self.ends[0] == self.ends[1]

    @property
    def noise(self) -> Noise:
        """What was added."""
        noise = self.model.channel.law.added
        assert noise is not None
        return noise

    @property
    def statistic(self) -> Statistic:
        """s alone, as a mean has it."""
        statistic = self.model.channel.statistic
        bounds: Any = getattr(statistic.bounds, "by_name", statistic.bounds)
        return Mean(statistic.transforms[self.index], bounds)

    def log_count(self, numbers: Floats) -> Floats:
        """log g(y − cn) of a constant c."""
        return np.asarray(log_noise(self.noise, self.value, self.ends[0] * numbers))


def spacing(population: Any, statistic: Statistic) -> float | None:
    """The spacing of the lattice that holds every sum, of any number of records; None for a continuum."""
    found = lattice_spacing(population, statistic)
    if found is None:
        return None
    origin, spacing = found
    for parts in (1, 2, 3, 4):  # a lattice that does not hold 0 is part of a finer one that does
        if abs(origin / spacing * parts - round(origin / spacing * parts)) < 1e-9:
            return spacing / parts
    return None


def alike(part: Component, thetas: Floats, common: float | None) -> list[NDArray[np.intp]]:
    """θ whose records spread alike: nodes that serve all the frequencies of one serve those of the others."""
    if common is not None:
        return [np.arange(len(thetas))]
    law = law_for(part.model.population, part.statistic, thetas)
    spread = np.sqrt(np.maximum(moments_at(law, thetas)[1][:, 0, 0], 1e-300))
    octave = np.floor(np.log2(spread) / 2)
    return [np.flatnonzero(octave == each) for each in np.unique(octave)]


def law_of_records(part: Component, thetas: Floats, common: float | None) -> tuple[TiltedRecords, float]:
    """The law of s of a record, and the frequency up to which its nodes have a transform."""
    population, statistic = part.model.population, part.statistic
    law, highest = law_for(population, statistic, thetas), np.inf
    if common is None:
        spread = float(np.sqrt(np.max(moments_at(law, thetas)[1])))
        width = part.ends[1] - part.ends[0]
        highest = min(_HIGHEST / max(spread, 1e-9 * width), _MOST_PHASE / width)
        if isinstance(law, MovingLaw):
            changes = max(math.ceil(math.log2(max(highest * width / _PHASE, 1.0))), law.changes)
            law = MovingLaw(population, statistic, changes)
        else:
            law = record_law(population, statistic, thetas, 0.0, highest)
    nodes = nodes_at(law, thetas)
    mass = np.asarray(nodes.weights)
    s = np.broadcast_to(np.asarray(nodes.s), mass.shape)
    used = np.any(mass > 0, axis=0)
    return TiltedRecords(s[:, used], np.where(mass[:, used] > 0, mass[:, used], 0.0)), highest


def alone(part: Component, thetas: Floats, n: int, group: NDArray[np.intp]) -> Floats:
    """log p_n(y | θ) for a few records, as if their number were public."""
    from confide.likelihood import choose_route

    if n == 0:
        return np.broadcast_to(np.asarray(log_noise(part.noise, part.value, 0.0)), group.size)
    step = None if part.noise.step is None else float(part.noise.step) / n
    alike: Any = type(part.model.channel.mechanism)
    mean = Model(part.model.population, Channel(part.statistic, alike(scale=float(part.noise.scale) / n, step=step), n))
    found = choose_route(mean).log_likelihood(mean, thetas[group], np.asarray([part.value / n]))[:, 0]
    return found - (0.0 if step is not None else float(np.log(n)))
