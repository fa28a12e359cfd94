"""Sets by the likelihood ratio, of one parameter or with the others maximised out, and by the curvature (Wald).

The ratio is compared with a χ² law, or with what it is in data sets simulated at the estimate (the parametric
bootstrap), which needs no large sample.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray
from scipy import stats

from confide.errors import AccuracyError
from confide.frequentist.likelihood import FreeLikelihood, Peak, climb, maximum
from confide.likelihood.joint import Disjoint

Floats = NDArray[np.float64]

#: points of a line on which simulated values are maximised over, in standard errors around the estimate
_LINE = np.linspace(-8.0, 8.0, 129)
#: a direction is flat where the likelihood bends by this share of the largest bend, and not seen at all by this share
_FLAT, _UNSEEN = 1e-4, 1e-10
#: by how much a climb may end below a maximum
_SLACK = 1e-4


@dataclass(frozen=True, eq=False)
class Ratio:
    """2{log p at the maximum − log p with one coordinate held}, and what it is compared with."""

    likelihood: FreeLikelihood
    peak: Peak

    def deviance(self, index: int, held: float) -> float:
        """With coordinate `index` held at a value, and the others where the likelihood is then largest."""
        if self.peak.free.size == 1:
            return max(0.0, 2.0 * (self.peak.log_prob - float(self.likelihood(np.asarray([[held]]))[0])))
        found = 2.0 * (self.peak.log_prob - self.constrained(index, held)[1])
        if found < -_SLACK:
            raise AccuracyError(
                "the likelihood has several maxima, and there is a larger one than what was found from everywhere; "
                "use infer, which sees all of them"
            )
        return max(0.0, found)

    def constrained(self, index: int, held: float) -> tuple[Floats, float]:
        """The maximum with a coordinate held: from the estimate, moved along the ridge that the curvature tells.

        Where the likelihood is flat in some direction (a variance that may be 0) the estimate lies far out on the
        plain, from where no slope leads back, and climbs begin where those to the estimate did.
        """
        start = self.peak.free.copy()
        others = np.arange(start.size) != index
        start[index] = held
        ridge = start.copy()
        if np.any(others) and np.any(self.peak.curvature):
            among = self.peak.curvature[np.ix_(others, others)]
            along = np.linalg.lstsq(among, self.peak.curvature[others, index], rcond=_FLAT)[0]
            ridge[others] -= along * (held - self.peak.free[index])
        first = [max((start, ridge), key=lambda at: _finite(self.likelihood.value_and_slope(at)[0]))]
        if self._flat:
            first += [np.where(others, each, held) for each in self.peak.starts]
        return max((climb(self.likelihood, each, index) for each in first), key=lambda found: found[1])

    @cached_property
    def _flat(self) -> bool:
        """Whether there is a direction in which the likelihood hardly bends at its maximum."""
        bends = np.linalg.eigvalsh(self.peak.curvature)
        return bool(bends[0] < _FLAT * bends[-1])

    @cached_property
    def errors(self) -> Floats:
        """Standard errors of the coordinates, by the curvature; infinite where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            bends, along = np.linalg.eigh(self.peak.curvature)
            if not bends[-1] > 0:
                return np.full(self.peak.free.size, np.inf)
            seen = bends > _UNSEEN * bends[-1]
            variances = along[:, seen] ** 2 @ (1.0 / bends[seen])
            hidden = np.sum(along[:, ~seen] ** 2, axis=1) > _UNSEEN
        return np.asarray(np.sqrt(np.where(hidden, np.inf, variances)))

    def simulated(self, index: int, free: Floats, count: int, key: Any) -> Floats:
        """The ratio in `count` data sets simulated at a θ, each against the coordinate's true value."""
        values = simulate(self.likelihood, free, count, key)
        if free.size == 1:
            return _on_a_line(self.likelihood, float(free[0]), float(self.errors[0]), values)
        found = np.empty(count)
        for row in range(count):
            other = self.likelihood.with_values(tuple(each[row] for each in values))
            best = climb(other, free)
            held = Ratio(other, Peak(*best, self.peak.curvature, starts=self.peak.starts)).constrained(
                index, free[index]
            )
            if held[1] > best[1]:  # the first climb ended on a lesser maximum
                best = climb(other, held[0])
            found[row] = max(0.0, 2.0 * (best[1] - held[1]))
        return found


def simulate(likelihood: FreeLikelihood, free: Floats, count: int, key: Any) -> list[Floats]:
    """Values of each release (count, …) as they might have come out at θ(v)."""
    theta, models = likelihood.thetas(free[None])[0], likelihood.joint.models
    keys = jax.random.split(key, len(models))
    return [np.asarray(model.simulate(each, theta, shape=(count,))) for model, each in zip(models, keys, strict=True)]


def _on_a_line(likelihood: FreeLikelihood, centre: float, width: float, values: list[Floats]) -> Floats:
    """All data sets at once: log p on a line of one coordinate, its top by a parabola through three points."""
    joint = likelihood.joint
    line = centre + width * _LINE
    if not isinstance(joint, Disjoint) or not np.isfinite(width):
        tops = [maximum(likelihood.with_values(row)).log_prob for row in zip(*values, strict=True)]
        here = [likelihood.with_values(row)(np.asarray([[centre]]))[0] for row in zip(*values, strict=True)]
        return np.maximum(0.0, 2.0 * (np.asarray(tops) - np.asarray(here)))
    thetas = likelihood.thetas(line[:, None])
    parts = zip(joint.routes, joint.models, values, strict=True)
    log_p = np.sum([route.log_likelihood(model, thetas, value) for route, model, value in parts], axis=0)
    at = np.clip(np.argmax(log_p, axis=0), 1, line.size - 2)
    column = np.arange(at.size)
    left, middle, right = (log_p[at + side, column] for side in (-1, 0, 1))
    bend = np.maximum(2 * middle - left - right, 1e-300)
    top = np.maximum(middle + (right - left) ** 2 / (8 * bend), middle)
    return np.asarray(2.0 * (np.where(bend > 1e-12, top, middle) - log_p[_LINE.size // 2]))


def _finite(value: float) -> float:
    return value if np.isfinite(value) else -np.inf


def cutoff(level: float) -> float:
    """What a ratio of one parameter stays below with this probability, in large samples."""
    return float(stats.chi2.ppf(level, 1))
