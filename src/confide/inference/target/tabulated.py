"""p(y | θ) of one parameter, tabulated where the posterior lies and interpolated: for chains on costly routes.

A chain asks for the likelihood at tens of thousands of θ, one at a time, where a route is made to compute many θ
together. The log-likelihood is smooth on the free coordinate, so that a polynomial through some hundred Chebyshev
points is right to 1e-8, as its last coefficients tell, and a cubic spline follows that; beyond the table the posterior
is below e^{−30} of its largest value, and is taken as zero.
An average over simulated windows may jump, where a window passes y: there the table has as many knots as the moments of
the posterior need, and jumps smaller than the average's own error are smoothed.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.polynomial import Chebyshev
from scipy.interpolate import CubicSpline

from confide.errors import AccuracyError
from confide.inference import line
from confide.inference.careful import Careful
from confide.inference.grid import COSTLY, constrained, log_density, narrowed
from confide.inference.target.base import Latent, Target
from confide.likelihood.joint import Joint
from confide.prior import Prior, at_free

_KNOTS = 256
_MOST = 2**13
_TOLERANCE = 1e-8


def log_likelihood_on(line_: line.Line, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """The free coordinates of a posterior on a line, and log p(y | θ) there up to a constant."""
    kept = line.carried(line_)
    free, density = line_.free[kept], line_.density[kept]
    return free, np.log(density) - np.asarray(at_free(prior, jnp.asarray(free[:, None]))[1])


class TabulatedTarget(Target):
    """A cubic spline of log p(y | θ) over equal steps of the free coordinate; the latent is empty."""

    prior: Prior
    low: jax.Array
    step: jax.Array
    #: (4, knots − 1), the highest power first
    coefficients: jax.Array

    @classmethod
    def of(cls, joint: Joint, values: tuple[Any, ...], prior: Prior) -> TabulatedTarget:
        """A table as fine as it must be."""
        careful = Careful(joint)

        def posterior(free: np.ndarray) -> np.ndarray:
            return log_density(careful, values, prior, free[:, None])

        care = COSTLY if joint.simulated else line.Care()
        first, last = (float(end[0]) for end in narrowed(careful, values, prior, *line.reach(prior), care))
        if joint.simulated:
            return cls._through(prior, *log_likelihood_on(line.integrate(posterior, first, last, care), prior))
        low, high = line.locate(posterior, first, last, line.POINTS)

        def log_likelihood(free: np.ndarray) -> np.ndarray:
            return careful.log_likelihood(constrained(prior, free[:, None]), values)

        degree = line.POINTS  # as many points as the search has, whose compiled programs serve
        while degree <= _MOST:
            polynomial = Chebyshev.interpolate(log_likelihood, degree, domain=(low, high))
            size = np.abs(polynomial.coef)
            # its error is that of the coefficients which are missing, and those fall off as the last ones do
            if np.sum(size[-degree // 4 :]) < _TOLERANCE * max(1.0, np.sum(size[1:])):
                return cls._along(prior, polynomial)
            degree *= 2
        raise AccuracyError("the log-likelihood is not smooth enough to be tabulated; use method='grid' or 'mhaar'")

    @classmethod
    def _along(cls, prior: Prior, polynomial: Chebyshev) -> TabulatedTarget:
        """A spline with as many knots as follow a polynomial, which a chain could not compute as fast."""
        knots, (low, high) = _KNOTS, polynomial.domain
        while True:
            free = np.linspace(low, high, 2 * knots - 1)
            found = polynomial(free)
            off = np.max(np.abs(CubicSpline(free[::2], found[::2])(free) - found))
            if knots >= _MOST or off < _TOLERANCE * max(1.0, float(np.ptp(found))):
                return cls._through(prior, free, found)
            knots *= 2

    @classmethod
    def _through(cls, prior: Prior, free: np.ndarray, log_p: np.ndarray) -> TabulatedTarget:
        step, spline = free[1] - free[0], CubicSpline(free, log_p)
        return cls(prior, jnp.asarray(free[0]), jnp.asarray(step), jnp.asarray(spline.c))

    def draw(self, key: jax.Array, theta: jax.Array, other: jax.Array, current: Latent, count: int) -> Latent:
        """Nothing, so many times."""
        del key, theta, other, current
        return jnp.zeros((count, 0))

    def noise(self, key: jax.Array, count: int) -> Latent:
        """Nothing."""
        del key
        return jnp.zeros((count, 0))

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """The spline at θ, −∞ beyond its ends."""
        del first, second
        return jnp.broadcast_to(self.log_prob(self.prior.unconstrain(theta)[0]), (latents.shape[0], 1))

    def log_prob(self, free: jax.Array) -> jax.Array:
        """The spline at a free coordinate."""
        place = (free - self.low) / self.step
        size = self.coefficients.shape[1]
        index = jnp.clip(jnp.nan_to_num(jnp.floor(place)), 0, size - 1).astype(int)
        offset = free - (self.low + index * self.step)
        c = self.coefficients[:, index]
        value = ((c[0] * offset + c[1]) * offset + c[2]) * offset + c[3]
        return jnp.where((place >= 0) & (place <= size), value, -jnp.inf)


def is_costly(joint: Joint) -> bool:
    """Whether a route is made for many θ at once rather than for one inside a chain."""
    return any(part in joint.name for part in ("spectral", "order", "pool", "records"))
