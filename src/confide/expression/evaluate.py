"""Reading an expression as array arithmetic, in JAX or NumPy: the namespaces agree, so one reader serves both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.expression.tree import Number, Tree, integer_exponent, read


class ArrayReader:
    """Reads an expression in an array namespace (`jax.numpy` or `numpy`)."""

    def __init__(self, namespace: Any, variables: Mapping[str, Any]) -> None:
        self.np = namespace
        self._variables = variables

    def variable(self, name: str) -> Any:
        """An array."""
        return self._variables[name]

    def __getattr__(self, operation: str) -> Any:
        return getattr(self.np, operation)

    @staticmethod
    def number(value: float) -> float:
        """A constant stays a Python number, so that it takes the precision of the array it meets."""
        return value

    def add(self, a: Any, b: Any) -> Any:
        """a + b."""
        return a + b

    def multiply(self, a: Any, b: Any) -> Any:
        """a · b."""
        return a * b

    def power(self, a: Any, b: Any) -> Any:
        """A small integer power is a chain of products, the same one that the certified range bounds."""
        k = integer_exponent(b) if isinstance(b, float) else None
        if k is None:
            return self.np.power(a, b)
        return 1.0 / _chain(self.np, a, -k) if k < 0 else _chain(self.np, a, k)

    def clip(self, a: Any, low: Any, high: Any) -> Any:
        """Between two limits; the upper one wins."""
        return self.np.minimum(self.np.maximum(a, low), high)

    def where(self, condition: Any, yes: Any, no: Any) -> Any:
        """The chosen branch."""
        return self.np.where(self.np.asarray(condition) != 0, yes, no)

    def _compare(self, name: str, a: Any, b: Any) -> Any:
        return self.np.asarray(getattr(self.np, name)(a, b), dtype=self.np.result_type(float))

    def less(self, a: Any, b: Any) -> Any:
        """1.0 where a < b."""
        return self._compare("less", a, b)

    def less_equal(self, a: Any, b: Any) -> Any:
        """1.0 where a ≤ b."""
        return self._compare("less_equal", a, b)

    def greater(self, a: Any, b: Any) -> Any:
        """1.0 where a > b."""
        return self._compare("greater", a, b)

    def greater_equal(self, a: Any, b: Any) -> Any:
        """1.0 where a ≥ b."""
        return self._compare("greater_equal", a, b)

    def equal(self, a: Any, b: Any) -> Any:
        """1.0 where a = b."""
        return self._compare("equal", a, b)

    def not_equal(self, a: Any, b: Any) -> Any:
        """1.0 where a ≠ b."""
        return self._compare("not_equal", a, b)

    def interp(self, a: Any, knots: tuple[float, ...], values: tuple[float, ...]) -> Any:
        """Linear in the table, constant beyond its ends."""
        return self.np.interp(a, self.np.asarray(knots), self.np.asarray(values))


def _chain(namespace: Any, base: Any, exponent: int) -> Any:
    if exponent == 0:
        return namespace.ones_like(base)
    result = None
    while exponent:
        if exponent & 1:
            result = base if result is None else result * base
        exponent >>= 1
        if exponent:
            base = base * base
    return result


def evaluate(tree: Tree, x: Any) -> Any:
    """The value of the expression at x, by NumPy for NumPy arrays and by JAX for everything else.

    A mapping gives the variables by name, as arrays of one shape.
    """
    variables = x if isinstance(x, Mapping) else {"x": x}
    x = next(iter(variables.values()))
    namespace = jnp if any(isinstance(array, jax.Array) for array in variables.values()) else np
    with np.errstate(all="ignore"):
        value = read(tree, ArrayReader(namespace, variables))
    return value * namespace.ones_like(x) if isinstance(tree, Number) or np.ndim(value) < np.ndim(x) else value
