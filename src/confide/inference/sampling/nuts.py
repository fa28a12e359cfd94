"""`nuts`: NumPyro's No-U-Turn sampler on the free coordinates of the prior, for three parameters and more."""

from __future__ import annotations

import math
import time
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
from confide.errors import AccuracyError
from confide.inference.diagnostics import diagnose
from confide.inference.kernel import Marginal
from confide.inference.method import Lengths
from confide.inference.problem import Problem
from confide.inference.quadrature.plane import Plane
from confide.inference.sampling.assemble import marginal_target
from confide.inference.sampling.run import block_length, interrupted
from confide.inference.sampling.start import starts
from confide.inference.target import Target
from confide.likelihood.joint_law import Joint
from confide.posterior import Posterior

#: seconds that chains are given where nobody has asked for them
PATIENCE = 300.0
#: the fewest draws of a chain that are worth keeping
_FEWEST = 100


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


def inside(found: Plane, key: jax.Array, chains: int) -> np.ndarray:
    """Starts (chains, 2) among the points of a plane, by their share: a ridge once found is not sought again."""
    generator = np.random.default_rng(np.asarray(jax.random.key_data(key)).ravel().tolist())
    share = found.share.ravel()
    return found.free[generator.choice(share.size, size=chains, p=share / share.sum())]


def posterior(
    problem: Problem,
    joint: Joint,
    key: jax.Array,
    lengths: Lengths,
    *,
    start: np.ndarray | None = None,
    seconds: float = math.inf,
) -> Posterior:
    """Draws by NUTS from free coordinates that are given, or else of positive density.

    An interrupt, and the end of the time that is given, return what is there.
    """
    prior, (chains, warmup, draws, _) = problem.prior, lengths
    target = marginal_target(problem, joint)
    for_start, for_run = split_in_two(key)
    free = starts(Marginal(), target, for_start, chains)[0] if start is None else start
    states, length = _begin(target, free, for_run, warmup), block_length(warmup, draws)
    kept: list[tuple[np.ndarray, ...]] = []
    complete, notes, end = True, [], time.monotonic() + seconds
    try:
        for _ in progress(range(-(-(warmup + draws) // length)), "sampling"):
            states, reported = _advance(target, states, warmup, length)
            kept.append(tuple(np.asarray(part) for part in reported))
            done = len(kept) * length
            if done < warmup + draws and time.monotonic() > end:
                complete, notes = False, [_out_of_time(done, warmup, draws, seconds)]
                break
    except KeyboardInterrupt:
        complete, notes = False, interrupted(False)
        if len(kept) * length <= warmup:
            raise
    joined = (np.concatenate(parts, axis=1)[:, warmup : warmup + draws] for parts in zip(*kept, strict=True))
    theta, accepted, diverging = joined
    named = prior.by_name(theta)
    diagnostics = diagnose(named, float(accepted.mean()), None, notes + _divergent(diverging))
    return Posterior(named, "nuts", joint.name, diagnostics, prior, None, complete)


def _out_of_time(done: int, warmup: int, draws: int, seconds: float) -> str:
    """What is said of chains that were stopped; an error where they have nothing to tell yet."""
    if done < warmup + min(draws, _FEWEST):
        raise AccuracyError(
            f"NUTS had made {done:,} of {warmup + draws:,} steps of each chain after {seconds:g} s, too few to say "
            "anything; insist by method='nuts', which takes the time that it needs, or give a narrower prior"
        )
    return (
        f"the chains were stopped after {seconds:g} s, with {done - warmup:,} of {draws:,} draws each; method='nuts' "
        "takes the time that it needs"
    )


def _divergent(diverging: np.ndarray) -> list[str]:
    count = int(np.sum(diverging))
    return [f"{count} divergent transitions: the posterior has a region that NUTS cannot enter"] if count else []
