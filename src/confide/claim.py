"""The probability of a claim about parameters, such as "variance > 2"."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.errors import ExpressionError
from confide.expression.evaluate import ArrayReader
from confide.expression.levels import levels
from confide.expression.parse import parse
from confide.expression.tree import read

if TYPE_CHECKING:
    from confide.posterior import Floats, Posterior

#: halvings of a cell of the grid in which a claim changes: to the last digit
_HALVINGS = 60


def probability(posterior: Posterior, claim: str) -> float:
    """P(claim | y), by the integral where there is one of a single parameter, or as a share of the draws."""
    entries = _entries(posterior.draws)
    holds = _reader(claim, tuple(entries))
    exact = posterior.exact
    if exact is not None and exact.theta is not None and len(entries) == 1:
        (name,) = entries
        return _integrated(np.asarray(exact.theta), np.asarray(exact.cdf), lambda theta: holds({name: theta}))
    return float(np.mean(holds(entries)))


def holds_of(claim: str, name: str, values: Floats, cdf: Floats) -> float:
    """P(claim) about one number of a known distribution function.

    >>> line = np.linspace(0.0, 1.0, 11)
    >>> holds_of("difference > 0.25", "difference", line, line)
    0.75
    """
    holds = _reader(claim, (name,))
    return _integrated(values, cdf, lambda value: holds({name: value}))


def _entries(draws: Mapping[str, Floats]) -> dict[str, Floats]:
    """Scalars by name; the entries of a vector as name[0] and so on."""
    found = {}
    for name, each in draws.items():
        vector = each.ndim > 2
        found.update({f"{name}[{j}]": each[..., j] for j in range(each.shape[-1])} if vector else {name: each})
    return found


def _reader(claim: str, names: tuple[str, ...]) -> Callable[[Mapping[str, Any]], Any]:
    """Whether a claim holds, as a function of arrays by name."""
    tree = parse(claim, names)
    found = levels(tree)
    if found is None or not set(found) <= {0.0, 1.0}:
        remedy = f"compare something, as in '{names[0]} > 2', and multiply several such claims"
        raise ExpressionError("claim", claim, "is not something that holds or not", remedy)

    def holds(values: Mapping[str, Any]) -> Any:
        with np.errstate(all="ignore"):
            value = read(tree, ArrayReader(np, values))
        return np.broadcast_to(np.asarray(value) != 0, np.shape(next(iter(values.values()))))

    return holds


def _integrated(theta: Floats, cdf: Floats, holds: Callable[[Floats], Any]) -> float:
    """The mass of the cells in which the claim holds, cut where it changes; beyond the grid it is as at its ends."""
    true = holds(theta)
    cells = np.flatnonzero(true[1:] != true[:-1])
    low, high = theta[cells].copy(), theta[cells + 1].copy()
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        left = holds(middle) == true[cells]
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    ends = np.concatenate([[0.0], np.interp(high, theta, cdf), [1.0]])
    inside = np.concatenate([true[:1], true[cells + 1]])
    return float(np.sum(np.diff(ends)[inside]))
