"""Metropolis–Hastings with averaged acceptance ratios, MHAAR (Andrieu, Yıldırım, Doucet and Chopin 2020).

One kernel is Algorithm 6 (u latent), 7 (z latent, full and subset mode) and 8 (a block per record) of the paper: the
current latent and N − 1 copies from a law symmetric in (θ, θ') estimate numerator and denominator of the acceptance
ratio together, with sums over copies inside a block and a product across blocks.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from confide.inference.kernel.base import (
    Info,
    LatentKernel,
    State,
    accept,
    choose,
    index_by_share,
    join,
    shares_of,
    weights_at,
)
from confide.inference.kernel.proposal import Proposal
from confide.inference.target.base import Target


class Averaged(LatentKernel):
    """`copies` is the paper's N, the current latent included.

    With `refresh` the latent is drawn anew from the copies on rejection too (a Gibbs draw of the index, valid in all
    modes); Algorithm 7 as printed, and the authors' code for Algorithm 8, keep it.
    """

    copies: int = eqx.field(static=True)
    refresh: bool = eqx.field(static=True, default=True)

    def step(self, key: jax.Array, target: Target, proposal: Proposal, state: State) -> tuple[State, Info]:
        """Propose θ', average the ratio over copies, accept, choose a copy by its weight at where the chain now is."""
        for_theta, for_copies, for_choice = jax.random.split(key, 3)
        theta, log_ratio = proposal.move(for_theta, target.prior, state.theta)
        copies = target.draw(for_copies, state.theta, theta, state.latent, self.copies - 1)
        latents = join(state.latent, copies)
        here, there = weights_at(target, (state.theta, theta), latents, state.log_weight)
        uniforms = jax.random.uniform(for_choice, (1 + here.shape[1],))
        log_prior = target.prior.log_prob(theta)
        (shares_here, sum_here), (shares_there, sum_there) = shares_of(here), shares_of(there)
        average = jnp.sum(sum_there - sum_here)
        accepted = accept(uniforms[0], log_ratio + log_prior - state.log_prior + average)
        weights = jnp.where(accepted, there, here)
        index = index_by_share(uniforms[1:], jnp.where(accepted, shares_there, shares_here))
        if not self.refresh:
            index = jnp.where(accepted, index, 0)
        log_weight = jnp.sum(jnp.take_along_axis(weights, index[None], axis=0))
        latent = target.pick(latents, index)
        now, prior = choose(accepted, (theta, log_prior), (state.theta, state.log_prior))
        empty = jnp.any(sum_there == -jnp.inf)
        return State(now, prior, latent, log_weight), Info(accepted, log_weight, empty)
