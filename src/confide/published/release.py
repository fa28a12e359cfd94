"""A release: a channel and the value that came out of it. All that an analyst gets, and all that inference may see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.channel import Channel
from confide.errors import InvalidArgument
from confide.processing import Processed
from confide.published.extras import needs
from confide.published.part import Grouped, Part, check_part
from confide.published.terms import check_name
from confide.published.value import Integers, derive, shown

if TYPE_CHECKING:
    from confide.published.records import Records


@dataclass(frozen=True)
class Entry:
    """The entry of a ledger that paid for a release: which ledger, which of the data set's entries, and its seal.

    A seal is a digest keyed with the ledger's secret: it tells nothing, and only that ledger can make it or confirm it.
    """

    ledger: str
    position: int
    seal: str


@dataclass(frozen=True, eq=False, repr=False, init=False)
class Release:
    """A channel and the value that was published through it.

    Made by `confide.release` from records, by `Release.load` from a file, or by hand for a number that somebody else
    published:

    >>> import confide as cf
    >>> census = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
    >>> Release(census, 0.4172)
    Release(0.4172, Mean('x', bounds=(0.0, 1.0)), Laplace(scale=0.01), n=5000)

    A number that was changed after the noise says how, `processed=Clamped(0)`, `Rounded(10)` or `Suppressed(below=5)`,
    and what was left out is None:

    >>> counts = cf.Channel(cf.Histogram("sex", categories=["f", "m"]), cf.Laplace(scale=2.0, step=1))
    >>> print(Release(counts, [31.0, 24.0, None], processed=cf.Suppressed(below=5)).value)
    [31. 24. nan]

    A release that was made here also holds its noisy whole numbers and their step, from which the value is derived; it
    never holds a seed, nor the scale that data-dependent noise had.
    """

    channel: Channel
    dataset: str | None
    part: Part | str | None
    #: what the columns of the statistic are called in the data, where it is said
    column: str | Mapping[str, str] | None
    purpose: str
    #: what stood in for missing values: a public number, or one for each of some columns; "public": they were left out
    missing: float | str | Mapping[str, float] | None
    #: the noisy whole numbers behind the value, for a release made here
    integers: Integers | None
    #: the table of an `Each` release, for one made here
    records: Records | None
    #: what was done to the noisy number before it was published, if anything was
    processed: Processed | None
    #: the entry of the ledger that paid for it; what a release says does not depend on it, and equality does not either
    entry: Entry | None

    def __init__(
        self,
        channel: Channel,
        value: Any = None,
        *,
        dataset: str | None = None,
        part: Part | str | None = None,
        column: str | Mapping[str, str] | None = None,
        purpose: str = "",
        missing: float | str | Mapping[str, float] | None = None,
        integers: Integers | None = None,
        records: Records | None = None,
        entry: Entry | None = None,
        processed: Processed | None = None,
    ) -> None:
        if not isinstance(channel, Channel):
            raise InvalidArgument("channel", channel, "is not a channel", "use Channel(statistic, mechanism, n)")
        if processed is not None:
            value = _observed(channel, value, processed, integers, records)
        if sum(given is not None for given in (value, integers, records)) != 1:
            raise InvalidArgument("value", value, "must be the published number", "give Release(channel, value)")
        if not isinstance(purpose, str):
            raise InvalidArgument("purpose", purpose, "is not a text", "say what the release is for, or leave it out")
        given = {
            "channel": channel,
            "dataset": check_name("dataset", dataset),
            "part": check_part(part),
            "column": _by_column("column", column, channel) or check_name("column", column),
            "purpose": purpose,
            "missing": _by_column("missing", missing, channel) or missing,
            "integers": integers,
            "records": records,
            "entry": entry,
            "processed": processed,
        }
        if value is not None:
            given["observed"] = checked = _check_value(channel, value)
            given["value"] = checked if processed is None else processed.shown(checked)
        elif integers is not None:
            given["value"] = derive(channel, integers)
        # `value` is found in the instance before the cached property of that name is asked
        self.__dict__.update(given)

    @classmethod
    def counted(cls, channel: Channel, counts: Any, **told: Any) -> Release:
        """Answers by randomized response of which it was published how often each was given, and not by whom.

        One number for each level of the statistic, in order; where each column is answered by itself, for each
        combination, the last column running fastest. Nothing else about the answers says anything of the population.

        >>> import confide as cf
        >>> response = cf.RandomizedResponse(cf.PureDP(1.0))
        >>> Release.counted(cf.Channel(cf.Each("x > 2", bounds=(0, 5)), response, n=7), [4, 3]).value.tolist()
        [0.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]
        """
        if not isinstance(channel, Channel) or channel.law.answers is None:
            remedy = "use Each with RandomizedResponse, or Release(channel, value)"
            raise InvalidArgument("channel", channel, "does not publish answers that can be counted", remedy)
        array, levels = np.asarray(counts).ravel(), np.asarray(channel.law.answers)
        whole = array.dtype.kind in "iuf" and bool(np.all(array >= 0) and np.all(array == np.floor(array)))
        if not whole or array.size != levels.size or array.sum() != channel.n:
            problem = f"is not how often each of {levels.size} answers was given by {channel.n} records"
            raise InvalidArgument("counts", counts, problem, "give whole numbers that add up to n")
        return cls(channel, np.repeat(levels, array.astype(np.int64)), **told)

    @cached_property
    def value(self) -> Any:
        """The published number; an array for a vector, or for `Each`, whose table is read when it is asked for."""
        assert self.records is not None
        with needs("release"):
            return self.records.values(self.channel)

    @cached_property
    def observed(self) -> Any:
        """The value as inference reads it: a number stands for what was left out."""
        return self.value

    def entered(self, entry: Entry) -> Release:
        """The same release, with the entry of the ledger that paid for it."""
        made = object.__new__(Release)
        made.__dict__.update(self.__dict__ | {"entry": entry})
        return made

    def present(self, missing: int) -> Release:
        """The same release as one of the records that had a value, where it is public how many were imputed.

        For a mean that replaced missing values by a public number: of its n records, `missing` held that number and
        the others are from the population, if values are missing at random.

        >>> import confide as cf
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 10)), cf.Laplace(scale=0.05), n=1000)
        >>> Release(channel, 4.2, missing=3.0).present(missing=200)
        Release(4.5, Mean('x', bounds=(0.0, 10.0)), Laplace(scale=0.0625), n=800)
        """
        from confide.published.imputation import present

        return present(self, missing)

    @property
    def guarantee(self) -> Any:
        """What the release promises to each record."""
        return self.channel.guarantee

    def _key(self) -> tuple[Any, ...]:
        by_column = (tuple(each.items()) if isinstance(each, Mapping) else each for each in (self.column, self.missing))
        told = (self.channel, self.dataset, self.part, *by_column, self.purpose, self.integers, self.processed)
        if self.records is not None:
            return (*told, self.records.digest)
        return *told, np.shape(self.value), np.asarray(self.value).tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Release) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def save(self, path: str | Path) -> None:
        """Write the release as a JSON file; the table of an `Each` release goes beside it, as Parquet.

        >>> import confide as cf, tempfile
        >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     cf.Release(channel, 0.4172).save(f"{folder}/release.json")
        """
        from confide.published.file import save

        with needs("release"):
            save(self, Path(path))

    @classmethod
    def load(cls, path: str | Path) -> Release:
        """Read a release from a file, checking everything and running nothing.

        >>> import confide as cf, tempfile
        >>> made = Release(cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(scale=0.01), n=5000), 0.4172)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     made.save(f"{folder}/release.json")
        ...     Release.load(f"{folder}/release.json") == made
        True
        """
        from confide.published.file import load

        with needs("release"):
            return load(Path(path))

    def __str__(self) -> str:
        value = (
            f"{self.channel.n:,} values"
            if self.channel.value_shape == (self.channel.n,)
            else shown(self.channel, self.value)
        )
        source = "" if self.dataset is None else f" from {self.dataset}"
        if isinstance(self.part, Grouped):  # several are printed one after the other
            source += f", {self.part}" if source else f" for {self.part}"
        done = "" if self.processed is None else f" (published as {self.processed})"
        return f"Released{source}: {value}{done}\n{self.channel.described('Published:')}"

    def __repr__(self) -> str:
        count = self.channel.n if self.records is not None else np.size(self.value)
        value = f"<{count} values>" if self.records is not None or count > 8 else f"{np.asarray(self.value).tolist()}"
        return f"Release({value}, {repr(self.channel).removeprefix('Channel(')}"


def _by_column(argument: str, given: object, channel: Channel) -> Any:
    """What is said of columns of a statistic, in the order of its columns; None where it is not said of columns."""
    if not isinstance(given, Mapping):
        return None
    names = channel.statistic.columns
    if unknown := [name for name in given if name not in names or names == ("x",)]:
        raise InvalidArgument(argument, unknown[0], "is no column of the statistic", f"it has {', '.join(names)}")
    return {name: given[name] for name in names if name in given}


def _observed(channel: Channel, value: Any, processed: object, integers: object, records: object) -> Any:
    """A processed value with a number for what was left out."""
    if not isinstance(processed, Processed):
        remedy = "use Clamped(0), Rounded(10) or Suppressed(below=5)"
        raise InvalidArgument("processed", processed, "does not say what was done to the number", remedy)
    if integers is not None or records is not None or channel.statistic.per_record:
        raise InvalidArgument("processed", processed, "is about one published value", "give Release(channel, value)")
    return processed.read(value)


def _check_value(channel: Channel, value: object) -> Any:
    array = channel.check_value(value)
    if array.shape != channel.value_shape:
        problem = f"has shape {array.shape}, but the channel publishes one value of shape {channel.value_shape}"
        raise InvalidArgument("value", array.shape, problem, "make one Release for each published value")
    return float(array) if array.ndim == 0 else array
