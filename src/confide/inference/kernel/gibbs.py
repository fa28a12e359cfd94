"""Metropolis–Hastings within Gibbs: the latent given θ, then θ given the latent (Sec 4.2 of the paper)."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from confide.inference.kernel.base import (
    Info,
    LatentKernel,
    State,
    accept,
    choose,
    join,
    weights_at,
)
from confide.inference.kernel.proposal import Proposal
from confide.inference.target.base import Target


class WithinGibbs(LatentKernel):
    """Each block of the latent is proposed from its reference at θ and accepted by its weight."""

    def step(self, key: jax.Array, target: Target, proposal: Proposal, state: State) -> tuple[State, Info]:
        """The latent's blocks one by one, then θ."""
        for_latent, for_theta, for_choice = jax.random.split(key, 3)
        here = state.theta
        both = join(state.latent, target.draw(for_latent, here, here, state.latent, 1))
        weights = target.log_weight(here, both, here, here)
        uniforms = jax.random.uniform(for_choice, (1 + weights.shape[1],))
        index = accept(uniforms[1:], weights[1] - weights[0]).astype(int)
        latent = target.pick(both, index)
        one = jax.tree.map(lambda leaf: leaf[None], latent)
        theta, log_ratio = proposal.move(for_theta, target.prior, here)
        old, new = jnp.sum(weights_at(target, (here, theta), one, None), axis=(1, 2))
        log_prior = target.prior.log_prob(theta)
        accepted = accept(uniforms[0], log_ratio + log_prior - state.log_prior + new - old)
        now, prior = choose(accepted, (theta, log_prior), (here, state.log_prior))
        log_weight = jnp.where(accepted, new, old)
        return State(now, prior, latent, log_weight), Info(accepted, log_weight, new == -jnp.inf)
