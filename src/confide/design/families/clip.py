"""The record itself, clipped on one side or on both."""

from __future__ import annotations

import numpy as np

from confide.design.family import Candidates, Floats, MeanFamily, ordered
from confide.design.tabulated import Tabulated
from confide.statistic import Mean


class Clip(MeanFamily):
    """x clipped to (low, high), each chosen; a clip beyond all records is one-sided.

    >>> import confide as cf
    >>> population = cf.populations.normal_variance()
    >>> families = [cf.families.Clip()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=families, exact=False)
    >>> print(found.best.statistic)
    the mean of x with x clipped to [-3.03, -1.349]
    """

    name = "clip"
    scalar = True

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """Normal scores of the two clips."""
        return [(-6.0, 1.0), (-1.0, 6.0)]

    def statistic(self, law: Tabulated, parameters: Floats) -> Mean:
        """The mean of x."""
        return Mean("x", bounds=ordered(*law.levels(law.x, np.asarray(parameters))))

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """clip(x, low, high)."""
        ends = np.sort(law.levels(law.x, parameters), axis=1)
        low, high = ends[:, :1], ends[:, 1:]
        return Candidates(np.clip(law.x, low[..., None], high[..., None]), low, high)
