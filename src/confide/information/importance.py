"""Algorithm 1: the score of a noisy mean under the normal approximation, by sampling u given y (Sec 3.2 of the paper).

The inner sample of p(u | y, θ) ∝ f(u | θ) g(y | u) is drawn in one of three ways, as the paper lists them: weighted
draws from a proposal q_θ (by default f itself), rejection, which is exact, or
Metropolis–Hastings with proposals from f.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from confide.errors import IncompatibleError, InvalidArgument
from confide.information.weights import weighted_score
from confide.likelihood.mean.normal import log_normal
from confide.likelihood.record_law.moments import moments
from confide.likelihood.record_law.traced import moving_law
from confide.mechanism.additive import AdditiveLaw
from confide.model import Model

#: ways to sample u given y
_SAMPLERS = ("importance", "rejection", "mcmc")
#: chosen: steps of the inner chain that are dropped; it proposes from f itself
_BURN = 50


class NormalMoments(NamedTuple):
    """The normal law of u at one θ, and how it moves with θ."""

    theta: jax.Array
    mean: jax.Array  # (k,)
    covariance: jax.Array  # (k, k)
    root: jax.Array
    d_mean: jax.Array  # (k, d)
    d_covariance: jax.Array  # (k, k, d)


def normal_score(u: jax.Array, at: NormalMoments) -> jax.Array:
    """∂ log N(u; μ, C)/∂θ = rᵀC⁻¹∂μ + ½ rᵀC⁻¹∂C C⁻¹r − ½ tr(C⁻¹∂C) with r = u − μ.

    (The published code has the wrong last term: erratum 5.)
    """
    inverse = jnp.linalg.inv(at.covariance)
    pulled = inverse @ (u - at.mean)
    spread = jnp.einsum("a,abi,b->i", pulled, at.d_covariance, pulled) - jnp.einsum(
        "ab,bai->i", inverse, at.d_covariance
    )
    return pulled @ at.d_mean + 0.5 * spread


def _envelope(
    law: AdditiveLaw, at: NormalMoments, y: jax.Array
) -> tuple[jax.Array, jax.Array, Callable[..., jax.Array]]:
    """A normal law that lies above f(u) g(y | u), and the log of the share of its draws that is kept.

    Gaussian noise: the conditional law itself. Laplace noise: |d| ≥ s·d for either sign s, so f(u) e^{−|y−u|/b} lies
    below f tilted by e^{su/b}, which is normal again; with s the side of y, what is kept does not vanish as y moves
    out. Other noise: f.
    """
    y = jnp.atleast_1d(y)
    if law.noise.normal:
        gain = at.covariance @ jnp.linalg.inv(at.covariance + law.noise.scale**2 * jnp.eye(y.size))
        spread = at.covariance - gain @ at.covariance
        return at.mean + gain @ (y - at.mean), jnp.linalg.cholesky(spread), lambda u: jnp.zeros(u.shape[0])
    if law.noise.kinked:
        side = jnp.where(y >= at.mean, 1.0, -1.0)

        def kept(u: jax.Array) -> jax.Array:
            return jnp.sum(side * (y - u) - jnp.abs(y - u), axis=-1) / law.noise.scale

        return at.mean + at.covariance @ side / law.noise.scale, at.root, kept
    highest = jnp.sum(law.noise.log_prob(jnp.zeros(y.size)))
    return at.mean, at.root, lambda u: jnp.sum(law.noise.log_prob(y - u), axis=-1) - highest


@functools.lru_cache(maxsize=32)
def importance_scores(
    model: Model, inner: int, *, sampler: str = "importance", proposal: Callable[..., Any] | None = None
) -> tuple[Any, Any]:
    """(key, moments) → two independent score estimates for one y, and θ → moments.

    `proposal(theta)` may return a numpyro distribution over u whose draws have the statistic's shape.
    """
    channel = model.channel
    if not channel.statistic.averages or channel.law.added is None:
        raise IncompatibleError(
            "Algorithm 1 (method 'importance') serves a Mean with additive noise; use 'replicates' or 'sequential'"
        )
    if sampler not in _SAMPLERS:
        raise InvalidArgument("sampler", sampler, "is not a way to sample u", f"use one of {', '.join(_SAMPLERS)}")
    if proposal is not None and sampler != "importance":
        raise InvalidArgument("proposal", proposal, f"is not used by the {sampler} sampler", "use sampler='importance'")
    shape = (channel.statistic.dimension,)
    law: Any = channel.law

    def log_g(y: jax.Array, u: jax.Array) -> jax.Array:
        return law.log_prob(y, u if law.layout == "vector" else u[..., 0])

    def draw(key: jax.Array, at: NormalMoments, count: tuple[int, ...]) -> jax.Array:
        return at.mean + jax.random.normal(key, (*count, *shape)) @ at.root.T

    score = jax.vmap(normal_score, in_axes=(0, None))

    def by_weights(key: jax.Array, at: NormalMoments, y: jax.Array) -> jax.Array:
        if proposal is None:
            u = draw(key, at, (inner,))
            return weighted_score(jax.vmap(lambda v: log_g(y, v))(u), score(u, at))
        q = proposal(at.theta)
        u = jnp.asarray(q.sample(key, (inner,))).reshape(inner, *shape)
        log_q = q.log_prob(u.reshape(inner, *(q.batch_shape + q.event_shape)))
        log_weight = jax.vmap(lambda v: log_normal(v - at.mean, at.covariance) + log_g(y, v))(u) - log_q
        return weighted_score(log_weight, score(u, at))

    def by_rejection(key: jax.Array, at: NormalMoments, y: jax.Array) -> jax.Array:
        mean, root, log_accept = _envelope(law, at, y)

        def unfilled(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
            return ~jnp.all(state[2])

        def fill(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
            key, u, filled = state
            key, for_u, for_v = jax.random.split(key, 3)
            fresh = mean + jax.random.normal(for_u, (inner, *shape)) @ root.T
            accepted = jnp.log(jax.random.uniform(for_v, (inner,))) < log_accept(fresh)
            take = accepted & ~filled
            return key, jnp.where(take[:, None], fresh, u), filled | accepted

        start = (key, jnp.zeros((inner, *shape)), jnp.zeros(inner, dtype=bool))
        u = jax.lax.while_loop(unfilled, fill, start)[1]
        return jnp.mean(score(u, at), axis=0)

    def by_chain(key: jax.Array, at: NormalMoments, y: jax.Array) -> jax.Array:
        for_u, for_v = jax.random.split(key)
        fresh = draw(for_u, at, (inner + _BURN,))
        log_v = jnp.log(jax.random.uniform(for_v, (inner + _BURN,)))

        def step(u: jax.Array, proposal: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            candidate, log_uniform = proposal
            u = jnp.where(log_uniform < log_g(y, candidate) - log_g(y, u), candidate, u)
            return u, u

        _, chain = jax.lax.scan(step, fresh[0], (fresh, log_v))
        return jnp.mean(score(chain[_BURN:], at), axis=0)

    estimate = {"importance": by_weights, "rejection": by_rejection, "mcmc": by_chain}[sampler]

    def scores(key: jax.Array, at: NormalMoments) -> tuple[jax.Array, jax.Array]:
        for_u, for_noise, first, second = jax.random.split(key, 4)
        u = draw(for_u, at, ())
        y = law.sample(for_noise, u if law.layout == "vector" else u[..., 0])
        return estimate(first, at, y), estimate(second, at, y)

    @jax.jit
    def prepare(theta: jax.Array) -> NormalMoments:
        def both(t: jax.Array) -> tuple[tuple[jax.Array, jax.Array], tuple[jax.Array, jax.Array]]:
            mean, covariance = moments(*moving_law(model.population, channel.statistic, t))
            return (mean, covariance / channel.n), (mean, covariance / channel.n)

        (d_mean, d_covariance), (mean, covariance) = jax.jacfwd(both, has_aux=True)(theta)
        return NormalMoments(theta, mean, covariance, jnp.linalg.cholesky(covariance), d_mean, d_covariance)

    return scores, prepare
