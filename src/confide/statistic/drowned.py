"""A statistic that drowns in noise, and a number that noise does not explain: said in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from confide._digits import around
from confide.statistic.statistic import Statistic

_REMEDY = "narrow the bounds, use more records, a larger privacy parameter or another mechanism"


def drowned_by_records(statistic: Statistic, least: float | None, even: float | None) -> str | None:
    """The same of noise that depends on the records; else None.

    It is known for records whose statistic is in the middle of its range, where no other records have less (`least`),
    and for records that lie evenly over the range (`even`, None if beyond all measure), which says nothing of records
    that lie close together.
    """
    (low, high), noun = statistic.ranges[0], statistic.noun.removesuffix(" of")
    nothing = even is None or 2 * even >= high - low
    if least is not None and least >= high - low:
        told = drowned(statistic, least)
        return told if nothing else f"where {noun} is in the middle of its range, {told}"
    if not nothing:
        return None
    reach = "beyond all measure" if even is None else f"± {around(even, digits=3)}, 90%"
    return (
        f"if the records lie evenly over their range, from {low:g} to {high:g}, the noise ({reach}) is as wide as the "
        f"range, and the published {noun.removeprefix('the ')} will say almost nothing; it says something only where "
        f"they lie much closer together: {_REMEDY}"
    )


def drowned(statistic: Statistic, noise: float) -> str | None:
    """Why noise that reaches so far (90%) leaves almost nothing of a statistic, or of a component; else None.

    All components have noise of one scale, which the widest of them decides.
    """
    ends, noun = statistic.ranges, statistic.noun
    widest = max(high - low for low, high in ends)
    if noise >= widest:
        low, high = next(pair for pair in ends if pair[1] - pair[0] == widest)
        return (
            f"the noise (± {around(noise, digits=3)}, 90%) is wider than all that {noun.removesuffix(' of')} can be, "
            f"which is from {low:g} to {high:g}: the published number will say almost nothing; {_REMEDY}"
        )
    # an interval as wide as the range says nothing of a component, whatever is published
    parts = zip(statistic.transforms, ends, strict=True)
    lost = [(str(part), high - low) for part, (low, high) in parts if 2 * noise >= high - low]
    if not lost or len(ends) == 1:
        return None
    told = ", ".join(f"{noun} {part} (a range of {width:g})" for part, width in lost)
    part, width = lost[0]
    return (
        f"the noise (± {around(noise, digits=3)}, 90%) is the same for every component, and as wide as all that {told} "
        "can be, of which the published number will say next to nothing; divide each component by its range, as in "
        f"{part if part.isidentifier() else f'({part})'} / {width:g}, or publish them one by one"
    )


def unexplained(statistic: Statistic, noise: float, value: Any) -> str | None:
    """Why a published value cannot well be one of a statistic with noise that reaches so far; else None."""
    if not (statistic.averages or statistic.ranked):
        return None  # what a sum or a statistic of somebody's own can be is not known here
    low, high = np.asarray(statistic.ranges).T
    published = np.atleast_1d(np.asarray(value, dtype=np.float64))
    far = np.flatnonzero((published < low - noise) | (published > high + noise))
    if far.size == 0:
        return None
    j = int(far[0])
    return (
        f"{published[j]:.6g} was published of {statistic.labels[j]}, which lies between {low[j]:g} and {high[j]:g}, "
        f"and noise as is described moves it by more than {around(noise)} once in a thousand million times: are the "
        "units, the bounds and the scale of the noise right?"
    )
