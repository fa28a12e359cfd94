"""The mean of what is left when the smallest and the largest values are left out."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax.numpy as jnp

from confide._checks import share
from confide._final import final
from confide.privacy.rounding import round_up
from confide.statistic.size import check_count
from confide.statistic.statistic import OWN, Statistic, scalar_width, told_bounds
from confide.statistic.transform import Transform

#: the largest share below a half: one value at least is left
_MOST = math.nextafter(0.5, 0.0)


@final(OWN)
@dataclass(frozen=True, eq=False, repr=False, init=False)
class TrimmedMean(Statistic):
    """The mean of s(x) without the ⌊trim·n⌋ smallest and as many of the largest values.

    With k left out on either side a record moves it by at most the width of the range over n − 2k. For the sum of the
    values of ranks i to j is, as a function of one value v given the others z₍₁₎ ≤ … ≤ z₍ₙ₋₁₎,

        z₍ᵢ₎ + … + z₍ⱼ₋₁₎ + min(max(v, z₍ᵢ₋₁₎), z₍ⱼ₎),

    with the ends of the range for z₍₀₎ and z₍ₙ₎: of v below the window rank i − 1 of the others moves in, of v above it
    their rank j, and otherwise v is in it. It is never further apart than z₍ᵢ₋₁₎ and z₍ⱼ₎.

    No likelihood is known for it: `infer` samples the records, and `information` is by Monte Carlo.

    >>> statistic = TrimmedMean("x", 0.1, bounds=(0, 1))
    >>> print(statistic, statistic.averaged_ranks(25), round(1 / statistic.sensitivity(25), 9))
    the 10%-trimmed mean of x with x clipped to [0, 1] (3, 23) 21.0
    """

    transforms: tuple[Transform, ...]
    bounds: Any
    trim: float

    vector = False

    def __init__(
        self, expression: Any, trim: float, bounds: Any = None, *, range: Any = None, categories: Any = None
    ) -> None:
        remedy = "give the share left out on either side"
        object.__setattr__(self, "trim", share("trim", trim, _MOST, "is not between 0 and 0.5", remedy))
        super().__init__(expression, bounds, range=range, categories=categories)

    @property
    def noun(self) -> str:
        """How it is spoken of."""
        return f"the {100 * self.trim:g}%-trimmed mean of"

    @property
    def options(self) -> dict[str, Any]:
        """The share that is left out on either side."""
        return {"trim": self.trim}

    def averaged_ranks(self, n: int) -> tuple[int, int]:
        """k + 1 to n − k, with k = ⌊trim·n⌋ and trim read as the decimal that was written."""
        left_out = math.floor(Fraction(repr(self.trim)) * check_count(n))
        return left_out + 1, n - left_out

    def summary(self, records: Any, window: int = 0) -> Any:
        """The mean of these ranks on the last axis."""
        del window
        values = self.values(records)
        first, last = self.averaged_ranks(values.shape[-1])
        return jnp.mean(jnp.sort(values, axis=-1)[..., first - 1 : last], axis=-1)

    def sensitivity(self, n: int, norm: int = 1) -> float:
        """The width of the range over the number of values that are left, rounded up."""
        del norm
        first, last = self.averaged_ranks(n)
        whole = scalar_width(self)
        return round_up(Fraction(whole) / (last - first + 1)) if math.isfinite(whole) else whole

    def __repr__(self) -> str:
        return f"TrimmedMean({str(self.transforms[0])!r}, {self.trim:g}, {', '.join(told_bounds(self.bounds))})"
