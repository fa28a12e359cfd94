"""A prior as people think of one: "most likely between 1 and 8", its 5% and 95% quantiles."""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, special

from confide.errors import InvalidArgument

#: the standard normal law's 95% quantile
_Z = 1.6448536269514722
#: shapes of a beta law beyond which it is a point, or nothing but its two ends
_LEAST, _MOST = 1e-3, 1e7


def normal_between(low: float, high: float) -> tuple[float, float]:
    """Mean and standard deviation of the normal law with these quantiles.

    >>> mean, sd = normal_between(-2.0, 2.0)
    >>> mean, round(sd, 4)
    (0.0, 1.2159)
    """
    return (low + high) / 2, (high - low) / 2 / _Z


def prior_between(kind: str, low: float, high: float) -> str:
    """The law with these 5% and 95% quantiles, in the words of the command line, its numbers to six digits.

    A parameter that may be any number gets a normal law, a positive one the law whose logarithm is normal, a share a
    beta law.

    >>> prior_between("positive", 1.0, 8.0)
    'LogNormal(1.03972, 0.632105)'
    """
    if not low < high:
        raise InvalidArgument("prior", (low, high), "has no lower end", "give the smaller number first")
    if kind == "real":
        mean, sd = normal_between(low, high)
        return f"Normal({mean:.6g}, {sd:.6g})"
    if low <= 0:
        raise InvalidArgument("prior", low, "is not above 0", "the parameter is positive; give a positive number")
    if kind == "positive":
        a, b = math.log(low), math.log(high)
        return f"LogNormal({(a + b) / 2:.6g}, {(b - a) / 2 / _Z:.6g})"
    if high >= 1:
        raise InvalidArgument("prior", high, "is not below 1", "the parameter is a share; give a number below 1")
    first, second = _beta(low, high)
    return f"Beta({first:.6g}, {second:.6g})"


def _beta(low: float, high: float) -> tuple[float, float]:
    """The shapes whose quantiles are these, from those of a normal law of the log odds."""
    ends = np.log([low / (1 - low), high / (1 - high)])
    middle, spread = float(np.mean(ends)), float(ends[1] - ends[0]) / 2 / _Z
    share = 1 / (1 + math.exp(-middle))
    size = max(1 / (spread**2 * share * (1 - share)), 0.1)
    start = np.log([share * size, (1 - share) * size])

    def off(logs: np.ndarray) -> np.ndarray:
        a, b = np.exp(np.clip(logs, math.log(_LEAST), math.log(_MOST)))
        # on the scale of the normal law, on which both tails count
        return np.asarray(
            [special.ndtri(special.betainc(a, b, low)) + _Z, special.ndtri(special.betainc(a, b, high)) - _Z]
        )

    found = optimize.root(off, start, method="hybr")
    a, b = (float(each) for each in np.exp(found.x))
    if not found.success or np.max(np.abs(off(found.x))) > 1e-6 or not _LEAST < min(a, b) <= max(a, b) < _MOST:
        remedy = "give ends that are less far apart, or less near to each other"
        raise InvalidArgument("prior", (low, high), "are not the quantiles of a beta law", remedy)
    return a, b
