"""How far an average over simulated windows moves a posterior.

The windows come in independent batches. With one batch left out the likelihood is another, equally good one; the spread
of the posteriors so found is the error of the one that was found from all (the jackknife).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Floats = NDArray[np.float64]

#: errors of less than this share of the posterior's sd are not worth a word
_WORTH_SAYING = 0.005


class LeftOut(NamedTuple):
    """θ (M,) in order, and by how much leaving out each batch changes log p(y | θ) there (M, batches)."""

    theta: Floats
    change: Floats


def left_out(theta: Floats, log_batches: Floats, others: LeftOut | None = None) -> LeftOut:
    """From the logarithms of the batches' averages (M, batches); and of other releases at the same θ."""
    batches = log_batches.shape[1]
    share = np.exp(log_batches - logsumexp(log_batches, axis=1, keepdims=True))
    order = np.argsort(theta)
    change = np.log1p(-share[order]) + math.log(batches / (batches - 1))
    return LeftOut(theta[order], change if others is None else change + others.change)


def errors(found: LeftOut, theta: Floats, share: Floats) -> tuple[float, float]:
    """The standard errors of the mean and the sd of a posterior with these shares at θ (M,)."""
    change = np.stack([np.interp(theta, found.theta, column) for column in found.change.T])
    weight = share * np.exp(change)
    weight /= weight.sum(axis=1, keepdims=True)
    mean = weight @ theta
    sd = np.sqrt(np.sum(weight * (theta - mean[:, None]) ** 2, axis=1))
    batches = len(weight)
    spread = [math.sqrt((batches - 1) * float(np.var(each))) for each in (mean, sd)]
    return spread[0], spread[1]


def relative_errors(found: LeftOut, theta: Floats, share: Floats) -> tuple[float, float]:
    """The same as shares of the sd."""
    sd = math.sqrt(float(share @ (theta - share @ theta) ** 2))
    of_mean, of_sd = errors(found, theta, share)
    return of_mean / sd, of_sd / sd


def notes(found: LeftOut, name: str, theta: Floats, share: Floats) -> list[str]:
    """What to say of it, if it is not negligible beside the posterior's sd."""
    of_mean, of_sd = relative_errors(found, theta, share)
    if max(of_mean, of_sd) < _WORTH_SAYING:
        return []
    return [
        f"the likelihood is an average over simulated windows, which leaves the mean of {name} uncertain by "
        f"{100 * of_mean:.1f}% of its sd, and the sd by {100 * of_sd:.1f}% (one standard error); "
        "method='mhaar' has no such error"
    ]
