"""Incomplete gamma and beta functions, differentiable in every argument.

JAX has no derivative of `betainc` in a and b, and none of `gammainc` in a beyond the first. (Its `betaln`
cannot be used either: in jax 0.10 it is wrong by up to 1e-6 when an argument is at least 8.) Both functions
are a smooth factor times a power series or a continued fraction, and the recurrence that sums it can be
differentiated term by term. The loop must then watch the derivative converge as well as the value: at an
integer shape the fraction terminates, its derivative does not.

Second derivatives are had by forward differentiation (`jax.hessian` does), as the loop cannot be run
backwards.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.special import gammaln, xlogy

#: two units in the last place: a recurrence that changes by less has settled
_VALUE_TOLERANCE = 2.0**-51
_SLOPE_TOLERANCE = 1e-14  # rounding in the differentiated recurrence is a few times larger than in the recurrence
_MOST_TERMS = 20_000.0  # near the mean about 6·√a terms are needed, so this serves a up to 10⁶


class Recurrence(NamedTuple):
    """A converging recurrence: its start, and the next state after term m; the last entry of a state is the value."""

    start: Callable[[jax.Array], jax.Array]  # parameters -> state
    extend: Callable[[jax.Array, jax.Array, jax.Array], jax.Array]  # m, state, parameters -> state


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def limit(recurrence: Recurrence, parameters: jax.Array) -> jax.Array:
    """The value that a recurrence converges to, for a vector of parameters."""

    def unfinished(carry: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        m, state, last = carry
        return (m < _MOST_TERMS) & (jnp.abs(state[-1] - last) > _VALUE_TOLERANCE * jnp.abs(state[-1]))

    def extend(carry: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        m, state, _ = carry
        return m + 1.0, recurrence.extend(m, state, parameters), state[-1]

    start = recurrence.start(parameters)
    first = (jnp.ones_like(start[-1]), start, jnp.full_like(start[-1], jnp.inf))
    return lax.while_loop(unfinished, extend, first)[1][-1]


def _limit_gradient(recurrence: Recurrence, parameters: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The limit and its gradient, by running the recurrence and its derivative side by side."""

    def unfinished(carry: tuple[jax.Array, ...]) -> jax.Array:
        m, state, slope, last, last_slope = carry
        scale = jnp.abs(state[-1]) + jnp.abs(slope[-1])
        moving = (jnp.abs(slope[-1] - last_slope) > _SLOPE_TOLERANCE * scale).any()
        return (m < _MOST_TERMS) & (moving | (jnp.abs(state[-1] - last) > _VALUE_TOLERANCE * jnp.abs(state[-1])))

    def extend(carry: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        m, state, slope, *_ = carry
        by_state, by_parameters = jax.jacfwd(recurrence.extend, argnums=(1, 2))(m, state, parameters)
        following = recurrence.extend(m, state, parameters)
        return m + 1.0, following, by_state @ slope + by_parameters, state[-1], slope[-1]

    start, slope = recurrence.start(parameters), jax.jacfwd(recurrence.start)(parameters)
    first: tuple[jax.Array, ...] = (
        jnp.ones_like(start[-1]),
        start,
        slope,
        jnp.full_like(start[-1], jnp.inf),
        slope[-1],
    )
    _, state, slope, *_ = lax.while_loop(unfinished, extend, first)
    return state[-1], slope[-1]


@limit.defjvp
def _limit_jvp(recurrence: Recurrence, primals: tuple, tangents: tuple) -> tuple[jax.Array, jax.Array]:
    value, gradient = _limit_gradient(recurrence, *primals)
    return value, gradient @ tangents[0]


def _fraction(term: Callable[[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]) -> Recurrence:
    """The continued fraction b₀ + a₁/(b₁ + a₂/(b₂ + …)) by Lentz's algorithm, from term(m, parameters) = (a_m, b_m)."""

    def start(parameters: jax.Array) -> jax.Array:
        first = term(jnp.zeros_like(parameters[0]), parameters)[1]
        return jnp.stack([first, jnp.zeros_like(first), first])

    def extend(m: jax.Array, state: jax.Array, parameters: jax.Array) -> jax.Array:
        (c, d, value), (a, b) = state, term(m, parameters)
        d = 1.0 / (b + a * d)
        c = b + a / c
        return jnp.stack([c, d, value * (c * d)])

    return Recurrence(start, extend)


def _upper_gamma_term(m: jax.Array, parameters: jax.Array) -> tuple[jax.Array, jax.Array]:
    a, x = parameters
    return m * (a - m), x + 2.0 * m + 1.0 - a


def _beta_term(term: jax.Array, parameters: jax.Array) -> tuple[jax.Array, jax.Array]:
    a, b, x = parameters
    m = jnp.floor(term / 2.0)
    even = m * (b - m) / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
    odd = -(a + m) * (a + b + m) / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
    return x * jnp.where(term == 2.0 * m, even, odd), jnp.ones_like(x)


def _lower_gamma_start(parameters: jax.Array) -> jax.Array:
    return jnp.ones_like(parameters)


def _lower_gamma_extend(m: jax.Array, state: jax.Array, parameters: jax.Array) -> jax.Array:
    (term, total), (a, x) = state, parameters
    term = term * x / (a + m)
    return jnp.stack([term, total + term])


_LOWER_GAMMA = Recurrence(_lower_gamma_start, _lower_gamma_extend)  # Σ x^m / ((a+1)…(a+m))
_UPPER_GAMMA = _fraction(_upper_gamma_term)  # x^a e^{−x} / Γ(a, x), DLMF 8.9.2
_BETA = _fraction(_beta_term)  # x^a (1−x)^b / (a B(a, b) I_x(a, b)), DLMF 8.17.22


def gamma_tails(a: jax.Array, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """P(a, x) and Q(a, x) = 1 − P: both tails of a gamma variable with concentration a, neither by cancellation."""
    inside = (x > 0) & (x < jnp.inf)
    x_in = jnp.where(inside, x, 1.0)
    by_series = x_in < a + 1.0
    factor = jnp.exp(xlogy(a, x_in) - x_in - gammaln(a + 1.0))
    # Each loop sees only arguments for which it converges fast; the other's result is discarded.
    lower = factor * limit(_LOWER_GAMMA, jnp.stack([a, jnp.where(by_series, x_in, 0.5 * a)]))
    upper = factor * a / limit(_UPPER_GAMMA, jnp.stack([a, jnp.where(by_series, 2.0 * a + 9.0, x_in)]))
    p = jnp.where(by_series, lower, 1.0 - upper)
    q = jnp.where(by_series, 1.0 - lower, upper)
    return jnp.where(inside, p, jnp.where(x > 0, 1.0, 0.0)), jnp.where(inside, q, jnp.where(x > 0, 0.0, 1.0))


def beta_tails(a: jax.Array, b: jax.Array, x: jax.Array, rest: jax.Array) -> tuple[jax.Array, jax.Array]:
    """I_x(a, b) and 1 − I_x(a, b): both tails of a beta variable, neither by cancellation; `rest` is 1 − x."""
    inside = (x > 0) & (rest > 0)
    x_in, rest_in = jnp.where(inside, x, 0.5), jnp.where(inside, rest, 0.5)
    direct = x_in < (a + 1.0) / (a + b + 2.0)  # below the mean; above it the roles of a and b are exchanged
    a_in, b_in = jnp.where(direct, a, b), jnp.where(direct, b, a)
    x_in, rest_in = jnp.where(direct, x_in, rest_in), jnp.where(direct, rest_in, x_in)
    log_beta = gammaln(a) + gammaln(b) - gammaln(a + b)
    factor = jnp.exp(xlogy(a_in, x_in) + xlogy(b_in, rest_in) - log_beta) / a_in
    tail = factor / limit(_BETA, jnp.stack([a_in, b_in, x_in]))
    lower = jnp.where(direct, tail, 1.0 - tail)
    upper = jnp.where(direct, 1.0 - tail, tail)
    return jnp.where(inside, lower, jnp.where(x > 0, 1.0, 0.0)), jnp.where(inside, upper, jnp.where(x > 0, 0.0, 1.0))
