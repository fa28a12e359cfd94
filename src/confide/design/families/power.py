"""Powers of the clipped record, the paper's family: abs(clip(x, −c, c))**a."""

from __future__ import annotations

import numpy as np

from confide.design.search.family import Candidates, Floats, MeanFamily, positive, rounded
from confide.design.search.tabulated import Tabulated
from confide.statistic import Mean


class Power(MeanFamily):
    """abs(x)**a with x clipped to ±c; a between 0.1 and 4, and whole for counts, so that sums stay whole numbers.

    >>> import confide as cf
    >>> population = cf.populations.normal_variance()
    >>> families = [cf.families.Power()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=families, exact=False)
    >>> print(found.best.statistic)
    the mean of abs(x)**2.24 with x clipped to [-3.09, 3.09]
    """

    name = "power"
    scalar = True

    def box(self, law: Tabulated) -> list[tuple[float, float]]:
        """a, and the normal score of c in the law of abs(x)."""
        return [(0.1, 4.0), (-1.0, 6.0)] if np.any(law.x != 0) else []

    def statistic(self, law: Tabulated, parameters: Floats) -> Mean:
        """The mean of abs(x)**a."""
        given = np.asarray(parameters)[None]
        a, c = rounded(float(self._exponents(law, given)[0]), 3), rounded(float(self._clips(law, given)[0]), 3)
        base = "x" if positive(law) else "abs(x)"
        return Mean(base if a == 1 else f"{base}**{a:g}", bounds=(0.0 if positive(law) else -c, c))

    def values(self, law: Tabulated, parameters: Floats) -> Candidates:
        """min(abs(x), c)**a."""
        a, c = self._exponents(law, parameters)[:, None], self._clips(law, parameters)[:, None]
        s = np.minimum(np.abs(law.x), c) ** a
        return Candidates(s[:, None], np.zeros_like(a), c**a)

    def _exponents(self, law: Tabulated, parameters: Floats) -> Floats:
        a = parameters[:, 0]
        return np.maximum(np.round(a), 1.0) if law.population.discrete else a

    def _clips(self, law: Tabulated, parameters: Floats) -> Floats:
        size = np.abs(law.x)
        return np.maximum(law.levels(size, parameters[:, 1]), np.min(size[size > 0]))
