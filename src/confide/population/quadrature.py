"""Integrals over the law of one record, for families that come without closed forms.

The support is mapped to the real line (see `Line`) and cut at quantiles of draws from the population itself,
with a fixed key: the draws know where the mass is, however many modes there are. Panels on which two rules
disagree are cut in half, again and again, so that gaps between modes, and kinks, are closed in on.
Gauss–Legendre rules serve between the cuts, and a double-exponential rule, scaled by the density's own rate
of decay, serves the two tails.

Cuts do not depend on θ except through the support and the declared `breaks`, which they follow; so
differentiating a sum over nodes gives the integral of the differentiated density, as it must. The error is
below 1e-10 for densities that are smooth between the breaks. It is larger near an undeclared jump, or a
singularity at a finite end of the support other than zero; `defect` then differs from zero by about the error
made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from confide.population import density
from confide.population.line import RealLine
from confide.population.splitting import middles

if TYPE_CHECKING:
    from confide.population.population import Population

Mass = Callable[[jax.Array], jax.Array]

#: draws that say where the mass is, and the levels of them at which panels are cut, denser towards the tails
_DRAWS = 1000
_LEVELS = np.array([0.005, 0.02, 0.05, 0.1, 0.17, 0.25, 0.33, 0.42, 0.5])
_QUANTILES = np.unique(np.concatenate([_LEVELS, 1 - _LEVELS]) * _DRAWS).astype(int)
#: rounds of halving, and the panels that are halved in each
_ROUNDS, _SPLITS = 12, 4

#: the rule on each panel
_NODES, _WEIGHTS = (0.5 * part for part in np.polynomial.legendre.leggauss(16))
_NODES = _NODES + 0.5  # on (0, 1), as below
#: double-exponential steps: from 6e-14 to 400 lengths of decay
_STEPS = np.linspace(-3.3, 6.0, 56)
#: so many that an exponential tail is one, and so few that a power of x is followed as well
_LENGTHS = 16.0
_TAIL_NODES = np.exp(_STEPS - np.exp(-_STEPS))  # on (0, ∞), for an integrand that decays like e^{−t}
_TAIL_WEIGHTS = (_STEPS[1] - _STEPS[0]) * _TAIL_NODES * (1 + np.exp(-_STEPS))
#: how far beyond its start a tail is probed for its rate of decay: nearer, if by then as much of its log is lost
_PROBES, _MOST_FALL = np.asarray([1e-3, 1e-6, 1e-9]), 30.0


def _lobatto(count: int) -> tuple[np.ndarray, np.ndarray]:
    """The Gauss–Lobatto rule on (0, 1), which has nodes at both ends: there it sees the narrowest of peaks."""
    legendre = np.polynomial.legendre.Legendre.basis(count - 1)
    nodes = np.concatenate([[-1.0], np.sort(legendre.deriv().roots().real), [1.0]])
    return 0.5 * (nodes + 1), 1.0 / (count * (count - 1) * legendre(nodes) ** 2)


#: which must not agree with the Gauss rule by accident: it is right for degrees up to 17, that one up to 31
_LOBATTO_NODES, _LOBATTO_WEIGHTS = _lobatto(10)


def survey(population: Population, theta: jax.Array) -> tuple[RealLine, jax.Array]:
    """The line, and quantiles of draws on it; neither has a derivative in θ except through the support."""
    draws = density.draws(population, jax.random.key(0), lax.stop_gradient(theta), (_DRAWS,))
    draws = jnp.sort(lax.stop_gradient(draws))
    spread = draws[3 * _DRAWS // 4] - draws[_DRAWS // 4]
    line = RealLine(
        *density.support(population, theta),
        draws[_DRAWS // 2],
        jnp.where(spread > 0, spread, 1.0),
        *population.facts.bounded,
    )
    return line, line.still().coordinate(draws[_QUANTILES])


def _mass(population: Population, line: RealLine, theta: jax.Array) -> Mass:
    """The density in the coordinate v; zero where rounding has moved the record onto a singular end."""

    def mass(v: jax.Array) -> jax.Array:
        x = line.record(v)
        # Farther out, a square or a reciprocal in the density may overflow and its derivative be NaN.
        least, most = (-660.0 if line.below else -340.0), (660.0 if line.above else 340.0)
        usable = (x > line.low) & (x < line.high) & (v > least) & (v < most)
        v_in = jnp.where(usable, v, 0.0)  # v = 0 is inside every support, so no NaN can reach a derivative
        log_mass = density.log_prob(population, line.record(v_in), theta) + line.log_slope(v_in)
        return jnp.where(usable, jnp.exp(log_mass), 0.0)

    return jnp.vectorize(mass)


def _spread(low: jax.Array, high: jax.Array, nodes: np.ndarray) -> jax.Array:
    """Nodes of (0, 1) carried to each panel, on a last axis."""
    return low[..., None] + (high - low)[..., None] * nodes


def _refine(mass: Mass, cuts: jax.Array) -> jax.Array:
    """More cuts, in the middle of those panels on which two rules disagree the most."""

    def error(low: jax.Array, high: jax.Array) -> jax.Array:
        return jnp.abs(mass(_spread(low, high, nodes)) @ weights) * (high - low)

    nodes = np.concatenate([_NODES, _LOBATTO_NODES])
    weights = np.concatenate([_WEIGHTS, -_LOBATTO_WEIGHTS])
    return jnp.sort(jnp.concatenate([cuts, middles(error, cuts, _ROUNDS, _SPLITS)]))


class PanelCuts(NamedTuple):
    """Where panels are cut at θ, which is not differentiated: draws, and rounds of halving, take long to compile.

    Found once for a known θ, it serves every function of the population that integrates.
    """

    centre: Any
    scale: Any
    #: the cuts in order, and those of them that are at breaks
    cuts: Any
    breaks: Any


def places(population: Population, theta: jax.Array) -> PanelCuts:
    """All cuts, in order, on the line of θ."""
    theta = lax.stop_gradient(theta)
    line, cuts = survey(population, theta)
    inside, breaks = _breaks(population, line, theta)
    at_breaks = jnp.where(inside, breaks, cuts[0])
    cuts = _refine(_mass(population, line, theta), jnp.sort(jnp.concatenate([cuts, at_breaks])))
    return PanelCuts(line.centre, line.scale, cuts, at_breaks)


def _breaks(population: Population, line: RealLine, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Which breaks are inside the support, and the coordinates of these."""
    breaks = density.breaks(population, theta)
    inside = lax.stop_gradient((breaks > line.low) & (breaks < line.high))
    return inside, line.coordinate(jnp.where(inside, breaks, density.inner_point(population, line.low, line.high)))


def _cuts(population: Population, theta: jax.Array, at: PanelCuts | None) -> tuple[RealLine, jax.Array]:
    """The line and all cuts on it, in order; those at breaks move with them."""
    centre, scale, cuts, at_breaks = at or places(population, theta)
    line = RealLine(*density.support(population, theta), centre, scale, *population.facts.bounded)
    inside, breaks = _breaks(population, line, theta)
    for place, moving in zip(at_breaks, jnp.where(inside, breaks, at_breaks), strict=True):
        cuts = jnp.where(cuts == place, moving, cuts)
    return line, cuts


def _tail(mass: Mass, start: jax.Array, side: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Nodes and weights from `start` outwards, to −∞ (side −1) or to +∞ (side +1)."""
    logs = lax.stop_gradient(jnp.log(mass(start + side * jnp.concatenate([jnp.zeros(1), _PROBES]))))
    fall = logs[0] - logs[1:]
    # only a scale, and cheaper to compile than a derivative; NaN if both masses are zero
    rate = (fall / _PROBES)[jnp.argmax(fall < _MOST_FALL)]
    scale = jnp.where(rate > 0.02, 1.0 / jnp.where(rate > 0.02, rate, 1.0), jnp.where(rate > 0, 50.0, 1.0))
    return start + side * scale * _TAIL_NODES, scale * _TAIL_WEIGHTS


class DensityPanels:
    """The law of one record at θ, cut into panels on the line; made once for any number of records."""

    def __init__(self, population: Population, theta: jax.Array, at: PanelCuts | None = None) -> None:
        self.line, self.cuts = _cuts(population, theta, at)
        self.mass = _mass(population, self.line, theta)
        low, high = self.cuts[:-1], self.cuts[1:]
        self.panels = (self.mass(_spread(low, high, _NODES)) @ _WEIGHTS) * (high - low)

    def rule(self) -> tuple[jax.Array, jax.Array]:
        """Records x_j and weights w_j with E f(X) ≈ Σ w_j f(x_j), tails included."""
        low, high = self.cuts[:-1], self.cuts[1:]
        body = _spread(low, high, _NODES), (high - low)[:, None] * _WEIGHTS
        tails = jax.vmap(lambda start, side: _tail(self.mass, start, side))(
            jnp.stack([low[0], high[-1]]), jnp.array([-1.0, 1.0])
        )
        parts = [body, tails]
        v, w = (jnp.concatenate([part.ravel() for part in column]) for column in zip(*parts, strict=True))
        return self.line.record(v), w * self.mass(v)

    def tail(self, v: jax.Array, side: jax.Array) -> jax.Array:
        """The mass below v (side −1) or above it (side +1): a sum of positive terms, unless it is nearly one."""
        low, high, lower = self.cuts[:-1], self.cuts[1:], side < 0
        near, far = jnp.where(lower, low[0], high[-1]), jnp.where(lower, high[-1], low[0])
        beyond = side * (v - near) > 0
        across = side * (v - far) < 0  # all cuts are on the near side of v: one minus the other tail
        nodes, weights = _tail(self.mass, jnp.where(beyond | across, v, near), jnp.where(across, -side, side))
        # The panels that lie wholly on this side of v, and the part of the one that contains v.
        whole = jnp.where(lower, high <= v, low >= v)
        last, first = jnp.where(low <= v, low, low[0]).max(), jnp.where(high >= v, high, high[-1]).min()
        edge = jnp.where(beyond, v, jnp.where(lower, last, first))
        part = side * (edge - v)
        mass = self.mass(jnp.concatenate([nodes, _spread(v, edge, _NODES)]))
        tail, rest = mass[: nodes.size] @ weights, (mass[nodes.size :] @ _WEIGHTS) * part
        return jnp.where(across, 1.0 - tail, tail + jnp.sum(self.panels, where=whole) + rest)


def rule(population: Population, theta: jax.Array, at: PanelCuts | None = None) -> tuple[jax.Array, jax.Array]:
    """Records x_j and weights w_j with E f(X) ≈ Σ w_j f(x_j) at θ."""
    return DensityPanels(population, theta, at).rule()


def defect(population: Population, theta: jax.Array) -> jax.Array:
    """How far the total mass is from one: a check of the quadrature on this population at this θ."""
    return jnp.abs(rule(population, theta)[1].sum() - 1.0)


def far_tail(population: Population, x: jax.Array, theta: jax.Array) -> jax.Array:
    """P(X > x) for x so far out that the density only falls off from there: panels of the whole law are not needed.

    The coordinate is that of a line whose centre is x, and whose scale is some lengths over which the density decays.
    """
    still = lax.stop_gradient(theta)
    low, high = density.support(population, theta)
    fall = -jax.grad(lambda point: density.log_prob(population, point, still))(x)
    scale = jnp.where(fall > 0, _LENGTHS / jnp.where(fall > 0, fall, 1.0), 1.0)
    line = RealLine(low, high, x, scale, *population.facts.bounded).still()
    nodes, weights = _tail(_mass(population, line, still), line.coordinate(x), jnp.asarray(1.0))
    return _mass(population, line, theta)(nodes) @ weights


def tail_mass(
    population: Population, x: jax.Array, theta: jax.Array, side: int, at: PanelCuts | None = None
) -> jax.Array:
    """P(X < x) for side −1, P(X > x) for side +1, for x inside the support."""
    panels = DensityPanels(population, theta, at)
    return panels.tail(panels.line.coordinate(x), jnp.full_like(x, side))
