"""Inference where the number of records is private: the joint likelihood, and n in the posterior.

p(n | θ, y) is w(n) p_n(y | θ) over its sum. It is computed at points of the line of a single parameter, between which
the logarithms of the terms are interpolated by splines, or at every draw of several.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from confide._cubic import Cubic
from confide.errors import IncompatibleError
from confide.inference.diagnostics import diagnose, independent
from confide.inference.method import Method
from confide.inference.problem import Problem
from confide.inference.quadrature.fallback import STANDS_IN, WEIGHTY, stood_in
from confide.likelihood import Route
from confide.likelihood.joint import joint_over_numbers
from confide.likelihood.joint_law import Joint
from confide.likelihood.totals.number import NAME
from confide.posterior import Posterior

Floats = NDArray[np.float64]
#: places of draws, numbers of records, what each is worth (draws, numbers), and whether by the normal approximation
Masses = tuple[Any, Floats, Floats, Any]

#: points of a line at which p(n | θ, y) is computed, and draws that are served together
_POINTS, _TOGETHER = 48, 512
#: what is left out of p(n | θ, y)
_NEGLIGIBLE = 1e-12


def joint_of_private(problem: Problem, route: Route | None, method: Method | None) -> Joint:
    """The joint likelihood, summed over the number of records."""
    if route is not None:
        raise IncompatibleError(
            f"route {route.name!r} is for a public number of records; leave it out, for the sum over n has its own"
        )
    if method is not None and not method.on_likelihood:
        raise IncompatibleError(
            f"method {method.name!r} simulates the records, whose number is private; use grid, nuts or mh"
        )
    assert problem.number is not None
    joint = joint_over_numbers(problem.models, problem.values, problem.number, problem.same_records)
    joint.check(problem.values)
    return joint


def with_number(found: Posterior, joint: Joint | None, key: jax.Array) -> Posterior:
    """The posterior with draws of n, given those of θ."""
    uniform = np.random.default_rng([*np.asarray(jax.random.key_data(key)).ravel().tolist(), 1])
    theta = found.theta
    shape, rows = theta.shape[:2], theta.reshape(-1, theta.shape[-1])
    drawn, mean, second = np.empty(len(rows)), np.empty(len(rows)), np.empty(len(rows))
    rough = np.zeros(len(rows), dtype=bool)
    for where, numbers, mass, approximate in _masses(joint, rows):
        rough[where] = approximate
        total = np.cumsum(mass, axis=1)
        at = np.sum(total < uniform.random((len(where), 1)) * total[:, -1:], axis=1)
        drawn[where] = numbers[np.minimum(at, numbers.size - 1)]
        share = mass / total[:, -1:]
        mean[where], second[where] = share @ numbers, share @ np.square(numbers)
    draws = found.draws | {NAME: drawn.reshape(shape)}
    average = float(mean.mean())
    spread = float(np.sqrt(max(float(np.mean(second - np.square(mean)) + np.var(mean)), 0.0)))
    exact = found.exact
    if exact is not None:
        exact = replace(exact, mean=dict(exact.mean) | {NAME: average}, sd=dict(exact.sd) | {NAME: spread})
    before, alone = found.diagnostics, {NAME: draws[NAME]}
    own = independent(alone, []) if exact is not None else diagnose(alone, before.acceptance, None, [])
    told: dict[str, Any] = {
        name: dict(getattr(before, name)) | dict(getattr(own, name)) for name in ("ess", "r_hat", "iac")
    }
    told["warnings"] = (*before.warnings, *_notes(found, joint, rows[rough]))
    return replace(found, draws=draws, exact=exact, diagnostics=replace(before, **told))


def _notes(found: Posterior, joint: Any, rough: Floats) -> list[str]:
    """What to say where the normal law of the sum, given each n, stood in for the exact one."""
    if not joint.exact or not joint.sums:
        return []  # the route says so itself
    if found.exact is None:  # inside a trace there is no other
        return [f"the law of the sum given each n was not computed exactly in the chains: {STANDS_IN}"]
    draws = found.theta.shape[0] * found.theta.shape[1]
    return stood_in(list(found.draws), [rough]) if len(rough) > WEIGHTY * draws else []


def _masses(joint: Any, rows: Floats) -> Iterator[Masses]:
    """p(n | θ, y), not normalised, at every draw."""
    if rows.shape[1] == 1 and np.ptp(rows) > 0:
        yield from _on_a_line(joint, rows[:, 0])
        return
    for start in range(0, len(rows), _TOGETHER):
        for group, terms in joint.number_terms(rows[start : start + _TOGETHER]):
            yield start + group, terms.numbers, _exponentials(terms.log_terms), terms.approximate


def _on_a_line(joint: Any, theta: Floats) -> Iterator[Masses]:
    low, high = float(theta.min()), float(theta.max())
    # half of the points where the draws are, half in equal steps, for their tails
    spread = np.quantile(theta, np.linspace(0, 1, _POINTS // 2))
    points = np.unique(np.concatenate([spread, np.linspace(low, high, _POINTS // 2)]))
    points = points[np.concatenate([[True], np.diff(points) > 1e-9 * (high - low)])]
    found = list(joint.number_terms(points[:, None]))
    first = min(terms.numbers[0] for _, terms in found)
    last = max(terms.numbers[-1] for _, terms in found)
    numbers = np.arange(first, last + 1)
    logs, rough = np.full((points.size, numbers.size), -np.inf), np.zeros(points.size)
    for group, terms in found:
        rough[group] = terms.approximate
        start = int(terms.numbers[0] - first)
        logs[np.ix_(group, np.arange(start, start + terms.numbers.size))] = terms.log_terms
    logs -= logs.max(axis=1, keepdims=True)
    seen = np.any(logs > np.log(_NEGLIGIBLE), axis=0)
    numbers, logs = numbers[seen], np.maximum(logs[:, seen], 3 * np.log(_NEGLIGIBLE))
    between = Cubic.through(points, logs)
    for start in range(0, theta.size, _TOGETHER):
        part = theta[start : start + _TOGETHER]
        stood_in_beside = np.interp(part, points, rough) > 0
        yield start + np.arange(part.size), numbers, _exponentials(between(part)), stood_in_beside


def _exponentials(logs: Floats) -> Floats:
    return np.asarray(np.exp(logs - logs.max(axis=1, keepdims=True)))
