"""What every mechanism is: a specification of noise, and the law that it becomes for a statistic of n records.

A *mechanism* is a promise (a guarantee, or a scale that somebody else used). Given a statistic and the number of
records, `calibrate` turns it into a *law*: the conditional distribution of the released value given the records. A
law never sees the records themselves, only their *summary*, which is all that the released value depends on:

* `Mean`: the mean u, shape (...), or (..., d) for a vector; the value has the same shape;
* order statistics: the sorted values of ranks m−K, …, m+K, shape (..., 2K+1), where ranks below 1 hold the low end
  of the range and ranks above n the high end; the value has shape (...);
* `Each`: s(x₁), …, s(xₙ), shape (..., n); so has the value.

* `Sum`, `Count`: the sum, laid out as a mean is.

Neighbours are data sets of the same, public, size n that differ in one record. Where n is private (None), which only
sums allow, they differ by one record that is added or removed.
"""

from __future__ import annotations

import dataclasses
import math
import operator
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NoReturn

import equinox as eqx
import jax
from jaxtyping import Array, Float

from confide._final import refuse_claims
from confide.errors import IncompatibleError, InvalidArgument, PrivacyError
from confide.mechanism.noise import Noise
from confide.privacy import Privacy, Unlimited
from confide.privacy.group import two_records
from confide.statistic import Statistic


class Law(eqx.Module):
    """The calibrated law of a released value given the records' summary.

    Numbers are leaves of the pytree, so that a compiled function that takes a law as an argument serves every
    scale; the K of the window is static. All methods can be traced, batched and
    compiled, and compute in double precision where JAX does.

    >>> import confide as cf
    >>> law = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=100).law
    >>> law.window, law.description
    (0, 'Laplace noise of scale 0.01')
    """

    #: whether the statistic itself is published
    noiseless: ClassVar[bool] = False
    #: whether the value is a point of the range, drawn with a density that is constant between ranks
    selects: ClassVar[bool] = False
    #: whether noise is added whose scale is the smooth sensitivity of a window of ranks
    smooths: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        refuse_claims(cls, ("added", "answers", "noiseless", "selects", "smooths"))

    @property
    def added(self) -> Noise | None:
        """The noise, where adding it is all that is done (to a lattice after rounding to it); None for other laws."""
        return None

    @property
    def answers(self) -> tuple[float, ...] | None:
        """The levels among which each record answers, where it does; None for other laws."""
        return None

    @property
    @abstractmethod
    def window(self) -> int:
        """How many ranks on either side of an order statistic the value depends on; 0 for other statistics."""

    @property
    def description(self) -> str:
        """What is done to the statistic, as a phrase that follows "with"."""
        return f"the law {self}"

    def margin(self, probability: float = 0.9) -> float | None:
        """How far a released number lies from the statistic at most, with this probability; None if that is not known.

        It is not known before the records are, where the noise depends on them.

        >>> import confide as cf
        >>> law = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=100).law
        >>> round(law.margin(0.9), 4)  # 0.01 · log 10
        0.023
        """
        del probability
        return None

    def least_margin(self, statistic: Statistic, n: int, probability: float = 0.9) -> float | None:
        """A margin that no records fall short of whose statistic is in the middle of its range; None if none is known.

        It is the margin itself, unless the noise depends on the records.

        >>> import confide as cf
        >>> maximum = cf.Maximum("x", bounds=(0, 60))
        >>> law = cf.Channel(maximum, cf.SmoothCauchy(cf.PureDP(1.0)), n=1000).law
        >>> law.margin(), round(law.least_margin(maximum, 1000))
        (None, 379)
        """
        del statistic, n
        return self.margin(probability)

    @abstractmethod
    def sample(self, key: jax.Array, summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """A released value for each summary. For simulation: a real release draws its noise in exact arithmetic."""

    @abstractmethod
    def log_prob(self, value: Float[Array, "..."], summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """The log density (log mass on a lattice) of one released value; of each record's value for `Each`."""

    def cdf(self, value: Float[Array, "..."], summary: Float[Array, "..."]) -> Float[Array, "..."]:
        """P(Y ≤ value) given the summary, where the law knows it.

        >>> import confide as cf
        >>> law = cf.Channel(cf.Maximum("x", bounds=(0, 1)), cf.SmoothCauchy(cf.PureDP(1.0)), n=9).law
        >>> hasattr(law, "cdf")
        True
        """
        del value, summary
        raise IncompatibleError(f"the law {type(self).__name__} has no distribution function; give it a method `cdf`")


class Mechanism(ABC):
    """How noise is added. Subclass it, as a frozen dataclass, to add a mechanism of your own.

    Here is logistic noise, which is ε-differentially private with scale Δ/ε because the derivative of its log
    density never exceeds 1/scale:

    >>> import jax
    >>> from dataclasses import dataclass
    >>> from confide.privacy import PureDP
    >>> from confide.statistic import Mean
    >>> class LogisticLaw(Law):
    ...     scale: float
    ...     window = 0
    ...     def sample(self, key, summary):
    ...         return summary + self.scale * jax.random.logistic(key, summary.shape)
    ...     def log_prob(self, value, summary):
    ...         return jax.scipy.stats.logistic.logpdf(value, summary, self.scale)
    >>> @dataclass(frozen=True)
    ... class Logistic(Mechanism):
    ...     privacy: PureDP
    ...     def calibrate(self, statistic, n):
    ...         return LogisticLaw(statistic.sensitivity(n) / self.privacy.epsilon)
    ...     def guarantee(self, statistic, n):
    ...         return self.privacy
    >>> Logistic(PureDP(2.0)).calibrate(Mean("x", bounds=(0, 1)), 100)
    LogisticLaw(scale=0.005)
    """

    #: the guarantee that the mechanism is calibrated to; None when its scale is given instead
    privacy: Privacy | None

    @abstractmethod
    def calibrate(self, statistic: Statistic, n: int | None) -> Law:
        """The law of the released value for this statistic of n records."""

    @abstractmethod
    def guarantee(self, statistic: Statistic, n: int | None) -> Privacy:
        """What a release of this statistic of n records promises under replacement of one record.

        Where n is private (None): when one record is added or removed.
        """

    def replacing(self, statistic: Statistic) -> Privacy:
        """What a release from a private number of records promises where one record is replaced by another.

        That is one removal and one addition, so that group privacy holds: 2ε, 4ρ, 2μ, (2ε, (1 + e^ε)δ).

        >>> import confide as cf
        >>> cf.Laplace(cf.PureDP(1.0)).replacing(cf.Sum("x", bounds=(0, 10)))
        PureDP(epsilon=1.0)
        >>> cf.Laplace(cf.PureDP(1.0)).replacing(cf.Sum("x - 5", bounds=(0, 10)))
        PureDP(epsilon=2.0)
        """
        return two_records(self.guarantee(statistic, None))


class Calibrated(Mechanism):
    """A mechanism that is always made from a guarantee, and keeps it wherever it can be calibrated."""

    privacy: Privacy

    def guarantee(self, statistic: Statistic, n: int | None) -> Privacy:
        """The promised guarantee."""
        self.calibrate(statistic, n)
        return self.privacy


def options_repr(mechanism: Any) -> str:
    """A mechanism as it is written: its guarantee, then only the options that were given."""
    texts = [f"{f.name}={getattr(mechanism, f.name)!r}" for f in dataclasses.fields(mechanism)]
    given = [text for text in texts if not text.endswith("=None")]
    return f"{type(mechanism).__name__}({', '.join(text.removeprefix('privacy=') for text in given)})"


def set_positive(mechanism: Any, *arguments: str) -> None:
    """Read each named option of a frozen mechanism as a float: None, or finite and above 0."""
    for argument in arguments:
        value = getattr(mechanism, argument)
        if value is None:
            continue
        remedy = "give a finite number above 0"
        try:
            number = math.nan if isinstance(value, bool | str) else float(value)
        except (TypeError, ValueError) as error:
            raise InvalidArgument(argument, value, "is not a number", remedy) from error
        if not 0 < number < math.inf:
            raise InvalidArgument(argument, value, "is not finite and positive", remedy)
        object.__setattr__(mechanism, argument, number)


def set_cap(mechanism: Any) -> None:
    """Read the option `cap` of a frozen mechanism: None, or a whole number of ranks from 1."""
    if mechanism.cap is None:
        return
    remedy = "give the number of ranks to look at on either side, a whole number from 1, or leave it out"
    try:
        cap = 0 if isinstance(mechanism.cap, bool) else operator.index(mechanism.cap)
    except TypeError as error:
        raise InvalidArgument("cap", mechanism.cap, "is not a whole number", remedy) from error
    if cap < 1:
        raise InvalidArgument("cap", mechanism.cap, "is not a whole number from 1", remedy)
    object.__setattr__(mechanism, "cap", cap)


#: ranks on either side of an order statistic that are still looked at: a window is an array, and is sorted and summed
MOST_RANKS = 2**20


def window_cap(mechanism: Any, rate: float, n: int) -> int:
    """K = min(n, cap), by default ⌈log(100n)/rate⌉: what lies further away is damped to under 1/(100n) of the range.

    A window that nobody could hold is refused before it is made.
    """
    if mechanism.cap is not None:
        cap = min(mechanism.cap, n)
    else:
        cap = math.ceil(math.log(100 * n) / rate) if math.log(100 * n) < rate * n else n
    if cap > MOST_RANKS:
        problem = f"would look at {cap:,} ranks on either side of the statistic, more than {MOST_RANKS:,}"
        remedy = "give a smaller cap, such as cap=1000 (the guarantee stays), or a larger ε"
        raise IncompatibleError(f"{mechanism!r} {problem}; {remedy}")
    return cap


def accept_privacy(mechanism: str, privacy: object, kinds: tuple[type[Privacy], ...], remedy: str) -> None:
    """Refuse what is no guarantee, no privacy at all, and guarantees that the mechanism cannot give."""
    if not isinstance(privacy, Privacy):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidArgument("privacy", privacy, "is not a guarantee", f"give a {names}")
    if isinstance(privacy, Unlimited):
        raise PrivacyError("privacy", privacy, f"asks {mechanism} for no noise at all", "use Noiseless()")
    if not isinstance(privacy, kinds):
        raise IncompatibleError(f"{mechanism} cannot give {privacy!r}; {remedy}")


def misfit(mechanism: Mechanism, statistic: Statistic, problem: str, remedy: str) -> NoReturn:
    """Refuse a mechanism and a statistic that do not fit."""
    raise IncompatibleError(f"{mechanism!r} does not fit {statistic!r}: {problem}; {remedy}")


def order_range(mechanism: Mechanism, statistic: Statistic) -> tuple[Statistic, float, float]:
    """An order statistic and its range, refused where it is something else or constant."""
    if not statistic.ranked:
        remedy = "use Laplace or Gaussian, or release a Median, Maximum, Minimum or Quantile"
        misfit(mechanism, statistic, "it looks at the ranks next to an order statistic", remedy)
    low, high = statistic.range
    if not low < high:
        misfit(mechanism, statistic, f"the statistic is always {low:g}", "there is nothing to release")
    return statistic, low, high


def positive_sensitivity(mechanism: Mechanism, statistic: Statistic, n: int | None, norm: int) -> float:
    """The statistic's sensitivity, refused where it is 0 (nothing is released) or infinite (nothing protects it)."""
    sensitivity = float(statistic.sensitivity(n, norm=norm))
    if sensitivity == 0:
        misfit(mechanism, statistic, "the statistic is constant", "there is nothing to release")
    if not math.isfinite(sensitivity):
        misfit(mechanism, statistic, "one record can move it without limit", "give bounds where s is bounded")
    return sensitivity
