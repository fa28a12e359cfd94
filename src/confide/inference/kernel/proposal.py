"""Random walks on θ. A proposal returns its own log-ratio, so that a Jacobian cannot be forgotten."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from confide._compile import materialize
from confide.errors import InvalidArgument
from confide.prior import Prior

COORDINATES = ("free", "log", "theta")


@dataclass(frozen=True)
class Walk:
    """A Gaussian random walk with a standard deviation that is kept, as in the paper's experiments.

    `on` is where it walks: "theta" itself, its "log", or the coordinates "free" of the prior's support.

    >>> Walk(2.0, on="log")
    Walk(sd=2.0, on='log')
    """

    sd: float
    on: str = "free"

    def __post_init__(self) -> None:
        if self.on not in COORDINATES:
            raise InvalidArgument("on", self.on, "is not a place to walk", f"use one of {', '.join(COORDINATES)}")
        if not (isinstance(self.sd, int | float) and 0 < self.sd < float("inf")):
            raise InvalidArgument("sd", self.sd, "is not a positive number", "give the walk's standard deviation")


class Proposal(eqx.Module):
    """θ' = θ + factor·ε in some coordinates, and log q(θ | θ')/q(θ' | θ) as densities over θ."""

    #: (k, k)
    factor: jax.Array
    on: str = eqx.field(static=True, default="free")

    def move(self, key: jax.Array, prior: Prior, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        """θ' and the log-ratio; −∞ where θ' leaves the coordinates' reach."""
        shift = materialize(self.factor @ jax.random.normal(key, (self.factor.shape[0],)))
        if self.on == "theta":
            return theta + shift, jnp.zeros(())
        if self.on == "log":
            # the density of θ' is that of log θ' divided by θ'
            moved = theta * jnp.exp(shift)
            return moved, jnp.sum(shift)
        free = prior.unconstrain(theta)
        step = free + shift
        moved = materialize(prior.constrain(step))
        log_ratio = prior.log_jacobian(step) - prior.log_jacobian(free)
        # where a transform has saturated, θ' would have no way back
        reachable = jnp.all(jnp.isfinite(prior.unconstrain(moved)))
        return moved, jnp.where(reachable, log_ratio, -jnp.inf)


def check_walk(walk: Any) -> Walk | None:
    """A walk, or None for one that is adapted."""
    if walk is None or isinstance(walk, Walk):
        return walk
    raise InvalidArgument("walk", walk, "is not a Walk", "give Walk(sd, on='free'), or leave it out to adapt one")
