"""Distribution function, survival function and quantile function of one record, with derivatives in x and θ.

Each comes from the first source that there is: a closed form that the family supplies, numpyro's own
function, or sums over the support. Derivatives in θ of closed forms are automatic. Where numpyro's `cdf` cannot be
differentiated, ∂F/∂θ is the integral of ∂p/∂θ; ∂F/∂x is always the density; and the quantile's derivatives
follow from F(Q(q; θ); θ) = q: ∂Q/∂q = 1/f and ∂Q/∂θ = −∂F/∂θ / f. All functions here are of a scalar record
and one θ of shape (d,).

F may be smooth where its code is not: `abs` and `sign` of x − θ, as numpyro has them for a Laplace law, have a slope at
a tie that is a convention. Bounds and parameters are round numbers, and tie. So ∂F/∂θ is taken a few units in the last
place beside x, which moves a smooth F by no more than the rounding of x does.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from confide.population import counts, density, quadrature
from confide.population.quadrature import PanelCuts
from confide.population.solve import invert
from confide.population.space import split

if TYPE_CHECKING:
    from confide.population.population import Population

#: three units in the last place, or six: no parameter that was written down with a bound, or computed from it, is there
_BESIDE, _BESIDE_ZERO = 3 * 2.0**-52, 1e-290
_UPPER_TAIL = 1e-5  # below this mass, 1 − F has lost five digits and the tail is integrated instead


def needs_rule(population: Population) -> bool:
    """Whether the distribution function rests on sums over the support, whose error is measured by `defect`."""
    closed = population.closed
    return closed.cdf is None and (population.discrete or not population.facts.cdf_gradient)


def integrates(population: Population) -> bool:
    """Whether a tail is an integral over panels of the whole law, for which `quadrature.places` serve."""
    far = population.closed.survival is None and population.moving and population.facts.sample
    return not population.discrete and (needs_rule(population) or far)


def cdf(
    population: Population, x: Float[Array, ""], theta: Float[Array, " d"], at: PanelCuts | None = None
) -> Float[Array, ""]:
    """P(X ≤ x); where panels are cut may be known."""
    return _below(population, x, theta, at) if population.discrete else _tail(population, -1, x, theta, at)


def survival(
    population: Population, x: Float[Array, ""], theta: Float[Array, " d"], at: PanelCuts | None = None
) -> Float[Array, ""]:
    """P(X > x)."""
    return _above(population, x, theta, at) if population.discrete else _tail(population, 1, x, theta, at)


def survivals(population: Population, x: Float[Array, " x"], theta: Float[Array, " d"]) -> Float[Array, " x"]:
    """P(X > x) of a continuous record at many x (M,): the upper tail is integrated only if one of them lies in it."""
    each = jax.vmap(lambda one: survival(population, one, theta))
    if not _complemented(population):
        return each(x)
    near = 1.0 - jax.vmap(lambda one: cdf(population, one, theta))(x)
    beyond = x >= density.support(population, theta)[1]
    return lax.cond(jnp.all((near > _UPPER_TAIL) | beyond), lambda: near, lambda: each(x))


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _tail(population: Population, side: int, x: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    return (_below if side < 0 else _above)(population, x, theta, at)


@partial(_tail.defjvp, symbolic_zeros=True)
def _tail_jvp(population: Population, side: int, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    (x, theta, at), (x_dot, theta_dot, _) = primals, tangents
    beside = jnp.where(jnp.isfinite(x), x + jnp.where(x == 0, _BESIDE_ZERO, _BESIDE * jnp.abs(x)), x)
    by_theta = _by_theta(lambda t: (_below if side < 0 else _above)(population, beside, t, at), theta, theta_dot)
    return _tail(population, side, x, theta, at), by_theta - side * _by_x(population, x, theta, x_dot)


def _by_theta(function: Callable[[jax.Array], jax.Array], theta: jax.Array, theta_dot: Any) -> jax.Array:
    """The derivative along a direction of θ; nothing where θ stands still."""
    if isinstance(theta_dot, SymbolicZero):
        return jnp.zeros(())
    return jax.jvp(function, (theta,), (theta_dot,))[1]


def _by_x(population: Population, x: jax.Array, theta: jax.Array, x_dot: Any) -> jax.Array:
    """How fast the mass below x grows as x moves; nothing where it stands still.

    At an end of the support the density may be infinite, or what numpyro makes of log 0: it is not asked for in vain.
    """
    return jnp.zeros(()) if isinstance(x_dot, SymbolicZero) else _density(population, x, theta) * x_dot


def _below(population: Population, x: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    x_in, below, above = _inside(population, x, theta)
    return jnp.where(below, 0.0, jnp.where(above, 1.0, _cdf_inside(population, x_in, theta, at)))


def _above(population: Population, x: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    x_in, below, above = _inside(population, x, theta)
    return jnp.where(below, 1.0, jnp.where(above, 0.0, _survival_inside(population, x_in, theta, at)))


def _inside(population: Population, x: jax.Array, theta: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """x, replaced by a harmless point where it is outside the support, and on which side of it x is."""
    if population.discrete:
        x = jnp.floor(x)
    low, high = density.support(population, theta)
    below, above = (x < low) if population.discrete else (x <= low), x >= high
    return jnp.where(below | above, density.inner_point(population, low, high), x), below, above


def _cdf_inside(population: Population, x: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    closed, facts = population.closed, population.facts
    if closed.cdf is not None:
        return closed.cdf(x, **split(population.space, theta))
    if population.discrete:
        return counts.tail_mass(population, x, theta, side=-1)
    if facts.cdf_gradient:
        return jnp.asarray(density.at(population, theta).cdf(x))
    return _integrated(population, -1, x, theta, at)


def _survival_inside(population: Population, x: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    closed, facts = population.closed, population.facts
    if closed.survival is not None:
        return closed.survival(x, **split(population.space, theta))
    if population.discrete and closed.cdf is None:
        return counts.tail_mass(population, x, theta, side=1)
    if closed.cdf is None and not facts.cdf_gradient:
        return _integrated(population, 1, x, theta, at)
    complement = 1.0 - _cdf_inside(population, x, theta, at)
    if not _complemented(population):
        return complement
    # an end of the support that moves with θ is followed by the panels of the whole law alone
    far = _integrated(population, 1, x, theta, at) if population.moving else quadrature.far_tail(population, x, theta)
    return jnp.where(complement > _UPPER_TAIL, complement, far)


def _complemented(population: Population) -> bool:
    """Whether the survival function is 1 − F, and an integral where little is left of that."""
    closed, facts = population.closed, population.facts
    if closed.survival is not None or population.discrete or not facts.sample:
        return False
    return closed.cdf is not None or facts.cdf_gradient


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _integrated(population: Population, side: int, x: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    """The mass below (side −1) or above (side +1) x, numpyro's value where it has one."""
    if side < 0 and population.facts.cdf:
        return jnp.asarray(density.at(population, theta).cdf(x))
    return quadrature.tail_mass(population, x, theta, side, at)


@partial(_integrated.defjvp, symbolic_zeros=True)
def _integrated_jvp(population: Population, side: int, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    (x, theta, at), (x_dot, theta_dot, _) = primals, tangents
    by_theta = _by_theta(lambda t: quadrature.tail_mass(population, x, t, side, at), theta, theta_dot)
    return _integrated(population, side, x, theta, at), by_theta - side * _by_x(population, x, theta, x_dot)


def _density(population: Population, x: jax.Array, theta: jax.Array) -> jax.Array:
    return jnp.exp(density.log_prob(population, x, theta))


def quantile(
    population: Population, q: Float[Array, ""], theta: Float[Array, " d"], at: PanelCuts | None = None
) -> Float[Array, ""]:
    """The smallest x with P(X ≤ x) ≥ q; the ends of the support at q = 0 and q = 1."""
    low, high = density.support(population, theta)
    inside = (q > 0) & (q < 1)
    q_in = jnp.where(inside, q, 0.5)
    if population.discrete:
        # A step function: no derivative, and none is sought through the search.
        x = _solve(population, lax.stop_gradient(q_in), lax.stop_gradient(theta), at)
    else:
        x = _quantile_inside(population, q_in, theta, at)
    return jnp.where(inside, x, jnp.where(q == 0, low, jnp.where(q == 1, high, jnp.nan)))


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _quantile_inside(population: Population, q: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    return _solve(population, q, theta, at)


@_quantile_inside.defjvp
def _quantile_jvp(population: Population, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    (q, theta, at), (q_dot, theta_dot, _) = primals, tangents
    x = _quantile_inside(population, q, theta, at)
    _, by_theta = jax.jvp(lambda t: cdf(population, x, t, at), (theta,), (theta_dot,))
    slope = _density(population, x, theta)
    usable = (slope > 0) & (slope < jnp.inf)  # else x has been rounded onto an end of the support
    return x, jnp.where(usable, (q_dot - by_theta) / jnp.where(usable, slope, 1.0), 0.0)


def _solve(population: Population, q: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    if searches(population):
        return _search(population, q, theta, at)
    if population.closed.quantile is not None:
        return population.closed.quantile(q, **split(population.space, theta))
    if population.discrete:
        return counts.quantile(population, q, theta)
    return jnp.asarray(density.at(population, theta).icdf(q))


def searches(population: Population) -> bool:
    """Whether a quantile must be searched for, which takes a hundred times as long as a closed form."""
    closed = population.closed
    given = closed.quantile is not None or (closed.cdf is None and population.facts.icdf)
    return not (population.discrete or given)


def _search(population: Population, q: jax.Array, theta: jax.Array, at: PanelCuts | None) -> jax.Array:
    """The quantile by inverting the distribution function, with panels that are made once for the whole search."""
    panels = quadrature.DensityPanels(population, theta, at)
    line = panels.line

    def log_tail(v: jax.Array, lower: jax.Array) -> tuple[jax.Array, jax.Array]:
        x = line.record(v)
        tail = panels.tail(v, jnp.where(lower, -1.0, 1.0))
        if not needs_rule(population):
            below = cdf(population, x, theta, at)
            tail = jnp.where(lower, below, jnp.where(below < 1.0 - _UPPER_TAIL, 1.0 - below, tail))
        return jnp.log(tail), density.log_prob(population, x, theta) + line.log_slope(v)

    return line.record(invert(log_tail, q, panels.cuts[panels.cuts.shape[0] // 2]))
