"""How near a published value comes to what it is about, also where the noise depends on the records.

Such noise has no margin that is known beforehand. Records that lie evenly are public: they say
what to expect of ordinary ones, where the least possible margin, that of equal records, says almost nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from confide._digits import around
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


def expected(channel: Channel) -> str:
    """How far a published number will be from what it is about, and a warning where that is too far."""
    margin, least, warning = channel.margin(), channel.law.least_margin(channel.statistic, channel.n), channel.warning
    one = "The published number" if channel.value_shape == () else "Each published number"
    own = channel.statistic.per_record
    about = "its record's clipped value" if own else "that statistic of the clipped records"
    if channel.statistic.tallies or channel.statistic.counts:
        about = "the count of its cell" if channel.statistic.tallies else str(channel.statistic)
    lines = []
    if margin is not None and not channel.law.noiseless:
        lines.append(f"{one} lies within ± {around(margin)} of {about} (90%).")
    elif margin is None and channel.law.window:
        told = {"at best, in the middle of its range": least, "if they lie evenly over it": margin_if_even(channel)}
        words = "".join(f", within ± {around(each)} {when}" for when, each in told.items() if each is not None)
        known = f"{words} (90%)" if words else ""
        lines.append(f"How near the published number comes to {about} depends on how they lie{known}.")
    if channel.law.selects:
        lines.append(
            "It lies between records: where many share a value, as whole numbers do, there is little room beside, "
            f"and {2 * channel.law.window + 1:,} equal ones leave it anywhere in the range; SmoothCauchy serves them."
        )
    if warning is not None:
        lines.append(f"Warning: {warning}.")
    return "".join(f"{line}\n" for line in lines)
