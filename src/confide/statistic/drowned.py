"""A statistic that drowns in noise: said in words before anything is spent."""

from __future__ import annotations

from confide.statistic.statistic import Statistic


def drowned(statistic: Statistic, noise: float) -> str | None:
    """Why noise that reaches so far (90%) leaves almost nothing of a statistic, or of a component; else None.

    All components have noise of one scale, which the widest of them decides.
    """
    ends, noun = statistic.ranges, statistic.noun
    widest = max(high - low for low, high in ends)
    if noise >= widest:
        low, high = next(pair for pair in ends if pair[1] - pair[0] == widest)
        return (
            f"the noise (± {noise:.3g}, 90%) is wider than all that {noun.removesuffix(' of')} can be, "
            f"which is from {low:g} to {high:g}: the published number will say almost nothing; narrow the bounds, use "
            "more records, a larger privacy parameter or another mechanism"
        )
    # an interval as wide as the range says nothing of a component, whatever is published
    parts = zip(statistic.transforms, ends, strict=True)
    lost = [(str(part), high - low) for part, (low, high) in parts if 2 * noise >= high - low]
    if not lost or len(ends) == 1:
        return None
    told = ", ".join(f"{noun} {part} (a range of {width:g})" for part, width in lost)
    part, width = lost[0]
    return (
        f"the noise (± {noise:.3g}, 90%) is the same for every component, and as wide as all that {told} can be, of "
        "which the published number will say next to nothing; divide each component by its range, as in "
        f"{part if part.isidentifier() else f'({part})'} / {width:g}, or publish them one by one"
    )
