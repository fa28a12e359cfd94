"""Reading an expression as the finite set of values that it can take, where that can be proved."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from confide.expression.evaluate import ArrayReader
from confide.expression.tree import COMPARISONS, Tree, read

#: combinations of levels that are tried, and so the most levels: more are no categories
_MOST = 1024
Levels = frozenset[float] | None


class LevelReader:
    """A set of numbers, or None for a continuum. Comparisons and signs are what makes a continuum finite."""

    @staticmethod
    def variable(name: str) -> Levels:
        """A continuum."""
        del name
        return None

    @staticmethod
    def number(value: float) -> Levels:
        """A constant has one level."""
        return frozenset({value})

    def __getattr__(self, operation: str) -> Callable[..., Levels]:
        def combine(*arguments: Levels) -> Levels:
            if any(argument is None for argument in arguments):
                return self._of_continuum(operation)
            return self._map(operation, [argument for argument in arguments if argument is not None])

        return combine

    @staticmethod
    def _of_continuum(operation: str) -> Levels:
        if operation in COMPARISONS:
            return frozenset({0.0, 1.0})
        return frozenset({-1.0, 0.0, 1.0}) if operation == "sign" else None

    @staticmethod
    def _map(operation: str, arguments: list[frozenset[float]]) -> Levels:
        if np.prod([len(argument) for argument in arguments], dtype=float) > _MOST:
            return None
        apply: Any = getattr(ArrayReader(np, {}), operation)
        with np.errstate(all="ignore"):
            values = [float(apply(*point)) for point in itertools.product(*arguments)]
        return frozenset(value + 0.0 for value in values) if np.all(np.isfinite(values)) else None

    @staticmethod
    def where(condition: Levels, yes: Levels, no: Levels) -> Levels:
        """Either branch, whatever the condition."""
        del condition
        return None if yes is None or no is None else yes | no

    def interp(self, argument: Levels, knots: tuple[float, ...], values: tuple[float, ...]) -> Levels:
        """A table of finitely many levels, or a constant table."""
        if argument is not None:
            return frozenset(float(np.interp(level, knots, values)) for level in argument)
        return frozenset({values[0]}) if len(set(values)) == 1 else None


def levels(tree: Tree) -> tuple[float, ...] | None:
    """The values that the expression can take, in order, or None when they are not provably few."""
    found: Levels = read(tree, LevelReader())
    return None if found is None else tuple(sorted(found))
