"""Pseudo-marginal Metropolis–Hastings (Algorithm 5): the likelihood is estimated at θ', and the estimate is carried."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from confide.inference.kernel.base import Info, Kernel, State, join, log_mean, metropolis
from confide.inference.kernel.proposal import Proposal
from confide.inference.target.base import Target


class PseudoMarginal(Kernel):
    """`copies` latents behind each estimate."""

    copies: int = eqx.field(static=True)

    def init(self, key: jax.Array, target: Target, theta: jax.Array, latent: Any = None) -> State:
        """An estimate at θ; a given latent takes the place of one copy, which makes an exact start of an exact draw."""
        if latent is None:
            latents = target.place(target.noise(key, self.copies), theta)
        else:
            latents = join(latent, target.place(target.noise(key, self.copies - 1), theta))
        estimate = log_mean(target.log_weight(theta, latents, theta, theta))
        return State(theta, target.prior.log_prob(theta), jnp.zeros((0,)), estimate)

    def step(self, key: jax.Array, target: Target, proposal: Proposal, state: State) -> tuple[State, Info]:
        """Propose θ', estimate there, accept against the estimate that was carried."""
        for_theta, for_copies, for_accept = jax.random.split(key, 3)
        theta, log_ratio = proposal.move(for_theta, target.prior, state.theta)
        new = self.init(for_copies, target, theta)
        return metropolis(jax.random.uniform(for_accept), log_ratio, new, state)
