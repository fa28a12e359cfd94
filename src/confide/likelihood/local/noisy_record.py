"""What a model says about one record and its noisy value: which nodes serve, and p(y | θ) on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.cached import once
from confide.likelihood.local.density import log_densities, with_scores
from confide.likelihood.local.response import ResponseCells, level_law
from confide.likelihood.local.shared_nodes import SharedNodes, still_on, still_panels
from confide.likelihood.record_law.fixed import record_law
from confide.likelihood.record_law.record import Floats, RecordLaw
from confide.likelihood.record_law.skeleton import CHANGES
from confide.likelihood.record_law.skeleton import frame as frame_of
from confide.likelihood.record_law.slopes import moves
from confide.likelihood.record_law.traced import points
from confide.mechanism import AdditiveLaw, Law, Noise
from confide.population import Population
from confide.statistic import Statistic

if TYPE_CHECKING:
    from confide.model import Model

#: lattice points inside the range of s, at most
MOST_LEVELS = 20_000
_ROWS, _BLOCK = 8, 4096


@dataclass(frozen=True, eq=False)
class NoisyRecord:
    """What a model says about one record and its noisy value."""

    population: Population
    statistic: Statistic
    law: Law

    @property
    def noise(self) -> Noise:
        """The additive noise, or an error in words."""
        if self.law.added is None:
            raise IncompatibleError(
                f"nothing is known about the tails of {type(self.law).__name__}, over which an integral in y must run; "
                "use Laplace or Gaussian noise, or the Monte Carlo method 'sequential'"
            )
        return self.law.added

    @property
    def changes(self) -> int:
        """On a panel s changes by at most 2^−changes of its range: 4 scales of Laplace noise, 3 of Gaussian."""
        if self.law.added is None:
            return 7
        low, high = self.statistic.range
        largest = (4.0 if self.noise.exponential else 3.0) * float(self.noise.scale)
        return max(CHANGES, math.ceil(math.log2(max((high - low) / largest, 1.0))))

    @property
    def record(self) -> RecordLaw | ResponseCells | None:
        """The nodes of the record, where they are the same for all θ: points and level sets."""
        if self.population.discrete:
            return points(self.population, self.statistic)
        if self.law.added is not None and self.noise.step is not None:
            return _rounded_law(self.population, self.statistic, float(self.noise.step))
        return None

    @property
    def still(self) -> bool:
        """Whether there are nodes that serve many θ."""
        if self.law.added is None:
            return False
        if self.population.discrete or self.noise.step is not None:
            return True
        return not moves(self.population)

    def densities(self, thetas: Floats, furthest: float) -> SharedNodes | Moving:
        """p(y | θ) for all the θ, at values that lie at most `furthest` beyond the range of s."""
        if not self.still:
            return Moving(self, thetas)
        if self.population.discrete:
            return still_on(record_law(self.population, self.statistic, thetas), self.noise, thetas)
        if self.record is not None:
            return still_on(self.record, self.noise, thetas)
        low, high = self.statistic.range
        ratio = (high - low) / self.noise.scale
        # how much likelier y can be from one end of the range than from the other
        nats = ratio if self.noise.exponential else ratio * (0.5 * ratio + furthest / self.noise.scale)
        return still_panels(self.population, self.statistic, self.noise, thetas, self.changes, min(nats, 600.0))

    def breaks(self, densities: SharedNodes | Moving) -> Floats:
        """Where p(y | θ) is not smooth in y under Laplace noise: s at the ends of its pieces, and of the density's."""
        if isinstance(densities, SharedNodes) and self.population.discrete:
            return np.unique(densities.law.s)
        frame = frame_of(self.population, self.statistic, self.changes)
        ends = frame.edges[frame.begins], frame.edges[[*frame.begins[1:], -1]]
        found = [frame.atoms[0], *(frame.pieces.values(end, frame.piece)[0] for end in ends)]
        if isinstance(densities, Moving):
            facts = self.population.support(densities.thetas), self.population.breaks(densities.thetas)
            at = np.concatenate([np.ravel(part) for part in facts])
            at = at[(at > frame.low) & (at < frame.high)]
            found.append(frame.pieces.values(at, frame.pieces.at(at))[0])
        return np.unique(np.concatenate(found))


@dataclass(frozen=True, eq=False)
class Moving:
    """p(y | θ) at given θ, each with its own nodes."""

    local: NoisyRecord
    thetas: Floats

    def some(self, chosen: Any) -> Moving:
        """The same at some of the θ."""
        return Moving(self.local, self.thetas[chosen])

    def log_prob(self, y: Floats) -> Floats:
        """log p(y | θ), shape (θ, y)."""
        return self._run(log_densities, y)

    def with_slopes(self, y: Floats) -> tuple[Floats, Floats]:
        """p(y | θ) and ∂p/∂θ, shapes (θ, y) and (θ, y, d)."""
        both = self._run(with_scores, y)
        p = np.exp(both[..., 0])
        return p, np.where((p > 0)[..., None], both[..., 1:], 0.0) * p[..., None]

    @property
    def variation(self) -> Floats:
        """The size of ∫ |∂p(x | θ)/∂θ| dx for a location or a scale, shape (θ, d)."""
        low, high = np.asarray(self.local.population.quantile(np.array([0.1, 0.9]), self.thetas[:, None])).T
        return np.asarray(np.ones_like(self.thetas) / (high - low)[:, None])

    def _run(self, compute: Any, y: Floats) -> Floats:
        """In blocks of a few sizes, so that few are compiled."""
        local = self.local
        rows = _ROWS if len(self.thetas) > 1 else 1
        columns = next((size for size in (32, 256) if y.size <= 16 * size), _BLOCK)
        thetas, values = _padded(self.thetas, rows), _padded(y, columns)
        parts = [
            [
                np.asarray(
                    compute(local.population, local.statistic, local.changes, local.law, local.record, some, part)
                )
                for part in values.reshape(-1, columns)
            ]
            for some in thetas.reshape(-1, rows, thetas.shape[1])
        ]
        table = np.concatenate([np.concatenate(row, axis=1) for row in parts])
        return table[: len(self.thetas), : y.size]


def _padded(values: Floats, size: int) -> Floats:
    """Values, the last one repeated until their number is a multiple of the size."""
    return np.concatenate([values, np.repeat(values[-1:], -len(values) % size, axis=0)])


def local(model: Model) -> NoisyRecord:
    """The part of a model that concerns one record."""
    law = model.channel.law
    if law.added is not None:
        # of one record a window of ranks is the record itself; a scale may be a number of JAX, which has no hash
        law = AdditiveLaw(jax.tree.map(float, law.added))
    return NoisyRecord(model.population, model.channel.statistic, law)


@once
def _rounded_law(population: Population, statistic: Statistic, step: float) -> RecordLaw | ResponseCells:
    """The law of s rounded to the lattice: the masses between the midpoints of neighbouring lattice points."""
    return level_law(population, statistic, thresholds(statistic, step))


def thresholds(statistic: Statistic, step: float) -> Floats:
    """The midpoints between the lattice points in the range of s, at which rounding passes from one to the next."""
    first, last = (math.floor(end / step + 0.5) for end in statistic.range)
    if last - first > MOST_LEVELS:
        raise AccuracyError(
            f"the step {step:g} cuts the range {statistic.range} of s into more than {MOST_LEVELS:,} levels; leave "
            "the step out: a lattice this fine cannot be told from a continuum"
        )
    return np.asarray((np.arange(first + 1, last + 1) - 0.5) * step)
