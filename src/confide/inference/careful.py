"""A likelihood that goes on where a route gives up.

Far from the posterior's mass an exact route may refuse: at a tiny variance, say, the law of the statistic is a spike
that no frequency grid resolves next to wide noise. There, and only there, the normal approximation stands in, and it is
said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError, IncompatibleError
from confide.likelihood.joint import Joint, joint_route

Floats = NDArray[np.float64]

#: θ that are given to the approximation together
_FEWEST = 8


class Careful:
    """log p(y | θ) by a joint route, and by the normal approximation where that raises `AccuracyError`."""

    def __init__(self, joint: Joint, same_records: bool | None) -> None:
        self.joint, self.name = joint, joint.name
        self._same_records = same_records
        self._approximate: list[Floats] = []

    def log_likelihood(self, thetas: Floats, values: Sequence[Any]) -> Floats:
        """At all θ (M, d)."""
        try:
            return np.asarray(self.joint.log_likelihood(thetas, values))
        except AccuracyError:
            if self.name == "normal":
                raise
            if len(thetas) > _FEWEST:
                half = len(thetas) // 2
                return np.concatenate([self.log_likelihood(part, values) for part in (thetas[:half], thetas[half:])])
            found = self._normal(thetas, values)
            self._approximate.append(thetas)
            return found

    def _normal(self, thetas: Floats, values: Sequence[Any]) -> Floats:
        try:
            other = joint_route(self.joint.models, "normal", self._same_records)
        except IncompatibleError:
            raise AccuracyError(
                f"route {self.name!r} cannot compute the likelihood near theta = {thetas[0].tolist()}, and the normal "
                "approximation does not serve this model; narrow the prior, or use method='mhaar'"
            ) from None
        return np.asarray(other.log_likelihood(thetas, values))

    def notes(self, names: Sequence[str], theta: Floats, share: Floats) -> list[str]:
        """What to say, given the posterior's share at each θ of its final grid."""
        if not self._approximate:
            return []
        places = np.unique(np.concatenate(self._approximate), axis=0)
        low, high = places.min(axis=0), places.max(axis=0)
        inside = np.all((theta >= low) & (theta <= high), axis=-1)
        mass = float(share[inside].sum())
        if mass < 1e-6:
            return []
        span = ", ".join(f"{name} from {a:.3g} to {b:.3g}" for name, a, b in zip(names, low, high, strict=False))
        return [f"the exact likelihood could not be computed everywhere: for {span} the normal approximation was used"]
