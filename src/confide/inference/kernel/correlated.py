"""Correlated pseudo-marginal (Deligiannidis, Doucet and Pitt 2018): the noise behind the estimate moves a little."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax

from confide.inference.kernel.base import Info, Kernel, State, join, log_mean, metropolis
from confide.inference.kernel.proposal import Proposal
from confide.inference.target.base import Target


class CorrelatedPseudoMarginal(Kernel):
    """`copies` latents behind each estimate, made from noise that keeps a `correlation` from step to step."""

    correlation: jax.Array
    copies: int = eqx.field(static=True)

    def init(self, key: jax.Array, target: Target, theta: jax.Array, latent: Any = None) -> State:
        """An estimate at θ; `latent` is here the *noise* of one copy."""
        noise = target.noise(key, self.copies if latent is None else self.copies - 1)
        return self._at(target, theta, noise if latent is None else join(latent, noise))

    def _at(self, target: Target, theta: jax.Array, noise: Any) -> State:
        latents = target.place(noise, theta)
        estimate = log_mean(target.log_weight(theta, latents, theta, theta))
        return State(theta, target.prior.log_prob(theta), noise, estimate)

    def step(self, key: jax.Array, target: Target, proposal: Proposal, state: State) -> tuple[State, Info]:
        """Propose θ' and nearby noise, estimate, accept."""
        for_theta, for_noise, for_accept = jax.random.split(key, 3)
        theta, log_ratio = proposal.move(for_theta, target.prior, state.theta)
        new = self._at(target, theta, target.perturb(for_noise, state.latent, self.correlation))
        return metropolis(jax.random.uniform(for_accept), log_ratio, new, state)
