"""What a batch of releases promises when all of them were fixed before the first value was seen.

Each guarantee is attained by one worst pair of laws (P, Q), see `profile`; a batch is no worse than the product of
these pairs, whose privacy loss L = log dP/dQ is the sum of independent ones, and δ(ε) = E_P (1 − e^{ε−L})₊. The sum is
kept as atoms, and everything is an upper bound by construction:

* k equal pure guarantees are ±ε with binomial weights: exact, and the optimum of Kairouz, Oh and Viswanath (2015).
* Atoms that are too many are moved to the points of a grid. An atom between two points is split between them such that
  E e^{−L} stays: a mean-preserving spread of e^{−L}. As (1 − e^ε Πy)₊ is convex in each y = e^{−L}, no δ falls.
* The Gaussian loss N(μ²/2, μ²) is split in the same way, cell by cell, from the masses of a cell under P and Q.

All terms are positive, so that rounding errors stay relative, and δ is enlarged by more than them.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtr

from confide.errors import PrivacyError
from confide.privacy.composition import compose
from confide.privacy.guarantee import GDP, ApproxDP, Privacy, PureDP, Unlimited
from confide.privacy.rounding import outward, read_delta, root_sum_of_squares_up, sum_up

Floats = NDArray[Any]
# Points of the grid that holds a sum of losses, and of that which holds a group of equal or Gaussian ones.
_POINTS, _CELLS = 2**12, 2**10
# Standard deviations of a Gaussian loss that are kept: what lies above, 1e-33, counts as given away.
_KEPT = 12.0
_MOST_MEMBERS = 10**6
# More than a product, a sum of two losses and the power of it are off by, relatively.
_ROUNDING = 4e-16


class _Loss(NamedTuple):
    """Atoms of the privacy loss under P."""

    losses: Floats
    masses: Floats


def account(members: Iterable[Any], *, delta: float) -> ApproxDP:
    """The guarantee at δ of a batch of channels or guarantees that are all fixed before the first value is seen.

    It is never above what `compose` says, and far below it for many releases. Where a later channel, or whether there
    is one, depends on a value that was seen, only `compose` (and so a ledger) holds. A `ZCDP` has no worst pair of laws
    and is refused.

    >>> print(account([PureDP(0.1)] * 100, delta=1e-6))
    (4.77457, 1e-06)-differential privacy
    """
    delta = read_delta(delta)
    given = list(members) if isinstance(members, Iterable) else members
    guarantees = [getattr(each, "guarantee", each) for each in given] if isinstance(given, list) else given
    known = compose(guarantees, delta=delta)
    if isinstance(known, Unlimited):
        raise PrivacyError("members", guarantees, "hold one without a guarantee", "leave it out of the batch")
    assert isinstance(known, ApproxDP)
    _check(guarantees)
    failure = sum_up(each.delta for each in guarantees if isinstance(each, ApproxDP))
    loss, failure = _total(guarantees, failure)
    # gammaln of k is off by a few units in the last place of k·log k
    slack = 1e-9 + 1e-14 * len(guarantees) * math.log(1 + len(guarantees))
    low, high = 0.0, known.epsilon
    if _delta(loss, low, failure, slack) <= delta:
        return ApproxDP(sys.float_info.min, delta)
    if _delta(loss, high, failure, slack) > delta:
        return known
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _delta(loss, middle, failure, slack) <= delta else (middle, high)
    return ApproxDP(high, delta)


def _check(guarantees: Sequence[Privacy]) -> None:
    for index, each in enumerate(guarantees):
        if not isinstance(each, PureDP | ApproxDP | GDP):
            remedy = "state it as PureDP, ApproxDP or GDP, or use compose"
            raise PrivacyError(f"members[{index}]", each, "has no worst pair of laws to account with", remedy)
    if len(guarantees) > _MOST_MEMBERS:
        raise PrivacyError("members", len(guarantees), f"are more than {_MOST_MEMBERS:,}", "account for fewer at once")


def _total(guarantees: Sequence[Privacy], failure: float) -> tuple[_Loss, float]:
    """The loss of all together, and the probability that everything is given away."""
    counts = Counter(each.epsilon for each in guarantees if isinstance(each, PureDP | ApproxDP))
    groups = [_binomial(epsilon, count) for epsilon, count in sorted(counts.items())]
    mus = [each.mu for each in guarantees if isinstance(each, GDP)]
    if mus:
        groups.append(_gaussian(root_sum_of_squares_up(mus)))
        failure = sum_up([failure, float(ndtr(-_KEPT))])
    total = groups[0]
    for group in (_spread(each, _CELLS + 1) for each in groups[1:]):
        total = _spread(total, _POINTS)
        room = _ROUNDING * (np.max(np.abs(total.losses)) + np.max(np.abs(group.losses)))
        losses = (total.losses[:, None] + group.losses).ravel() + room
        total = _spread(_Loss(losses, (total.masses[:, None] * group.masses).ravel()), _POINTS)
    return total, failure


def _delta(loss: _Loss, epsilon: float, failure: float, slack: float) -> float:
    """δ(ε) of the atoms, with what is given away."""
    share = -np.expm1(np.minimum(epsilon - loss.losses, 0.0))
    return min(1.0, outward(failure + float(share @ loss.masses), slack))


def _binomial(epsilon: float, count: int) -> _Loss:
    """The sum of `count` losses ±ε, P(+ε) = 1/(1+e^{−ε})."""
    ups = np.arange(count + 1, dtype=float)
    log_choices = gammaln(count + 1) - gammaln(ups + 1) - gammaln(count - ups + 1)
    up = -math.log1p(math.exp(-epsilon))
    losses = (2 * ups - count) * epsilon
    with np.errstate(under="ignore"):
        return _Loss(
            losses + _ROUNDING * np.abs(losses), np.exp(log_choices + ups * up + (count - ups) * (up - epsilon))
        )


def _gaussian(mu: float) -> _Loss:
    """N(μ²/2, μ²) in cells, each split between its ends; what lies below the first cell is moved up to it."""
    z = np.linspace(-_KEPT, _KEPT, _CELLS + 1)
    p, q = (_between(ends) for ends in (z, z + mu))
    width = mu * (z[1] - z[0])
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        above = -np.expm1(np.log(q) - np.log(p) + mu * (z[:-1] + mu / 2)) / -math.expm1(-width)
    # upwards by more than the rounding errors of both masses; a cell without a Q-mass goes up as a whole
    above = np.clip(np.nan_to_num(above, nan=1.0) + 1e-11 * (1 + mu * mu) / min(width, 1.0), 0.0, 1.0)
    masses = np.zeros(_CELLS + 1)
    masses[0] = ndtr(-_KEPT)
    masses[:-1] += p * (1 - above)
    masses[1:] += p * above
    return _Loss(mu * (z + mu / 2), masses)


def _between(z: Floats) -> Floats:
    """Φ(z_{i+1}) − Φ(z_i), from the small side."""
    left, right = np.where(z[:-1] > 0, -z[1:], z[:-1]), np.where(z[:-1] > 0, -z[:-1], z[1:])
    return np.asarray(ndtr(right) - ndtr(left))


def _spread(loss: _Loss, points: int) -> _Loss:
    """The same, on that many points of a grid at most."""
    if len(loss.losses) <= points:
        return loss
    low, high = float(np.min(loss.losses)), float(np.max(loss.losses))
    width = (high - low) / (points - 2) * (1 + 1e-12)
    cell = np.floor((loss.losses - low) / width).astype(int)
    within = loss.losses - (low + cell * width)
    # upwards by more than the rounding errors of the losses
    room = 1e-15 * (abs(low) + abs(high)) / min(width, 1.0)
    above = np.clip(np.expm1(-within) / math.expm1(-width) + 4 * room, 0.0, 1.0)
    masses = np.bincount(cell, loss.masses * (1 - above), points) + np.bincount(cell + 1, loss.masses * above, points)
    return _Loss(low + width * np.arange(points), masses)
