"""Panels that are cut in half where they must be: a few at a time, those with the largest error first."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

#: the error of each of the panels between two arrays of ends
Error = Callable[[jax.Array, jax.Array], jax.Array]


def middles(error: Error, edges: jax.Array, rounds: int, splits: int) -> jax.Array:
    """Where panels between edges, in order, are cut: rounds · splits places. Only new panels are looked at again."""
    count = edges.size - 1

    def split(round_: jax.Array, panels: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        low, high, wrong = panels
        _, worst = lax.top_k(wrong, splits)
        start, stop = low[worst], high[worst]
        middle = 0.5 * (start + stop)
        off = error(jnp.concatenate([start, middle]), jnp.concatenate([middle, stop]))
        new = count + round_ * splits + jnp.arange(splits)
        return (
            low.at[new].set(middle),
            high.at[new].set(stop).at[worst].set(middle),
            wrong.at[new].set(off[splits:]).at[worst].set(off[:splits]),
        )

    low, high = edges[:-1], edges[1:]
    room = jnp.zeros(rounds * splits)
    # panels that are not there yet are never the worst
    first = jnp.concatenate([low, room]), jnp.concatenate([high, room]), jnp.concatenate([error(low, high), room - 1.0])
    found: jax.Array = lax.fori_loop(0, rounds, split, first)[0]
    return found[count:]
