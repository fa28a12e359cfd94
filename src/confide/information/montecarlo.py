"""Monte Carlo estimates of Fisher information: the paper's Algorithms 1, 2 and 3 in one frame.

All three estimate the score of a published value by Fisher's identity, the average of the complete-data score over the
latent given y, and then average its outer product over published values:

    F̂ = 1/N Σ_i γ̂(y_i) γ̂(y_i)ᵀ

As printed, γ̂ is squared with its own Monte Carlo noise, so the estimate is too large by the noise's variance.
`paired` multiplies two independent estimates for the same y, which removes that; an O(1/M) bias of self-normalisation
remains, and vanishes where the inner sample is exact. (The printed sums over N inside the score are over the inner
size M.)
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide._progress import progress
from confide._random import as_key
from confide.errors import InvalidArgument
from confide.information.importance import importance_scores
from confide.information.replicates import replicate_scores
from confide.information.sequential import sequential_scores
from confide.model import Model

#: (key, θ or what is prepared of it) → two independent estimates of the score of one simulated published value
Scores = Callable[[jax.Array, Any], tuple[jax.Array, jax.Array]]
Estimate = tuple[np.ndarray, np.ndarray, str]

#: draws that are held at once: 32 MB a number
_BATCH = 2**22


@dataclass(frozen=True)
class Sizes:
    """How many published values are simulated, and how many latent draws for each."""

    outer: int
    inner: int

    @staticmethod
    def checked(outer: int | None, inner: int | None) -> Sizes:
        """The given sizes or 1000 × 1000, as in the paper; refused where they cannot give an error estimate."""
        sizes = {"outer": 1000 if outer is None else outer, "inner": 1000 if inner is None else inner}
        for name, size in sizes.items():
            try:
                count = operator.index(size)
            except TypeError:
                count = 0
            if count < 2 or isinstance(size, bool):
                remedy = f"give a whole number such as {name}=1000"
                raise InvalidArgument(name, size, "is too small to give an error estimate", remedy)
        return Sizes(operator.index(sizes["outer"]), operator.index(sizes["inner"]))


@functools.lru_cache(maxsize=32)
def _compiled(scores: Scores) -> Callable[[jax.Array, Any], tuple[jax.Array, jax.Array]]:
    """Compiled once for each model and its options, for the factories of scores remember theirs."""
    return jax.jit(jax.vmap(scores, in_axes=(0, None)))


def _run(
    scores: Scores, cost: int, thetas: np.ndarray, sizes: Sizes, key: Any, *, paired: bool, prepare: Any = jnp.asarray
) -> Estimate:
    """Average the outer products over published values, in batches that bound the memory.

    `prepare` computes once per θ what all draws share.
    """
    batch = max(1, min(sizes.outer, _BATCH // max(1, cost)))
    rounds = -(-sizes.outer // batch)
    batch = -(-sizes.outer // rounds)
    keys = jax.random.split(as_key(0 if key is None else key), sizes.outer)
    keys = keys[np.minimum(np.arange(rounds * batch), sizes.outer - 1)]  # one shape, so that one program is compiled
    both = _compiled(scores)

    def in_batches() -> Iterator[tuple[np.ndarray, ...]]:
        for theta in thetas:
            at = prepare(theta)
            for i in range(rounds):
                yield tuple(np.asarray(side) for side in both(keys[i * batch : (i + 1) * batch], at))

    matrices, errors = [], []
    done = progress(in_batches(), "Fisher information", len(thetas) * rounds)
    for _ in thetas:
        parts = zip(*itertools.islice(done, rounds), strict=True)
        first, second = (np.concatenate(part)[: sizes.outer] for part in parts)
        product = np.einsum("oi,oj->oij", first, second if paired else first)
        product = 0.5 * (product + np.swapaxes(product, 1, 2))
        matrices.append(product.mean(axis=0))
        errors.append(product.std(axis=0, ddof=1) / np.sqrt(sizes.outer))
    found = np.stack(matrices)
    note = ""
    if np.any(np.linalg.eigvalsh(found)[:, 0] < 0):
        note = "A paired estimate need not be positive semidefinite, and here it is not: increase outer or inner."
    return found, np.stack(errors), note


def importance(model: Model, thetas: np.ndarray, sizes: Sizes, *, key: Any, paired: bool, **options: Any) -> Estimate:
    """Algorithm 1: the normal approximation of an additive statistic, any noise."""
    scores, prepare = importance_scores(model, sizes.inner, **options)
    return _run(scores, sizes.inner, thetas, sizes, key, paired=paired, prepare=prepare)


def replicates(model: Model, thetas: np.ndarray, sizes: Sizes, *, key: Any, paired: bool, **options: Any) -> Estimate:
    """Algorithm 2: the true marginal law, any channel."""
    scores, prepare, cost = replicate_scores(model, sizes.inner, **options)
    return _run(scores, cost, thetas, sizes, key, paired=paired, prepare=prepare)


def sequential(model: Model, thetas: np.ndarray, sizes: Sizes, *, key: Any, paired: bool, **options: Any) -> Estimate:
    """Algorithm 3: one noisy value per record; n times the information of one."""
    scores = sequential_scores(model, sizes.inner, **options)
    found, error, note = _run(scores, sizes.inner, thetas, sizes, key, paired=paired)
    return model.channel.n * found, model.channel.n * error, note


#: what each takes beside its sizes
OPTIONS = {"importance": ("sampler", "proposal"), "replicates": ("latent",), "sequential": ("proposal",)}

ALGORITHMS: dict[str, Callable[..., Estimate]] = {
    "importance": importance,
    "replicates": replicates,
    "sequential": sequential,
}
