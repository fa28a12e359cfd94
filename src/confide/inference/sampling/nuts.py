"""`nuts`: NumPyro's No-U-Turn sampler on the free coordinates of the prior, for three parameters and more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpyro.infer.hmc import hmc

from confide._compile import FAST_COMPILE
from confide._progress import progress
from confide._random import split_in_two
from confide.inference.diagnostics import diagnose
from confide.inference.kernel import Marginal
from confide.inference.problem import Problem
from confide.inference.sampling.assemble import marginal_target
from confide.inference.sampling.run import block_length, interrupted
from confide.inference.sampling.start import starts
from confide.inference.target import Target
from confide.likelihood.joint_law import Joint
from confide.posterior import Posterior


def _sampler(target: Target, warmup: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """How a chain starts from free coordinates and a key, and how it moves."""
    prior, empty = target.prior, jnp.zeros((0,))

    def potential(free: jax.Array) -> jax.Array:
        return -(prior.log_prob_free(free) + target.log_density(prior.constrain(free), empty))

    begin, move = hmc(potential, algo="NUTS")
    return partial(begin, num_warmup=warmup, trajectory_length=None), move


# the target is an argument, so that new data of the same shape find these compiled
@partial(jax.jit, static_argnames="warmup", compiler_options=FAST_COMPILE)
def _begin(target: Target, free: jax.Array, key: jax.Array, warmup: int) -> Any:
    begin, _ = _sampler(target, warmup)
    return jax.vmap(lambda start, key: begin(start, rng_key=key))(free, jax.random.split(key, free.shape[0]))


@partial(jax.jit, static_argnames=("warmup", "length"), compiler_options=FAST_COMPILE)
def _advance(target: Target, states: Any, warmup: int, length: int) -> tuple[Any, tuple[jax.Array, ...]]:
    """So many steps of every chain; what is reported has shape (chains, steps)."""
    begin, move = _sampler(target, warmup)
    # NumPyro's step learns at a start how it is to adapt
    jax.eval_shape(lambda state: begin(state.z, rng_key=state.rng_key), jax.tree.map(lambda leaf: leaf[0], states))

    def body(state: Any, _: None) -> tuple:
        state = move(state)
        return state, (target.prior.constrain(state.z), state.accept_prob, state.diverging)

    def chain(state: Any) -> tuple:
        return jax.lax.scan(body, state, None, length=length)

    # side by side, every chain waits for the longest path of each step: on a CPU one after the other is faster
    return jax.lax.map(chain, states) if jax.default_backend() == "cpu" else jax.vmap(chain)(states)


def posterior(problem: Problem, joint: Joint, key: jax.Array, chains: int, warmup: int, draws: int) -> Posterior:
    """Draws by NUTS from starts of positive density; an interrupt returns what is there."""
    prior = problem.prior
    target = marginal_target(problem, joint)
    for_start, for_run = split_in_two(key)
    free, _ = starts(Marginal(), target, for_start, chains)
    states, length = _begin(target, free, for_run, warmup), block_length(warmup, draws)
    kept: list[tuple[np.ndarray, ...]] = []
    complete = True
    try:
        for _ in progress(range(-(-(warmup + draws) // length)), "sampling"):
            states, reported = _advance(target, states, warmup, length)
            kept.append(tuple(np.asarray(part) for part in reported))
    except KeyboardInterrupt:
        complete = False
        if len(kept) * length <= warmup:
            raise
    joined = (np.concatenate(parts, axis=1)[:, warmup : warmup + draws] for parts in zip(*kept, strict=True))
    theta, accepted, diverging = joined
    named = prior.by_name(theta)
    diagnostics = diagnose(named, float(accepted.mean()), None, interrupted(complete) + _divergent(diverging))
    return Posterior(named, "nuts", joint.name, diagnostics, prior, None, complete)


def _divergent(diverging: np.ndarray) -> list[str]:
    count = int(np.sum(diverging))
    return [f"{count} divergent transitions: the posterior has a region that NUTS cannot enter"] if count else []
