"""What `estimate` returns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from confide._call import Remembered
from confide._digits import as_known
from confide.errors import InvalidArgument

Interval = tuple[float, float]
T = TypeVar("T")


class OnDemand(Mapping[str, T]):
    """What is found for a name when it is asked for, once: who wants one set, or a p-value, waits for no other set.

    >>> OnDemand(["a", "b"], lambda name: name.upper())
    {'a': 'A', 'b': 'B'}
    """

    def __init__(self, names: Sequence[str], find: Callable[[str], T]) -> None:
        self._names, self._find = tuple(names), find
        self._found: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._names:
            raise KeyError(name)
        if name not in self._found:
            self._found[name] = self._find(name)
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return repr(dict(self))


@dataclass(frozen=True, repr=False, eq=False)
class Estimate:
    """The maximum of the likelihood, a confidence set of each parameter, and p-values: made by `estimate`.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
    >>> found = cf.estimate(cf.populations.bernoulli(), cf.Release(channel, 0.31))
    >>> print(found)
    probability = 0.31 (exact, 95%): 0.2818 to 0.3393
    >>> round(found.p_value(0.28), 4)
    0.037
    """

    #: by parameter: a number, or an array where it is a vector or a matrix
    theta: dict[str, Any]
    #: the numbers that sets and p-values are about: scalars by their names, entries of vectors as in "coefficients[0]"
    entries: dict[str, float]
    #: of each of them, the set as a list of intervals; ends that are edges of the space are not part of it
    set: Mapping[str, list[Interval]]
    level: float
    method: str
    #: how the likelihood was computed
    route: str
    #: what should be known about how far to trust it
    notes: tuple[str, ...] = ()
    #: the p-value of a hypothesis about one parameter
    _test: Callable[[str, float], float] = field(default=lambda name, value: math.nan)
    #: the ratio of likelihoods, 2 log, at values of one parameter
    _deviance: Callable[[str, Any], Any] | None = None
    call: Remembered | None = None

    @property
    def interval(self) -> Mapping[str, Interval]:
        """The hull of each set; not numbers where it is empty."""
        return OnDemand(tuple(self.entries), lambda name: _hull(self.set[name]))

    def p_value(self, theta0: Any) -> float:
        """The two-sided p-value of the hypothesis that the parameter is `theta0`; one of several by name, {name: …}.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> found = cf.estimate(cf.populations.bernoulli(), cf.Release(channel, 0.31), method="ratio")
        >>> found.p_value(0.31) > 0.99, found.p_value(0.25) < 0.001
        (True, True)
        """
        given = theta0 if isinstance(theta0, dict) else dict.fromkeys(self.entries, theta0)
        if len(given) != 1 or not set(given) <= set(self.entries):
            names = ", ".join(self.entries)
            raise InvalidArgument("theta0", theta0, f"is not one hypothesis about {names}", "give {name: value}")
        ((name, value),) = given.items()
        return self._test(name, float(value))

    def deviance(self, name: str, values: Any) -> Any:
        """2 log of the largest likelihood over the largest with one parameter held at each of the values.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=1000)
        >>> found = cf.estimate(cf.populations.bernoulli(), cf.Release(channel, 0.31), method="ratio")
        >>> found.deviance("probability", [0.28, 0.31]).round(3)
        array([4.335, 0.   ])
        """
        if self._deviance is None or name not in self.entries:
            raise InvalidArgument("name", name, "has no likelihood ratio here", "use estimate(method='ratio')")
        return self._deviance(name, values)

    def __str__(self) -> str:
        lines = []
        for name, value in self.entries.items():
            ends = [end for piece in self.set[name] for end in piece] or [value]
            width = max(ends) - min(ends)
            pieces = [f"{as_known(low, width)} to {as_known(high, width)}" for low, high in self.set[name]]
            parts = " or ".join(pieces) or "no value at all"
            lines.append(f"{name} = {as_known(value, width)} ({self.method}, {100 * self.level:g}%): {parts}")
        for name, value in self.theta.items():  # what is estimated beside them, without sets
            if not any(label.split("[")[0] == name for label in self.entries):
                lines.append(f"{name} = {np.array2string(value, precision=4, separator=', ')}".replace("\n", ""))
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__


def _hull(parts: list[Interval]) -> Interval:
    return (parts[0][0], parts[-1][1]) if parts else (math.nan, math.nan)
