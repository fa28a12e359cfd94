"""The law of a clipped record at one θ that may be traced, with nodes that move where the density does.

`record` keeps its nodes where they are and must know θ beforehand. Here θ may be a tracer (inside somebody's
`jax.grad`, in NUTS), and the ends of the support or a kink of the density may depend on it. The number of panels is
fixed, their places are not:

* the *frame* is all that can be said without θ: the bounds, the smooth monotone pieces of s, cuts inside them until s
  is a polynomial of degree 15 to rounding, and a grading towards the fixed ends of the support, where the density may
  be singular;
* at θ the frame is cut at quantiles of the population, from the far tails to the middle. These only place panels and
  pass through `stop_gradient`. The ends of a moving support and the kinks of the density keep their derivative: by
  Leibniz' rule

      ∂/∂θ ∫_{a(θ)}^{b(θ)} f(s(x)) p(x|θ) dx = ∫ f ∂p/∂θ dx + b′ f p(b) − a′ f p(a),

  which is what differentiating the Gauss–Legendre sum gives.

On each panel s is read as the branch that it takes on its piece, so that a panel of no width at a jump of s, which
arises where a kink of the density meets it, still knows on which side of the jump it lies.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, ParamSpec, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from confide.errors import AccuracyError
from confide.expression.evaluate import evaluate
from confide.expression.specialise import specialise
from confide.likelihood.record import NODES, ORDER, WEIGHTS, Floats, RecordLaw
from confide.population import Population, density, tails
from confide.population.space import constrain
from confide.statistic import Statistic
from confide.statistic.transform import Function, Transform

#: s changes by at most 2^−CHANGES of its range on a panel, unless more is asked for
CHANGES = 2
_MOST_CHANGES, _MOST_PANELS, _MOST_POINTS = 12, 6000, 20_000
_RESOLVED = 1e-13
_SMALLEST, _SMALLEST_AT_ZERO = 2.0**-40, 1e-20
_RATIO = 5.0  # on [h/5, h] a power of h is a polynomial of degree 31 to 4e-14
_BISECTIONS = 56

_LOWER = np.array([1e-14, 1e-9, 1e-6, 1e-4, 3e-3, 0.03, 0.15])
_QUANTILES = np.concatenate([_LOWER, [0.5], 1.0 - _LOWER[:0:-1]])
_OUTWARD = 1.3 ** np.arange(1, 7)  # times the distance of the outermost quantile from the median
_ROUNDS, _SPLITS = 10, 6
_ROUGH_NODES, _ROUGH_WEIGHTS = np.polynomial.legendre.leggauss(11)

Ends = tuple[float, float]
Mask = NDArray[np.bool_]
P = ParamSpec("P")
R = TypeVar("R")


def once(function: Callable[P, R]) -> Callable[P, R]:
    """Remember results; compute them with known numbers even inside somebody's trace, and in double precision."""

    @functools.lru_cache(maxsize=256)
    @functools.wraps(function)
    def compute(*args: P.args, **kwargs: P.kwargs) -> R:
        with jax.ensure_compile_time_eval(), jax.enable_x64(True):
            return function(*args, **kwargs)

    return compute  # type: ignore[return-value]


# ---- panels of s ----------------------------------------------------------------------------------------------------


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


def on_panels(a: Floats, b: Floats, nodes: Floats) -> Floats:
    """Points of [−1, 1] carried to each panel (a, b), on a new last axis."""
    return np.asarray(0.5 * (a + b)[..., None] + 0.5 * (b - a)[..., None] * nodes)


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
            share += (0.5 - 1.0 / _RATIO) * (np.isin(b, grade).astype(float) - np.isin(a, grade))
        middle = a + share * (b - a)
        found.append(middle)
        a, b = np.concatenate([a, middle]), np.concatenate([middle, b])
    raise AccuracyError(
        f"more than {_MOST_PANELS} panels are needed; the noise is too small against the range of s, or s or the "
        "density is not smooth at unknown places"
    )


@dataclass(frozen=True, eq=False)
class Pieces:
    """The intervals on which s is smooth and monotone, and s on each of them, one function per component."""

    statistic: Statistic
    ends: Floats
    branches: tuple[tuple[Callable[[Any], Any], ...], ...]
    ranges: tuple[Ends, ...]

    @functools.cached_property
    def inside(self) -> tuple[Floats, Floats]:
        """The ends of each piece, moved inwards by more than the error of a kink: s is evaluated between them."""
        low, high = self.ends[:-1], self.ends[1:]
        margin = np.minimum(2.0**-44 * (self.ends[-1] - self.ends[0]), 0.25 * (high - low))
        return low + np.where(low == 0, 1e-290, margin), high - np.where(high == 0, 1e-290, margin)

    def at(self, x: Floats) -> Any:
        """The number of the piece in which each x lies."""
        return np.clip(np.searchsorted(self.ends, x) - 1, 0, len(self.branches) - 1)

    def values(self, x: Any, piece: Any) -> Any:
        """s on a piece, or on pieces that broadcast against x: one row per component; NumPy or JAX as x is."""
        xp: Any = jnp if isinstance(x, jax.Array) else np
        rows = []
        for component, (bottom, top) in enumerate(self.ranges):
            row = xp.zeros_like(x)
            for q in [piece] if isinstance(piece, int) else range(len(self.branches)):
                here = self.branches[q][component](xp.clip(x, self.inside[0][q], self.inside[1][q]))
                row = xp.where(piece == q, xp.clip(here, bottom, top), row)
            rows.append(row)
        return xp.stack(rows)

    @functools.cached_property
    def directions(self) -> Floats:
        """1, −1 or 0 for each piece of a scalar s: up, down, constant."""
        ends = (self.values(end, np.arange(end.size)) for end in self.inside)
        low, high = (np.asarray(end)[0] for end in ends)
        return np.asarray(np.sign(high - low))

    def solve(self, y: Any, piece: Any) -> Any:
        """The x on a piece with s(x) = y, or the end of the piece that is nearest to it; y and piece broadcast."""
        xp: Any = jnp if isinstance(y, jax.Array) else np
        low, high, up = (xp.asarray(part)[piece] for part in (self.ends[:-1], self.ends[1:], self.directions))

        def cut(_: Any, bracket: tuple[Any, Any]) -> tuple[Any, Any]:
            a, b = bracket
            middle = 0.5 * (a + b)
            right = up * (self.values(middle, piece)[0] - y) < 0
            return xp.where(right, middle, a), xp.where(right, b, middle)

        bracket = (low + 0.0 * y, high + 0.0 * y)
        if xp is jnp:
            bracket = lax.fori_loop(0, _BISECTIONS, cut, bracket)
        else:
            for step in range(_BISECTIONS):
                bracket = cut(step, bracket)
        return 0.5 * (bracket[0] + bracket[1])


@once
def pieces_of(statistic: Statistic) -> Pieces:
    """The pieces of a statistic; those of a vector are cut wherever one component is."""
    cuts = set(statistic.bounds)
    for transform in statistic.transforms:
        if isinstance(transform, Function):
            cuts.update(_turns(transform, statistic.bounds))
        else:
            cuts.update(end for piece in transform.pieces(*statistic.bounds) for end in (piece.low, piece.high))
    ends = sorted(cuts)
    branches = tuple(tuple(_branch(t, low, high) for t in statistic.transforms) for low, high in pairwise(ends))
    return Pieces(statistic, np.asarray(ends), branches, statistic.ranges)


def _branch(transform: Transform, low: float, high: float) -> Callable[[Any], Any]:
    if isinstance(transform, Function):
        return lambda x: transform(x) if isinstance(x, jax.Array) else np.asarray(transform(x), dtype=float)
    return functools.partial(evaluate, specialise(transform.tree, low, high))


def _turns(function: Function, bounds: Ends) -> list[float]:
    """Where a Python function turns, as far as 4,000 points can tell."""
    x = np.linspace(*bounds, 4001)
    steps = np.sign(np.diff(np.asarray(function(x), dtype=float)))

    def turn(i: int) -> float:
        peak = minimize_scalar(
            lambda at: -steps[i] * float(function(np.asarray(at))),
            bounds=(x[i], x[i + 2]),
            method="bounded",
            options={"xatol": 1e-12},
        )
        return float(peak.x)

    return [turn(int(i)) for i in np.flatnonzero(steps[:-1] * steps[1:] < 0)]


def s_at(statistic: Statistic, x: Floats) -> Floats:
    """s itself at known points, jumps included, one row per component."""
    at = np.clip(x, *statistic.bounds)
    parts = zip(statistic.transforms, statistic.ranges, strict=True)
    return np.stack([np.clip(np.asarray(transform(at), dtype=float), *ends) for transform, ends in parts])


@once
def _cuts(statistic: Statistic, changes: int) -> Floats:
    """Edges of panels on which s is a polynomial to rounding and changes by at most 2^−changes of its range."""
    pieces = pieces_of(statistic)
    scale = np.asarray([max(abs(low), abs(high), 1e-300) for low, high in pieces.ranges])[:, None, None]
    width = np.asarray([high - low for low, high in pieces.ranges])[:, None]
    length = pieces.ends[-1] - pieces.ends[0]

    def settled(a: Floats, b: Floats) -> Mask:
        piece = pieces.at(0.5 * (a + b))[:, None]
        s, finer = (pieces.values(on_panels(a, b, nodes), piece) for nodes in (NODES, HALF_NODES))
        smooth = np.max(np.abs(s @ TO_HALVES.T - finer) / scale, axis=(0, 2)) <= _RESOLVED
        change = np.max(finer, axis=-1) - np.min(finer, axis=-1)
        smallest = np.where((a == 0) | (b == 0), _SMALLEST_AT_ZERO, _SMALLEST) * length
        return np.asarray((smooth & np.all(change <= 2.0**-changes * width, axis=0)) | (b - a <= smallest))

    return halve(pieces.ends, settled, grade=pieces.ends)


# ---- the frame, and panels at θ -------------------------------------------------------------------------------------


@once
def support_of(population: Population) -> Ends | None:
    """The ends of the support, or None where they depend on θ."""
    if population.moving:
        return None
    theta = constrain(population.space, jnp.zeros(population.unconstrained_dimension))
    low, high = density.support(population, theta)
    return float(low), float(high)


@dataclass(frozen=True, eq=False)
class Frame:
    """Panels as far as they are known without θ: their edges, between the atoms, and the pieces of s.

    The panels from `edges[begins[i]]` on lie in the piece of number `piece[i]`. `atoms` is s at the two atoms.
    """

    pieces: Pieces
    edges: Floats
    begins: NDArray[np.intp]
    piece: NDArray[np.intp]
    atoms: Floats

    @property
    def low(self) -> float:
        """Where the lower atom ends."""
        return float(self.edges[0])

    @property
    def high(self) -> float:
        """Where the upper atom begins."""
        return float(self.edges[-1])


@once
def frame(population: Population, statistic: Statistic, changes: int = CHANGES) -> Frame:
    """The frame of a continuous population; s changes by at most 2^−changes of its range on a panel."""
    if changes > _MOST_CHANGES:
        raise AccuracyError(
            f"the noise is below one part in {2**_MOST_CHANGES:,} of the range of {statistic}, too small to integrate "
            "over; narrow the bounds"
        )
    pieces, edges = pieces_of(statistic), _cuts(statistic, changes)
    low, high = statistic.bounds
    start, stop = support_of(population) or (-math.inf, math.inf)
    inner = [edges]
    if low <= start < high:
        inner.append(_graded(start, min(stop, high), edges))
        low = float(inner[-1][-1])
    if low < stop <= high:
        inner.append(_graded(stop, low, edges))
        high = float(inner[-1][-1])
    everything = np.unique(np.concatenate(inner))
    kept = np.concatenate([[low], everything[(everything > low) & (everything < high)], [high]])
    first, last = np.searchsorted(pieces.ends, low, side="right") - 1, np.searchsorted(pieces.ends, high) - 1
    begins = np.searchsorted(kept, np.maximum(pieces.ends[first : last + 1], low))
    return Frame(pieces, kept, begins, np.arange(first, last + 1), s_at(statistic, kept[[0, -1]]))


def _graded(end: float, other: float, edges: Floats) -> Floats:
    """Cuts that approach an end of the support geometrically; what is nearer than the last one belongs to the atom.

    Numbers are dense near zero, and the last cell can be as small as a singular s needs it. Elsewhere the rounding of x
    spoils a singular density, and a cell of 1e-9 costs a smooth s nothing.
    """
    singular = np.min(np.abs(edges[edges != end] - end)) < 2.0**-30 * abs(other - end)
    depth = (1e-60 if singular else 1e-13) if end == 0 else 1e-9
    return np.asarray(end + (other - end) * _RATIO ** -np.arange(1.0, math.ceil(-math.log(depth, _RATIO)) + 1.0))


class Panels(NamedTuple):
    """The panels at one θ, in order, and the piece of s of each; piece i has panels first[i] to last[i]."""

    edges: jax.Array
    piece: jax.Array
    first: jax.Array
    last: jax.Array


def panels(population: Population, at: Frame, theta: jax.Array) -> Panels:
    """The frame, cut at θ's quantiles, kinks and ends of the support. Their number does not depend on θ."""
    still = lax.stop_gradient(theta)
    quantiles = jax.vmap(lambda q: tails.quantile(population, q, still))(jnp.asarray(_QUANTILES))
    middle = quantiles[_LOWER.size]
    outward = [middle + (quantiles[end] - middle) * _OUTWARD for end in (0, -1)]
    start, stop = (jnp.clip(end, at.low, at.high) for end in density.support(population, theta))
    parts = [jnp.asarray(at.edges[:-1]), quantiles, *outward, density.breaks(population, theta)]
    if population.closed.quantile is None:  # of no known shape: perhaps with several modes
        parts.append(_worst_panels(population, still, jnp.clip(jnp.concatenate(parts), start, stop)))
    edges = jnp.concatenate([*parts, at.edges[-1:]])
    edges = jnp.clip(jnp.where(jnp.isnan(edges), at.low, edges), start, stop)
    # Stable, with the frame's edges first and its end last: ties leave the pieces in order and every panel in one.
    order = jnp.argsort(lax.stop_gradient(edges), stable=True)
    begin = jnp.zeros(edges.size, dtype=int).at[at.begins].set(1)[order]
    position = jnp.zeros(edges.size, dtype=int).at[order].set(jnp.arange(edges.size))
    first = position[at.begins]
    last = jnp.concatenate([first[1:], jnp.asarray([edges.size - 1])]) - 1
    return Panels(edges[order], jnp.asarray(at.piece)[jnp.cumsum(begin)[:-1] - 1], first, last)


def _worst_panels(population: Population, theta: jax.Array, edges: jax.Array) -> jax.Array:
    """The middles of panels on which two rules disagree the most about the mass, a few at a time."""

    def split(round_: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        edges, found = carry
        a, b = edges[:-1], edges[1:]
        mass = [nodes(population, theta, a, b, *rule)[1].sum(-1) for rule in _TWO_RULES]
        _, worst = lax.top_k(jnp.abs(mass[0] - mass[1]), _SPLITS)
        middle = 0.5 * (a + b)[worst]
        # the spare edges are copies of the last one, so that the last ones in order are always spare
        return jnp.sort(edges.at[-_SPLITS:].set(middle)), lax.dynamic_update_slice(found, middle, (round_ * _SPLITS,))

    spare = jnp.full(_ROUNDS * _SPLITS, jnp.max(edges))
    carry = lax.stop_gradient((jnp.sort(jnp.concatenate([edges, spare])), spare))
    _, found = lax.fori_loop(0, _ROUNDS, split, carry)
    return jnp.asarray(found)


_TWO_RULES = (NODES, WEIGHTS), (_ROUGH_NODES, _ROUGH_WEIGHTS)


def nodes(
    population: Population,
    theta: jax.Array,
    a: jax.Array,
    b: jax.Array,
    points: Floats = NODES,
    weights: Floats = WEIGHTS,
) -> tuple[jax.Array, jax.Array]:
    """Gauss–Legendre nodes on the panels (a, b), on a new last axis, and their weights times the density."""
    half = 0.5 * (b - a)[..., None]
    x = 0.5 * (a + b)[..., None] + half * points
    log_density = jax.vmap(lambda point: density.log_prob(population, point, theta))(x.reshape(-1)).reshape(x.shape)
    return x, half * weights * jnp.exp(log_density)


def atom_weights(population: Population, at: Frame, theta: jax.Array) -> jax.Array:
    """The mass up to the first edge and from the last one on."""
    below = tails.cdf(population, jnp.asarray(at.low), theta)
    return jnp.stack([below, tails.survival(population, jnp.asarray(at.high), theta)])


def moving_law(
    population: Population, statistic: Statistic, theta: jax.Array, changes: int = CHANGES
) -> tuple[jax.Array, jax.Array]:
    """Values s_j (components, J) and weights w_j (J,) with E f(s(clip X)) ≈ Σ_j w_j f(s_j) at one θ (d,).

    Both are differentiable in θ. The atoms at the bounds come last. J depends on the population and the statistic only.
    Accurate to 1e-10 of max |f| for f that is smooth on the scale of 2^−changes times the range of s.

    >>> from confide import populations
    >>> from confide.statistic import Each
    >>> with jax.enable_x64(True):
    ...     s, w = moving_law(populations.uniform_width(), Each("x**2", bounds=(-1, 1)), jnp.array([0.5]))
    ...     print(f"{w @ s[0]:.12f}")                                               # width² / 3
    0.083333333333
    """
    if population.discrete:
        law = points(population, statistic)
        return jnp.asarray(law.s), law.weights(theta)
    at = frame(population, statistic, changes)
    cut = panels(population, at, theta)
    x, weights = nodes(population, theta, cut.edges[:-1], cut.edges[1:])
    s = at.pieces.values(x, cut.piece[:, None]).reshape(statistic.dimension, -1)
    return (
        jnp.concatenate([s, at.atoms], axis=1),
        jnp.concatenate([weights.reshape(-1), atom_weights(population, at, theta)]),
    )


@once
def points(population: Population, statistic: Statistic) -> RecordLaw:
    """The law of a discrete record whatever θ: the points of the support inside the bounds, and the two atoms."""
    low, high = statistic.bounds
    start, stop = support_of(population) or (-math.inf, math.inf)
    first, last = max(math.floor(low) + 1.0, start), min(math.ceil(high) - 1.0, stop)
    if last - first >= _MOST_POINTS:
        raise AccuracyError(
            f"{population.name} has more than {_MOST_POINTS:,} points inside the bounds {statistic.bounds}; "
            "narrow the bounds"
        )
    x = np.arange(first, last + 1.0)
    ends = max(low, first - 1.0), min(high, last + 1.0)
    return RecordLaw(population, x, np.ones_like(x), s_at(statistic, np.concatenate([x, ends])), *ends)
