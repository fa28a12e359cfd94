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

from confide.frequentist.likelihood import FreeLikelihood, Peak, climb, maximum
from confide.likelihood.joint import Disjoint

Floats = NDArray[np.float64]

#: points of a line on which simulated values are maximised over, in standard errors around the estimate
_LINE = np.linspace(-8.0, 8.0, 129)


@dataclass(frozen=True, eq=False)
class Ratio:
    """2{log p at the maximum − log p with one coordinate held}, and what it is compared with."""

    likelihood: FreeLikelihood
    peak: Peak

    def deviance(self, index: int, held: float) -> float:
        """With coordinate `index` held at a value, and the others where the likelihood is then largest."""
        if self.peak.free.size == 1:
            return max(0.0, 2.0 * (self.peak.log_prob - float(self.likelihood(np.asarray([[held]]))[0])))
        return max(0.0, 2.0 * (self.peak.log_prob - self.constrained(index, held)[1]))

    def constrained(self, index: int, held: float) -> tuple[Floats, float]:
        """The maximum with a coordinate held: from the estimate, moved along the ridge that the curvature tells."""
        start = self.peak.free.copy()
        others = np.arange(start.size) != index
        start[index] = held
        if np.any(others) and np.any(self.peak.curvature):
            among = self.peak.curvature[np.ix_(others, others)]
            along = np.linalg.lstsq(among, self.peak.curvature[others, index], rcond=None)[0]
            start[others] -= along * (held - self.peak.free[index])
        return climb(self.likelihood, start, index)

    @cached_property
    def errors(self) -> Floats:
        """Standard errors of the coordinates, by the curvature; infinite where there is none."""
        with np.errstate(divide="ignore", invalid="ignore"):
            if np.linalg.matrix_rank(self.peak.curvature) < self.peak.free.size:
                return np.full(self.peak.free.size, np.inf)
            variances = np.diag(np.linalg.inv(self.peak.curvature))
        return np.asarray(np.sqrt(np.where(variances > 0, variances, np.inf)))

    def simulated(self, index: int, free: Floats, count: int, key: Any) -> Floats:
        """The ratio in `count` data sets simulated at a θ, each against the coordinate's true value."""
        values = simulate(self.likelihood, free, count, key)
        if free.size == 1:
            return _on_a_line(self.likelihood, float(free[0]), float(self.errors[0]), values)
        found = np.empty(count)
        for row in range(count):
            other = self.likelihood.with_values(tuple(each[row] for each in values))
            best = climb(other, free)
            top = Peak(best[0], best[1], self.peak.curvature)
            found[row] = Ratio(other, top).deviance(index, float(free[index]))
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


def cutoff(level: float) -> float:
    """What a ratio of one parameter stays below with this probability, in large samples."""
    return float(stats.chi2.ppf(level, 1))
