"""The score written as an expression: a closed form that it is affine in, or a table with few knots.

A closed form is recognised by a fit that leaves nothing over: a few functions by themselves, a power or an exponential
whose exponent three points give away, and the rational functions of Student's t, Cauchy's and the like, whose numbers
come out of a linear regression of x²·score on (x·score, score, x², x, 1).
"""

from __future__ import annotations

import functools
import math

import numpy as np

from confide.design.search.family import Floats, rounded
from confide.design.search.tabulated import Tabulated
from confide.expression import Expression

#: what scores are made of, by the ends of the support that they need
_EVERYWHERE: tuple[tuple[str, ...], ...] = (("x",), ("abs(x)",), ("x**2",), ("x", "x**2"))
_POSITIVE: tuple[tuple[str, ...], ...] = (
    ("log(x)",),
    ("1/x",),
    ("log(x)**2",),
    ("x", "log(x)"),
    ("log(x)", "log(x)**2"),
    ("log(x)", "1/x"),
)
#: and these, where it lies between 0 and 1
_UNIT: tuple[tuple[str, ...], ...] = (("log1p(-x)",), ("log(x)", "log1p(-x)"))
#: what a closed form may leave over, as a share of the score: above the rounding of a table, below an approximation
_FIT = 1e-7
#: what a table may leave over, as a share of the score's variance, and how many knots it may have
_LEFT, _KNOTS = 1e-4, 40


def written(law: Tabulated, score: Floats, mass: Floats) -> str:
    """An expression that the score, known where there is mass, is affine in; or is close to."""
    score = np.where(mass > 0, score, 0.0)
    return _closed(law, score, mass) or _table(law, score, mass)


@functools.lru_cache(maxsize=8)
def interior(law: Tabulated) -> Floats:
    """The tabulated points, those on the ends of a positive support moved inside, where logarithms need it."""
    if law.low < 0 or law.population.discrete:
        return law.x
    inside = law.x[(law.x > 0) & ((law.x < 1) | (law.high > 1))]
    return np.clip(law.x, inside[0], inside[-1]) if inside.size else law.x


def _closed(law: Tabulated, score: Floats, mass: Floats) -> str | None:
    choices = _EVERYWHERE
    x = interior(law)
    if not law.population.discrete:
        if law.low >= 0:
            a = _exponent(np.log(x), score, mass)
            choices += _POSITIVE + (_UNIT if law.high <= 1 else ()) + (((f"x**{a:g}",),) if a else ())
        a = _exponent(x, score, mass)
        choices += _rational(x, score, mass) + (((f"exp({a:g} * x)",),) if a else ())
    for choice in choices:
        with np.errstate(over="ignore"):
            columns = np.stack([np.asarray(Expression(text)(x), dtype=float) for text in choice] + [np.ones_like(x)])
        solution = _fit(columns, score, mass)
        if solution is not None:
            return choice[0] if len(choice) == 1 else _sum(solution[0] / solution[1], *choice)
    return None


def _fit(columns: Floats, score: Floats, mass: Floats) -> Floats | None:
    """The coefficients of a least-squares fit that leaves nothing over; None where it does."""
    root = np.sqrt(mass)
    with np.errstate(over="ignore", invalid="ignore"):  # an exponential may be too large for a number
        size = np.linalg.norm(columns * root, axis=1)
    if not np.all(np.isfinite(size)) or not np.all(size > 0):
        return None
    solution, *_ = np.linalg.lstsq((columns * root / size[:, None]).T, score * root, rcond=None)
    solution = solution / size
    left = mass @ (score - solution @ columns) ** 2
    return solution if left <= _FIT**2 * (mass @ score**2) else None


def _sum(ratio: float, first: str, second: str) -> str:
    """second + ratio · first, as a text."""
    return f"{second} {'-' if ratio < 0 else '+'} {rounded(abs(ratio), 6):g} * {first}"


def _exponent(v: Floats, score: Floats, mass: Floats) -> float:
    """a, where the score is affine in exp(a·v): equal steps of v change it by amounts in a constant ratio; 0 if not."""
    low, high = np.interp([0.2, 0.8], np.cumsum(mass) / mass.sum(), v)
    steps = np.diff(np.interp(np.linspace(low, high, 3), v, score))
    if high <= low or steps[0] == 0 or steps[1] / steps[0] <= 0:
        return 0.0
    # interpolation blurs the exponent, which people choose round
    return round(2 * math.log(steps[1] / steps[0]) / (high - low), 3)


def _rational(x: Floats, score: Floats, mass: Floats) -> tuple[tuple[str, ...], ...]:
    """(x − m)/(c + (x − m)²) and 1/(c + (x − m)²), with m and c from the poles of the score."""
    weight = np.sqrt(mass) / (1.0 + (x / np.interp(0.9, np.cumsum(mass) / mass.sum(), np.abs(x))) ** 2)
    columns = np.stack([x * score, score, x**2, x, np.ones_like(x)]) * weight
    size = np.linalg.norm(columns, axis=1)
    if not np.all(np.isfinite(size)) or not np.all(size > 0):
        return ()
    (first, second, *_), *_ = np.linalg.lstsq((columns / size[:, None]).T, x**2 * score * weight, rcond=None)
    m, c = 0.5 * first / size[0], -second / size[1] - (0.5 * first / size[0]) ** 2
    if not (np.isfinite(m) and np.isfinite(c)) or c <= 0:
        return ()
    m, c = float(f"{m:.6g}") if abs(m) > 1e-6 * math.sqrt(c) else 0.0, float(f"{c:.6g}")
    moved = "x" if m == 0 else f"(x {'-' if m > 0 else '+'} {abs(m):g})"
    return ((f"{moved}/({c:g} + {moved}**2)",), (f"1/({c:g} + {moved}**2)",))


def _table(law: Tabulated, score: Floats, mass: Floats) -> str:
    """Knots where a broken line departs most from the score, as many as it takes to leave next to nothing over.

    The line is one in log x where positive records differ by more than a factor of ten.
    """
    usable = mass > 0
    x, score, mass = interior(law)[usable], score[usable], mass[usable]
    low, high = np.interp([0.1, 0.9], np.cumsum(mass) / mass.sum(), x)
    over = "log(x)" if low > 0 and high > 10 * low and law.low >= 0 and not law.population.discrete else "x"
    x = np.log(x) if over == "log(x)" else x
    first, last = _reach(score, mass)
    chosen = sorted({first, (first + last) // 2, last})
    allowed = 0.5 * _LEFT * (mass @ (score - mass @ score / mass.sum()) ** 2)
    between = (np.arange(x.size) >= first) & (np.arange(x.size) < last)
    while len(chosen) < _KNOTS:
        residual = np.where(between, np.abs(score - np.interp(x, x[chosen], score[chosen])), 0.0)
        losses = np.add.reduceat(mass * residual**2, chosen[:-1])
        worst = int(np.argmax(losses))
        inside = np.arange(chosen[worst] + 1, chosen[worst + 1])
        if losses.sum() <= allowed or inside.size == 0:
            break
        chosen = sorted([*chosen, int(inside[np.argmax(residual[inside])])])
    return _interp(over, x, score, chosen)


def _reach(score: Floats, mass: Floats) -> tuple[int, int]:
    """The first and last point beyond which the score may be taken for constant."""
    return innermost(score, mass[None], _LEFT / 4), score.size - 1 - innermost(score[::-1], mass[None, ::-1], _LEFT / 4)


def innermost(values: Floats, mass: Floats, share: float) -> int:
    """The last point of the lower half such that what lies below it may take its value.

    That changes the values by no more than a share of their variance, at every θ of `mass` (M, J).
    """
    total = mass.sum(axis=1, keepdims=True)
    mean = mass @ values / total[:, 0]
    centred = values - mean[:, None]
    sums = [np.cumsum(mass * centred**k, axis=1) for k in (0, 1, 2)]
    change = sums[2] - 2 * centred * sums[1] + centred**2 * sums[0]
    small = np.all(change <= share * sums[2][:, -1:], axis=0) & np.any(sums[0] < 0.5 * total, axis=0)
    return int(np.flatnonzero(small)[-1]) if small.any() else 0


def _interp(over: str, x: Floats, score: Floats, chosen: list[int]) -> str:
    """The table as a text, with knots rounded to a hundredth of their distances."""
    at = x[chosen]
    gaps = np.diff(at)
    near = np.minimum(np.append(gaps, np.inf), np.append(np.inf, gaps))
    knots = np.unique([round(k, 2 - math.floor(math.log10(gap))) for k, gap in zip(at, near, strict=True)])
    values = np.interp(knots, x, score)
    digits = 3 - math.floor(math.log10(max(np.ptp(values), 1e-300)))
    return f"interp({over}, [{_listed(knots)}], [{_listed(np.round(values, digits))}])"


def _listed(numbers: Floats) -> str:
    return ", ".join(f"{number + 0.0:.12g}" for number in numbers)
