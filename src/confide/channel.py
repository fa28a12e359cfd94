"""A channel: all that is public about a release before it happens."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from confide import registry
from confide._precision import float64
from confide._random import as_key
from confide.errors import IncompatibleError, InvalidArgument
from confide.evenly import expected, margin_if_even
from confide.mechanism import Law, Mechanism
from confide.privacy import Privacy, Unlimited
from confide.privacy.relation import ADD_REMOVE, NEIGHBOURS, REPLACE
from confide.statistic import Statistic
from confide.statistic.drowned import drowned, drowned_by_records
from confide.statistic.one_column import about_x
from confide.statistic.persons import per_row
from confide.statistic.size import check_count, check_size

#: between which data sets a guarantee holds, in words
_WHEN = {
    REPLACE: "when any one record is replaced by another and n is public",
    ADD_REMOVE: "when any one record is added or removed; n is private",
}

#: what has to be said of tables, in which somebody may have several rows
_ROW = "\nProtected is ONE ROW, not a person: whoever has several rows in the table is protected less, by as many."
_PERSON = "\nProtected is ONE PERSON by {0.column}, with all rows: at most {0.at_most} rows of a person are used."


@dataclass(frozen=True, repr=False)
class Channel:
    """A statistic of n records and the mechanism that publishes it.

    Neighbouring data sets differ in one record, replaced by another, and n is public. Without n, which only `Sum` and
    `Count` allow, n is private, and neighbours differ in one record that is added or removed.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
    >>> channel.law.noise.scale
    0.1
    >>> print(channel)
    Publish the mean of abs(x) with x clipped to [-10, 10] over 100 records, with Laplace noise of scale 0.1.
    The published number lies within ± 0.23 of that statistic of the clipped records (90%).
    Guarantee: 1-differential privacy (pure), when any one record is replaced by another and n is public.
    """

    statistic: Statistic
    mechanism: Mechanism
    #: how many records there are; None where that is private
    n: Any = None
    #: the calibrated law of the published value given the records' summary
    law: Law = field(init=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.statistic, Statistic):
            raise InvalidArgument(
                "statistic",
                self.statistic,
                "is not a statistic",
                f"use one of {', '.join(registry.STATISTICS.values())}",
            )
        if not isinstance(self.mechanism, Mechanism):
            raise InvalidArgument(
                "mechanism", self.mechanism, "is not a mechanism", "use for example Laplace(PureDP(1.0))"
            )
        object.__setattr__(self, "n", check_size(self.statistic, self.n))
        if self.n is not None and self.statistic.persons is not None:
            remedy = "leave n out, which makes the number of records private"
            raise InvalidArgument("n", self.n, "is public, but how many rows of each person are used is not", remedy)
        object.__setattr__(self, "law", self.mechanism.calibrate(self.statistic, self.n))

    @property
    def guarantee(self) -> Privacy:
        """What the release promises to each record, between data sets that are `neighbours`."""
        return self.mechanism.guarantee(self.statistic, self.n)

    @property
    def neighbours(self) -> str:
        """Which data sets are neighbours: "replace-one" where n is public, "add-remove" where it is private.

        >>> import confide as cf
        >>> cf.Channel(cf.Sum("x", bounds=(0, 10)), cf.Laplace(cf.PureDP(1.0))).neighbours
        'add-remove'
        """
        return ADD_REMOVE if self.n is None else REPLACE

    @property
    def protects(self) -> str | None:
        """Whom the guarantee is about, where that must be said: "one row" of a table, or "one person" with all rows.

        >>> import confide as cf
        >>> cf.Channel(cf.Mean("age", bounds={"age": (18, 90)}), cf.Laplace(cf.PureDP(1.0)), n=100).protects
        'one row'
        """
        if self.statistic.persons is not None:
            return "one person"
        return None if self.statistic.columns in (("x",), ()) else "one row"

    def guarantee_between(self, neighbours: str) -> Privacy | None:
        """The guarantee under the other relation; None where there is none, as for a public n that one record changes.

        Replacing a record is removing one and adding another. What a release with a private n promises then follows
        from how far a replaced record moves the sum, or from group privacy.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Sum("x - 5", bounds=(0, 10)), cf.Laplace(cf.PureDP(1.0)))
        >>> channel.guarantee_between("replace-one")
        PureDP(epsilon=2.0)
        """
        if neighbours not in NEIGHBOURS:
            raise InvalidArgument("neighbours", neighbours, "is no relation", f"use {' or '.join(NEIGHBOURS)}")
        if neighbours == self.neighbours:
            return self.guarantee
        return self.mechanism.replacing(self.statistic) if neighbours == REPLACE else None

    def assuming(self, n: int) -> Channel:
        """The channel with a number of records that is assumed, and the same noise: for simulation and design.

        >>> import confide as cf
        >>> cf.Channel(cf.Count(), cf.Laplace(cf.PureDP(0.5))).assuming(2000)
        Channel(Count(), Laplace(scale=2.0), n=2000)
        """
        check_count(n)
        noise: Any = self.law.added
        if self.n is not None or self.law.noiseless:
            return Channel(self.statistic, self.mechanism, n)
        if noise is None:
            raise IncompatibleError(
                f"{self.mechanism!r} does not add noise, so that nothing can be simulated for a number of records that "
                "is only assumed; use Laplace or Gaussian"
            )
        alike: Any = type(self.mechanism)
        return Channel(per_row(self.statistic), alike(scale=float(noise.scale), step=self.mechanism.step), n)  # type: ignore[attr-defined]

    def of_numbers(self) -> Channel:
        """The same for a population of numbers: the one column of a table that it reads is then called x.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("age > 65", bounds={"age": (0, 110)}), cf.Laplace(cf.PureDP(1.0)), n=200)
        >>> channel.of_numbers()
        Channel(Mean('x > 65', bounds=(0.0, 110.0)), Laplace(PureDP(epsilon=1.0)), n=200)
        """
        same = about_x(self.statistic)
        if same is None:
            return self
        made = replace(self, statistic=same)
        object.__setattr__(made, "law", self.law)  # the noise that there was, however the range of x is certified
        return made

    @property
    def value_shape(self) -> tuple[int, ...]:
        """The shape of a published value."""
        if self.statistic.per_record:
            return (self.n,)
        return () if self.statistic.dimension == 1 else (self.statistic.dimension,)

    def margin(self, probability: float = 0.9) -> float | None:
        """How far a published number lies from the statistic of the clipped records at most, with this probability.

        It is known before anything is spent. None where the noise depends on the records, or is none that is added.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100)
        >>> round(channel.margin(0.9), 4)
        0.2303
        """
        if not 0 < probability < 1:
            raise InvalidArgument("probability", probability, "is not between 0 and 1", "use for example 0.9")
        return self.law.margin(probability)

    @property
    def warning(self) -> str | None:
        """Why the published number will say almost nothing, where that is known beforehand; else None.

        >>> import confide as cf
        >>> print(cf.Channel(cf.Median("x", bounds=(0, 60)), cf.Gaussian(scale=300.0), n=1000).warning)
        the noise (± 493, 90%) is wider than all that the median can be, which is from 0 to 60: the published number
        will say almost nothing; narrow the bounds, use more records, a larger privacy parameter or another mechanism
        """
        if self.law.window and self.statistic.ranked and self.n != 1:
            return drowned_by_records(
                self.statistic, self.law.least_margin(self.statistic, self.n), margin_if_even(self)
            )
        return self.certain_warning

    @property
    def certain_warning(self) -> str | None:
        """The same as far as it holds wherever the records lie: a release says it, which compiles nothing.

        >>> import confide as cf
        >>> cf.Channel(cf.Median("x", bounds=(0, 60)), cf.Gaussian(scale=3.0), n=1000).certain_warning is None
        True
        """
        statistic = self.statistic
        # of a sum nothing is said: the more records, the larger it is beside its noise
        if statistic.totals or statistic.tallies or statistic.per_record or self.n == 1:
            return None
        noise = self.law.least_margin(statistic, self.n)
        return None if noise is None else drowned(statistic, noise)

    @float64
    def summary(self, records: Any) -> Any:
        """All that the mechanism sees of records of shape (…, n), or of columns by name, each of that shape.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
        >>> print(channel.summary([0.0, 0.5, 1.0, 7.0]))
        0.625
        """
        shape = np.shape(self.statistic.first_column(records))
        if shape[-1:] != (self.n,) and not (self.n is None and shape):
            raise InvalidArgument(
                "records",
                shape,
                f"does not end in the channel's n = {self.n}",
                "give n records per data set",
            )
        return self.statistic.summary(records, self.law.window)

    @float64
    def log_prob(self, value: Any, records: Any) -> Any:
        """The log density of a published value given the records, p(y | x₁…xₙ); summed over the records for `Each`.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
        >>> print(channel.log_prob(0.625, [0.0, 0.5, 1.0, 7.0]).round(4))  # at the peak: log(1 / (2 · 0.25))
        0.6931
        """
        each = self.law.log_prob(value, self.summary(records))
        return each.sum(axis=-1) if self.statistic.per_record else each

    @float64
    def simulate(self, key: Any, records: Any) -> Any:
        """A value as it might be published from these records. For simulation only: a real release uses exact noise.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
        >>> channel.simulate(key=0, records=[0.0, 0.5, 1.0, 1.0]).dtype
        dtype('float64')
        """
        return self.law.sample(as_key(key), self.summary(records))

    def check_value(self, value: Any) -> Any:
        """The value as a float64 array whose last axes have the channel's shape.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
        >>> channel.check_value(1).dtype
        dtype('float64')
        """
        array = np.asarray(value)
        if array.dtype == object or not np.issubdtype(array.dtype, np.number) or np.iscomplexobj(array):
            raise InvalidArgument("value", value, "is not numeric", "give the published number")
        array = array.astype(np.float64)
        shape = self.value_shape
        if array.shape[array.ndim - len(shape) :] != shape:
            raise InvalidArgument(
                "value", array.shape, f"is a shape that does not end in {shape}", "give what the channel publishes"
            )
        if not np.all(np.isfinite(array)):
            raise InvalidArgument("value", value, "is not finite", "give the published number")
        return array

    def __str__(self) -> str:
        return self.described("Publish")

    def described(self, verb: str) -> str:
        """What is to be published, or was: in three lines or more.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=4)
        >>> print(channel.described("Published:").splitlines()[0])
        Published: the mean of x with x clipped to [0, 1] over 4 records, with Laplace noise of scale 0.25.
        """
        promise = "No guarantee: the value is published as it is."
        if not isinstance(self.guarantee, Unlimited):
            promise = f"Guarantee: {self.guarantee}, {_WHEN[self.neighbours]}.{self._protected()}"
        records = "a private number of records" if self.n is None else f"{self.n:,} record{'s' if self.n > 1 else ''}"
        return (
            f"{verb} {self.statistic}{'' if self.statistic.counts else f' over {records}'}, "
            f"with {self.law.description}.\n"
            f"{expected(self)}"
            f"{promise}"
        )

    def _protected(self) -> str:
        if self.statistic.persons is not None:
            return _PERSON.format(self.statistic.persons)
        return _ROW if self.protects else ""

    def __repr__(self) -> str:
        return f"Channel({self.statistic!r}, {self.mechanism!r}{'' if self.n is None else f', n={self.n}'})"
