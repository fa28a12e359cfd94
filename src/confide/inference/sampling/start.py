"""Where chains start: near the mass of the posterior, and apart.

A chain that starts far out stays there: the walk is adapted to where the others are, and is too short to come back.
So θ are drawn from the prior and weighed, by an estimate of p(y | θ) from a few latents; while few of them carry
weight, the heaviest have offspring around them, which are weighed in turn. The starts are chosen among the last
generation by a power of their weight, which leaves them wider spread than the posterior. A start need not be a sample,
so that the host's generator serves.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide._compile import FAST_COMPILE
from confide.errors import InvalidArgument
from confide.inference.kernel.base import STARTS, Kernel, State
from confide.inference.target.base import Target
from confide.prior import free_probes

Floats = NDArray[np.float64]

#: θ weighed in a generation, if there are not more chains: fewer where latents are long; and numbers drawn for them
_TRIES, _FEWEST_TRIES, _NUMBERS = 256, 32, 2**22
#: numbers drawn side by side on a GPU
_TOGETHER = 2**26
_GENERATIONS = 24
#: log density below the largest at which a θ still carries weight; the share of a generation that must
_CARRIES = 8.0
_ENOUGH = 0.25
#: the share of a generation that has offspring at least
_PARENTS = 1 / 16
_FEWEST_PARENTS = 8
#: the power of the weight by which starts are chosen
_FLATTENED = 0.25


def _numbers(target: Target) -> int:
    """How many are drawn to weigh one θ."""
    noise = jax.eval_shape(lambda: target.noise(jax.random.key(0), STARTS))
    return max(1, sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(noise)))


def tries(target: Target, chains: int) -> int:
    """How many θ are weighed in a generation for so many chains."""
    return max(chains, min(_TRIES, max(_FEWEST_TRIES, _NUMBERS // _numbers(target))))


def states_at(
    kernel: Kernel, target: Target, key: jax.Array, free: Floats, apart: int
) -> tuple[State, jax.Array, jax.Array]:
    """At each of several free coordinates (M, k) a state, log p̂(y | θ) and the log density of the prior.

    With `apart` 0 by the same random numbers.
    """
    # on a CPU one after the other: latents stay in its cache
    together = 1 if jax.default_backend() == "cpu" else min(len(free), max(1, _TOGETHER // _numbers(target)))
    return _states_at(kernel, target, key, free, apart, together)


@partial(jax.jit, static_argnames="together", compiler_options=FAST_COMPILE)
def _states_at(
    kernel: Kernel, target: Target, key: jax.Array, free: jax.Array, apart: int, together: int
) -> tuple[State, jax.Array, jax.Array]:
    def start(pair: tuple[jax.Array, jax.Array]) -> tuple[State, jax.Array]:
        return kernel.start(jax.random.fold_in(key, pair[0]), target, pair[1])

    pairs = apart * jnp.arange(free.shape[0]), target.prior.constrain(free)
    if together == free.shape[0] > 1:  # `map` cannot cut latents of no size into batches
        states, estimates = jax.vmap(start)(pairs)
    else:
        states, estimates = jax.lax.map(start, pairs, batch_size=together if together > 1 else None)
    return states, estimates, target.prior.log_prob_free(free)


def starts(kernel: Kernel, target: Target, key: jax.Array, chains: int) -> tuple[Floats, State]:
    """Free coordinates and states of positive density, or an error that says there is none."""
    generator = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    probes, count = np.asarray(free_probes(target.prior)), tries(target, chains)
    fewest = max(_FEWEST_PARENTS, int(_PARENTS * count))
    free = probes[generator.integers(len(probes), size=count)]
    for generation in range(_GENERATIONS):
        # the same random numbers for all: of many records, an estimate differs by more than θ that are near each other
        states, *parts = states_at(kernel, target, jax.random.fold_in(key, generation), free, 0)
        density = np.sum(parts, axis=0)
        usable = np.flatnonzero(density > -np.inf)  # not NaN either
        if not usable.size:
            raise InvalidArgument(
                "releases",
                "the published value",
                f"has density zero at all of {count} draws from the prior",
                "check the value, the channel and the prior; they do not fit each other",
            )
        carries = usable[density[usable] > density[usable].max() - _CARRIES]
        if carries.size >= _ENOUGH * count:
            break
        heaviest = usable[np.argsort(-density[usable])]
        free = _offspring(generator, free[heaviest[: max(fewest, carries.size)]], count)
    chosen = carries[_choose(generator, density[carries], chains)]
    # with latents of their own: several for each start, of which one must be possible
    own, *_ = states_at(kernel, target, jax.random.fold_in(key, _GENERATIONS), free[np.resize(chosen, count)], 1)
    first = _first_usable(np.asarray(own.log_weight) > -np.inf, chains)
    kept = [jax.tree.map(np.asarray, each) for each in (own, states)]
    return free[chosen], jax.tree.map(
        lambda new, old: np.where(np.reshape(first >= 0, (-1,) + (1,) * (new.ndim - 1)), new[first], old[chosen]), *kept
    )


def _first_usable(usable: NDArray[np.bool_], chains: int) -> NDArray[np.intp]:
    """For each chain the first of its candidates j, j + chains, … that is usable; −1 where none is."""
    found = usable[: usable.size // chains * chains].reshape(-1, chains)
    return np.where(found.any(axis=0), found.argmax(axis=0) * chains + np.arange(chains), -1)


def _offspring(generator: np.random.Generator, parents: Floats, count: int) -> Floats:
    """Around parents, heaviest first: the parents themselves, and others within half their spread."""
    spread = 0.5 * np.std(parents, axis=0) + 1e-9 * np.abs(parents[0])
    around = parents[generator.integers(len(parents), size=count - len(parents))]
    return np.concatenate([parents, around + spread * generator.normal(size=around.shape)])


def _choose(generator: np.random.Generator, density: Floats, count: int) -> NDArray[np.intp]:
    """So many by their flattened weights, different ones where there are enough."""
    weight = np.exp(_FLATTENED * (density - density.max()))
    return generator.choice(density.size, size=count, replace=density.size < count, p=weight / weight.sum())
