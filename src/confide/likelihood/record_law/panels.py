"""Gauss–Legendre panels: polynomials through their nodes, and panels that are halved until a function is resolved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError
from confide.likelihood.record_law.record import NODES, ORDER, WEIGHTS, Floats

Mask = NDArray[np.bool_]
GaussRule = tuple[Floats, Floats]

#: panels, beyond which a function is taken for one that no halving resolves: 96,000 nodes
_MOST_PANELS = 6000
#: where a singularity is approached each panel is so many times the next: on [h/5, h] a power of h is a polynomial of
#: degree 31 to 4e-14
RATIO = 5.0


#: the rule of every panel, unless another is asked for
PANEL: GaussRule = NODES, WEIGHTS


def lagrange(xi: Any) -> Floats:
    """The Lagrange basis of the Gauss–Legendre nodes at points of [−1, 1]; the basis is on the last axis.

    By discrete orthogonality, ℓ_j(ξ) = Σ_k (k + ½) w_j P_k(ξ_j) P_k(ξ).
    """
    return np.asarray(np.polynomial.legendre.legvander(xi, ORDER - 1) @ TO_LEGENDRE)


#: from values at the nodes to the Legendre coefficients of the polynomial through them
TO_LEGENDRE = (np.arange(ORDER) + 0.5)[:, None] * np.polynomial.legendre.legvander(NODES, ORDER - 1).T * WEIGHTS
#: the nodes of the two halves of a panel, and from values at the panel's own nodes to the polynomial at them
HALF_NODES = np.concatenate([0.5 * (NODES - 1.0), 0.5 * (NODES + 1.0)])
TO_HALVES = lagrange(HALF_NODES)
#: the rule of both halves
HALVES: GaussRule = HALF_NODES, 0.5 * np.tile(WEIGHTS, 2)


def on_panels(a: Floats, b: Floats, nodes: Floats) -> Floats:
    """Points of [−1, 1] carried to each panel (a, b), on a new last axis."""
    return np.asarray(0.5 * (a + b)[..., None] + 0.5 * (b - a)[..., None] * nodes)


def panel_rule(a: Any, b: Any, rule: GaussRule = PANEL) -> tuple[Any, Any]:
    """Gauss–Legendre nodes and weights on each panel (a, b), of NumPy or JAX, on a new last axis."""
    half = 0.5 * (b - a)[..., None]
    return 0.5 * (a + b)[..., None] + half * rule[0], half * rule[1]


def halve(edges: Floats, settled: Callable[[Floats, Floats], Mask], grade: Floats | None = None) -> Floats:
    """Cut panels in two until each is settled: the edges of all panels, in order.

    A panel that begins or ends at a point of `grade` is cut near it, so that a singularity there is approached fast.
    """
    a, b = edges[:-1], edges[1:]
    found = [edges]
    while sum(part.size for part in found) <= _MOST_PANELS:
        go = ~settled(a, b)
        if not np.any(go):
            return np.sort(np.concatenate(found))
        a, b = a[go], b[go]
        share = np.full(a.shape, 0.5)
        if grade is not None:
            share += (0.5 - 1.0 / RATIO) * (np.isin(b, grade).astype(float) - np.isin(a, grade))
        middle = a + share * (b - a)
        found.append(middle)
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    raise AccuracyError(
        f"more than {_MOST_PANELS} panels are needed; the noise is too small against the range of s, or s or the "
        "density is not smooth at unknown places"
    )
