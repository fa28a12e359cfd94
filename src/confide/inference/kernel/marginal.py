"""Metropolis–Hastings on a likelihood that can be computed (Algorithm 4)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from confide.inference.kernel.base import Info, Kernel, State, metropolis
from confide.inference.kernel.proposal import Proposal
from confide.inference.target.base import Target


class Marginal(Kernel):
    """θ alone."""

    def init(self, key: jax.Array, target: Target, theta: jax.Array, latent: Any = None) -> State:
        """log p(y | θ) at θ."""
        del key, latent
        empty = jnp.zeros((0,))
        return State(theta, target.prior.log_prob(theta), empty, target.log_density(theta, empty))

    def step(self, key: jax.Array, target: Target, proposal: Proposal, state: State) -> tuple[State, Info]:
        """Propose, weigh, accept."""
        for_theta, for_accept = jax.random.split(key)
        theta, log_ratio = proposal.move(for_theta, target.prior, state.theta)
        new = self.init(for_theta, target, theta)
        return metropolis(jax.random.uniform(for_accept), log_ratio, new, state)
