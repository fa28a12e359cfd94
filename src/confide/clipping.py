"""What clipping does to a population: how much of it lies outside the bounds, and what the statistic becomes by that.

A published number is about the *clipped* records. The likelihood knows that; a reader of the number may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide._call import Remembered
from confide._digits import as_known
from confide._precision import float64
from confide.errors import ConfideError
from confide.likelihood.record_law.moments import law_for, moments_at
from confide.likelihood.record_law.rows.nodes import clipped_rows
from confide.model import Model
from confide.population import Population
from confide.statistic import Mean, Statistic
from confide.statistic.columns import ColumnBounds

Floats = NDArray[np.float64]

#: the share of a population that is left out when its own mean is computed, and a larger one that must tell the same
_LEFT_OUT, _MORE = 1e-9, 1e-7
#: a share that is not worth a word
_NOTHING = 1e-4


@dataclass(frozen=True)
class Clipping:
    """The share of a population outside the bounds, and the mean of s with and without clipping.

    `clipped` and `own` have a number per component of s; None where the statistic is no mean, or where s, or its mean,
    does not exist beyond the bounds.
    """

    share: float
    bounds: tuple[float, float] | ColumnBounds
    clipped: tuple[float, ...] | None = None
    own: tuple[float, ...] | None = None

    @property
    def matters(self) -> bool:
        """Whether it is worth a word."""
        return self.share >= _NOTHING

    def __str__(self) -> str:
        if isinstance(self.bounds, ColumnBounds):
            outside, then = "has a value outside of its bounds", f", which counts as the nearer end ({self.bounds})"
        else:
            low, high = self.bounds
            outside, then = f"lies outside [{low:g}, {high:g}]", " and counts as the nearer end"
        if not self.matters:
            return f"Less than 0.01% of the assumed population {outside}: clipping does nothing."
        share = f"{self.share:.1%}" if self.share >= 0.001 else f"{self.share:.2%}"
        text = f"Of the assumed population {share} {outside}{then}"
        if self.clipped is None or self.own is None:
            return f"{text}; inference accounts for that, as far as the model is right beyond the bounds."
        both = (self.clipped, self.own)
        clipped, own = (", ".join(as_known(each, 1e-2 * abs(each)) for each in values) for values in both)
        return (
            f"{text}: by the model the clipped statistic is {clipped} on average, and would be about {own} without "
            "clipping. Inference accounts for that, as far as the model is right beyond the bounds."
        )


@float64
def clipped_share(population: Population, statistic: Statistic, theta: Any) -> Any:
    """P(X < low) + P(X > high) for each θ of a batch; of rows, that any column lies beyond its own bounds.

    >>> import confide as cf
    >>> shares = clipped_share(cf.populations.normal_mean(), cf.Mean("x", bounds=(-1, 2)), [0.0, 1.0])
    >>> shares.round(4).tolist()
    [0.1814, 0.1814]
    """
    if statistic.tallies or statistic.counts:  # cells hold every record, and a count looks at none
        return np.zeros(np.shape(population.theta(theta))[:-1])
    if population.rows is not None:
        thetas = np.asarray(population.theta(theta))
        flat = thetas.reshape(-1, thetas.shape[-1])
        return np.asarray(clipped_rows(population, statistic, flat)).reshape(thetas.shape[:-1])
    low, high = statistic.bounds
    # P(X < low), which is P(X ≤ low) for a density
    below = population.cdf(np.ceil(low) - 1.0 if population.discrete else low, theta)
    return np.asarray(below) + np.asarray(population.survival(high, theta))


@float64
def clipping(model: Model, theta: Any) -> Clipping:
    """What clipping does to the records of a model at one θ.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 20)), cf.Laplace(cf.PureDP(1.0)), n=100)
    >>> print(clipping(cf.Model(cf.populations.exponential(), channel), 0.1))
    Of the assumed population 13.5% lies outside [0, 20] and counts as the nearer end: by the model the clipped
    statistic is 8.647 on average, and would be about 10 without clipping. Inference accounts for that, as far as the
    model is right beyond the bounds.
    """
    population, statistic = model.population, model.channel.statistic
    share = float(clipped_share(population, statistic, theta))
    if share < _NOTHING or not statistic.averages or population.rows is not None:
        return Clipping(share, statistic.bounds)
    try:
        at = np.asarray(population.theta(theta))[None]
        clipped = _mean(population, statistic, at)
        own, nearly = (_mean(population, _wider(population, statistic, theta, out), at) for out in (_LEFT_OUT, _MORE))
    except ConfideError:
        return Clipping(share, statistic.bounds)
    if not np.allclose(own, nearly, rtol=1e-3, atol=1e-300):
        return Clipping(share, statistic.bounds)  # the mean is infinite, or as good as
    return Clipping(share, statistic.bounds, tuple(clipped), tuple(own))


def releases_of(call: Remembered) -> tuple[Any, ...]:
    """The releases that an inference was given."""
    given = call.arguments.get("releases", ())
    return tuple(given) if isinstance(given, Sequence) else (given,)


def clippings(call: Remembered | None, mean: Mapping[str, Any]) -> list[Clipping]:
    """What clipping does to the population at a posterior mean, for each release of the call that found it."""
    if call is None or "population" not in call.arguments:
        return []
    population = call.arguments["population"]
    # records that are missing have a share of their own, and are not clipped
    theta = np.concatenate([np.ravel(mean[name]) for name in population.names])
    # cells hold every record, and a count looks at none
    told = [each for each in releases_of(call) if not each.channel.statistic.tallies | each.channel.statistic.counts]
    return [clipping(Model(population, each.channel), theta) for each in told]


def _mean(population: Population, statistic: Statistic, thetas: Floats) -> list[float]:
    mean, _ = moments_at(law_for(population, statistic, thetas), thetas)
    return [float(each) for each in np.ravel(mean)]


def _wider(population: Population, statistic: Statistic, theta: Any, left_out: float) -> Mean:
    """The same statistic on bounds that hold all but a little of the population."""
    low, high = statistic.bounds
    ends = (float(population.quantile(left_out, theta)), float(population.quantile(1 - left_out, theta)))
    expressions: Any = list(statistic.transforms) if statistic.dimension > 1 else statistic.transforms[0]
    return Mean(expressions, bounds=(min(low, ends[0]), max(high, ends[1])))
