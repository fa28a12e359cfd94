"""What kernels share: what is carried, what is reported, and one accept step."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from confide._compile import materialize
from confide.inference.kernel.proposal import Proposal
from confide.inference.target.base import Latent, Target


class State(NamedTuple):
    """What a chain carries from step to step."""

    theta: jax.Array
    log_prior: jax.Array
    #: the latent, or the noise behind all copies; empty where the kernel carries none
    latent: Latent
    #: log p(y | θ), or the estimate or weight of it that the kernel holds
    log_weight: jax.Array


class Info(NamedTuple):
    """What a step reports."""

    accepted: jax.Array
    log_weight: jax.Array
    #: whether all weights at the proposed θ were zero
    empty: jax.Array


class Kernel(eqx.Module):
    """`init` makes a state from θ, `step` moves it.

    >>> from confide.inference.kernel import Averaged, Kernel
    >>> isinstance(Averaged(copies=5), Kernel)
    True
    """

    @abstractmethod
    def init(self, key: jax.Array, target: Target, theta: jax.Array, latent: Any = None) -> State:
        """A state at θ; with `latent` given (an exact draw), one that starts from it."""

    def start(self, key: jax.Array, target: Target, theta: jax.Array) -> tuple[State, jax.Array]:
        """A state at θ, and log p(y | θ) or an estimate of it, by which starts are compared.

        >>> import jax, jax.numpy as jnp, numpyro.distributions as dist, confide as cf
        >>> from confide.inference.kernel import PseudoMarginal
        >>> from confide.inference.target import EachTarget
        >>> from confide.prior import Prior
        >>> population = cf.populations.bernoulli()
        >>> channel = cf.Channel(cf.Each("x", bounds=(0, 1)), cf.RandomizedResponse(cf.PureDP(1.0)), n=3)
        >>> with jax.enable_x64(True):
        ...     prior = Prior.of(population, {"probability": dist.Beta(1.0, 1.0)})
        ...     target = EachTarget(prior, cf.Model(population, channel), jnp.asarray([1.0, 0.0, 1.0]))
        ...     state, estimate = PseudoMarginal(copies=9).start(jax.random.key(0), target, jnp.asarray([0.5]))
        ...     print(bool(estimate == state.log_weight))
        True
        """
        state = self.init(key, target, theta)
        return state, state.log_weight

    @abstractmethod
    def step(self, key: jax.Array, target: Target, proposal: Proposal, state: State) -> tuple[State, Info]:
        """One iteration."""


class LatentKernel(Kernel):
    """A kernel whose state holds one latent and its weight."""

    def init(self, key: jax.Array, target: Target, theta: jax.Array, latent: Any = None) -> State:
        """A latent at θ."""
        return with_latent(key, target, theta, latent)

    def start(self, key: jax.Array, target: Target, theta: jax.Array) -> tuple[State, jax.Array]:
        """A latent that fits the value."""
        return latent_start(key, target, theta)


def accept(uniform: jax.Array, log_ratio: jax.Array) -> jax.Array:
    """True with probability min(1, ratio). A ratio that is not a number (zero against zero) is a rejection.

    Decided by itself: all records or ranks of a latent ask for the decision.
    """
    return materialize(log_ratio - jnp.log(uniform)) > 0


def shares_of(log_weights: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Weights (copies, blocks) relative to the largest of their block, and the log of their sum (blocks,)."""
    top = jnp.max(log_weights, axis=0, initial=-1e300)
    shares = jnp.exp(log_weights - top)
    return shares, top + jnp.log(jnp.sum(shares, axis=0))


def index_by_share(uniform: jax.Array, shares: jax.Array) -> jax.Array:
    """One copy per block, with probability in proportion to its share: (copies, blocks) → (blocks,)."""
    reached = jnp.cumsum(shares, axis=0)
    return jnp.minimum(jnp.sum(reached <= uniform * reached[-1], axis=0), shares.shape[0] - 1)


def metropolis(uniform: jax.Array, log_ratio: jax.Array, new: State, state: State) -> tuple[State, Info]:
    """Accept a new state by the proposal's log-ratio, the prior and the weight that each state carries."""
    change = new.log_prior - state.log_prior + new.log_weight - state.log_weight
    accepted = accept(uniform, log_ratio + change)
    moved: State = choose(accepted, new, state)
    return moved, Info(accepted, moved.log_weight, new.log_weight == -jnp.inf)


def choose(accepted: jax.Array, new: Any, old: Any) -> Any:
    """One of two pytrees."""
    return jax.tree.map(lambda a, b: jnp.where(accepted, a, b), new, old)


def log_mean(log_weights: jax.Array) -> jax.Array:
    """log Π_blocks mean over copies, of weights (copies, blocks)."""
    return jnp.sum(logsumexp(log_weights, axis=0) - jnp.log(log_weights.shape[0]))


def join(first: Latent, rest: Latent) -> Latent:
    """One latent ahead of copies of it."""
    return jax.tree.map(lambda one, many: jnp.concatenate([one[None], many]), first, rest)


#: copies among which a chain's first latent is chosen
STARTS = 16


def latent_start(key: jax.Array, target: Target, theta: jax.Array) -> tuple[State, jax.Array]:
    """A state whose latent is one of several, chosen by weight; and the log of their mean, an estimate of p(y | θ).

    The weight of the one that was chosen says nothing of how rare such a latent is.
    """
    for_draws, for_index = jax.random.split(key)
    latents = target.place(target.noise(for_draws, STARTS), theta)
    weights = target.log_weight(theta, latents, theta, theta)
    index = index_by_share(jax.random.uniform(for_index, weights.shape[1:]), shares_of(weights)[0])
    weight = jnp.sum(jnp.take_along_axis(weights, index[None], axis=0))
    return State(theta, target.prior.log_prob(theta), target.pick(latents, index), weight), log_mean(weights)


def with_latent(key: jax.Array, target: Target, theta: jax.Array, latent: Latent) -> State:
    """A state that carries a latent: the one given, or one that fits the value."""
    if latent is None:
        return latent_start(key, target, theta)[0]
    return State(theta, target.prior.log_prob(theta), latent, target.log_density(theta, latent))


def weights_at(
    target: Target, thetas: tuple[jax.Array, jax.Array], latents: Latent, known: jax.Array | None
) -> jax.Array:
    """The log weights of copies at both of a pair, with respect to its own reference: (2, copies, blocks).

    `known` is the weight of the first copy at the first θ, where a state carries it; it saves one of 2N.
    """
    if known is None or not target.fixed_reference:
        return jax.vmap(lambda theta: target.log_weight(theta, latents, *thetas))(jnp.stack(thetas))
    count = jax.tree.leaves(latents)[0].shape[0]
    index = jnp.asarray([*range(1, count), *range(count)])
    each = jax.tree.map(lambda leaf: leaf[index, None], latents)
    where = jnp.stack(thetas)[jnp.asarray([0] * (count - 1) + [1] * count)]
    found = jax.vmap(lambda theta, one: target.log_weight(theta, one, *thetas)[0])(where, each)
    return jnp.concatenate([jnp.reshape(known, (1, 1)), found]).reshape(2, count, 1)
