"""The statistics that are compared for rows, over which nothing is searched: means and moments of standardised columns.

A column is taken from the middle of its bounds, in units of half their width, so that every component lies within ±1:
one noise scale serves all of them, and the widest would decide it. A private number of records needs them centred too.
"""

from __future__ import annotations

from confide.design.families.row_means import RowMeans, in_units, is_bit
from confide.privacy import PureDP
from confide_explorer.assumed import Assumed

#: shares of the bounds' half widths: clipping more than the bounds do may leave less noise
_WIDTHS = (1.0, 0.5)
Bounds = dict[str, tuple[float, float]]


def _explained(columns: dict[str, str], bits: frozenset[str]) -> list[str]:
    """What the first column has to do with the others: these by themselves say nothing of its line."""
    (first, y), *others = ((name, text if text.isidentifier() else f"({text})") for name, text in columns.items())
    return [columns[first], *(f"{y} * {x}" for _, x in others), *([] if first in bits else [f"{y}**2"])]


def candidates(plan: Assumed) -> list[str]:
    """Statistics in words, as a reader would type them.

    >>> from confide_explorer.pages import settled
    >>> from confide_explorer.reading import read_plan
    >>> from confide_explorer.state import PageState
    >>> plan, _ = read_plan(settled(PageState(column="pain", column_b="drug", rows="linear_regression")))
    >>> candidates(plan)[1]
    'mean pain / 5, (pain / 5) * (drug / 4), (pain / 5)**2'
    """
    population = plan.population
    whole: Bounds = plan.bounds
    bits = frozenset(name for name in whole if is_bit(population.rows, name))
    noise = "" if isinstance(plan.privacy, PureDP) else " with gaussian"
    head = "sum 1, " if plan.private else "mean "
    found = []
    for share in _WIDTHS:
        bounds = {name: pair if name in bits else _narrowed(*pair, share) for name, pair in whole.items()}
        ends = " ".join(f"{name}={low:g}:{high:g}" for name, (low, high) in bounds.items())
        on = "" if bounds == whole else f" on {ends}"
        columns = in_units(population, bounds)
        shapes = list(columns.values()), _explained(columns, bits), RowMeans().texts(population, bounds)
        found += [f"{head}{', '.join(shape)}{on}{noise}" for shape in shapes]
    return list(dict.fromkeys(found))


def _narrowed(low: float, high: float, share: float) -> tuple[float, float]:
    middle, half = 0.5 * (low + high), 0.5 * share * (high - low)
    return float(f"{middle - half:.6g}"), float(f"{middle + half:.6g}")
