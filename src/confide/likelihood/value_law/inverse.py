"""The inverse of an expression on one of its monotone pieces.

On a piece every switch has been replaced by the branch taken there (see `expression.specialise`). Where x occurs
once in what is left, the expression is a chain of invertible operations and is undone from the outside in, exactly
and without iteration. Where x occurs more than once, v = s(x) is solved by Newton's method inside a bracket.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from confide.expression.evaluate import evaluate
from confide.expression.tree import Call, Number, Tree, Variable, integer_exponent, nodes

#: every other step halves the excess or the bracket
_MOST_STEPS = 80
#: a unit in the last place of 1
_EPS = 2.0**-52

#: steps taken, x, its bracket, the size of the last excess, and which elements still move
_Search = tuple[Any, Any, Any, Any, Any, Any]
#: x -> (excess, slope, rounding error of the excess), where the excess increases with x
Excess = Callable[[Any], tuple[Any, Any, Any]]


def increasing_root(excess: Excess, low: Any, high: Any, start: Any) -> Any:
    """Where an increasing function is 0, elementwise, by Newton's method inside a bracket, in JAX or NumPy.

    A step that leaves the bracket is taken on the logarithm of the distance to the end that it passed, where a power
    of that distance (the logit of a distribution function at the end of its support) is a straight line; if that
    leaves the bracket too, its middle serves. So it does after a step that has not halved the excess: at a point of
    infinite slope (the cube root of v at 0) Newton's steps from either side lead to the other for ever. An element is
    settled when its step is below rounding, or its excess below its own rounding error.
    """
    first, last = low, high
    known = not isinstance(start, jax.Array)
    xp: Any = np if known else jnp
    around_zero = xp.minimum(xp.abs(low), xp.abs(high))  # beyond it no digit of a root beside 0 matters

    def unfinished(carry: _Search) -> Any:
        count, *_, moving = carry
        return (count < _MOST_STEPS) & xp.any(moving)

    def improve(carry: _Search) -> _Search:
        count, x, low, high, before, moving = carry
        value, slope, rounding = excess(x)
        low, high = xp.where(value < 0, x, low), xp.where(value > 0, x, high)
        step = -value / slope
        end = xp.where(value > 0, first, last)
        distance = x - end
        curved = end + distance * xp.exp(step / distance)
        stuck = xp.abs(value) > 0.5 * before
        following = xp.where(stuck, xp.nan, x + step)
        for candidate in (xp.where(stuck, xp.nan, curved), 0.5 * (low + high)):
            following = xp.where((following > low) & (following < high), following, candidate)  # NaN is replaced too
        # a step below rounding ends on the bracket, whose middle is far: it is looked at before it is replaced
        least = 2 * _EPS * xp.maximum(xp.abs(x), around_zero)
        settled = (xp.abs(value) <= rounding) | (xp.abs(step) <= least)
        following = xp.where(moving & ~settled, following, x)
        moving = moving & (xp.abs(following - x) > least)
        # after a middle there is nothing to compare with: every other step is Newton's at least
        return count + 1, following, low, high, xp.where(stuck, xp.inf, xp.abs(value)), moving

    bracket, still = (low + 0 * start, high + 0 * start), (xp.full_like(start, xp.inf), xp.ones(start.shape, bool))
    search: _Search = (xp.asarray(0), xp.clip(start, low, high), *bracket, *still)
    if not known:
        return lax.while_loop(unfinished, improve, search)[1]
    with np.errstate(all="ignore"):
        while unfinished(search):
            search = improve(search)
    return search[1]


def slope(tree: Tree, x: jax.Array) -> jax.Array:
    """s'(x) of a smooth piece, elementwise."""
    return jax.jvp(lambda t: evaluate(tree, t), (x,), (jnp.ones_like(x),))[1]


def inverse(tree: Tree, direction: int, v: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    """The x in [low, high] with s(x) = v, for v between s(low) and s(high), s monotone (direction ±1)."""
    once = _occurrences(tree) == 1
    x = _undo(tree, v, 0.5 * (low + high)) if once else _solve(tree, direction, v, low, high)
    return jnp.clip(x, low, high)


def _occurrences(tree: Tree) -> int:
    return sum(isinstance(node, Variable) for node in nodes(tree))


def _undo(tree: Tree, v: jax.Array, inside: jax.Array) -> jax.Array:
    """Undo the outermost operation, then what is below it. `inside` is a point of the piece, which tells signs."""
    if isinstance(tree, Variable):
        return v
    assert isinstance(tree, Call)
    below = next(argument for argument in tree.arguments if _occurrences(argument))
    others = [evaluate(argument, jnp.asarray(inside)) for argument in tree.arguments if not _occurrences(argument)]
    first = tree.arguments[0] is below
    return _undo(below, _undo_operation(tree, v, others, first, evaluate(below, jnp.asarray(inside))), inside)


def _undo_operation(tree: Call, v: jax.Array, others: list[jax.Array], first: bool, base: jax.Array) -> jax.Array:
    match tree.operation:
        case "negative":
            return -v
        case "add":
            return v - others[0]
        case "subtract":
            return v + others[0] if first else others[0] - v
        case "multiply":
            return v / others[0]
        case "divide":
            return v * others[0] if first else others[0] / v
        case "exp":
            return jnp.log(v)
        case "log":
            return jnp.exp(v)
        case "log1p":
            return jnp.expm1(v)
        case "sqrt":
            return v * v
        case "power":
            return _undo_power(tree, v, base)
    raise AssertionError(tree.operation)  # every switch has been replaced by a branch


def _undo_power(tree: Call, v: jax.Array, base: jax.Array) -> jax.Array:
    """The base b of b**p = v: |v|^{1/p} with the sign of b, which a monotone piece does not change unless p is odd."""
    exponent = tree.arguments[1]
    assert isinstance(exponent, Number)
    whole = integer_exponent(exponent.value)
    sign = jnp.sign(v) if whole is not None and whole % 2 else jnp.where(base < 0, -1.0, 1.0)
    if exponent.value == 2.0:
        return sign * jnp.sqrt(jnp.abs(v))
    return sign * jnp.power(jnp.abs(v), 1.0 / exponent.value)


def _solve(tree: Tree, direction: int, v: jax.Array, low: jax.Array, high: jax.Array) -> jax.Array:
    low, high = jnp.asarray(low), jnp.asarray(high)
    ends = evaluate(tree, jnp.stack([low, high]))
    size = jnp.max(jnp.abs(ends))
    share = jnp.where(ends[0] == ends[1], 0.5, (v - ends[0]) / jnp.where(ends[0] == ends[1], 1.0, ends[1] - ends[0]))

    def excess(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        return direction * (evaluate(tree, x) - v), direction * slope(tree, x), _EPS * size * jnp.ones_like(x)

    found: jax.Array = increasing_root(excess, low, high, low + share * (high - low))
    return found
