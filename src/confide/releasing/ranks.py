"""Order statistics released through the ranks around them: smooth sensitivity, and the exponential mechanism.

The window of 2K + 1 ranks that an engine returns holds whole numbers between the grid's ends. So does every
neighbour's, and on whole numbers all of the theory holds as on the line. Damping factors e^{−kβ} are replaced by
rationals that fall a little more slowly, and the real-valued mechanism's output is rounded to a whole number at the
very end: an exact sample of a rounded real number has the guarantee of the real number.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from confide.errors import IncompatibleError
from confide.mechanism import Law, SmoothCauchyLaw, SmoothLaplaceLaw
from confide.privacy.rounding import round_up
from confide.releasing.exact import bernoulli_exp, rounded_cauchy, weighted_index
from confide.releasing.noise import check_scale, draw
from confide.releasing.whole_numbers import Plan

#: the first of the damping factors: 2⁻²⁵⁶ of it is far below any ratio that a float can state
_UNIT = 2**256
#: rounding a scale up to a float multiplies it by at most 1 + 2⁻⁵², which is charged to β
_CHARGE = 2.0**-50


def damping(rate: float, count: int) -> list[int]:
    """Whole numbers c₀ = 2²⁵⁶ > c₁ > … > c_count with c_k/c_{k+1} ≤ e^rate exactly, close to 2²⁵⁶·e^{−k·rate}.

    Each is the one before times a rational not below e^{−rate} (a float two places above the library's), rounded up.

    >>> [round(c / 2**256, 4) for c in damping(1.0, 2)]
    [1.0, 0.3679, 0.1353]
    """
    factor = Fraction(math.nextafter(math.nextafter(math.exp(-rate), math.inf), math.inf))
    if rate < 2.0**-40 or factor >= 1:
        raise IncompatibleError(f"the mechanism's rate {rate:g} is too small to be told from 0; ask for less privacy")
    factors = [_UNIT]
    for _ in range(count):
        factors.append(-(-factors[-1] * factor.numerator // factor.denominator))
    return factors


def window_of(values: list[int], rank: int, cap: int, n: int, low: int, high: int) -> Any:
    """Ranks m − K, …, m + K from those that exist: below the first stands the low end, above the last the high end."""
    before, after = max(cap - rank + 1, 0), max(rank + cap - n, 0)
    return np.asarray([low] * before + values + [high] * after, dtype=np.int64)


@dataclass(frozen=True)
class Smooth(Plan):
    """Laplace or Cauchy noise scaled by the smooth sensitivity, rounded to a whole number.

    With c_k from `damping` the sensitivity is S = max( max_{k<K} c_k·A_k, c_K·(high − low) ). For neighbours A_k ≤
    A'_{k+1} and A_{K−1} ≤ high − low, so S ≤ max_k (c_k/c_{k+1})·S' ≤ e^β'·S': it is β'-smooth exactly, in whole
    numbers. It bounds the local sensitivity A₀. The scale S/α is rounded up to a float, and β' = β − 2⁻⁵⁰ leaves
    room for that. Hence u + (S/α)·Z keeps the promise that (α, β) was calibrated for, and so does the whole number
    it is rounded to, which is sampled exactly: for the Laplace law P(0) = 1 − e^{−1/2t} and P(k) =
    sinh(1/2t)·e^{−|k|/t}, the discrete Laplace law outside 0; for the Cauchy law by `rounded_cauchy`. The scale
    stays in this process.
    """

    def damping(self, count: int) -> list[int]:
        """How much the ranks count that are 0, …, `count` away; refused if β is too small."""
        law: Any = self.channel.law
        return damping(law.beta - _CHARGE, count)

    def scale(self, window: Any) -> float:
        """S/α, rounded up. Secret: it depends on the records."""
        law: Any = self.channel.law
        cap = law.cap
        factors = self.damping(cap)
        below, above = window[cap::-1], window[cap:]
        # A_k: the largest distance between ranks m − a and m + b with a + b = k + 1
        gaps = (int(np.max(above[k + 1 :: -1] - below[: k + 2])) for k in range(cap))
        largest = max((c * gap for c, gap in zip(factors, gaps, strict=False)), default=0)
        largest = max(largest, factors[cap] * self.grid.widths[0])
        return round_up(Fraction(largest, _UNIT) / Fraction(law.alpha))

    def publish(self, exact: Any) -> Any:
        """The middle of the window plus rounded noise."""
        scale = check_scale(self.scale(exact))
        return (int(exact[len(exact) // 2]) + _ROUNDED[type(self.channel.law)](Fraction(scale)),)


def rounded_laplace(scale: float | Fraction) -> int:
    """⌊scale·Z + ½⌋ for a standard Laplace Z: 0, or a discrete Laplace draw that is not 0."""
    if not bernoulli_exp(1 / (2 * Fraction(scale))):
        return 0
    while True:
        drawn = draw("laplace", float(scale), 1)[0]
        if drawn != 0:
            return drawn


#: the exact sampler of each law's noise, rounded to whole numbers
_ROUNDED: dict[type[Law], Callable[[Fraction], int]] = {
    SmoothLaplaceLaw: rounded_laplace,
    SmoothCauchyLaw: rounded_cauchy,
}


@dataclass(frozen=True)
class RanksPlan(Plan):
    """The exponential mechanism: a point of the range, by the ranks between it and the statistic, rounded down.

    The window cuts [low, high) into intervals of whole length, and the density on one is c_j, j its steps, with c
    from `damping`: c_j/c_{j+1} ≤ e^rate stands for the exponential in the proof (`confide.mechanism.Exponential`),
    which uses nothing else. An interval, a cell of length 1 in it and hence the rounded point are drawn exactly.
    """

    def damping(self, count: int) -> list[int]:
        """How much the ranks count that are 0, …, `count` away; refused if ε is too small."""
        law: Any = self.channel.law
        return damping(law.rate, count)

    def pieces(self, exact: Any) -> tuple[list[int], list[int]]:
        """The ends of the intervals, and how much a cell of length 1 weighs in each."""
        law: Any = self.channel.law
        factors = self.damping(law.cap)
        edges = [self.grid.low[0], *(int(value) for value in exact), self.grid.high[0]]
        return edges, [factors[max(law.cap - i, i - law.cap - 1)] for i in range(len(edges) - 1)]

    def publish(self, exact: Any) -> Any:
        """The cell that the drawn point lies in."""
        edges, weights = self.pieces(exact)
        lengths = [right - left for left, right in zip(edges[:-1], edges[1:], strict=True)]
        chosen = weighted_index([length * weight for length, weight in zip(lengths, weights, strict=True)])
        return (edges[chosen] + secrets.randbelow(lengths[chosen]),)
