"""The exponential mechanism's density over a pool of windows, at many values for the price of one.

Given a window the density is constant between its values, and a mean over windows is a step function of y: it rises or
falls at each value of each window by a jump that is known. So all jumps are added up once in the order of the values,
and p at any y is the sum up to it. Windows are a monotone function of logits that do not depend on θ: these are sorted,
and every θ has the same order.
"""

from __future__ import annotations

import jax
import numpy as np
from numpy.typing import NDArray

from confide._compile import IN_PARTS
from confide.likelihood.pool_density import WindowModel
from confide.likelihood.window import Pool
from confide.mechanism.exponential import ExponentialLaw

Floats = NDArray[np.float64]

#: rate times cap, above which the least density is lost among jumps that add up to it: e²⁰ of the sixteen digits
_DEEPEST = 20.0


@jax.jit(compiler_options=IN_PARTS)
def _windows(model: WindowModel, theta: jax.Array, pool: Pool) -> jax.Array:
    return model.windows(model.table(theta, pool), pool.zeta)


def serves(law: object) -> bool:
    """Whether running sums keep enough digits, as they do with the caps that mechanisms choose."""
    return isinstance(law, ExponentialLaw) and law.rate * law.cap <= _DEEPEST


def running_log_batches(model: WindowModel, thetas: Floats, pool: Pool, y: Floats) -> Floats:
    """The logs of the means over each batch of the pool, at all θ and values: (M, Y, batches)."""
    law = model.law
    assert isinstance(law, ExponentialLaw)
    batches, windows, ranks = pool.zeta.shape
    order = np.argsort(np.asarray(pool.zeta).reshape(batches, -1), axis=1, kind="stable")
    height = np.exp(-law.rate * np.asarray(law._steps, dtype=np.float64))
    jump = np.diff(height)
    jumps, window = jump[order % ranks], order // ranks
    inside = (y >= law.low) & (y <= law.high)
    found = np.empty((len(thetas), y.size, batches))
    for row, theta in enumerate(thetas):
        values = np.asarray(_windows(model, theta, pool))
        # Σ height·length, each length a difference of neighbours
        share = 1.0 / (height[-1] * law.high - height[0] * law.low - values @ jump) / windows
        ranked = np.take_along_axis(values.reshape(batches, -1), order, axis=1)
        risen = np.cumsum(jumps * np.take_along_axis(share, window, axis=1), axis=1)
        density = np.pad(risen, [(0, 0), (1, 0)]) + height[0] * share.sum(axis=1, keepdims=True)
        # the lower end belongs to the first interval that has a length
        places = [np.maximum(np.searchsorted(v, y), np.searchsorted(v, law.low, side="right")) for v in ranked]
        with np.errstate(divide="ignore"):
            found[row] = np.log(np.where(inside, np.take_along_axis(density, np.stack(places), axis=1), 0.0)).T
    return found
