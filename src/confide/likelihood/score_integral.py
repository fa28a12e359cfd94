"""F(θ) = ∫ score scoreᵀ p dy: the one integral of all routes that have a rule over y.

A route says what values y tell, in one part or in several: the mass of each node, which is its weight times p, and the
score there. Whatever the rule, p is whole if the masses add up to one, and its slope if the mean of the score is 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, Self

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from confide.errors import AccuracyError

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: the share of the mass and of the information that may be lost, or held by tails whose p has not reached its accuracy
LARGEST_DOUBT = 1e-6
#: the mean of a score beside its standard deviation from which a part of the slope of p is missing; below the other,
#: by itself or beside the largest score, it is rounding
_OFF, _ROUNDING = 1e-3, 1e-9


class Tells(Protocol):
    """What nodes of y tell about θ: mass (…,) and scores (…, d)."""

    @property
    def mass(self) -> Floats:
        """Weight times p."""

    @property
    def score(self) -> Floats:
        """∂ log p/∂θ."""


class Told(NamedTuple):
    """Nodes of y by their masses (…,) and scores (…, d)."""

    mass: Floats
    score: Floats

    @classmethod
    def by_slopes(cls, weight: Floats, p: Floats, slopes: Floats) -> Self:
        """From p (…,) and ∂p (…, d); a node without mass tells nothing."""
        # scores first: beside the smallest numbers 1/p alone is more than the largest
        some = (p > 0)[..., None]
        return cls(weight * p, np.where(some, slopes / np.where(some, p[..., None], 1.0), 0.0))


def certain(dimension: int) -> list[Tells]:
    """What can be one value only: nothing is learnt about so many parameters."""
    return [Told(np.ones(1), np.zeros((1, dimension)))]


class Integrals(NamedTuple):
    """∫ score scoreᵀ p dy (d, d), ∫ p dy, ∫ score p dy (d,), and the largest of each score (d,)."""

    matrix: Floats
    total: float
    mean: Floats
    largest: Floats


def integrals(told: Iterable[Tells]) -> Integrals:
    """From the parts of a rule at one θ."""
    found: Any = (0.0, 0.0, 0.0, 0.0)
    for part in told:
        mass, score = part.mass.reshape(-1), part.score.reshape(-1, part.score.shape[-1])
        score = np.where((mass > 0)[:, None], score, 0.0)
        moved = mass[:, None] * score
        sums = moved.T @ score, float(mass.sum()), moved.sum(axis=0)
        found = *(a + b for a, b in zip(found[:3], sums, strict=True)), np.maximum(found[3], np.abs(score).max(axis=0))
    return Integrals(np.asarray(found[0]), *found[1:])


def information(model: Model, told: Iterable[Iterable[Tells]]) -> Float[Floats, "m d d"]:
    """F (M, d, d) from what y tells at each θ; refused where p or its slope is not whole."""
    found = [integrals(each) for each in told]
    for each in found:
        require_whole(model, each)
    return np.stack([each.matrix for each in found])


def require_whole(model: Model, found: Integrals) -> None:
    """Refuse a rule that has lost a part of p, or of its slope."""
    total = found.total
    if not abs(total - 1.0) <= LARGEST_DOUBT:
        raise AccuracyError(
            f"the density of y integrates to {total:.9g} for {model.channel.statistic} with "
            f"n = {model.channel.n}; use method='replicates', or 'normal' for an approximation"
        )
    off = np.abs(found.mean)
    if np.any((off > _OFF * np.sqrt(np.diag(found.matrix))) & (off > _ROUNDING * np.maximum(found.largest, 1.0))):
        raise AccuracyError(
            f"the score of {model.channel.statistic} with n = {model.channel.n} has the mean {found.mean} and not 0: a "
            "part of it is missing; use method='replicates', or 'normal' for an approximation"
        )
