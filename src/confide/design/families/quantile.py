"""Order statistics: which quantile of x or abs(x) to publish, and under which mechanism."""

from __future__ import annotations

import math

import numpy as np

from confide.design.families.ranks import Side, sides, wide
from confide.design.search.approximate import laplace_weights, rank_information
from confide.design.search.family import Family, Floats
from confide.design.search.problem import SearchProblem, SearchResult
from confide.mechanism import Exponential, Gaussian, Laplace, Mechanism, Noiseless, SmoothCauchy, SmoothLaplace
from confide.mechanism.smooth import SmoothMechanism
from confide.privacy import PureDP
from confide.statistic import Quantile


class QuantileLevel(Family):
    """The quantile of x or abs(x) of a level to be chosen.

    >>> import confide as cf
    >>> population = cf.populations.normal_variance()
    >>> families = [cf.families.QuantileLevel()]
    >>> found = cf.optimize(population, privacy=cf.GDP(1.0), n=100, theta=2.0, families=families, exact=False)
    >>> print(found.best.statistic)
    the 0.99-quantile of abs(x) with x clipped to [-4.4, 4.4]
    """

    name = "quantile"
    scalar = True
    mechanisms: tuple[type[Mechanism], ...] = (Exponential, SmoothLaplace, SmoothCauchy, Laplace, Gaussian, Noiseless)

    def search(self, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
        """The best level under one mechanism."""
        mechanism = problem.mechanism(kind)
        if mechanism is None or kind not in self.mechanisms or problem.law.population.discrete:
            return None
        ranks = np.unique(np.ceil(np.linspace(0, 1, 201)[1:-1] * problem.n)).astype(int)
        ranks = ranks[(ranks >= 1) & (ranks < problem.n)]
        if ranks.size == 0:
            return None
        best: SearchResult | None = None
        for side in sides(problem.law):
            information = self._information(problem, side, mechanism, ranks)
            at, loss = problem.best(information)
            if best is None or loss < best.loss:
                level = float(f"{ranks[at] / problem.n:.6g}")
                statistic = Quantile(side.text, level, bounds=wide(problem.law))
                found = np.asarray([level])
                best = SearchResult(self.name, statistic, mechanism, information[at], loss, found)
        return best

    def _information(self, problem: SearchProblem, side: Side, mechanism: Mechanism, ranks: Floats) -> Floats:
        """F (Q, M, d, d) at every rank."""
        level = ranks / (problem.n + 1)
        d_below = np.stack(
            [
                np.stack([np.interp(level, below, slope) for slope in slopes], axis=-1)
                for below, slopes in zip(side.below, side.slope, strict=True)
            ]
        )
        spread = np.sqrt(level * (1 - level) / problem.n)
        scale, laplace = self._rank_noise(problem, side, mechanism, level)
        if laplace:
            variance = spread**2 / laplace_weights(spread / np.maximum(scale, 1e-300))[0]
        else:
            variance = spread**2 + scale**2
        return np.asarray(np.moveaxis(rank_information(d_below, np.broadcast_to(variance, d_below.shape[:2])), 1, 0))

    def _rank_noise(
        self, problem: SearchProblem, side: Side, mechanism: Mechanism, level: Floats
    ) -> tuple[Floats, bool]:
        """The scale of the mechanism's noise in the rank as a share of n (…, Q), and whether it is Laplace's."""
        n = problem.n
        if isinstance(mechanism, Exponential):
            assert isinstance(problem.privacy, PureDP)
            return np.full(level.shape, 2.0 / (problem.privacy.epsilon * n)), True
        if isinstance(mechanism, SmoothMechanism):
            alpha, beta = mechanism.smoothing()
            k = np.arange(0, max(2, math.ceil(3 / beta)))
            reach = float(np.max((k + 1) * np.exp(-beta * k)))
            # a Cauchy location has information 1/2γ²
            cauchy = isinstance(mechanism, SmoothCauchy)
            return np.full(level.shape, reach / (alpha * n) * (math.sqrt(2.0) if cauchy else 1.0)), not cauchy
        if isinstance(mechanism, Noiseless):
            return np.zeros(level.shape), False
        low, high = wide(problem.law)
        width = high if side.text == "abs(x)" else high - low
        steps = np.maximum(np.diff(side.edges), 1e-300)
        middle = 0.5 * (side.below[:, 1:] + side.below[:, :-1])
        density = np.stack(
            [np.interp(level, at, np.diff(below) / steps) for at, below in zip(middle, side.below, strict=True)]
        )
        return density * width / problem.ratio(type(mechanism)), isinstance(mechanism, Laplace)
