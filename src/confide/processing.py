"""What was done to a noisy number before it was published: clamped, rounded, or left out where it was small.

Then the published number does not say what the noisy one Y was, but between which numbers it lay. That is a likelihood
too: P(low ≤ Y ≤ high) in the place of a density.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from confide.errors import InvalidArgument

#: how far from a multiple a rounded number may be, in units of what it was rounded to
_OFF = 1e-9


@dataclass(frozen=True)
class Processed(ABC):
    """What was done to each noisy number."""

    @abstractmethod
    def lies(self, number: float) -> tuple[float, float] | None:
        """Between which numbers Y lay, [low, high) with high included where it is the end; None: it is the number."""

    @abstractmethod
    def read(self, value: Any) -> Any:
        """A published value, checked, in which what was left out is a number that `lies` knows."""

    def shown(self, value: Any) -> Any:
        """The value as it was published: NaN where a number was left out.

        >>> import confide as cf
        >>> cf.Rounded(10).shown(30.0), cf.Suppressed(below=5).shown([7.0, 4.0]).tolist()
        (30.0, [7.0, nan])
        """
        return value


def _finite(argument: str, value: Any) -> float:
    try:
        number = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidArgument(argument, value, "is not a finite number", "give a number, such as 0")
    return number


@dataclass(frozen=True)
class Clamped(Processed):
    """Numbers below `low` were published as `low`, and those above `high` as `high`.

    >>> Clamped(0).lies(0.0), Clamped(0).lies(3.0), Clamped(0, 10).lies(10.0)
    ((-inf, 0.0), None, (10.0, inf))
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        ends = [end for end in (self.low, self.high) if end is not None]
        if not ends:
            raise InvalidArgument("low", None, "and high are both left out", "give one of them, as in Clamped(0)")
        for name in ("low", "high"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _finite(name, getattr(self, name)))
        if len(ends) == 2 and not ends[0] < ends[1]:
            raise InvalidArgument("high", self.high, f"is not above low = {self.low:g}", "give the lower end first")

    def lies(self, number: float) -> tuple[float, float] | None:
        """Beyond an end, or exactly there."""
        if number == self.low:
            return -math.inf, number
        return (number, math.inf) if number == self.high else None

    def read(self, value: Any) -> Any:
        """Nothing lies beyond the ends."""
        array = np.asarray(value, dtype=np.float64)
        if (self.low is not None and np.any(array < self.low)) or (self.high is not None and np.any(array > self.high)):
            problem = f"lies beyond what {self} leaves"
            raise InvalidArgument("value", value, problem, "give the numbers as they were published")
        return array


@dataclass(frozen=True)
class Rounded(Processed):
    """Numbers were rounded to the nearest multiple of `to`, a half upward.

    >>> Rounded(10).lies(30.0)
    (25.0, 35.0)
    """

    to: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "to", _finite("to", self.to))
        if self.to <= 0:
            raise InvalidArgument("to", self.to, "is not above 0", "give what was rounded to, as in Rounded(10)")

    def lies(self, number: float) -> tuple[float, float] | None:
        """Within half of it."""
        return number - 0.5 * self.to, number + 0.5 * self.to

    def read(self, value: Any) -> Any:
        """Multiples, and nothing else."""
        array = np.asarray(value, dtype=np.float64)
        if np.any(np.abs(array / self.to - np.round(array / self.to)) > _OFF):
            remedy = "give the numbers as they were published, or what they were rounded to"
            raise InvalidArgument("value", value, f"is not a multiple of {self.to:g}", remedy)
        return array


@dataclass(frozen=True)
class Suppressed(Processed):
    """Numbers below `below` were left out: they are given as NaN, or as None.

    >>> Suppressed(below=5).read([7.0, None]).tolist(), Suppressed(below=5).lies(4.0)
    ([7.0, 4.0], (-inf, 5.0))
    """

    below: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "below", _finite("below", self.below))

    @property
    def _left_out(self) -> float:
        return self.below - max(1.0, 1e-6 * abs(self.below))

    def lies(self, number: float) -> tuple[float, float] | None:
        """Below, or exactly there."""
        return (-math.inf, self.below) if number < self.below else None

    def read(self, value: Any) -> Any:
        """What was left out is a number below."""
        array = np.asarray([math.nan if each is None else each for each in np.ravel(np.asarray(value, dtype=object))])
        array = array.astype(np.float64).reshape(np.shape(value))
        if np.any(array < self.below):
            problem = f"is below {self.below:g}, where numbers are left out"
            raise InvalidArgument("value", value, problem, "give None for what was left out")
        return np.where(np.isnan(array), self._left_out, array)

    def shown(self, value: Any) -> Any:
        """NaN for what was left out."""
        array = np.asarray(value, dtype=np.float64)
        found = np.where(array < self.below, np.nan, array)
        return float(found) if found.ndim == 0 else found


#: by the names that files have
PROCESSINGS: dict[str, type[Processed]] = {"Clamped": Clamped, "Rounded": Rounded, "Suppressed": Suppressed}
