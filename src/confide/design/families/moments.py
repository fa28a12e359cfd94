"""Two moments at once, with the budget split between them."""

from __future__ import annotations

import numpy as np

from confide.design.search.family import Candidates, Floats, MeanFamily, ordered, rounded
from confide.design.search.tabulated import Tabulated
from confide.statistic import Mean


class Moments(MeanFamily):
    """(x, k·x²) with x clipped to (low, high): k sets how much of the budget the second moment gets.

    Noise is alike in all components, so a component that is magnified is measured more precisely.

    >>> import confide as cf
    >>> options = {"families": [cf.families.Moments()], "exact": False}
    >>> found = cf.optimize(cf.populations.normal(), privacy=cf.GDP(1.0), n=100, theta=[0.0, 1.0], **options)
    >>> found.best.statistic.dimension
    2
    """

    name = "two moments"

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """Normal scores of the clips, and log k relative to the record's size."""
        return [(-6.0, 0.0), (0.0, 6.0), (-4.0, 4.0)] if law.slope.shape[1] > 1 else []

    def _unit(self, law: Tabulated) -> float:
        spread = law.levels(law.x**2, np.asarray([-1.0, 1.0]))
        ends = law.levels(law.x, np.asarray([-1.0, 1.0]))
        return float(np.diff(ends)[0] / max(np.diff(spread)[0], 1e-300)) or 1.0

    def statistic(self, law: Tabulated, parameters: Floats) -> Mean:
        """The mean of the pair."""
        k = rounded(self._unit(law) * float(np.exp(parameters[2])))
        return Mean(["x", f"{k:g} * x**2"], bounds=ordered(*law.levels(law.x, np.asarray(parameters[:2]))))

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """Both components."""
        ends = np.sort(law.levels(law.x, parameters[:, :2]), axis=1)
        x = np.clip(law.x, ends[:, :1], ends[:, 1:])
        k = self._unit(law) * np.exp(parameters[:, 2:3])
        squares = ends**2
        least = np.where(np.prod(ends, axis=1) < 0, 0.0, squares.min(axis=1))
        low = np.stack([ends[:, 0], k[:, 0] * least], axis=1)
        high = np.stack([ends[:, 1], k[:, 0] * squares.max(axis=1)], axis=1)
        return Candidates(np.stack([x, k * x**2], axis=1), low, high)
