"""Lattices: when the values of s are equally spaced, the sum of n of them lives on a lattice, and so must its law."""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np

from confide.likelihood.noise.values_of_rows import listed
from confide.population import Population
from confide.statistic import Statistic

#: values of s that are looked through for a common spacing, and points of a lattice beyond which it is no help
_MOST_LEVELS = 20_000
_FINEST = 10**6


def lattice_spacing(population: Population, statistic: Statistic) -> tuple[float, float] | None:
    """(origin, spacing) of the lattice that holds every value of s(clip X); None where s is a continuum.

    >>> from confide import populations
    >>> from confide.statistic import Mean
    >>> lattice_spacing(populations.poisson(), Mean("2*x + 1", bounds=(0, 4)))
    (1.0, 2.0)
    """
    values = finite_values(population, statistic)
    return None if values is None else _common_spacing(values)


@functools.lru_cache(maxsize=256)
def finite_values(population: Population, statistic: Statistic) -> tuple[float, ...] | None:
    """The values that s(clip X) can take, in order, where they are finitely many; None otherwise."""
    if population.rows is not None:
        return listed(population, statistic)
    if population.discrete:
        low, high = statistic.bounds
        points = np.arange(math.ceil(low), math.floor(high) + 1, dtype=np.float64)
        if points.size > _MOST_LEVELS:
            return None
        points = np.unique(np.concatenate([points, [low, high]]))
        return tuple(np.unique(np.asarray(statistic.transforms[0](points) + np.zeros_like(points))).tolist())
    return statistic.transforms[0].levels


def _common_spacing(values: tuple[float, ...]) -> tuple[float, float] | None:
    """The largest h with all values at whole multiples of it from the first, to rounding."""
    gaps = np.diff(np.asarray(values))
    if gaps.size == 0:
        return values[0], 1.0
    smallest = float(gaps.min())
    ratios = [Fraction(float(gap) / smallest).limit_denominator(1000) for gap in gaps]
    if any(abs(float(r) * smallest - gap) > 1e-12 * abs(gap) for r, gap in zip(ratios, gaps, strict=True)):
        return None
    denominator = math.lcm(*(r.denominator for r in ratios))
    common = math.gcd(*(int(r * denominator) for r in ratios))
    spacing = smallest * common / denominator
    return (values[0], spacing) if (values[-1] - values[0]) / spacing < _FINEST else None
