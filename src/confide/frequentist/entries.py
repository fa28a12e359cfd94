"""The numbers of θ that confidence sets are about, each with a free coordinate of its own.

A scalar has one, and so has each entry of a vector whose entries are constrained one by one. Of a simplex the first
entry has one, since breaking a stick begins with it: an entry trades places with the first to get it. Entries of a
matrix have none, and are only maximised over.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from numpyro.distributions import constraints

from confide.errors import ParameterError
from confide.frequentist.likelihood import FreeLikelihood, Peak, entry_constraint
from confide.population.space import Parameter, Space, said

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OneNumber:
    """One number of θ: what it is called, where it is, which free coordinate is its own, and with whom it trades."""

    label: str
    part: Parameter
    #: its index in θ, in free coordinates, and in θ the index of the entry that it trades places with
    place: int
    free: int
    first: int

    @property
    def _constraint(self) -> Any:
        return constraints.unit_interval if self.part.constraint is constraints.simplex else entry_constraint(self.part)

    def among(self, likelihood: FreeLikelihood, peak: Peak) -> tuple[FreeLikelihood, Peak]:
        """The likelihood and its maximum in coordinates of which one is this entry's own."""
        if self.place == self.first:
            return likelihood, peak
        traded = likelihood.trading((self.first, self.place))

        def moved(free: Floats) -> Floats:
            return traded.free(likelihood.thetas(free))

        free = moved(peak.free[None])[0]
        starts = moved(peak.starts) if peak.starts.size else peak.starts
        return traded, Peak(free, peak.log_prob, traded.curvature(free), peak.edge, starts)

    def value(self, likelihood: FreeLikelihood, free: float) -> float:
        """The number at a free coordinate, which may be infinite: an end of its space."""
        if not np.isfinite(free):
            end = getattr(self._constraint, "upper_bound" if free > 0 else "lower_bound", None)
            return float(free) if end is None else float(end)
        coordinates = np.zeros((1, likelihood.size))
        coordinates[0, self.free] = free
        return float(likelihood.thetas(coordinates)[0, self.place])

    def coordinate(self, likelihood: FreeLikelihood, value: float) -> float:
        """The free coordinate of a number."""
        if not bool(self._constraint(value)):
            raise ParameterError(
                "theta0", value, f"cannot be {self.label}", f"{self.label} must be {said(self._constraint)}"
            )
        theta = likelihood.thetas(np.zeros((1, likelihood.size)))[0].copy()
        if self.part.constraint is constraints.simplex:  # the others share what is left
            theta[self.first : self.first + self.part.size] = (1.0 - value) / (self.part.size - 1)
        theta[self.place] = value
        return float(likelihood.free(theta)[self.free])


def entries(space: Space) -> list[OneNumber]:
    """All numbers of θ that have a free coordinate of their own, or get one by trading places."""
    found, place, free = [], 0, 0
    for part in space:
        if not part.vector:
            found.append(OneNumber(part.name, part, place, free, place))
        elif part.constraint is constraints.simplex:
            found += [OneNumber(f"{part.name}[{j}]", part, place + j, free, place) for j in range(part.size)]
        elif hasattr(part.constraint, "base_constraint"):
            found += [OneNumber(f"{part.name}[{j}]", part, place + j, free + j, place + j) for j in range(part.size)]
        place, free = place + part.size, free + part.free
    return found
