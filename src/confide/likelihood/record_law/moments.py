"""Which law of a clipped record serves a population, and its moments."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import numpy as np
from numpy.typing import NDArray

from confide.likelihood.record_law.at_once.moving_nodes import MovingNodes, moving_nodes
from confide.likelihood.record_law.fixed import record_law
from confide.likelihood.record_law.record import Floats, RecordLaw, room_for
from confide.likelihood.record_law.rows.law import ClippedRows, clipped_rows, over, row_moments
from confide.likelihood.record_law.skeleton import CHANGES
from confide.likelihood.record_law.slopes import moves
from confide.likelihood.record_law.traced import moving_law
from confide.population import Population
from confide.statistic import Statistic


class MovingLaw(eqx.Module):
    """The same for populations whose support or kinks move with θ, and whose nodes must move along."""

    population: Population = eqx.field(static=True)
    statistic: Statistic = eqx.field(static=True)
    #: s changes by at most 2^−changes of its range on a panel
    changes: int = eqx.field(static=True, default=CHANGES)

    def at(self, theta: jax.Array) -> tuple[jax.Array, jax.Array]:
        """s_j(θ) and w_j(θ), inside a trace."""
        return moving_law(self.population, self.statistic, theta, self.changes)

    def nodes(self, thetas: Floats) -> tuple[MovingNodes, NDArray[np.intp]]:
        """The nodes at known θ, each looked at once, and which of them every θ has: batches are filled up."""
        distinct, which = np.unique(thetas, axis=0, return_inverse=True)
        return moving_nodes(self.population, self.statistic, distinct, self.changes), which.ravel()


#: the law of one record, in one of the three ways
AnyRecordLaw = RecordLaw | MovingLaw | ClippedRows


def law_for(
    population: Population, statistic: Statistic, thetas: Any, tilt: float = 0.0, steepest: float = math.inf
) -> AnyRecordLaw:
    """Fixed nodes where they serve; moving ones where the support, or a kink of the density, moves; those of rows."""
    if population.rows is not None:
        return clipped_rows(population, statistic, thetas)
    if moves(population):
        return MovingLaw(population, statistic)
    return record_law(population, statistic, thetas, tilt, steepest=steepest)


#: μ_s and Σ_s of one record, (k,) and (k, k), from values (k, J) and weights (J,)
moments = row_moments


def each_theta(law: AnyRecordLaw, function: Any, thetas: jax.Array) -> Any:
    """A function of one θ at many, inside a trace: all together, but a few at a time where each has many nodes."""
    return over(function, thetas) if isinstance(law, ClippedRows) else jax.vmap(function)(thetas)


def moments_at(law: AnyRecordLaw, thetas: Floats) -> tuple[Floats, Floats]:
    """μ_s and Σ_s at many θ."""
    if isinstance(law, ClippedRows):
        return law.moments_at(thetas)
    if isinstance(law, MovingLaw):
        nodes, which = law.nodes(thetas)
        s, weights = np.moveaxis(nodes.s, 0, 1)[which], nodes.weights[which]
        mean = (s @ weights[:, :, None])[..., 0]
    else:
        s, weights = law.s, law.weights_at(thetas)
        mean = weights @ s.T
    centred = s - mean[:, :, None]
    return mean, (centred * weights[:, None]) @ centred.swapaxes(1, 2)


class Nodes(eqx.Module):
    """Laws of one record at many θ as bare arrays: weights (B, J), and s (J,) shared or (B, J) moving with θ.

    Padded to a multiple of a few dozen nodes (of weight zero), so that what is compiled for one population and
    statistic serves the others.
    """

    s: Any
    weights: Any

    @property
    def batched(self) -> int | None:
        """The axis of s that follows θ, if any."""
        return 0 if self.s.ndim == 2 else None


def _padded(array: Any, mode: str) -> Any:
    size = array.shape[-1]
    return np.pad(array, [(0, 0)] * (array.ndim - 1) + [(0, room_for(size) - size)], mode=mode)  # type: ignore[call-overload]


def nodes_at(law: AnyRecordLaw, thetas: Floats) -> Nodes:
    """The laws of a scalar s at θ of shape (B, d)."""
    if isinstance(law, MovingLaw):
        nodes, which = law.nodes(thetas)
        return Nodes(_padded(nodes.s[0][which], "edge"), _padded(nodes.weights[which], "constant"))
    return Nodes(_padded(law.s[0], "edge"), _padded(law.weights_at(thetas), "constant"))


def slopes_at(law: AnyRecordLaw, thetas: Floats) -> Nodes:
    """Their derivatives in θ, weights and values each (B, d, J)."""
    if isinstance(law, MovingLaw):
        nodes, which = law.nodes(thetas)
        dw = _padded(nodes.weight_slopes[which], "constant")
    else:
        dw = _padded(np.swapaxes(law.slopes_at(thetas), 1, 2), "constant")
    return Nodes(np.zeros_like(dw), dw)
