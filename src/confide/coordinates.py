"""The coordinate that frees a parameter of its prior's support: a real number, on which the prior's tails are short.

numpyro's bijections turn an end of the support into an exponential tail. A prior on the whole line whose tails are
powers, such as Student's, keeps them under the identity: where the likelihood does not fall off either (a share that is
all ones says only that a location is large), no line of equal steps holds the mass and resolves it. On the scale of
sinh such tails are exponential too.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import gammaln
from numpy.typing import NDArray
from numpyro.distributions import biject_to, constraints

Floats = NDArray[np.float64]

#: so many quartile ranges out a Laplace law has lost a million nats, and a power of the distance fourteen times itself
_FAR = 1e6
_HEAVY = -1e4


class Sinh(eqx.Module):
    """θ = centre + scale·sinh(v)."""

    centre: jax.Array
    scale: jax.Array

    def __call__(self, free: jax.Array) -> jax.Array:
        """θ from v."""
        return self.centre + self.scale * jnp.sinh(free)

    def inv(self, theta: jax.Array) -> jax.Array:
        """v from θ."""
        return jnp.arcsinh((theta - self.centre) / self.scale)

    def log_abs_det_jacobian(self, free: jax.Array, theta: jax.Array) -> jax.Array:
        """log dθ/dv."""
        del theta
        return jnp.log(self.scale) + jnp.logaddexp(free, -free) - jnp.log(2.0)


def looked_at(part: Any, probes: Floats) -> Floats:
    """Where the density of a prior is asked for in order to see its tails, given draws: the middle and far out."""
    if part.support is not constraints.real:
        return probes[:0]
    low, middle, high = np.quantile(probes, [0.25, 0.5, 0.75])
    return np.asarray([middle, middle - _FAR * (high - low), middle + _FAR * (high - low)])


def coordinate(part: Any, points: Floats, log_density: Floats) -> Any:
    """The map from real numbers to a prior's support, given its log density at the points that were looked at."""
    if points.size and np.max(log_density[1:]) - log_density[0] > _HEAVY:
        return Sinh(points[0], (points[2] - points[1]) / (2.0 * _FAR))
    return biject_to(part.support)


def log_density(part: Any, theta: jax.Array) -> jax.Array:
    """A prior's log density, −∞ outside its support."""
    inside = part.support(theta)
    # a point of the support stands in outside it, so that no NaN reaches a derivative
    safe = jnp.where(inside.reshape((*inside.shape, *(1,) * part.event_dim)), theta, part.support.feasible_like(theta))
    return jnp.where(inside, part.log_prob(safe), -jnp.inf)


def log_density_free(part: Any, freed: Any, free: jax.Array) -> jax.Array:
    """The log density of the free coordinate."""
    if type(part) is dist.Beta:  # with a pole at one: its mass lies where θ is one to the last bit, and v still tells
        a, b = part.concentration1, part.concentration0
        log_beta = gammaln(a) + gammaln(b) - gammaln(a + b)
        return a * jax.nn.log_sigmoid(free) + b * jax.nn.log_sigmoid(-free) - log_beta
    theta = freed(free)
    return log_density(part, theta) + freed.log_abs_det_jacobian(free, theta)


def inwards(constraint: Any, draws: Floats) -> Floats:
    """Draws that were rounded onto an end that a parameter's space does not contain, rounded inwards instead."""
    for name, side in (("lower_bound", 1.0), ("upper_bound", -1.0)):
        end = getattr(constraint, name, None)
        if end is None or np.ndim(end) or constraint(np.asarray(end, dtype=float)):
            continue
        # compiled programs take numbers below the smallest normal one for zero
        beside = np.nextafter(float(end), side * np.inf) if end else side * np.finfo(float).tiny
        draws = np.where(draws == end, beside, draws)
    return draws


def with_arrays(part: Any) -> Any:
    """A distribution with an array for each list of numbers that it was made with: numpyro keeps lists as they are.

    >>> import numpyro.distributions as dist
    >>> with_arrays(dist.Normal([0, 1], 2.0)).loc
    array([0., 1.])
    """
    return jax.tree.map(lambda leaf: np.asarray(leaf, float) if _listed(leaf) else leaf, part, is_leaf=_listed)


def _listed(leaf: Any) -> bool:
    return isinstance(leaf, list) and bool(leaf) and all(isinstance(each, int | float) for each in leaf)
