"""p(y | θ) of one parameter, tabulated where the posterior lies and interpolated: for chains on costly routes.

Beyond the table the posterior is below e^{−30} of its largest value, and is taken as zero. A likelihood may have a
kink, and an average over simulated windows may jump, where a window passes y: there the table has as many knots as the
moments of the posterior need, and jumps smaller than the average's own error are smoothed.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from confide.errors import AccuracyError
from confide.inference.quadrature import line
from confide.inference.quadrature.fallback import Careful
from confide.inference.quadrature.grid import COSTLY, log_density, narrowed
from confide.inference.quadrature.table import ChainTable, tabulated, through
from confide.inference.target.base import Latent, NothingLatent
from confide.likelihood.joint_law import Joint
from confide.prior import Prior, at_free


def log_likelihood_on(line_: line.PosteriorLine, prior: Prior) -> tuple[np.ndarray, np.ndarray]:
    """The free coordinates of a posterior on a line, and log p(y | θ) there up to a constant."""
    kept = line.carried(line_)
    free, density = line_.free[kept], line_.density[kept]
    return free, np.log(density) - np.asarray(at_free(prior, free[:, None])[1])


class TabulatedTarget(NothingLatent):
    """log p(y | θ) by a table; the latent is empty."""

    prior: Prior
    table: ChainTable

    @classmethod
    def of(cls, joint: Joint, values: tuple[Any, ...], prior: Prior) -> TabulatedTarget:
        """A table as fine as it must be."""
        careful = Careful(joint)

        def posterior(free: np.ndarray) -> np.ndarray:
            return log_density(careful, values, prior, free[:, None])

        def log_likelihood(free: np.ndarray) -> np.ndarray:
            # compiled for the search
            return careful.log_likelihood(np.asarray(at_free(prior, free[:, None])[0]), values)

        care = COSTLY if joint.simulated else line.Care()
        first, last = (float(end[0]) for end in narrowed(careful, values, prior, *line.reach(prior), care))
        if not joint.simulated:
            try:
                return cls(prior, tabulated(log_likelihood, *line.locate(posterior, first, last, line.POINTS)))
            except AccuracyError:
                pass  # it is not smooth somewhere: as many knots as the posterior's moments need
        return cls(prior, through(*log_likelihood_on(line.integrate(posterior, first, last, care), prior)))

    def log_weight(self, theta: jax.Array, latents: Latent, first: jax.Array, second: jax.Array) -> jax.Array:
        """The spline at θ, −∞ beyond its ends."""
        del first, second
        return jnp.broadcast_to(self.log_prob(self.prior.unconstrain(theta)[0]), (latents.shape[0], 1))

    def log_prob(self, free: jax.Array) -> jax.Array:
        """The spline at a free coordinate."""
        value, inside = self.table.at(free)
        return jnp.where(inside, value, -jnp.inf)


def is_costly(joint: Joint) -> bool:
    """Whether a route is made for many θ at once rather than for one inside a chain."""
    return joint.for_many_thetas
