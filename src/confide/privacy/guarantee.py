"""The guarantees: pure, approximate, zero-concentrated and Gaussian differential privacy, and none.

Each bounds how well an observer of the output can tell two neighbouring data sets apart. They form an order::

    PureDP ──► GDP ──► ZCDP ──► ApproxDP ──► Unlimited        (──► "implies, with a suitable parameter")

and a guarantee can be asked what it implies: at an ε (`delta_at`), at a δ (`epsilon_at`), in another unit
(`convert`), or whether it is at least as strong as another (`implies`).
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar, cast

from confide.errors import PrivacyError
from confide.privacy import profile
from confide.privacy.conversion import gaussian_to_concentrated, pure_to_concentrated, pure_to_gaussian
from confide.privacy.rounding import read_delta, read_number, read_positive

Kind = TypeVar("Kind", bound="Privacy")

# How far, relatively, a parameter may exceed a bound and count as equal to it: room for rounding errors only.
TOLERANCE = 1e-12


class Privacy(ABC):
    """A guarantee of privacy; one of `PureDP`, `ApproxDP`, `ZCDP`, `GDP` and `Unlimited`.

    >>> [kind.__name__ for kind in Privacy.__subclasses__()]
    ['PureDP', 'ApproxDP', 'ZCDP', 'GDP', 'Unlimited']
    """

    def delta_at(self, epsilon: float) -> float:
        """The smallest δ such that this guarantee implies (ε, δ)-differential privacy; 1 says that it implies nothing.

        Exact but for `ZCDP` (see `profile`), and rounded outward: never below the truth, nor above it by 1e-12 of it.

        >>> PureDP(1.0).delta_at(1.0), round(GDP(1.0).delta_at(1.0), 6)
        (0.0, 0.126937)
        """
        problem, remedy = "must be a finite number, 0 or more", "give the ε at which to read the privacy profile"
        return self._delta(read_number("epsilon", epsilon, lambda number: 0 <= number < math.inf, problem, remedy))

    def epsilon_at(self, delta: float) -> float:
        """The smallest ε such that this guarantee implies (ε, δ)-differential privacy; inf where there is none.

        >>> round(GDP(1.0).epsilon_at(1e-6), 4), GDP(1.0).epsilon_at(0.0)
        (4.8866, inf)
        """
        problem, remedy = "must be a number from 0 to 1", "give the δ at which to read the privacy profile"
        return self._epsilon(read_number("delta", delta, lambda number: 0 <= number <= 1, problem, remedy))

    def convert(self, kind: type[Kind], *, delta: float | None = None) -> Kind:
        """The strongest guarantee of another kind that this one implies.

        `ApproxDP` needs the `delta` at which to state it (and gets the smallest positive ε where that δ asks for
        none).

        >>> GDP(1.0).convert(ZCDP)
        ZCDP(rho=0.5)
        >>> print(GDP(1.0).convert(ApproxDP, delta=1e-6))
        (4.88655, 1e-06)-differential privacy
        """
        if not isinstance(kind, type) or kind not in (PureDP, ApproxDP, ZCDP, GDP, Unlimited):
            raise PrivacyError("kind", kind, "is no guarantee", "give PureDP, ApproxDP, ZCDP, GDP or Unlimited")
        if kind is ApproxDP:
            return cast(Kind, _approximate(self, delta))
        if delta is not None:
            raise PrivacyError("delta", delta, f"has no meaning for {kind.__name__}", "leave it out")
        if kind is Unlimited:
            return kind()
        parameter = self._parameter(kind)
        if parameter is None:
            raise _no_conversion(self, kind)
        return cast(Kind, cast(Any, kind)(parameter))

    def implies(self, other: Privacy) -> bool:
        """Whether all that keeps this guarantee keeps the other, up to rounding (1e-12 of a parameter).

        True is proved; False may also mean that no conversion is known, as from `ZCDP` to `GDP`.

        >>> PureDP(1.0).implies(ZCDP(0.5)), ZCDP(0.5).implies(PureDP(1.0))
        (True, False)
        """
        if not isinstance(other, Privacy):
            raise PrivacyError("other", other, "is no guarantee", "give a guarantee, such as PureDP(1.0)")
        if isinstance(other, Unlimited):
            return True
        if isinstance(other, ApproxDP):
            delta = self._delta(min(other.epsilon * (1 + TOLERANCE), sys.float_info.max))
            return delta < 1 and delta <= other.delta * (1 + TOLERANCE)
        implied, wanted = self._parameter(type(other)), other._parameter(type(other))
        return implied is not None and wanted is not None and implied <= wanted * (1 + TOLERANCE)

    #: δ(ε) and its inverse, as functions of the parameters and a checked argument
    _profile: ClassVar[tuple[Callable[..., float], Callable[..., float]]]

    def _delta(self, epsilon: float) -> float:
        return self._profile[0](*vars(self).values(), epsilon)

    def _epsilon(self, delta: float) -> float:
        return self._profile[1](*vars(self).values(), delta)

    @abstractmethod
    def _parameter(self, kind: type[Privacy]) -> float | None:
        """The smallest parameter of a one-parameter kind that is implied; None where there is none."""


@dataclass(frozen=True)
class PureDP(Privacy):
    """ε-differential privacy: no output is more than e^ε times as likely under one data set as under a neighbour.

    >>> print(PureDP(1))
    1-differential privacy (pure)
    """

    epsilon: float
    _profile = profile.pure_delta, profile.pure_epsilon

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_positive("epsilon", self.epsilon))

    def __str__(self) -> str:
        return f"{self.epsilon:g}-differential privacy (pure)"

    def _parameter(self, kind: type[Privacy]) -> float | None:
        if kind is PureDP:
            return self.epsilon
        if kind is GDP:
            return pure_to_gaussian(self.epsilon)
        return pure_to_concentrated(self.epsilon) if kind is ZCDP else None


@dataclass(frozen=True)
class ApproxDP(Privacy):
    """(ε, δ)-differential privacy: as `PureDP`, up to an event of probability δ, about which nothing is promised.

    >>> print(ApproxDP(1, 1e-6))
    (1, 1e-06)-differential privacy
    """

    epsilon: float
    delta: float
    _profile = profile.approximate_delta, profile.approximate_epsilon

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", read_positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", read_delta(self.delta))

    def __str__(self) -> str:
        return f"({self.epsilon:g}, {self.delta:g})-differential privacy"

    def _parameter(self, kind: type[Privacy]) -> float | None:
        return None


@dataclass(frozen=True)
class ZCDP(Privacy):
    """ρ-zero-concentrated differential privacy: the Rényi divergence of every order α > 1 is at most αρ.

    >>> print(ZCDP(0.5))
    0.5-zCDP
    """

    rho: float
    _profile = profile.concentrated_delta, profile.concentrated_epsilon

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", read_positive("rho", self.rho))

    def __str__(self) -> str:
        return f"{self.rho:g}-zCDP"

    def _parameter(self, kind: type[Privacy]) -> float | None:
        return self.rho if kind is ZCDP else None


@dataclass(frozen=True)
class GDP(Privacy):
    """μ-Gaussian differential privacy: neighbours are as hard to tell apart as N(0, 1) and N(μ, 1).

    >>> print(GDP(1))
    1-Gaussian differential privacy
    """

    mu: float
    _profile = profile.gaussian_delta, profile.gaussian_epsilon

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", read_positive("mu", self.mu))

    def __str__(self) -> str:
        return f"{self.mu:g}-Gaussian differential privacy"

    def _parameter(self, kind: type[Privacy]) -> float | None:
        if kind is GDP:
            return self.mu
        return gaussian_to_concentrated(self.mu) if kind is ZCDP else None


@dataclass(frozen=True)
class Unlimited(Privacy):
    """No guarantee: anything may be learned.

    >>> print(Unlimited())
    no privacy
    """

    def __str__(self) -> str:
        return "no privacy"

    def _delta(self, epsilon: float) -> float:
        return 1.0

    def _epsilon(self, delta: float) -> float:
        return math.inf if delta < 1 else 0.0

    def _parameter(self, kind: type[Privacy]) -> float | None:
        return None


def _approximate(source: Privacy, delta: float | None) -> ApproxDP:
    """The guarantee as (ε, δ)-differential privacy at the given δ."""
    if delta is None:
        if isinstance(source, ApproxDP):
            return source
        problem = f"must be given to state {source} as ApproxDP"
        raise PrivacyError("delta", delta, problem, "give a probability far below one over the number of records")
    delta = read_delta(delta)
    epsilon = source.epsilon_at(delta)
    if math.isinf(epsilon):
        if isinstance(source, ApproxDP):
            problem, remedy = f"is below that of {source}", f"give a delta of at least {source.delta!r}"
            raise PrivacyError("delta", delta, problem, remedy)
        raise _no_conversion(source, ApproxDP)
    # (0, δ) implies (ε, δ) for every ε, and a guarantee has a positive ε.
    return ApproxDP(max(epsilon, sys.float_info.min), delta)


def _no_conversion(source: Privacy, kind: type[Privacy]) -> PrivacyError:
    """The error that says why a guarantee implies none of another kind."""
    if isinstance(source, Unlimited):
        reason, remedy = "it promises nothing", "release through a mechanism that adds noise"
    elif kind is ApproxDP:
        reason, remedy = "its ε is beyond all floats", "use a stronger guarantee"
    elif isinstance(source, ApproxDP):
        reason, remedy = "nothing is promised about an event of probability δ", "state both as ApproxDP"
    elif kind is PureDP:
        reason = "its privacy loss has no upper bound"
        remedy = "convert to ApproxDP with a delta, or use a pure mechanism such as Laplace"
    else:
        reason = "Rényi divergences give the Gaussian trade-off curve in no closed form"
        remedy = "state both as ZCDP, or both as ApproxDP with a delta"
    return PrivacyError("guarantee", source, f"cannot be converted to {kind.__name__}: {reason}", remedy)
