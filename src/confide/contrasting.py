"""Two groups, a release each: how far apart their parameters are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from confide._digits import around, as_known
from confide._precision import float64
from confide.claim import holds_of
from confide.clipping import releases_of
from confide.errors import IncompatibleError, InvalidArgument
from confide.frequentist import Estimate, EstimateContrast
from confide.frequentist.apart import apart
from confide.inference.problem import recorded
from confide.posterior import Posterior

Floats = NDArray[np.float64]

#: points at which the distribution function of a contrast is kept
_POINTS = 2001
#: the share of each posterior that is left out at either end where a contrast is tabulated
_LEFT_OUT = 1e-9


@dataclass(frozen=True, repr=False, eq=False)
class Contrast:
    """What is known of the difference, or ratio, of a parameter in two groups: made by `contrast` of two posteriors.

    >>> import confide as cf, numpyro.distributions as dist
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=500)
    >>> prior, share = {"probability": dist.Beta(1.0, 1.0)}, cf.populations.bernoulli()
    >>> women, men = (cf.infer(share, cf.Release(channel, y), prior) for y in (0.31, 0.24))
    >>> found = cf.contrast(women, men)
    >>> print(found)
    difference of probability: 0.06972 ± 0.02836, 90% in (0.02304, 0.1163)
    >>> round(found.probability("difference > 0"), 3)
    0.993
    """

    #: the parameter, and "difference" or "ratio"
    name: str
    kind: str
    mean: float
    sd: float
    #: values, and the probability that the contrast is at most that
    values: Floats = field(repr=False)
    cdf: Floats = field(repr=False)

    def interval(self, prob: float = 0.9) -> tuple[float, float]:
        """The central interval of probability `prob`.

        >>> import numpy as np
        >>> line = np.linspace(0.0, 1.0, 101)
        >>> Contrast("mean", "difference", 0.5, 0.3, line, line).interval(0.9)[1]
        0.95
        """
        if not (isinstance(prob, int | float) and 0 < prob < 1):
            raise InvalidArgument("prob", prob, "is not a probability between 0 and 1", "use for example 0.9")
        low, high = np.interp([0.5 - prob / 2, 0.5 + prob / 2], self.cdf, self.values)
        return float(low), float(high)

    def probability(self, claim: str) -> float:
        """How probable a claim is about the difference, or the ratio: "difference > 0".

        >>> import numpy as np
        >>> line = np.linspace(0.0, 1.0, 101)
        >>> round(Contrast("mean", "ratio", 0.5, 0.3, line, line).probability("(ratio > 0.2) * (ratio < 0.5)"), 6)
        0.3
        """
        return holds_of(claim, self.kind, self.values, self.cdf)

    def __str__(self) -> str:
        value, first, last = (as_known(each, self.sd) for each in (self.mean, *self.interval(0.9)))
        return f"{self.kind} of {self.name}: {value} ± {around(self.sd, digits=4)}, 90% in ({first}, {last})"

    __repr__ = __str__


def contrast(first: Any, second: Any, *, of: str | None = None, kind: str = "difference") -> Any:
    """How far apart a parameter of two groups is: `first` minus `second`, or their `kind="ratio"`.

    Each group has its own records, release and parameters. Two posteriors of `infer` give the posterior of the contrast
    (each with its own prior, so that nothing is shared between the groups); two results of `estimate` give a confidence
    set: by the likelihood ratio, all else maximised out, where both were made by `method="ratio"`, and otherwise from
    the two sets, which then covers at least with the stated probability. `of` names the parameter of several.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=500)
    >>> share = cf.populations.bernoulli()
    >>> women, men = (cf.estimate(share, cf.Release(channel, y), method="ratio") for y in (0.31, 0.24))
    >>> print(cf.contrast(women, men))
    difference of probability = 0.07 (ratio, 95%): 0.01423 to 0.1256
    """
    if kind not in ("difference", "ratio"):
        raise InvalidArgument("kind", kind, "is no contrast", "use 'difference' or 'ratio'")
    _require_apart(first, second)
    if isinstance(first, Estimate) and isinstance(second, Estimate):
        found: EstimateContrast = apart(first, second, _shared(first.entries, second.entries, of), kind)
        return found
    if isinstance(first, Posterior) and isinstance(second, Posterior):
        return _between(first, second, _shared(first.draws, second.draws, of), kind)
    raise InvalidArgument("first", first, "and second are not of one kind", "give two posteriors, or two estimates")


def _require_apart(first: Any, second: Any) -> None:
    """Refuse two results about the same records, which are not independent."""
    calls = [call for each in (first, second) if (call := getattr(each, "call", None)) is not None]
    if len(calls) == 2:
        both = [release for call in calls for release in releases_of(call)]
        if len(both) == 2 and recorded(both):
            raise IncompatibleError(
                "both releases are about the same records, so that they are not independent and there are no two "
                "groups to compare; give a release of each group"
            )


def _shared(first: Any, second: Any, of: str | None) -> str:
    names = [name for name in first if name in second]
    if of is None and len(names) == 1:
        return names[0]
    if of not in names:
        told = ", ".join(names) or "nothing"
        raise InvalidArgument("of", of, f"is not a parameter of both, which share {told}", "name one of them")
    assert of is not None
    return of


@float64
def _between(first: Posterior, second: Posterior, name: str, kind: str) -> Contrast:
    one, two = _law(first, name), _law(second, name)
    if kind == "ratio":
        if two.values[0] <= 0:
            raise IncompatibleError(f"{name} of the second group may be 0 or less, so that a ratio says little")
        mean = one.mean * two.expected(lambda b: b**-1)
        sd = np.sqrt((one.sd**2 + one.mean**2) * two.expected(lambda b: b**-2) - mean**2)
        low, high = one.values[0] / two.values[-1], one.values[-1] / two.values[0]
        if one.values[0] < 0:
            low, high = one.values[0] / two.values[0], max(high, one.values[-1] / two.values[0])
    else:
        mean, sd = one.mean - two.mean, np.hypot(one.sd, two.sd)
        low, high = one.values[0] - two.values[-1], one.values[-1] - two.values[0]
    line = np.unique(np.concatenate([np.linspace(low, high, 64), np.clip(mean + sd * _spread(), low, high)]))
    # P(θ₁ − θ₂ ≤ t) = E F₁(t + θ₂), and likewise for a ratio of a positive θ₂
    reached = np.multiply if kind == "ratio" else np.add
    cdf = [two.expected(lambda b, t=float(t): one.below(reached(b, t))) for t in line]  # type: ignore[misc]
    return Contrast(name, kind, float(mean), float(sd), line, np.maximum.accumulate(np.asarray(cdf)))


def _spread() -> Floats:
    """Deviations from the mean, dense in the middle."""
    return np.linspace(-8.0, 8.0, _POINTS)


@dataclass(frozen=True, eq=False)
class _Law:
    """One parameter's posterior: values and its distribution function there."""

    mean: float
    sd: float
    values: Floats
    cdf: Floats

    def below(self, at: Floats) -> Floats:
        return np.interp(at, self.values, self.cdf, left=0.0, right=1.0)

    def expected(self, function: Callable[[Floats], Floats]) -> float:
        """By the masses of cells at their middles."""
        middle, mass = 0.5 * (self.values[1:] + self.values[:-1]), np.diff(self.cdf)
        return float(mass @ function(middle) / mass.sum())


def _law(posterior: Posterior, name: str) -> _Law:
    """By the integral where there is one of this parameter alone, else by the draws."""
    mean, sd = float(posterior.mean[name]), float(posterior.sd[name])
    exact = posterior.exact
    if exact is not None and exact.theta is not None and exact.cdf is not None and len(posterior.draws) == 1:
        theta, cdf = np.asarray(exact.theta), np.asarray(exact.cdf)
        kept = (cdf > _LEFT_OUT) & (cdf < 1.0 - _LEFT_OUT)
        return _Law(mean, sd, theta[kept], cdf[kept])
    draws = np.sort(np.ravel(posterior.draws[name]))
    if posterior.draws[name].ndim > 2:
        raise IncompatibleError(f"{name} is a vector; contrast posteriors of scalar parameters")
    return _Law(mean, sd, draws, (np.arange(draws.size) + 0.5) / draws.size)
