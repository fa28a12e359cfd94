"""What kernels share: what is carried, what is reported, and one accept step."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import logsumexp

from confide.inference.proposal import Proposal
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
    """`init` makes a state from θ, `step` moves it."""

    @abstractmethod
    def init(self, key: jax.Array, target: Target, theta: jax.Array, latent: Any = None) -> State:
        """A state at θ; with `latent` given (an exact draw), one that starts from it."""

    @abstractmethod
    def step(self, key: jax.Array, target: Target, proposal: Proposal, state: State) -> tuple[State, Info]:
        """One iteration."""


def accept(key: jax.Array, log_ratio: jax.Array) -> jax.Array:
    """True with probability min(1, ratio). A ratio that is not a number (zero against zero) is a rejection."""
    return jnp.log(jax.random.uniform(key, jnp.shape(log_ratio))) < jnp.nan_to_num(log_ratio, nan=-jnp.inf)


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
_STARTS = 32


def start_latent(key: jax.Array, target: Target, theta: jax.Array) -> tuple[Latent, jax.Array]:
    """A latent that the value is not too surprising for: one of several, chosen by weight, and its log weight."""
    for_draws, for_index = jax.random.split(key)
    latents = target.place(target.noise(for_draws, _STARTS), theta)
    weights = target.log_weight(theta, latents, theta, theta)
    index = jax.random.categorical(for_index, weights, axis=0)
    latent = target.pick(latents, index)
    return latent, target.log_density(theta, latent)
