"""How near an order statistic's published value comes to it, for records that lie evenly over its range.

Noise that depends on the records has no margin that is known beforehand. Records that lie evenly are public: they say
what to expect of ordinary ones, where the least possible margin, that of equal records, says almost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide._precision import float64

if TYPE_CHECKING:
    from confide.channel import Channel

Floats = NDArray[np.float64]

#: distances are spaced by their logarithm, from a small part of the gap between two records to so many widths
_POINTS, _PART, _WIDTHS = 4000, 1e-4, 3.0


@float64
def noise_if_even(channel: Channel) -> tuple[Floats, Floats] | None:
    """Distances from the statistic, from 0, and the density of the published value there on both sides together.

    None where the noise does not depend on the records.
    """
    statistic, reach = channel.statistic, channel.law.window
    if not statistic.ranked or reach == 0:
        return None
    low, high = statistic.ranges[0]
    ranks = statistic.rank(channel.n) + np.arange(-reach, reach + 1)
    # record i of n holds the middle of the i-th of n equal cells; ranks that no record has hold the range's ends
    window = np.clip(low + (high - low) * (ranks - 0.5) / channel.n, low, high)
    away = np.concatenate([[0.0], (high - low) * np.geomspace(_PART / channel.n, _WIDTHS, _POINTS)])
    law: Any = channel.law
    below, above = (np.exp(law.log_prob(window[reach] + side * away, window)) for side in (-1.0, 1.0))
    return away, np.asarray(below + above)


def margin_if_even(channel: Channel, probability: float = 0.9) -> float | None:
    """The distance that the published value keeps with this probability, if the records lie evenly over the range.

    None where the noise does not depend on the records, or reaches beyond three widths of the range.

    >>> import confide as cf
    >>> median = cf.Median("x", bounds=(0, 60))
    >>> channel = cf.Channel(median, cf.SmoothLaplace(cf.ApproxDP(1.0, 1e-6)), n=800)
    >>> round(margin_if_even(channel), 2)
    2.53
    """
    found = noise_if_even(channel)
    if found is None:
        return None
    away, density = found
    within = np.concatenate([[0.0], np.cumsum(np.diff(away) * 0.5 * (density[1:] + density[:-1]))])
    return float(np.interp(probability, within, away)) if within[-1] >= probability else None
