"""The statistics that are compared for rows, over which nothing is searched: means and moments of standardised columns.

A column is taken from the middle of its bounds, in units of half their width, so that every component lies within ±1:
one noise scale serves all of them, and the widest would decide it. A private number of records needs them centred too.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

from confide.privacy import PureDP
from confide_explorer.assumed import Assumed

#: shares of the bounds' half widths: clipping more than the bounds do may leave less noise
_WIDTHS = (1.0, 0.5)
Bounds = dict[str, tuple[float, float]]


def _means(columns: dict[str, str], two: frozenset[str]) -> list[str]:
    return list(columns.values())


def _moments(columns: dict[str, str], two: frozenset[str]) -> list[str]:
    squares = [f"{_whole(s)}**2" for name, s in columns.items() if name not in two]
    return [*columns.values(), *squares, *(f"{_whole(s)} * {_whole(t)}" for s, t in combinations(columns.values(), 2))]


def _explained(columns: dict[str, str], two: frozenset[str]) -> list[str]:
    """What is known of the others does not change what the first says of its line."""
    (first, y), *others = columns.items()
    squares = [] if first in two else [f"{_whole(y)}**2"]
    return [y, *(f"{_whole(y)} * {_whole(x)}" for _, x in others), *squares]


def _whole(expression: str) -> str:
    return expression if expression.isidentifier() else f"({expression})"


#: what is published of standardised columns, of which some have two values
SHAPES: dict[str, Callable[[dict[str, str], frozenset[str]], list[str]]] = {
    "means": _means,
    "what the first column has to do with the others": _explained,
    "all first and second moments": _moments,
}


def candidates(plan: Assumed) -> list[str]:
    """Statistics in words, as a reader would type them.

    >>> from confide_explorer.pages import settled
    >>> from confide_explorer.reading import read_plan
    >>> from confide_explorer.state import PageState
    >>> plan, _ = read_plan(settled(PageState(column="pain", column_b="drug", rows="linear_regression")))
    >>> candidates(plan)[1]
    'mean pain / 5, (pain / 5) * (drug / 4), (pain / 5)**2'
    """
    whole: Bounds = plan.bounds
    two = frozenset(name for name, law in plan.population.rows.columns if _of_two(law.population))
    noise = "" if isinstance(plan.privacy, PureDP) else " with gaussian"
    head = "sum 1, " if plan.private else "mean "
    found = []
    for share in _WIDTHS:
        bounds = {name: ends if name in two else _narrowed(*ends, share) for name, ends in whole.items()}
        ends = " ".join(f"{name}={low:g}:{high:g}" for name, (low, high) in bounds.items())
        on = "" if bounds == whole else f" on {ends}"
        columns = {name: name if name in two else _standardised(name, *ends) for name, ends in bounds.items()}
        found += [f"{head}{', '.join(shape(columns, two))}{on}{noise}" for shape in SHAPES.values()]
    return list(dict.fromkeys(found))


def _of_two(population: Any) -> bool:
    return population.discrete and population.facts.fixed_ends == (0.0, 1.0)


def _narrowed(low: float, high: float, share: float) -> tuple[float, float]:
    middle, half = 0.5 * (low + high), 0.5 * share * (high - low)
    return float(f"{middle - half:.6g}"), float(f"{middle + half:.6g}")


def _standardised(name: str, low: float, high: float) -> str:
    middle, half = (float(f"{each:.6g}") for each in (0.5 * (low + high), 0.5 * (high - low)))
    moved = name if middle == 0 else f"({name} {'-' if middle > 0 else '+'} {abs(middle):.6g})"
    return moved if half == 1 else f"{moved} / {half:.6g}"
