"""What is asked: a population, what was published about its records, and a prior."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from confide.channel import Channel
from confide.errors import ImputationWarning, IncompatibleError, InvalidArgument, NoiseWarning
from confide.likelihood.totals.number import NAME, NumberPrior
from confide.missing import asked_for, with_missing
from confide.model import Model
from confide.population import Population
from confide.prior import Prior
from confide.published import Release
from confide.published.imputation import effect
from confide.statistic.drowned import unexplained

#: beyond what noise reaches with this probability a published number is not its doing
_SURE = 1 - 1e-9


@dataclass(frozen=True, eq=False)
class Problem:
    """One population, its prior, and one model and value per release."""

    population: Population
    prior: Prior
    models: tuple[Model, ...]
    values: tuple[Any, ...]
    #: whether all releases are about the same records; None for a single one
    same_records: bool | None
    #: what is believed about the number of records beforehand, where that is private
    number: NumberPrior | None = None
    #: how each published number was clamped, rounded or left out; None where it was not
    processed: tuple[Any, ...] = ()

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels, in the order of the releases."""
        return tuple(model.channel for model in self.models)


def read(
    population: Any, releases: Any, prior: Any, same_records: bool | None, same_quantity: bool | None = None
) -> Problem:
    """A checked problem."""
    releases = read_releases(population, releases, same_quantity)
    if asked_for(population, prior):
        population, releases = with_missing(population, releases)
    number, prior = _number(population, releases, prior)
    models, values, shared = read_models(population, releases, same_records)
    processed = tuple(release.processed for release in releases)
    if number is not None and any(processed):
        raise IncompatibleError("numbers that were clamped, rounded or left out have no likelihood with a private n")
    return Problem(population, Prior.of(population, prior), models, values, shared, number, processed)


def _number(population: Population, releases: Sequence[Release], prior: Any) -> tuple[NumberPrior | None, Any]:
    """The prior of a private number of records, and that of θ alone."""
    private = [release.channel.n is None for release in releases]
    if not any(private):
        return None, prior
    if NAME in population.names:
        remedy = "rename the parameter of the population"
        raise InvalidArgument(
            "population", population.names, f"has a parameter {NAME!r}, the number of records", remedy
        )
    if not all(private):
        raise IncompatibleError(
            "some of the releases make the number of records public and others keep it private; if they are about the "
            'same records, say how many there are by the prior, as in "n": 200, and leave the public ones out'
        )
    if any(release.missing is not None for release in releases):
        raise IncompatibleError("missing values were replaced or dropped, and nobody knows among how many records")
    if not isinstance(prior, Mapping) or NAME not in prior:
        return NumberPrior.of(None), prior
    return NumberPrior.of(prior[NAME]), {name: law for name, law in prior.items() if name != NAME}


def read_releases(population: Any, releases: Any, same_quantity: bool | None) -> Sequence[Release]:
    """Checked releases of one quantity of a population."""
    if not isinstance(population, Population):
        raise InvalidArgument(
            "population", population, "is not a population", "use for example cf.populations.normal()"
        )
    if isinstance(releases, Release):
        releases = [releases]
    if not isinstance(releases, Sequence) or not releases or not all(isinstance(r, Release) for r in releases):
        raise InvalidArgument(
            "releases", releases, "is not a release or a list of them", "give Release(channel, value), or Release.load"
        )
    _check_quantity(releases, same_quantity, of_rows=population.rows is not None)
    return releases


def read_models(
    population: Population, releases: Sequence[Release], same_records: bool | None
) -> tuple[tuple[Model, ...], tuple[Any, ...], bool | None]:
    """A model and a value per release, and whether all are about the same records."""
    for release in releases:
        if (told := effect(release)) is not None:
            warnings.warn(told, ImputationWarning, stacklevel=6)
        reach = None if release.processed else release.channel.margin(_SURE)
        if reach is not None and (far := unexplained(release.channel.statistic, reach, release.value)) is not None:
            warnings.warn(far, NoiseWarning, stacklevel=6)
    models = tuple(Model(population, release.channel) for release in releases)
    values = tuple(np.asarray(release.observed, dtype=np.float64) for release in releases)
    shared = None if len(releases) == 1 else _shared(releases, same_records)
    if shared and len({release.channel.n for release in releases}) > 1:
        raise InvalidArgument(
            "same_records",
            same_records,
            "cannot be: the releases have different numbers of records",
            "say same_records=False, or check the channels' n",
        )
    return models, values, shared


def _shared(releases: Sequence[Release], said: bool | None) -> bool:
    """Whether the releases are about the same records: as their files record it, or as it is said."""
    known = recorded(releases)
    if said is None:
        if known is None:
            raise InvalidArgument(
                "same_records",
                None,
                "is not said, and the releases do not record whether they share records",
                "say same_records=True if all are about the same records, False if each is about its own",
            )
        return known
    if not isinstance(said, bool | np.bool_):
        raise InvalidArgument("same_records", said, "is not True or False", "say whether the releases share records")
    if known is not None and known != bool(said):
        raise InvalidArgument(
            "same_records",
            said,
            f"contradicts what the releases record ({_described(releases)})",
            "leave it out, or correct the releases' data set and part",
        )
    return bool(said)


def recorded(releases: Sequence[Release]) -> bool | None:
    """True: one data set and part; False: all data sets differ, or all parts of one differ; None: not known."""
    if any(release.dataset is None for release in releases):
        return None
    places = [(release.dataset, release.part) for release in releases]
    if len(set(places)) == 1:
        return True
    datasets = {release.dataset for release in releases}
    if len(datasets) == len(releases):
        return False
    parts = [release.part for release in releases]
    if len(datasets) == 1 and None not in parts and len(set(parts)) == len(parts) and _apart(parts):
        return False
    return None


def _apart(parts: Sequence[Any]) -> bool:
    """Whether parts have no record in common: different names say so, positions and hashes are compared."""
    named = [isinstance(part, str) for part in parts]
    if any(named):
        return all(named)
    return not any(one.overlaps(two) for i, one in enumerate(parts) for two in parts[i + 1 :])


def _described(releases: Sequence[Release]) -> str:
    return "; ".join(f"{release.dataset}, {'all' if release.part is None else release.part}" for release in releases)


def _check_quantity(releases: Sequence[Release], said: bool | None, of_rows: bool) -> None:
    """Refuse releases that name different quantities, unless the reader says that they are one.

    One population describes one quantity. Releases of two columns are about two, and so may be those of two data sets
    that do not name the same column. What names nothing (a number typed in by hand) contradicts nothing.
    """
    if said is not None and not isinstance(said, bool | np.bool_):
        raise InvalidArgument("same_quantity", said, "is not True or False", "say whether the releases measure one")
    remedy = (
        "say same_quantity=True if one population describes both (and, for the same records, both columns hold the "
        "same numbers), or infer from each by itself"
    )
    if said is not None and not said and len(releases) > 1:
        problem = "cannot be: one population describes all releases, with one set of parameters"
        raise InvalidArgument("same_quantity", said, problem, "infer from each release by itself")
    for one, two in combinations(releases, 2):
        if not said and _differ(one, two, of_rows):
            problem = f"is not said, and the releases are about {_named(one)} and {_named(two)}"
            raise InvalidArgument("same_quantity", said, problem, remedy)


def _differ(one: Release, two: Release, of_rows: bool) -> bool:
    """Whether what two releases name is not the same: two columns, or two data sets without a column in common."""
    names = [each.column if of_rows else _column(each) for each in (one, two)]
    if None not in names:
        return names[0] != names[1]
    return one.dataset is not None and two.dataset is not None and one.dataset != two.dataset


def _column(release: Release) -> str | None:
    """What the one column that a population of numbers stands for is called in the data, where that is said."""
    columns = release.channel.statistic.columns
    if isinstance(release.column, Mapping):
        return next(iter(release.column.values()), None)
    return columns[0] if release.column is None and columns not in (("x",), ()) else release.column


def _named(release: Release) -> str:
    column = "an unnamed column" if _column(release) is None else f"column {_column(release)!r}"
    return column if release.dataset is None else f"{column} of {release.dataset!r}"
