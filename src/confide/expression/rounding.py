"""Directed rounding: sums, products, quotients and roots rounded down or up, exactly where they are exact.

Error-free transformations (Dekker, Knuth) give the rounding error of one operation as a number; its sign says on which
side of the truth the rounded result lies. So 10*10 stays 100, and 0.1+0.2 is widened by one unit in the last place on
the side where it must be. Where the transformation itself could overflow or underflow, one unit is given away.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_SPLIT = 134217729.0  # 2**27 + 1
#: sizes between which `_SPLIT` times a number cannot overflow, nor the error of a product (2⁻¹⁰⁶ of it) vanish
_LARGE, _SMALL = 1e150, 1e-140


def nudge(value: Array, direction: float, ulps: int = 1) -> Array:
    """Move by a number of units in the last place towards ±infinity."""
    with np.errstate(over="ignore"):
        for _ in range(ulps):
            value = np.nextafter(value, direction * np.inf)
    return value


def _towards(result: Array, error: Array, direction: float) -> Array:
    """Move `result` if the exact value, result + error, lies beyond it in the given direction."""
    return np.where(error * direction > 0, nudge(result, direction), result)


def add(a: Array, b: Array, direction: float) -> Array:
    """a + b rounded in a direction (+1 up, −1 down)."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = a + b
        shadow = total - a
        error = (a - (total - shadow)) + (b - shadow)
    return _towards(total, error, direction)


def _product_error(a: Array, b: Array, product: Array) -> Array:
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        a_high = _SPLIT * a - (_SPLIT * a - a)
        b_high = _SPLIT * b - (_SPLIT * b - b)
        a_low, b_low = a - a_high, b - b_high
        return a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _safe(*values: Array) -> Mask:
    """Where the splitting can neither overflow nor lose bits to underflow."""
    sizes = [np.abs(value) for value in values]
    return functools.reduce(np.logical_and, [(s < _LARGE) & ((s > _SMALL) | (s == 0)) for s in sizes])


def _signed(outward: Array, a: Array, b: Array) -> Array:
    """A product or quotient that underflows keeps its sign: next to 0 a unit given away must not pass it."""
    same = (a > 0) == (b > 0)
    return np.where(same, np.maximum(outward, 0.0), np.minimum(outward, 0.0))


def multiply(a: Array, b: Array, direction: float) -> Array:
    """a · b rounded in a direction. 0 · ∞ is 0: a bound times something that vanishes."""
    vanishes = (a == 0) | (b == 0)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        product = np.where(vanishes, 0.0, a * b)
    rounded = _towards(product, _product_error(a, b, product), direction)
    outward = np.where(_safe(a, b, product), rounded, nudge(product, direction))
    return np.where(vanishes, 0.0, _signed(outward, a, b))


def divide(a: Array, b: Array, direction: float) -> Array:
    """a / b rounded in a direction, b ≠ 0."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        quotient = a / b
        product = quotient * b
        residual = (a - product) - _product_error(quotient, b, product)
        rounded = _towards(quotient, residual * np.sign(b), direction)
    outward = np.where(_safe(a, b, quotient), rounded, nudge(quotient, direction))
    return np.where(a == 0, 0.0, _signed(outward, a, b))


def sqrt(a: Array, direction: float) -> Array:
    """√a rounded in a direction, a ≥ 0."""
    root = np.sqrt(a)
    residual = (a - root * root) - _product_error(root, root, root * root)
    rounded = _towards(root, residual, direction)
    return np.where(_safe(a), rounded, np.maximum(nudge(root, direction), 0.0))
