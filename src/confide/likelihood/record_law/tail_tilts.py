"""How far the tail of a mean of few records tilts the law of one of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]

#: steps in which a tilt is found
_HALVINGS = 7


class Tilts(NamedTuple):
    """Tilts κ and log E e^{κs}, each of shape (tilts, θ)."""

    kappa: Floats
    log_total: Floats

    def only(self, chosen: NDArray[np.intp]) -> Tilts:
        """Those of some θ."""
        return Tilts(self.kappa[:, chosen], self.log_total[:, chosen])


def tilts_of(s: Floats, weights: Floats, tilt: float, steepest: float) -> Tilts:
    """How far records with values s (J,) and weights (θ, J) are tilted by a mean `tilt` of their spreads away."""
    mean = weights @ s
    spread = np.sqrt(np.sum(weights * (s - mean[:, None]) ** 2, axis=1))
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights)
    ends = []
    for side in (-1.0, 1.0):
        # a mean so far out tilts a record no further: a law with an exponential tail is tilted less than a normal one
        reach = np.divide(tilt, spread, out=np.zeros_like(spread), where=spread > 0)  # a law of one point is not tilted
        low, high = np.zeros_like(mean), np.minimum(reach, steepest)
        kappa = high
        for _ in range(_HALVINGS):
            exponent = log_weights + side * kappa[:, None] * s
            tilted = np.exp(exponent - exponent.max(axis=1, keepdims=True))
            beyond = side * (tilted @ s / tilted.sum(axis=1) - mean) > tilt * spread
            low, high = np.where(beyond, low, kappa), np.where(beyond, kappa, high)
            if not np.any(beyond) and np.all(low == high):
                break
            kappa = 0.5 * (low + high)
        ends.append(side * high)
    kappas = np.stack([ends[0], 0.5 * ends[0], 0.5 * ends[1], ends[1]])
    return Tilts(kappas, np.stack([_log_total(log_weights, kappa, s) for kappa in kappas]))


def _log_total(log_weights: Floats, kappa: Floats, s: Floats) -> Floats:
    """log E e^{κs}, one κ for each row of weights."""
    return np.asarray(logsumexp(log_weights + kappa[:, None] * s, axis=-1))
