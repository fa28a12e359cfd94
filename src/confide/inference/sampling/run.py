"""One runner for all kernels: a scan over steps, chains vectorised, keys explicit, adaptation in warm-up only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from confide._compile import FAST_COMPILE
from confide._progress import progress
from confide._random import split_in_two
from confide.inference.kernel.base import Kernel, State
from confide.inference.kernel.proposal import Proposal, Walk
from confide.inference.method import Lengths
from confide.inference.sampling import adapt
from confide.inference.sampling.start import starts
from confide.inference.target.base import Target
from confide.prior import Prior


class Trace(NamedTuple):
    """What a run leaves: θ (chains, draws, d) and what each step reported (chains, draws)."""

    theta: np.ndarray
    accepted: np.ndarray
    log_weight: np.ndarray
    empty: np.ndarray
    complete: bool


def _steps(
    kernel: Kernel,
    target: Target,
    states: State,
    tuning: adapt.Adaptation,
    fixed: jax.Array,
    adapting: jax.Array,
    keys: jax.Array,
    on: str,
) -> tuple[State, adapt.Adaptation, tuple[jax.Array, ...]]:
    """A step of every chain for each row of keys (steps, chains); what is reported has shape (chains, steps)."""

    def body(carry: tuple, keys: jax.Array) -> tuple:
        states, tuning = carry
        proposal = tuning.proposal() if on == "adapted" else Proposal(fixed, on=on)
        states, info = jax.vmap(kernel.step, in_axes=(0, None, None, 0))(keys, target, proposal, states)
        if on == "adapted":
            learned = adapt.update(tuning, target.prior.unconstrain(states.theta), info.accepted)
            tuning = jax.tree.map(lambda new, old: jnp.where(adapting, new, old), learned, tuning)
        return (states, tuning), (states.theta, info.accepted, info.log_weight, info.empty)

    reported: tuple[jax.Array, ...]
    (states, tuning), reported = jax.lax.scan(body, (states, tuning), keys)
    return states, tuning, jax.tree.map(lambda leaf: jnp.moveaxis(leaf, 0, 1), reported)


_advance = jax.jit(_steps, static_argnames=("on",))
#: the same, for runs so short that compiling takes longer
_advance_little = jax.jit(_steps, static_argnames=("on",), compiler_options=FAST_COMPILE)
#: numbers that a short run draws, of latents and of θ
_LITTLE = 2_000_000


def _work(states: State, steps: int) -> int:
    """How many numbers a run draws, in order of magnitude."""
    return steps * sum(int(np.size(leaf)) for leaf in jax.tree.leaves((states.theta, states.latent)))


def block_length(warmup: int, draws: int) -> int:
    """Steps between looks at the clock: one compiled length for all of a run."""
    return min(1000, max(50, -(-max(draws, warmup) // 20)))


def interrupted(complete: bool) -> list[str]:
    """What to say of a run."""
    return [] if complete else ["the run was interrupted: these are the draws that were there"]


def run(
    kernel: Kernel,
    target: Target,
    key: jax.Array,
    lengths: Lengths,
    walk: Walk | None,
    times: Callable[[np.ndarray], int],
) -> Trace:
    """Chains from dispersed starts, which go on for as many `times` their draws (chains, draws, d) as these ask for.

    An interrupt returns what is there.
    """
    chains, warmup, draws, most = lengths
    for_start, for_steps = split_in_two(key)
    free, states = starts(kernel, target, for_start, chains)
    tuning = adapt.start(free)
    fixed = np.eye(_walk_dimension(target.prior, walk)) * (1.0 if walk is None else walk.sd)
    on = "adapted" if walk is None else walk.on
    length = block_length(warmup, draws)
    advance = _advance_little if _work(states, warmup + draws) < _LITTLE else _advance
    kept: list[tuple[np.ndarray, ...]] = []

    def advance_all(first: int, blocks: Sequence[bool], what: str) -> None:
        nonlocal states, tuning
        for index, warming in enumerate(progress(blocks, what), first):
            keys = jax.random.split(jax.random.fold_in(for_steps, index), (length, chains))
            states, tuning, reported = advance(kernel, target, states, tuning, fixed, np.bool_(warming), keys, on)
            if not warming:
                kept.append(tuple(np.asarray(part) for part in reported))

    def joined(part: int) -> np.ndarray:
        return np.concatenate([each[part] for each in kept], axis=1)

    blocks = [True] * -(-warmup // length) + [False] * -(-draws // length)
    complete = True
    try:
        advance_all(0, blocks, "sampling")
        if most > 1:
            draws *= times(joined(0)[:, :draws])
            advance_all(len(blocks), [False] * (-(-draws // length) - len(kept)), "sampling further")
    except KeyboardInterrupt:
        complete = False
        if not kept:
            raise
    theta, accepted, log_weight, empty = (joined(part)[:, :draws] for part in range(4))
    return Trace(theta, accepted, log_weight, empty, complete)


def _walk_dimension(prior: Prior, walk: Walk | None) -> int:
    return prior.free_dimension if walk is None or walk.on == "free" else prior.dimension
