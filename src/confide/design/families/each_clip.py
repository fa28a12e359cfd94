"""The local model: each record clipped to (low, high) and published by itself, with noise of its own."""

from __future__ import annotations

import numpy as np

from confide.design.search.answers import answer_rule
from confide.design.search.family import Family, Floats, ordered
from confide.design.search.problem import SearchProblem, SearchResult
from confide.design.search.simplex import minimise
from confide.design.search.tabulated import distribution
from confide.mechanism import Gaussian, Laplace, Mechanism
from confide.statistic import Each

#: cells between the bounds: information is off by 1e-4 of itself where noise is a tenth of the width, and by less
#: where it is wider; candidates of which tables are made at once
_CELLS, _BLOCK = 160, 32
#: normal scores of the middle of a clip, and logarithms of its width in units of the record's own
_BOX = ((-2.0, 2.0), (-4.5, 2.5))


class EachClip(Family):
    """x clipped to (low, high) and published record by record: the clip that tells the most, by its exact information.

    A clip far narrower than the records is best where noise is wide: it asks on which side of a place the record lies.

    >>> import confide as cf
    >>> families = [cf.families.EachClip()]
    >>> found = cf.optimize(cf.populations.normal_mean(), privacy=cf.PureDP(2.0), n=1, theta=0.0, families=families)
    >>> print(found.best.statistic)
    each record's x with x clipped to [-0.223, 0.223]
    """

    name = "clip, each record"
    mechanisms: tuple[type[Mechanism], ...] = (Laplace, Gaussian)

    def search(self, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
        """The best clip under one mechanism."""
        mechanism = problem.mechanism(kind)
        if mechanism is None or kind not in self.mechanisms or problem.law.population.discrete:
            return None

        def losses(parameters: Floats) -> Floats:
            blocks = np.array_split(parameters, -(-len(parameters) // _BLOCK))
            return np.concatenate(
                [problem.loss(_information(problem, kind, _ends(problem, block))) for block in blocks]
            )

        best = minimise(losses, np.asarray(_BOX))
        ends = _ends(problem, best[None])
        information = _information(problem, kind, ends)
        statistic = Each("x", bounds=ordered(*map(float, ends[0])))
        return SearchResult(self.name, statistic, mechanism, information[0], float(problem.loss(information)[0]), best)


def _ends(problem: SearchProblem, parameters: Floats) -> Floats:
    """The two ends of clips (B, 2), from the normal scores of their middles and the logarithms of their widths."""
    law = problem.law
    middle = law.levels(law.x, parameters[:, 0])
    spread = float(np.diff(law.levels(law.x, np.asarray([-1.0, 1.0])))[0])
    half = 0.5 * spread * np.exp(parameters[:, 1])
    return np.stack([middle - half, middle + half], axis=1)


def _information(problem: SearchProblem, kind: type[Mechanism], ends: Floats) -> Floats:
    """F (B, M, d, d) of n records with clips (B, 2)."""
    law = problem.law
    rule = answer_rule(problem.ratio(kind), _CELLS, laplace=kind is Laplace)
    x = ends[:, :1] + (ends[:, 1:] - ends[:, :1]) * rule.edges
    below, slope = (np.asarray(part) for part in distribution(law.population, x.ravel(), law.points.thetas))
    thetas, size = law.points.thetas.shape
    both = np.concatenate([below[:, None], slope], axis=1).reshape(thetas, size + 1, *x.shape)
    whole = np.zeros_like(both[..., :1])
    whole[:, 0] = 1.0
    masses = np.diff(np.concatenate([np.zeros_like(whole), both, whole], axis=-1), axis=-1)
    density, *changes = np.moveaxis(masses @ rule.matrix.T, 1, 0)
    change = np.stack(changes, axis=-1)
    weight = rule.weights / np.maximum(density, 1e-300)
    return problem.n * np.einsum("mbki,mbk,mbkj->bmij", change, weight, change)
