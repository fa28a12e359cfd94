"""What values a scalar statistic of rows may take, and with positive probability."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood.cached import once
from confide.population import Population
from confide.statistic import Statistic
from confide.statistic.columns import ColumnBounds

Floats = NDArray[np.float64]

#: combinations of values of discrete columns that are looked through
_MOST = 20_000
#: places of the continuous columns at which a value is compared: ends, and points without a pattern
_PLACES = (0.0, 1.0, 0.3819660112501051, 0.7071067811865476, 0.1234567890123457)


def bounds_by_name(statistic: Statistic) -> dict[str, tuple[float, float]]:
    """What each column is clipped to."""
    bounds = statistic.bounds
    return bounds.by_name if isinstance(bounds, ColumnBounds) else {"x": bounds}


def listed(population: Population, statistic: Statistic) -> tuple[float, ...] | None:
    """The values of a scalar s where they are finitely many."""
    known = statistic.transforms[0].levels
    return values_of_rows(population, statistic) if known is None else known


def values_of_rows(population: Population, statistic: Statistic) -> tuple[float, ...] | None:
    """The values of a statistic of discrete columns, in order; None where a column is continuous."""
    bounds = bounds_by_name(statistic)
    columns = [_points(population, name, bounds[name]) for name in bounds]
    if any(column is None for column in columns):
        return None
    return tuple(np.unique(_at(statistic, _grid([c for c in columns if c is not None]))).tolist())


@once
def atoms_of_rows(population: Population, statistic: Statistic) -> tuple[float, ...]:
    """Values where all columns are clipped, and those that discrete columns decide whatever the others are, in order.

    More there may be, on branches of a statistic; they are bounded with the rest.
    """
    bounds = bounds_by_name(statistic)
    columns = {name: _points(population, name, ends) for name, ends in bounds.items()}
    lists = [np.asarray(bounds[name]) if points is None else points for name, points in columns.items()]
    found = set(_at(statistic, _grid(lists)).tolist())
    fixed = [name for name, points in columns.items() if points is not None]
    if 0 < len(fixed) < len(columns):
        whole = _grid([points for points in columns.values() if points is not None])
        places = []
        for share in itertools.islice(itertools.cycle(_PLACES), len(_PLACES)):
            free = [low + (high - low) * ((share * (1 + k)) % 1.0) for k, (low, high) in enumerate(bounds.values())]
            row = dict(zip(bounds, free, strict=True)) | dict(zip(fixed, whole, strict=True))
            places.append(_at(statistic, [np.broadcast_to(row[name], whole.shape[1]) for name in bounds]))
        apart = np.ptp(np.stack(places), axis=0)
        found |= set(places[0][apart == 0.0].tolist())
    return tuple(sorted(found))


def _points(population: Population, name: str, ends: tuple[float, float]) -> Floats | None:
    """The clipped values of a discrete column; None of a continuous one."""
    rows = population.rows
    assert rows is not None
    column = dict(rows.columns)[name].population
    if not column.discrete:
        return None
    low, high = ends
    support = column.facts.fixed_ends or (-np.inf, np.inf)
    first, last = max(np.ceil(low), support[0]), min(np.floor(high), support[1])
    if not last - first < _MOST:
        raise AccuracyError(
            f"the column {name!r} has more than {_MOST:,} whole numbers inside its bounds {ends}; narrow them"
        )
    inside = np.arange(first, last + 1.0)
    clipped = [low] * (support[0] < low) + [high] * (support[1] > high)
    return np.unique(np.concatenate([inside, np.asarray(clipped, dtype=np.float64)]))


def _grid(lists: list[Floats]) -> Floats:
    """All combinations (columns, M)."""
    if np.prod([len(each) for each in lists], dtype=float) > _MOST:
        raise AccuracyError(f"more than {_MOST:,} combinations of values of discrete columns; narrow the bounds")
    return np.stack([axis.ravel() for axis in np.meshgrid(*lists, indexing="ij")])


def _at(statistic: Statistic, columns: object) -> Floats:
    """s at rows whose columns, in the order of the bounds, are given."""
    by_name = dict(zip(bounds_by_name(statistic), map(np.asarray, columns), strict=True))  # type: ignore[call-overload]
    found = statistic.transforms[0](by_name) if set(by_name) != {"x"} else statistic.transforms[0](by_name["x"])
    return np.clip(np.asarray(found, dtype=np.float64) + 0.0 * next(iter(by_name.values())), *statistic.ranges[0])
