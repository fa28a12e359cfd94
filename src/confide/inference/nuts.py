"""`nuts`: NumPyro's No-U-Turn sampler on the free coordinates of the prior, for three parameters and more."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer import MCMC, NUTS

from confide.inference.diagnostics import diagnose
from confide.inference.kernel import Marginal
from confide.inference.latent import marginal_target
from confide.inference.problem import Problem
from confide.inference.start import starts
from confide.likelihood.joint import Joint
from confide.posterior import Posterior


def posterior(
    problem: Problem, joint: Joint, key: jax.Array, chains: int, warmup: int, draws: int, *, progress: bool = False
) -> Posterior:
    """Draws by NUTS from starts of positive density."""
    prior = problem.prior
    target = marginal_target(problem, joint)
    empty = jnp.zeros((0,))

    def potential(free: jax.Array) -> jax.Array:
        return -(prior.log_prob_free(free) + target.log_density(prior.constrain(free), empty))

    for_start, for_run = jax.random.split(key)
    states = starts(Marginal(), target, for_start, chains)
    free = prior.unconstrain(states.theta)
    sampler = MCMC(
        NUTS(potential_fn=potential),
        num_warmup=warmup,
        num_samples=draws,
        num_chains=chains,
        chain_method="vectorized",
        progress_bar=progress,
    )
    sampler.run(for_run, init_params=free if chains > 1 else free[0], extra_fields=("accept_prob", "diverging"))
    theta = np.asarray(prior.constrain(sampler.get_samples(group_by_chain=True)))
    extra = sampler.get_extra_fields()
    diverged = int(np.sum(np.asarray(extra["diverging"])))
    notes = [f"{diverged} divergent transitions: the posterior has a region that NUTS cannot enter"] if diverged else []
    named = prior.by_name(theta)
    diagnostics = diagnose(named, float(np.mean(np.asarray(extra["accept_prob"]))), None, notes)
    return Posterior(named, "nuts", joint.name, diagnostics, prior)
