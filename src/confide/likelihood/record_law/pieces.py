"""The smooth monotone pieces of s, and s on each of them.

On each piece s is read as the branch that it takes there, so that a panel of no width at a jump of s, which arises
where a kink of the density meets it, still knows on which side of the jump it lies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from confide.expression.evaluate import evaluate
from confide.expression.specialise import specialise
from confide.likelihood.cached import once
from confide.likelihood.record_law.record import Floats
from confide.statistic import Statistic
from confide.statistic.transform import Function, Transform

Ends = tuple[float, float]

#: halvings of a bracket: as many as a double has digits, and three
_BISECTIONS = 56


@dataclass(frozen=True, eq=False)
class Pieces:
    """The intervals on which s is smooth and monotone, and s on each of them, one function per component."""

    statistic: Statistic
    ends: Floats
    branches: tuple[tuple[Callable[[Any], Any], ...], ...]
    ranges: tuple[Ends, ...]

    @functools.cached_property
    def inside(self) -> tuple[Floats, Floats]:
        """The ends of each piece, moved inwards by more than the error of a kink: s is evaluated between them."""
        low, high = self.ends[:-1], self.ends[1:]
        margin = np.minimum(2.0**-44 * (self.ends[-1] - self.ends[0]), 0.25 * (high - low))
        return low + np.where(low == 0, 1e-290, margin), high - np.where(high == 0, 1e-290, margin)

    def at(self, x: Floats) -> Any:
        """The number of the piece in which each x lies."""
        return np.clip(np.searchsorted(self.ends, x) - 1, 0, len(self.branches) - 1)

    def values(self, x: Any, piece: Any) -> Any:
        """s on a piece, or on pieces that broadcast against x: one row per component; NumPy or JAX as x is."""
        xp: Any = jnp if isinstance(x, jax.Array) else np
        rows = []
        for component, (bottom, top) in enumerate(self.ranges):
            row = xp.zeros_like(x)
            for q in [piece] if isinstance(piece, int) else range(len(self.branches)):
                here = self.branches[q][component](xp.clip(x, self.inside[0][q], self.inside[1][q]))
                row = xp.where(piece == q, xp.clip(here, bottom, top), row)
            rows.append(row)
        return xp.stack(rows)

    @functools.cached_property
    def directions(self) -> Floats:
        """1, −1 or 0 for each piece of a scalar s: up, down, constant."""
        ends = (self.values(end, np.arange(end.size)) for end in self.inside)
        low, high = (np.asarray(end)[0] for end in ends)
        return np.asarray(np.sign(high - low))

    def solve(self, y: Any, piece: Any) -> Any:
        """The x on a piece with s(x) = y, or the end of the piece that is nearest to it; y and piece broadcast."""
        xp: Any = jnp if isinstance(y, jax.Array) else np
        low, high, up = (xp.asarray(part)[piece] for part in (self.ends[:-1], self.ends[1:], self.directions))

        def cut(_: Any, bracket: tuple[Any, Any]) -> tuple[Any, Any]:
            a, b = bracket
            middle = 0.5 * (a + b)
            right = up * (self.values(middle, piece)[0] - y) < 0
            return xp.where(right, middle, a), xp.where(right, b, middle)

        bracket = (low + 0.0 * y, high + 0.0 * y)
        if xp is jnp:
            bracket = lax.fori_loop(0, _BISECTIONS, cut, bracket)
        else:
            for step in range(_BISECTIONS):
                bracket = cut(step, bracket)
        return 0.5 * (bracket[0] + bracket[1])


@once
def pieces_of(statistic: Statistic) -> Pieces:
    """The pieces of a statistic; those of a vector are cut wherever one component is."""
    cuts = set(statistic.bounds)
    for transform in statistic.transforms:
        if isinstance(transform, Function):
            cuts.update(_turns(transform, statistic.bounds))
        else:
            cuts.update(end for piece in transform.pieces(*statistic.bounds) for end in (piece.low, piece.high))
    ends = sorted(cuts)
    branches = tuple(tuple(_branch(t, low, high) for t in statistic.transforms) for low, high in pairwise(ends))
    return Pieces(statistic, np.asarray(ends), branches, statistic.ranges)


def _branch(transform: Transform, low: float, high: float) -> Callable[[Any], Any]:
    if isinstance(transform, Function):
        return lambda x: transform(x) if isinstance(x, jax.Array) else np.asarray(transform(x), dtype=float)
    return functools.partial(evaluate, specialise(transform.tree, low, high))


def _turns(function: Function, bounds: Ends) -> list[float]:
    """Where a Python function turns, as far as 4,000 points can tell."""
    from scipy.optimize import minimize_scalar  # takes longer to load than most functions to tabulate

    x = np.linspace(*bounds, 4001)
    steps = np.sign(np.diff(np.asarray(function(x), dtype=float)))

    def turn(i: int) -> float:
        peak = minimize_scalar(
            lambda at: -steps[i] * float(function(np.asarray(at))),
            bounds=(x[i], x[i + 2]),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return float(peak.x)

    return [turn(int(i)) for i in np.flatnonzero(steps[:-1] * steps[1:] < 0)]


def s_at(statistic: Statistic, x: Floats) -> Floats:
    """s itself at known points, jumps included, one row per component."""
    at = np.clip(x, *statistic.bounds)
    parts = zip(statistic.transforms, statistic.ranges, strict=True)
    rows = [np.clip(np.asarray(transform(at), dtype=float), *ends) for transform, ends in parts]
    return np.stack([np.broadcast_to(row, at.shape) for row in rows])
