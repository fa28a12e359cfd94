"""F(θ) = ∫ score scoreᵀ p dy: the one integral of all routes that have a rule over y.

A route says what values y tell, in one part or in several: the mass of each node, which is its weight times p, and the
score there. That p is whole is seen in the total, whatever the rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from confide.errors import AccuracyError

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: the share of the mass and of the information that may be lost, or held by tails whose p has not reached its accuracy
LARGEST_DOUBT = 1e-6


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


def fisher(told: Iterable[Tells]) -> tuple[Floats, float]:
    """F (d, d), and ∫ p dy, from the parts of a rule at one θ."""
    matrix: Floats | float = 0.0
    total = 0.0
    for part in told:
        mass, score = part.mass.reshape(-1), part.score.reshape(-1, part.score.shape[-1])
        score = np.where((mass > 0)[:, None], score, 0.0)
        matrix, total = matrix + (mass[:, None] * score).T @ score, total + float(mass.sum())
    return np.asarray(matrix), total


def information(model: Model, told: Iterable[Iterable[Tells]]) -> Float[Floats, "m d d"]:
    """F (M, d, d) from what y tells at each θ; refused where p is not whole."""
    found = []
    for each in told:
        matrix, total = fisher(each)
        require_whole(model, total)
        found.append(matrix)
    return np.stack(found)


def require_whole(model: Model, total: float) -> None:
    """Refuse a rule that has lost a part of p."""
    if not abs(total - 1.0) <= LARGEST_DOUBT:
        raise AccuracyError(
            f"the density of y integrates to {total:.9g} for {model.channel.statistic} with "
            f"n = {model.channel.n}; use method='replicates', or 'normal' for an approximation"
        )
