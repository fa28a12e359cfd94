"""The exponential mechanism's density over a pool of windows, at many values for the price of one.

Given a window the density is constant between its values, and a mean over windows is a step function of y: it rises or
falls at each value of each window by a jump that is known. So all jumps are added up once in the order of the values,
and p at any y is the sum up to it. Windows are a monotone function of logits that do not depend on θ: these are sorted,
and every θ has the same order. With the score of each window beside it, the same sums have ∂p/∂θ (`pool_density`).
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

import jax
import numpy as np
from numpy.typing import NDArray

from confide._compile import IN_PARTS
from confide._progress import progress
from confide.likelihood.rank.pool_density import WindowModel
from confide.likelihood.rank.pool_information import grid, jackknife
from confide.likelihood.rank.window import BATCHES, WindowPool, window_score
from confide.mechanism.exponential import ExponentialLaw

Floats = NDArray[np.float64]

#: rate times cap, above which the least density is lost among jumps that add up to it: e²⁰ of the sixteen digits
_DEEPEST = 20.0
#: the same below which windows tell nothing, and are not simulated
_NOTHING = 1e-9


def serves(law: Any) -> bool:
    """Whether running sums keep enough digits, as they do with the caps that mechanisms choose."""
    return law.selects and law.rate * law.cap <= _DEEPEST


def tells_nothing(law: Any) -> bool:
    """Whether no records move the density by more than a billionth: it is flat but for factors of e^{±rate·K}."""
    return law.selects and law.rate * law.cap <= _NOTHING


def flat_log_batches(law: ExponentialLaw, thetas: Floats, y: Floats) -> Floats:
    """The uniform density of such a law, at all θ and values and as by each batch of windows: (M, Y, batches)."""
    inside = (y >= law.low) & (y <= law.high)
    flat = np.where(inside, -np.log(law.high - law.low), -np.inf)
    return np.broadcast_to(flat[:, None], (len(thetas), y.size, BATCHES))


class Ranked(NamedTuple):
    """All values of a pool's windows (batches, values), batch by batch in order: whose they are, and their jumps."""

    law: ExponentialLaw
    order: NDArray[np.intp]
    window: NDArray[np.intp]
    jumps: Floats
    weight: Floats

    @classmethod
    def of(cls, model: WindowModel, pool: WindowPool) -> Ranked:
        """The order that all θ share."""
        batches, _, ranks = pool.zeta.shape
        order = np.argsort(np.asarray(pool.zeta).reshape(batches, -1), axis=1, kind="stable")
        law = cast(ExponentialLaw, model.law)
        jumps = np.diff(_heights(law))[order % ranks]
        return cls(law, order, order // ranks, jumps, np.exp(np.asarray(pool.log_weight)))

    def means(self, values: Floats, y: Floats, score: Floats | None = None) -> Floats:
        """Batch means of the density at y, and of it times scores (batches, windows, d): (1 + d, batches, Y)."""
        law, height = self.law, _heights(self.law)
        batches, windows, _ = values.shape
        # one over Σ height·length, each length a difference of neighbours
        share = self.weight / (height[-1] * law.high - height[0] * law.low - values @ np.diff(height)) / windows
        ranked = np.take_along_axis(values.reshape(batches, -1), self.order, axis=1)
        # the lower end belongs to the first interval that has a length
        places = [np.maximum(np.searchsorted(v, y), np.searchsorted(v, law.low, side="right")) for v in ranked]
        inside = (y >= law.low) & (y <= law.high)
        weights = [share, *(share * part for part in ([] if score is None else np.moveaxis(score, -1, 0)))]
        found = np.empty((len(weights), batches, y.size))
        for i, weight in enumerate(weights):
            risen = np.cumsum(self.jumps * np.take_along_axis(weight, self.window, axis=1), axis=1)
            density = np.pad(risen, [(0, 0), (1, 0)]) + height[0] * weight.sum(axis=1, keepdims=True)
            found[i] = np.where(inside, np.take_along_axis(density, np.stack(places), axis=1), 0.0)
        return found


def _heights(law: ExponentialLaw) -> Floats:
    """The density on each interval of a window, before it is divided by its total."""
    return np.exp(-law.rate * np.asarray(law._steps, dtype=np.float64))


def running_log_batches(model: WindowModel, thetas: Floats, pool: WindowPool, y: Floats) -> Floats:
    """The logs of the means over each batch of the pool, at all θ and values: (M, Y, batches)."""
    ranked, each = Ranked.of(model, pool), progress(thetas, "simulated windows")
    with np.errstate(divide="ignore"):
        return np.stack([np.log(ranked.means(np.asarray(_windows(model, t, pool)), y)[0]).T for t in each])


def running_information(model: WindowModel, thetas: Floats, pool: WindowPool) -> tuple[Floats, Floats]:
    """F and its standard error at each θ, each (M, d, d), by Fisher's identity."""
    ranked, found = Ranked.of(model, pool), []
    for theta in progress(thetas, "simulated windows"):
        values, score, y, weight = (np.asarray(part) for part in _with_scores(model, theta, pool))
        means = ranked.means(values, y, score)
        found.append(_jackknife(means[0], np.moveaxis(means[1:], 0, 1), weight))
    return np.stack([matrix for matrix, _ in found]), np.stack([error for _, error in found])


_jackknife = jax.jit(jackknife, compiler_options=IN_PARTS)


@partial(jax.jit, compiler_options=IN_PARTS)
def _windows(model: WindowModel, theta: jax.Array, pool: WindowPool) -> jax.Array:
    return model.windows(model.table(theta, pool.low, pool.high), pool.zeta)


@partial(jax.jit, compiler_options=IN_PARTS)
def _with_scores(model: WindowModel, theta: jax.Array, pool: WindowPool) -> tuple[jax.Array, ...]:
    """The windows and their scores, and nodes and weights of y."""
    table = model.table(theta, pool.low, pool.high)
    score = window_score(table, pool.zeta, model.ranks)
    return model.windows(table, pool.zeta), score, *grid(model, table, pool)
