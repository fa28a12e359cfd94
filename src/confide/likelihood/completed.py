"""What the records are expected to be, given what was published about them: the E-step of EM.

p(y | θ) is a function of the weights w_j(θ) that θ gives to the nodes x_j of one clipped record. Its derivative says
how much likelier y is if one of the n records is at x_j,

    ∂ log p(y)/∂w_j = n p(y | X₁ = x_j)/p(y),   so that   N_j = w_j ∂ log p(y)/∂w_j = E[#{i : X_i = x_j} | y]

is the expected number of records there, and Σ_j N_j = n. So E[log p(records | θ) | y] = Σ_j N_j log w_j(θ) exactly, for
any law of the noise, and its slope at the θ of N is that of log p(y | θ) (Fisher's identity). Routes compute p on the
weights that add up to one, and may be off from them by a constant in the derivative, which Σ_j N_j = n tells.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from confide.errors import AccuracyError

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]

#: a number of records below 0 by more than this share of all is no rounding error, but an inversion cut off
_NEGATIVE = 1e-6


class Completed(eqx.Module):
    """The law of one record, which has `log_weights(theta)`, and how many records are expected at each of its nodes."""

    law: Any
    counts: Any

    def log_prob(self, theta: jax.Array) -> jax.Array:
        """E[log p(records | θ) | y], but for what does not depend on θ."""
        log_weights = self.law.log_weights(theta)
        counts = jnp.asarray(self.counts)
        return jnp.sum(jnp.where(counts == 0, 0.0, counts * jnp.where(counts == 0, 0.0, log_weights)))


#: log p(y) by the model, the values of s at nodes, their weights, and y
OfLaw = Callable[["Model", jax.Array, jax.Array, jax.Array], jax.Array]


def completed(of_law: OfLaw, model: Model, law: Any, theta: Any, value: Any) -> Completed:
    """By the derivative of log p(y) in the weights of a law of nodes."""
    slopes, weights = _slopes(of_law, model, law, jnp.asarray(theta), jnp.asarray(value))
    slopes, weights = np.asarray(slopes), np.asarray(weights)
    n = float(model.channel.n)
    counts = weights * (slopes + (n - weights @ slopes))
    if not np.all(counts > -_NEGATIVE * n):
        raise AccuracyError(
            f"the records behind y = {np.asarray(value).tolist()} are not resolved at theta = "
            f"{np.asarray(theta).tolist()} for {model.channel.statistic} with n = {model.channel.n}; use "
            "maximize='newton'"
        )
    return Completed(law, counts)


@partial(jax.jit, static_argnums=(0, 1))
def _slopes(of_law: Any, model: Model, law: Any, theta: jax.Array, value: jax.Array) -> tuple[jax.Array, jax.Array]:
    s, weights = law.at(theta)
    return jax.grad(lambda w: of_law(model, s, w, value))(weights), weights
