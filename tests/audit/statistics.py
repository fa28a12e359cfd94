"""Statistics as the library reads them, and as monotone pieces with their inverses, written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

INF = np.inf
Inverse = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Stretch:
    """An interval of x on which s is monotone with this inverse, or constant (no inverse)."""

    low: float
    high: float
    inverse: Inverse | None


@dataclass(frozen=True)
class Formula:
    """s(x): its text, the same in NumPy, and its stretches in order."""

    text: str
    function: Callable[[np.ndarray], np.ndarray]
    stretches: tuple[Stretch, ...]
    #: defined only from here on
    floor: float = -INF


def _recip_root(v, sign):
    """The x with x/(1 + x²) = v beyond ±1 (sign > 0) or between (sign < 0)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(1 - 4 * v * v, 0))
        outer = np.where(v == 0, np.sign(v) * INF, (1 + root) / (2 * v))
        inner = 2 * v / (1 + root)
    return outer if sign > 0 else inner


FORMULAS = (
    Formula("x", lambda x: x, (Stretch(-INF, INF, lambda v: v),)),
    Formula("abs(x)", np.abs, (Stretch(-INF, 0, lambda v: -v), Stretch(0, INF, lambda v: v))),
    Formula("x**2", np.square, (Stretch(-INF, 0, lambda v: -np.sqrt(v)), Stretch(0, INF, np.sqrt))),
    Formula("x**3", lambda x: x**3, (Stretch(-INF, INF, np.cbrt),)),
    Formula("x > 1", lambda x: (x > 1) * 1.0, (Stretch(-INF, 1, None), Stretch(1, INF, None))),
    Formula("x >= 0", lambda x: (x >= 0) * 1.0, (Stretch(-INF, 0, None), Stretch(0, INF, None))),
    Formula("sign(x - 1)", lambda x: np.sign(x - 1), (Stretch(-INF, 1, None), Stretch(1, INF, None))),
    Formula("min(x, 2)", lambda x: np.minimum(x, 2), (Stretch(-INF, 2, lambda v: v), Stretch(2, INF, None))),
    Formula("x*(x > 1)", lambda x: x * (x > 1), (Stretch(-INF, 1, None), Stretch(1, INF, lambda v: v))),
    Formula("log1p(abs(x))", lambda x: np.log1p(np.abs(x)),
            (Stretch(-INF, 0, lambda v: -np.expm1(v)), Stretch(0, INF, np.expm1))),
    Formula("sqrt(abs(x))", lambda x: np.sqrt(np.abs(x)),
            (Stretch(-INF, 0, lambda v: -v * v), Stretch(0, INF, lambda v: v * v))),
    Formula("x/(1 + x**2)", lambda x: x / (1 + x**2),
            (Stretch(-INF, -1, lambda v: _recip_root(v, 1)), Stretch(-1, 1, lambda v: _recip_root(v, -1)),
             Stretch(1, INF, lambda v: _recip_root(v, 1)))),
    Formula("1/x", lambda x: 1 / x, (Stretch(0, INF, lambda v: 1 / v),), floor=0.25),
    Formula("log(x)", np.log, (Stretch(0, INF, np.exp),), floor=0.25),
    Formula("exp(-x)", lambda x: np.exp(-x), (Stretch(-INF, INF, lambda v: -np.log(v)),), floor=-5.0),
)  # fmt: skip

#: those whose values at whole numbers are whole: the sums of discrete records then have a finite, exact law
WHOLE = tuple(f for f in FORMULAS if f.text in ("x", "abs(x)", "x**2", "x**3", "x > 1", "x >= 0", "sign(x - 1)",
                                                "min(x, 2)", "x*(x > 1)"))  # fmt: skip
