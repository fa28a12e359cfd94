"""A route: one way to p(y | θ), and what it says about θ.

Each route is one object in one file. `likelihood.routes` lists them; `Model.log_likelihood` and `information` ask
them in order and take the first exact one that does not refuse.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from confide.mechanism.lattice import LatticeNoise

if TYPE_CHECKING:
    from confide.model import Model


class Route(ABC):
    """One way to the likelihood of a published value. Everything runs in double precision.

    θ is an array (d,), values have the channel's `value_shape`.
    """

    name: ClassVar[str]
    #: how large its error is, for people
    error: ClassVar[str]

    @abstractmethod
    def refuses(self, model: Model) -> str | None:
        """Why this route does not serve the model, in words that name what would; None if it serves."""

    @abstractmethod
    def log_prob(self, model: Model, theta: jax.Array, value: jax.Array) -> jax.Array:
        """log p(y | θ) of one value at one θ, differentiable in θ; for use inside a trace, so nothing is checked."""

    def impossible(self, model: Model, values: Any) -> str | None:
        """Why the channel cannot have published one of these values, or None. Noise with a density can publish any."""
        noise = getattr(model.channel.law, "noise", None)
        if isinstance(noise, LatticeNoise):
            index = np.asarray(values) / noise.step
            if np.any(np.abs(index - np.round(index)) > 1e-6):
                return f"is not a multiple of the channel's step {noise.step:g}"
        return None

    def traced(self, model: Model, thetas: jax.Array, values: jax.Array) -> jax.Array:
        """`log_likelihood` inside somebody's trace."""
        return jax.vmap(lambda theta: jax.vmap(lambda value: self.log_prob(model, theta, value))(values))(thetas)

    def log_likelihood(self, model: Model, thetas: Any, values: Any) -> jax.Array:
        """log p(y | θ) for all θ (M, d) and all values (Y, …): shape (M, Y). θ and values are concrete and checked.

        A route that can share work between many θ overrides this.
        """
        return _outer(self, model, jnp.asarray(thetas), jnp.asarray(values))

    @abstractmethod
    def information(self, model: Model, thetas: Any) -> jax.Array:
        """The Fisher information of the published value at each θ: (M, d) → (M, d, d), deterministic.

        A route whose information is Monte Carlo raises `IncompatibleError` and has a method of its own.
        """


@partial(jax.jit, static_argnums=(0, 1))
def _outer(route: Route, model: Model, thetas: jax.Array, values: jax.Array) -> jax.Array:
    return route.traced(model, thetas, values)
