"""The paper's latent algorithms for many releases at once: a kernel of the library, a chain per release.

`confide.infer` runs a few chains on one release. A figure of the paper needs thousands of releases at many privacy
levels; here the published value and the noise scale are arrays, so that one compiled loop serves all of them. Kernels
(`PseudoMarginal`, `Averaged`), proposals and priors are the library's; only the two targets below are written for
powers of |x|, with moments in closed form.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from confide._precision import float64
from confide._random import as_key
from confide.inference import Walk
from confide.inference.kernel import Kernel
from confide.inference.kernel.proposal import Proposal
from confide.inference.target.base import Anew, Latent, Target
from confide.paper.moments import clipped_moments
from confide.paper.settings import BOUND


class PowerMean(Target):
    """The mean of |x|^power with Laplace noise: u is latent and normal (Algorithms 5 and 6)."""

    prior: Any
    value: jax.Array
    scale: jax.Array
    power: int = eqx.field(static=True)
    n: int = eqx.field(static=True)
    #: "midpoint" (the paper) or "maximum" (its code)
    centre: str = eqx.field(static=True, default="midpoint")

    def _reference(self, theta: jax.Array, other: jax.Array) -> jax.Array:
        return jnp.maximum(theta, other) if self.centre == "maximum" else 0.5 * (theta + other)

    def _normal(self, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        mean, variance = clipped_moments(theta[0], self.power, BOUND)
        return mean, jnp.sqrt(variance / self.n)

    def noise(self, key: jax.Array, count: int) -> Latent:
        """Standard normal numbers."""
        return jax.random.normal(key, (count,))

    def place(self, noise: Latent, theta: jax.Array) -> Latent:
        """u = μ + σ·noise."""
        mean, sd = self._normal(theta)
        return mean + sd * noise

    def draw(self, key: jax.Array, theta: jax.Array, other: jax.Array, current: Latent, count: int) -> Latent:
        """u from its law at the centre of the pair."""
        del current
        return self.place(self.noise(key, count), self._reference(theta, other))

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log f(u | θ) g(y | u) / f(u | centre)."""
        mean, sd = self._normal(theta)
        centre, spread = self._normal(self._reference(first, second))
        log_f = 0.5 * ((latents - centre) / spread) ** 2 - 0.5 * ((latents - mean) / sd) ** 2 + jnp.log(spread / sd)
        return (log_f - jnp.abs(self.value - latents) / self.scale - jnp.log(2.0 * self.scale))[:, None]


class PowerEach(Anew):
    """|x_t|^power of each record with Laplace noise: a block of z for each (Algorithm 8)."""

    prior: Any
    value: jax.Array
    scale: jax.Array
    power: int = eqx.field(static=True)
    n: int = eqx.field(static=True)

    def noise(self, key: jax.Array, count: int) -> Latent:
        """z of every record."""
        return jax.random.normal(key, (count, self.n))

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """log g(y_t | |x_t|^power), x = √θ·z clipped."""
        del first, second
        size = jnp.minimum(jnp.sqrt(theta[0]) * jnp.abs(latents), BOUND)
        s = size if self.power == 1 else size**2
        return -jnp.abs(self.value - s) / self.scale - jnp.log(2.0 * self.scale)

    def pick(self, latents: Latent, index: jax.Array) -> Latent:
        """Each record's own copy."""
        return jnp.take_along_axis(latents, index[None], axis=0)[0]


class Runs(NamedTuple):
    """Per release: the mean of θ over the kept steps, the share of accepted proposals, and θ itself if asked for."""

    mean: np.ndarray
    acceptance: np.ndarray
    trace: np.ndarray | None


@partial(jax.jit, static_argnames=("steps", "on", "traced"))
def _run(
    kernel: Kernel, target: Target, values: jax.Array, scales: jax.Array, keys: jax.Array, sd: jax.Array,
    start: jax.Array, *, steps: int, on: str, traced: bool,
) -> Any:  # fmt: skip
    proposal = Proposal(sd * jnp.eye(1), on=on)
    burn = steps // 4

    def chain(key: jax.Array, value: jax.Array, scale: jax.Array) -> Any:
        each = eqx.tree_at(lambda t: (t.value, t.scale), target, (value, scale))
        for_start, for_steps = jax.random.split(key)
        state = kernel.init(for_start, each, jnp.full(1, start))

        def step(carry: Any, index: jax.Array) -> Any:
            state, total, moved = carry
            state, info = kernel.step(jax.random.fold_in(for_steps, index), each, proposal, state)
            kept = index >= burn
            total, moved = total + jnp.where(kept, state.theta[0], 0.0), moved + (kept & info.accepted)
            return (state, total, moved), state.theta[0] if traced else None

        sums = jnp.zeros(()), jnp.zeros((), jnp.int32)
        (_, total, moved), trace = jax.lax.scan(step, (state, *sums), jnp.arange(steps))
        return total / (steps - burn), moved / (steps - burn), trace

    return jax.vmap(chain)(keys, values, scales)


@float64
def chains(
    kernel: Kernel,
    target: Target,
    values: Any,
    scales: Any,
    *,
    walk: Walk,
    steps: int,
    key: Any,
    start: float = 2.0,
    traced: bool = False,
) -> Runs:
    """A chain of `kernel` for each value and noise scale, from θ = `start`; a quarter of the steps is dropped."""
    values = jnp.asarray(np.asarray(values, np.float64))
    scales = jnp.broadcast_to(jnp.asarray(np.asarray(scales, np.float64)), values.shape[:1])
    keys = jax.random.split(as_key(key), len(values))
    place = jnp.asarray(walk.sd), jnp.asarray(start)
    mean, moved, trace = _run(kernel, target, values, scales, keys, *place, steps=steps, on=walk.on, traced=traced)
    return Runs(np.asarray(mean), np.asarray(moved), None if trace is None else np.asarray(trace))


def empty(kind: type[PowerMean] | type[PowerEach], prior: Any, power: int, n: int, **options: str) -> Target:
    """A target whose value and scale are filled in per release."""
    return kind(prior, jnp.zeros(()), jnp.ones(()), power, n, **options)


def laplace_scale(power: int, level: float, n: int) -> float:
    """A^a/(nε); for noise on each record take n = 1."""
    return math.pow(BOUND, power) / (n * level)
