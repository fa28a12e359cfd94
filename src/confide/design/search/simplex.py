"""Searching a box for the best candidate: a grid over all of it, then a simplex search from each of its best points."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from confide.design.search.family import MeanFamily
from confide.design.search.problem import MEANS, SearchProblem, SearchResult
from confide.design.search.totals import SumsAndCount
from confide.mechanism import Laplace, Mechanism

Floats = NDArray[np.float64]

#: points of the grid along each side of a box of one or two parameters, and in all in a larger one: chosen, 30²
#: evaluations are as many as five searches make at most
_PER_SIDE = {1: 65, 2: 30}
_SOBOL = 512
#: basins that are tried: a search costs up to 90 evaluations a parameter
_STARTS = 5
#: chosen: statistics that are tabulated at once, of which 2,400 cells and four powers are 2.5 MB
_BLOCK = 32


def best_mean(family: MeanFamily, problem: SearchProblem, kind: type[Mechanism]) -> SearchResult | None:
    """The best mean of a family with noise of one kind; None where the family or the mechanism does not serve.

    Where the number of records is private it is a sum beside a count. More than one sum with Laplace noise has no
    likelihood in closed form then, so that it is not looked for.
    """
    if problem.private:
        family = SumsAndCount(family, moved=kind is Laplace)
    box = np.asarray(family.box(problem.law), dtype=float).reshape(-1, 2)
    mechanism = problem.mechanism(kind)
    if mechanism is None or kind not in MEANS or len(box) == 0:
        return None
    if problem.private and kind is Laplace and family.values(problem.law, box[:, :1].T).s.shape[1] > 2:
        return None

    def losses(parameters: Floats) -> Floats:
        found = [
            problem.loss(problem.mean_information(family.values(problem.law, block), kind))
            for block in np.array_split(parameters, -(-len(parameters) // _BLOCK))
        ]
        return np.concatenate(found)

    best = minimise(losses, box)
    statistic = family.statistic(problem.law, best)
    information = problem.mean_information(family.values(problem.law, best[None]), kind)
    return SearchResult(family.name, statistic, mechanism, information[0], float(problem.loss(information)[0]), best)


def minimise(losses: Callable[[Floats], Floats], box: Floats) -> Floats:
    """The point of a box where a function of many points (B, p) → (B,) is least.

    Deterministic. The starts are the best points of the grid that no better one is near, so that several basins are
    tried.
    """
    grid = _grid(box)
    at_grid = np.nan_to_num(losses(grid), nan=np.inf, posinf=np.inf)
    width = box[:, 1] - box[:, 0]
    found, value = grid[np.argmin(at_grid)], float(at_grid.min())
    for start in _starts(grid, at_grid, width):
        result = minimize(
            lambda p: _ordered(float(losses(np.clip(p, *box.T)[None])[0])),
            start,
            method="Nelder-Mead",
            bounds=list(map(tuple, box)),
            options={
                "initial_simplex": _simplex(start, box),
                "maxfev": 90 * len(box),
                "xatol": 1e-3,
                "fatol": 1e-7,
            },
        )
        reached = np.clip(result.x, *box.T)
        loss = float(losses(reached[None])[0])
        if loss < value:
            found, value = reached, loss
    return np.asarray(found)


def _ordered(loss: float) -> float:
    """A loss on a scale on which a relative change is a change: logarithms keep the order, whatever the sign."""
    if np.isnan(loss) or loss == np.inf:
        return 1e6
    return float(np.sign(loss) * 1e3 + np.log(abs(loss)) * np.sign(loss)) if loss != 0 else 0.0


def _grid(box: Floats) -> Floats:
    side = _PER_SIDE.get(len(box))
    if side is None:
        from scipy.stats import qmc

        unit = qmc.Sobol(len(box), scramble=False).random(_SOBOL)
    else:
        unit = np.stack(np.meshgrid(*[np.linspace(0, 1, side)] * len(box), indexing="ij"), -1).reshape(-1, len(box))
    return np.clip(box[:, 0] + unit * (box[:, 1] - box[:, 0]), box[:, 0], box[:, 1])


def _starts(grid: Floats, loss: Floats, width: Floats) -> list[Floats]:
    chosen: list[Floats] = []
    for i in np.argsort(loss, kind="stable"):
        if not np.isfinite(loss[i]) or len(chosen) == _STARTS:
            break
        if all(np.max(np.abs(grid[i] - other) / width) > 0.12 for other in chosen):
            chosen.append(grid[i])
    return chosen


def _simplex(start: Floats, box: Floats) -> Floats:
    """A start and a step from it along each axis, turned inwards at the edge."""
    step = 0.04 * (box[:, 1] - box[:, 0])
    step = np.where(start + step > box[:, 1], -step, step)
    return np.clip(np.concatenate([start[None], start + np.diag(step)]), box[:, 0], box[:, 1])
