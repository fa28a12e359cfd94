"""`release`: the one verb that reads records."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confide.channel import Channel
from confide.errors import IncompatibleError, InvalidArgument, NoiseWarning
from confide.published.errors import DataError
from confide.published.extras import needs
from confide.published.part import Part, Rows, check_part, identifier_of_part
from confide.published.release import Release
from confide.published.terms import check_name
from confide.published.texts import check_shown
from confide.published.value import Integers

if TYPE_CHECKING:
    from confide.releasing.ledger.ledger import Ledger
    from confide.releasing.origin import Origin
    from confide.releasing.readers.source import Source
    from confide.releasing.whole_numbers import Plan


def release(
    channel: Channel,
    data: Any,
    *,
    column: str | Mapping[str, str] | None = None,
    table: str | None = None,
    ledger: Ledger | None = None,
    dataset: str | None = None,
    part: Part | str | None = None,
    purpose: str = "",
    missing: float | str | Mapping[str, float] | None = None,
    by: str | None = None,
    groups: Mapping[str, int] | Sequence[str] | None = None,
    person: str | None = None,
    at_most: int | None = None,
    fresh: bool = False,
) -> Any:
    """Publish a statistic of real records through a channel, with exact noise.

    `data` is an array, a pandas, Polars or Arrow table, the path of a CSV or Parquet file (globs too), an Ibis
    table, or the URL of a database with the name of its `table`. Only exact whole numbers leave the engine; noise
    comes from OpenDP and the operating system, never from a seed.

    With a `ledger` the data set's budget is spent and the release is stored in one transaction, and asking again
    for the same release from the same data returns the stored one for free, unless `fresh`. Files and data in memory
    are the same if their content is, tables of a database if URL and name are; an Ibis table, or what changes while it
    is read, is never taken for the same. So an answer that is read back tells that no record has changed since: where
    that is a secret, say `fresh`. Without a ledger, nobody keeps count.

    `missing` says what to do with missing, infinite and undefined values: refuse them (None), impute a public
    number within the bounds (of rows: numbers by column), or drop them ("public": only if it is no secret which records
    lack a value). `part` is a name, or `Rows`, `Hashed` or `Grouped`, which select records and compose in parallel:
    positions within one content, and identifiers or attributes, which must be a public property of the person, within
    one file or table. Of rows all columns are read by name; `column={"age": "AGE"}` says where the data name one
    otherwise.

    `by` a public attribute and `groups`, the public sizes, make one release for each group, by name. Who is in which
    group must be fixed: then each record is protected as by one of them. The groups' sizes add up to the channel's n;
    where that is private `groups` is a list of names, which must be public, for no list is read from the data.

    `person` names the column that says whose row it is, where somebody may have several: of a `Sum`, `Count` or
    `Histogram` without n at most `at_most` rows of each person are used, chosen by a hash of them, and the noise is
    that many times as large, so that a person is protected and not a row. Rows of nobody in particular are left out.

    Where the number of records is private (a `Sum` or a `Count` without n) nothing that is published, written or raised
    depends on it, but through the noisy value; an empty table is a table like others, and more than `2**32` records
    cost accuracy, never an error. `Rows` are refused then, for a record that is added shifts all that follow.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=4)
    >>> published = release(channel, [1.5, -2.0, 3.25, 40.0])
    >>> published.integers.step
    Fraction(1, 524288)
    >>> people = {"x": [1.5, -2.0, 3.25, 40.0], "sex": ["f", "m", "m", "f"]}
    >>> list(release(channel, people, column="x", by="sex", groups={"f": 2, "m": 2}))
    ['f', 'm']
    """
    from confide.releasing.ledger.ledger import Ledger
    from confide.releasing.persons import for_persons
    from confide.releasing.readers.table.asked import check_column

    if not isinstance(channel, Channel):
        raise InvalidArgument("channel", channel, "is not a channel", "use Channel(statistic, mechanism, n)")
    if ledger is not None and not isinstance(ledger, Ledger):
        raise InvalidArgument("ledger", ledger, "is not a ledger", "use Ledger(path_or_url)")
    if ledger is not None and dataset is None:
        raise InvalidArgument(
            "dataset", dataset, "must name the data set of the ledger", "give its name, as it was opened"
        )
    if not isinstance(purpose, str) or len(purpose) > 10_000:
        raise InvalidArgument("purpose", purpose, "is not a short text", "say what the release is for, or leave it out")
    channel = for_persons(channel, person, at_most, part, by)
    told: dict[str, Any] = {
        "dataset": check_name("dataset", dataset),
        "part": check_part(part),
        "column": check_column(channel.statistic, column),
        "purpose": purpose,
    }
    if channel.n is None and isinstance(told["part"], Rows):
        raise IncompatibleError(
            f"{told['part']!r} is a part by position, and where n is private a record that is added or removed "
            "shifts all that follow into other parts; select records with Hashed(column, start, stop)"
        )
    asked = [(channel, told)]
    if by is not None or groups is not None:
        from confide.releasing.groups import parts_of

        parts = parts_of(channel, by, groups, told["part"])
        asked = [(each, told | {"part": group}) for each, group in parts.values()]
    for each, said in asked:
        check_shown({name: said[name] for name in told})
        if (warning := each.certain_warning) is not None:
            warnings.warn(f"before anything is spent: {warning}", NoiseWarning, stacklevel=2)
    with needs("release"):
        ready, made = [], []
        # all is computed, and refused, before anything of it is spent
        for each, said in asked:
            ready.append(_prepared(each, data, table, ledger, missing, dict(said), fresh=fresh))
        for finish in ready:
            made.append(finish())
    return made[0] if by is None else dict(zip(parts, made, strict=True))


def _prepared(
    channel: Channel,
    data: Any,
    table: str | None,
    ledger: Ledger | None,
    missing: object,
    told: dict[str, Any],
    *,
    fresh: bool,
) -> Callable[[], Release]:
    """All of a release but its noise and its spending."""
    from confide.releasing.aggregate import records_needed
    from confide.releasing.gaps import check_missing
    from confide.releasing.ledger.ledger import Request
    from confide.releasing.origin import Origin, origin_of
    from confide.releasing.plan import plan_of
    from confide.releasing.readers.held import holding
    from confide.releasing.readers.memory import settled, with_name
    from confide.releasing.readers.source import open_source
    from confide.releasing.readers.table.asked import asked_of, names_of

    statistic = channel.statistic
    if statistic.columns == ("x",):
        data, told["column"] = with_name(data, told["column"])
    plan = plan_of(channel)
    told |= {"missing": check_missing(missing, statistic)}
    request = Request(channel, **told)
    asked, origin = asked_of(statistic, told["column"]), _known(Origin())
    with holding(None if ledger is None else data) as held, ThreadPoolExecutor(1) as beside:
        if ledger is not None:
            # refuse before a single record is read, and answer from the store before anything is computed
            decided = ledger.foresee(request, fresh=fresh)
            data = settled(data)
            asking = partial(origin_of, data, table, names_of(asked), request.part, held)
            # files are digested beside the query, unless an answer may be stored for what they hold
            origin = _known(asking()) if held is None else beside.submit(asking).result
            stored = None if decided else ledger.find(request, origin(), fresh=fresh)
            if stored is not None:
                return lambda: stored
        compute = _records if statistic.per_record else _numbers
        also = identifier_of_part(request.part) if statistic.persons is None else statistic.persons.column
        stop = records_needed(channel, request.part, request.missing)
        with open_source(data, asked, table, also, stop, None if held is None else held.files) as source:
            publish = compute(plan, source, told)
        if held is not None:
            origin()  # to its end: what is digested is read, and must not have changed either
            held.check()
    return publish if ledger is None else lambda: ledger.record(request, publish, origin(), fresh=fresh)


def _known(origin: Origin) -> Callable[[], Origin]:
    return lambda: origin


def _numbers(plan: Plan, source: Source, told: dict[str, Any]) -> Callable[[], Release]:
    """The exact numbers now; their noise when it is certain that the budget allows it."""
    from confide.releasing.aggregate import exact_numbers

    exact = exact_numbers(plan, source, told["part"], told["missing"])
    return lambda: Release(plan.channel, integers=Integers(plan.publish(exact), plan.step), **told)


def _records(plan: Plan, source: Source, told: dict[str, Any]) -> Callable[[], Release]:
    """A table of noisy records: made now, for it takes long, and never seen if the budget does not allow it."""
    from confide.releasing.aggregate import record_batches
    from confide.releasing.local import stream
    from confide.releasing.readers.workspace import workspace

    try:
        folder = Path(tempfile.mkdtemp(dir=workspace()))
    except OSError as error:
        raise DataError(f"the noisy records cannot be written: {error.strerror or error}") from error
    records = stream(plan, record_batches(plan, source, told["part"], told["missing"]), folder / "records.parquet")
    return lambda: Release(plan.channel, records=records, **told)
