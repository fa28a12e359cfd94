"""A mean that is rounded to a lattice far coarser than the noise on it, published as a value that it cannot have.

Let q_j be the probability that the mean is rounded to point j of the lattice, J the last of them, and g the noise:

    p(J + e) = Σ_d q_{J−d} g(d + e),        p(J − i) = Σ_d q_{J−d} g(d − i).

Beyond J the first sum is hardly more than its first term, as small as the noise is there: no inversion keeps its
digits. But where the noise is narrow the second is hardly more than its own diagonal. It is solved for the last few q,
and these are put into the first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide.likelihood.inversion.atoms import Outside
from confide.likelihood.noise.lattice import lattice_spacing
from confide.likelihood.record_law.moments import law_for, nodes_at
from confide.likelihood.record_law.record import ORDER
from confide.likelihood.slow_inversion.pairs import panels_first

if TYPE_CHECKING:
    from confide.model import Model

Floats = NDArray[np.float64]
Inverted = Callable[[Floats, Floats], Floats]

#: the widest noise, in steps: one step away it is e^{−8}
_NARROW = 0.25
#: points of the lattice at an end that are solved for: noise of e^{−8·16} reaches across them
_POINTS = 4
#: what p is known to, and what may come of it
_KNOWN, _ALLOWED = 1e-7, 1e-6


def coarse(model: Model) -> bool:
    """Noise on a lattice, on a statistic with none of its own."""
    noise = model.channel.law.noise  # type: ignore[attr-defined]
    own = lattice_spacing(model.population, model.channel.statistic)
    return noise.step is not None and own is None and not model.population.discrete


def serves(model: Model) -> bool:
    """Gaussian noise on a lattice of steps far wider than it, on a statistic with no lattice of its own."""
    noise: Any = model.channel.law.noise  # type: ignore[attr-defined]
    return coarse(model) and not noise.exponential and bool(noise.scale <= _NARROW * noise.step)


def log_likelihood(model: Model, thetas: Floats, values: Floats, inverted: Inverted) -> Floats:
    """log p(y | θ) at known θ (M, d) and values (Y,): by inversion where the mean can be, and by these sums beyond."""
    noise: Any = model.channel.law.noise  # type: ignore[attr-defined]
    index = np.round(values / noise.step)
    ends = np.floor(ends_of(model, thetas) / noise.step + 0.5)
    result = np.empty((len(thetas), len(values)))
    for low, high in np.unique(ends, axis=0):
        rows = np.flatnonzero(np.all(ends == (low, high), axis=1))
        inside = np.ones(len(values), dtype=bool)
        for end, side in ((low, -1.0), (high, 1.0)):
            outside = side * (index - end) > 0
            if np.any(outside):
                points = end - side * np.arange(min(_POINTS, high - low + 1))
                known = inverted(thetas[rows], noise.step * points)
                found = _beyond(noise, known, side * (index[outside] - end))
                if not np.any(np.isnan(found)):  # else the inversion has the last word
                    result[np.ix_(rows, outside)] = found
                    inside &= ~outside
        if np.any(inside):
            result[np.ix_(rows, inside)] = inverted(thetas[rows], values[inside])
    return result


def ends_of(model: Model, thetas: Floats) -> Floats:
    """The least and the largest value of s that has any probability, at each θ: (M, 2)."""
    law = law_for(model.population, model.channel.statistic, thetas)
    nodes = nodes_at(law, thetas)
    order, panels = panels_first(law, thetas, np.shape(nodes.s)[-1])
    s, weights = np.broadcast_arrays(np.asarray(nodes.s)[..., order], np.asarray(nodes.weights)[:, order])
    return np.asarray([_ends(*row, panels) for row in zip(s, weights, strict=True)])


def _ends(s: Floats, weights: Floats, panels: int) -> tuple[float, float]:
    """Of one record: a panel that has any goes on beyond the outermost of its nodes, to its ends."""
    seen = weights > 0
    ends = Outside(s, weights[None], panels).range if np.any(seen[: panels * ORDER]) else ()
    values = np.concatenate([s[seen], ends])
    return float(values.min()), float(values.max())


def _beyond(noise: Any, log_p: Floats, beyond: Floats) -> Floats:
    """log p so many steps beyond an end, from log p at the last few points (θ, points), the last first; or NaN."""
    rate = 0.5 * (noise.step / noise.scale) ** 2
    d = np.arange(log_p.shape[1])
    inverse = np.linalg.inv(np.exp(-rate * (d[:, None] - d) ** 2))
    top = log_p.max(axis=1, keepdims=True)
    p = np.exp(log_p - top)
    q, error = p @ inverse.T, _KNOWN * p @ np.abs(inverse).T
    # relative to the noise that reaches from the end itself
    reach = np.exp(-rate * (d**2 + 2.0 * d * beyond[:, None]))
    total, doubt = q @ reach.T, error @ reach.T
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(doubt < _ALLOWED * total, np.log(total) + top, np.nan) - rate * beyond**2)
