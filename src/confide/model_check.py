"""How well a family fits: counts that it might have published, drawn from the posterior, beside those that were.

A histogram holds more than a parameter, so that it can contradict the family. For each draw of θ (and of n, where that
is private) the distance of the published counts from those expected, in the metric of their covariance, is compared
with that of counts which are simulated there; the share of draws in which the simulated ones lie farther off is the
posterior predictive p-value. It is near ½ for a family that fits, and rarely near 0: it does not reach 0.05 in a
twentieth of all cases, but in fewer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._random import as_key, split_in_two
from confide.clipping import releases_of
from confide.errors import IncompatibleError
from confide.likelihood.cells.probabilities import cell_law

if TYPE_CHECKING:
    from confide.posterior import Posterior

Floats = NDArray[np.float64]

#: draws of the posterior that are looked at
_DRAWS = 2000
#: p-values below which a family is said not to fit, or to be doubtful, and standard errors of a cell that are told
_MISFIT, _DOUBTFUL, _FAR = 0.005, 0.05, 3.0


@dataclass(frozen=True)
class ModelCheck:
    """A posterior predictive p-value, and the cell that speaks most against the family."""

    p_value: float
    #: the cell whose count is farthest from what the family expects, and by how many standard deviations, with its sign
    cell: str
    deviations: float
    family: str

    def __str__(self) -> str:
        if self.p_value < _MISFIT:
            verdict = f"{self.family} does not fit what was published"
        elif self.p_value < _DOUBTFUL:
            verdict = f"it is doubtful whether {self.family} fits what was published"
        else:
            verdict = f"nothing in the published counts speaks against {self.family}"
        told = "" if self.p_value == 0 else f"{self.p_value:.2g}"
        share = f"counts that it might have published lie farther off in {told or f'fewer than 1 in {_DRAWS:,}'}"
        worst = ""
        if abs(self.deviations) > _FAR:
            more = "more" if self.deviations > 0 else "fewer"
            worst = (
                f" The cell {self.cell!r} has {more} than expected, by {abs(self.deviations):.1f} standard deviations."
            )
        return f"{verdict[0].upper()}{verdict[1:]}: {share} of all cases.{worst}"


def model_check(posterior: Posterior, key: Any = 0) -> ModelCheck:
    """The check of a posterior that was inferred from a histogram."""
    if posterior.call is None:
        raise IncompatibleError("this posterior does not remember what it was inferred from; infer again")
    releases = [each for each in releases_of(posterior.call) if each.channel.statistic.tallies]
    if len(releases) != 1:
        raise IncompatibleError(
            f"a family is checked against one histogram, and this posterior has {len(releases)}; publish a Histogram "
            "to see how well a family fits"
        )
    (release,), population = releases, posterior.call.arguments["population"]
    channel, rows = release.channel, posterior.theta.reshape(-1, posterior.theta.shape[-1])
    chosen = np.unique(np.linspace(0, len(rows) - 1, _DRAWS).astype(int))
    numbers = np.ravel(posterior.draws["n"])[chosen] if channel.n is None else np.full(chosen.size, float(channel.n))
    for_counts, for_noise = split_in_two(as_key(key))
    generator = np.random.default_rng(np.asarray(jax.random.key_data(for_counts)).ravel().tolist())
    with jax.enable_x64(True):
        q = np.asarray(cell_law(population, channel.statistic).at(rows[chosen]))
        q = q / q.sum(axis=1, keepdims=True)
        counts = generator.multinomial(numbers.astype(np.int64), q).astype(np.float64)
        drawn = np.asarray(channel.law.sample(for_noise, jnp.asarray(counts)))
        variance = float(channel.law.added.variance)
    expected = numbers[:, None] * q
    far = distance(drawn - expected, numbers, q, variance) >= distance(
        np.asarray(release.value) - expected, numbers, q, variance
    )
    each = (np.asarray(release.value) - expected) / np.sqrt(expected * (1 - q) + variance)
    worst = int(np.argmax(np.abs(each.mean(axis=0))))
    name = channel.statistic.labels[worst]
    return ModelCheck(float(np.mean(far)), name, float(each[:, worst].mean()), f"the family {population.name}")


def distance(apart: Floats, numbers: Floats, q: Floats, variance: float) -> Floats:
    """rᵀΣ⁻¹r with Σ = n(diag q − qqᵀ) + variance·I, by Sherman and Morrison: (draws, cells) → (draws,).

    >>> distance(np.array([[1.0, -1.0]]), np.array([4.0]), np.array([[0.5, 0.5]]), 1.0).round(12).tolist()
    [0.666666666667]
    """
    diagonal = numbers[:, None] * q + variance
    scaled, along = apart / diagonal, q / diagonal
    rest = 1 - numbers * np.sum(q * along, axis=1)
    return np.asarray(np.sum(apart * scaled, axis=1) + numbers * np.sum(apart * along, axis=1) ** 2 / rest)
