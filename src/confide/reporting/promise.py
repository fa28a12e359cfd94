"""A guarantee in plain words."""

from __future__ import annotations

import math

from confide.privacy import ApproxDP, Privacy, PureDP, Unlimited

LIMITS = (
    "Protected is any one record: what it holds, not that the data set exists. Not protected are the number of "
    "records, when the release was made and how long it took, and what is true of the population as a whole. If a "
    "person may have several records, the guarantee weakens with each of them."
)


def in_plain_words(guarantee: Privacy) -> str:
    """What a reader who knows no formula should take away.

    >>> print(in_plain_words(PureDP(1.0)))
    Seeing this release changes the odds of any claim about any one record by a factor of at most 2.72, whatever else
    one knows. Someone who must tell which of two values a record has, and would guess right half of the time, guesses
    right at most 73.1% of the time after seeing it.
    """
    if isinstance(guarantee, Unlimited):
        return "Nothing is promised: the value is published as it is, and may reveal a record exactly."
    test = (
        "Someone who must tell which of two values a record has, and would guess right half of the time, guesses right "
        f"at most {50 + 50 * guarantee.delta_at(0.0):.1f}% of the time after seeing it."
    )
    if isinstance(guarantee, PureDP):
        return (
            "Seeing this release changes the odds of any claim about any one record by a factor of at most "
            f"{math.exp(min(guarantee.epsilon, 700.0)):.3g}, whatever else one knows. {test}"
        )
    told = guarantee if isinstance(guarantee, ApproxDP) else guarantee.convert(ApproxDP, delta=1e-6)
    return (
        f"{test} The odds of any claim about any one record change by a factor of at most "
        f"{math.exp(min(told.epsilon, 700.0)):.3g}, whatever else one knows, except with a probability of at most "
        f"{told.delta:.3g}."
    )
