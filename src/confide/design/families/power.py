"""Powers of the clipped record, the paper's family: abs(clip(x, −c, c))**a."""

from __future__ import annotations

import numpy as np

from confide.design.family import Candidates, Floats, MeanFamily, positive, rounded
from confide.design.tabulated import Tabulated
from confide.statistic import Mean


class Power(MeanFamily):
    """abs(x)**a with x clipped to ±c; a between 0.1 and 4.

    >>> import confide as cf
    >>> population = cf.populations.normal_variance()
    >>> families = [cf.families.Power()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=families, exact=False)
    >>> print(found.best.statistic)
    the mean of abs(x)**2.24 with x clipped to [-3.086, 3.086]
    """

    name = "power"
    scalar = True

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """a, and log c from the body of abs(x) to its far tail."""
        size = np.abs(law.x)
        low, high = law.levels(size, np.asarray([-1.0, 6.0]))
        if high <= 0:
            return []
        low = max(low, float(np.min(size[size > 0]))) if law.population.discrete else max(low, 1e-3 * high)
        return [(0.1, 4.0), (float(np.log(low)), float(np.log(high)))] if low < high else []

    def statistic(self, law: Tabulated, parameters: Floats) -> Mean:
        """The mean of abs(x)**a."""
        a, c = rounded(parameters[0], 3), rounded(float(np.exp(parameters[1])))
        base = "x" if positive(law) else "abs(x)"
        return Mean(base if a == 1 else f"{base}**{a:g}", bounds=(0.0 if positive(law) else -c, c))

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """min(abs(x), c)**a."""
        a, c = parameters[:, :1, None], np.exp(parameters[:, 1:2, None])
        s = np.minimum(np.abs(law.x), c) ** a
        return Candidates(s, np.zeros(s.shape[:2]), (c**a)[:, :, 0])
