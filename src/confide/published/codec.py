"""Between a release and its form: what is written, and what is rebuilt by constructors that check everything."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from confide.channel import Channel
from confide.errors import IncompatibleError
from confide.expression import Expression
from confide.mechanism import Mechanism
from confide.privacy import Privacy
from confide.processing import PROCESSINGS, Processed
from confide.published.cells import decode_cells, encode_cells
from confide.published.errors import FileError
from confide.published.provenance import check, provenance_of
from confide.published.records import Records
from confide.published.release import Entry, Release
from confide.published.terms import decode_part, decode_privacy, encode_part, encode_privacy
from confide.published.value import Integers
from confide.registry import MECHANISM_OPTIONS, STATISTIC_NUMBERS, STATISTICS, members
from confide.statistic import Statistic
from confide.statistic.columns import ColumnBounds

if TYPE_CHECKING:
    from confide.published.schema import ChannelForm, ReleaseForm, StatisticForm

#: what a file says it is; the version changes when an older reader would misread it. A file has the oldest version that
#: says all of it, so that what an older program can read it is given, and digests stay as they were
FORMAT = "confide-release"
VERSION, OLDEST = 3, 2

#: statistics that the oldest of them knows
_OF_VERSION_2 = ("Mean", "Median", "Maximum", "Minimum", "Quantile", "Each")
#: the classes that a file can name
_STATISTICS, _MECHANISMS = map(members, ("statistic", "mechanism"))


def _encode_statistic(statistic: Statistic) -> dict[str, Any]:
    kind = type(statistic).__name__
    if not all(isinstance(transform, Expression) for transform in statistic.transforms):
        raise IncompatibleError(
            f"{statistic!r} computes a Python function, which can be neither released nor saved; write it as a text"
        )
    if _STATISTICS.get(kind) is not type(statistic):
        raise IncompatibleError(f"{statistic!r} is not one of {', '.join(_STATISTICS)}, so no file can describe it")
    if statistic.tallies:
        return {"kind": kind, "cells": encode_cells(statistic)}
    form: dict[str, Any] = {"kind": kind, "expressions": [str(t) for t in statistic.transforms]}
    if isinstance(statistic.bounds, ColumnBounds):
        form["bounds"] = {name: list(pair) for name, pair in statistic.bounds.numbers.items()}
        if statistic.bounds.categories:
            form["categories"] = {name: list(texts) for name, texts in statistic.bounds.categories}
    else:
        form["bounds"] = list(statistic.bounds)
    return form | statistic.options


def _encode_mechanism(mechanism: Mechanism) -> dict[str, Any]:
    kind = type(mechanism).__name__
    if _MECHANISMS.get(kind) is not type(mechanism):
        raise IncompatibleError(f"{mechanism!r} is not one of {', '.join(_MECHANISMS)}, so no file can describe it")
    options = {name: getattr(mechanism, name, None) for name in MECHANISM_OPTIONS}
    form = {"kind": kind} | {
        name: list(value) if isinstance(value, tuple) else value for name, value in options.items() if value is not None
    }
    if mechanism.privacy is not None and kind != "Noiseless":
        form["privacy"] = encode_privacy(mechanism.privacy)
    return form


def encode_channel(channel: Channel) -> dict[str, Any]:
    """A channel as a file has it; refused where a file cannot describe it."""
    known = channel.statistic.persons
    persons = {} if known is None else {"person": known.column, "at_most": known.at_most}
    return {
        "statistic": _encode_statistic(channel.statistic) | persons,
        "mechanism": _encode_mechanism(channel.mechanism),
        "neighbours": channel.neighbours,
    } | {name: told for name in ("n", "protects") if (told := getattr(channel, name)) is not None}


def _calibrated(channel: Channel) -> float | None:
    """The scale of the noise that a channel adds, where it follows from a guarantee."""
    noise = channel.law.added
    return None if noise is None or channel.mechanism.privacy is None else float(noise.scale)


def encode(release: Release, table: str | None = None) -> dict[str, Any]:
    """The JSON object of a release; `table` is the name of the Parquet file of an `Each` release."""
    form: dict[str, Any] = {
        "format": FORMAT,
        "version": OLDEST,
        "channel": encode_channel(release.channel),
        "guarantee": encode_privacy(release.guarantee),
    }
    if (scale := _calibrated(release.channel)) is not None:
        form["noise"] = scale
    told = {name: getattr(release, name) for name in ("dataset", "column", "missing")}
    told["part"] = encode_part(release.part)
    told |= {name: dict(value) for name, value in told.items() if isinstance(value, Mapping)}
    form |= {name: value for name, value in told.items() if value is not None}
    if release.purpose:
        form["purpose"] = release.purpose
    form["version"] = _version(form)
    if release.records is not None:
        form["records"] = {"file": table, "digest": release.records.digest, "step": str(release.records.step)}
        return form
    form["value"] = np.asarray(release.value).tolist()
    if release.processed is not None:
        options = {name: told for name, told in vars(release.processed).items() if told is not None}
        form |= {"processed": {"kind": type(release.processed).__name__} | options, "version": VERSION}
        # what was left out is null, also where it is the only number
        form["value"] = [None if np.isnan(each) else each for each in np.ravel(release.value).tolist()]
    if release.integers is not None:
        form["integers"] = {"counts": list(release.integers.counts), "step": str(release.integers.step)}
    return form


def _version(form: dict[str, Any]) -> int:
    """The oldest version that has all that a release says: 3 has other statistics, rows, and parts by group."""
    statistic = form["channel"]["statistic"]
    of_rows = isinstance(statistic.get("bounds"), dict) or isinstance(form.get("missing"), dict)
    newer = of_rows or statistic["kind"] not in _OF_VERSION_2 or form.get("part", {}).get("kind") == "grouped"
    return VERSION if newer else OLDEST


def encode_sealed(release: Release, table: str | None = None) -> dict[str, Any]:
    """The JSON object of a release with its provenance, as files have it."""
    form = encode(release, table)
    return form | {"provenance": provenance_of(form, release.entry)}


def _decode_statistic(given: StatisticForm) -> Statistic:
    """The statistic of a form."""
    if (histogram := decode_cells(given)) is not None:
        return histogram
    assert given.expressions is not None and given.bounds is not None  # `decode_cells` has looked
    own = next((name for word, name in STATISTIC_NUMBERS.items() if STATISTICS[word] == given.kind), None)
    for name in STATISTIC_NUMBERS.values():
        if (getattr(given, name) is None) == (name == own):
            raise FileError(f"a {given.kind} {'needs' if name == own else 'has no'} level {name}")
    several = len(given.expressions) > 1
    expression: Any = given.expressions if several else given.expressions[0]
    level: dict[str, Any] = {} if own is None else {own: getattr(given, own)}
    bounds: Any
    if isinstance(given.bounds, dict):
        bounds = {name: tuple(pair) for name, pair in given.bounds.items()}
        level["categories"] = given.categories
    elif given.categories is not None:
        raise FileError("categories are of columns that have names, but the bounds have none")
    else:
        bounds = tuple(given.bounds)
    if given.kind == "Count":
        if (expression, bounds) != ("1", (0.0, 1.0)):
            raise FileError("a Count has no expression and no bounds of its own")
        return _STATISTICS[given.kind]()
    return _STATISTICS[given.kind](expression, bounds=bounds, **level)


def decode_channel(form: ChannelForm) -> Channel:
    """The channel of a form, through the same constructors that a user calls."""
    statistic, given = _decode_statistic(form.statistic), form.statistic
    if (given.person is None) != (given.at_most is None):
        raise FileError("a person is protected with at most so many rows: both are told, or none")
    if given.person is not None and given.at_most is not None:
        statistic = statistic.per_person(given.person, given.at_most)
    options = {name: value for name in MECHANISM_OPTIONS if (value := getattr(form.mechanism, name)) is not None}
    if form.mechanism.privacy is not None:
        options["privacy"] = decode_privacy(form.mechanism.privacy.model_dump())
    try:
        mechanism = _MECHANISMS[form.mechanism.kind](**options)
    except TypeError as error:
        raise FileError(f"the mechanism {form.mechanism.kind} does not have the options {sorted(options)}") from error
    channel = Channel(statistic, mechanism, form.n)
    if channel.protects != form.protects:
        raise FileError("what is protected is not what the channel protects")
    if channel.neighbours != form.neighbours:
        known = "private" if form.n is None else "public"
        raise FileError(f"the neighbours are not those of a channel whose n is {known}")
    return channel


def _with_noise(channel: Channel, scale: float | None) -> Channel:
    """The channel as it was when the file was written: with the noise of then, should it be calibrated anew now."""
    now = _calibrated(channel)
    if scale is None or (now is not None and math.isclose(scale, now, rel_tol=1e-6)):
        return channel
    if now is None:
        raise FileError(f"the noise is given twice, as {scale:g} and by the mechanism")
    mechanism: Any = channel.mechanism
    return Channel(channel.statistic, type(mechanism)(scale=scale, step=mechanism.step), channel.n)


def _agree(told: Privacy, computed: Privacy) -> bool:
    """Whether two guarantees are one, up to the numerics of the version that wrote the file."""
    if type(told) is not type(computed):
        return False
    return all(
        math.isclose(a, b, rel_tol=1e-6) for a, b in zip(vars(told).values(), vars(computed).values(), strict=True)
    )


def _keeps(told: Privacy, asked: Channel, channel: Channel) -> bool:
    """Whether a file tells what its channel was asked for, and that is kept if its noise would be other noise today.

    More noise than is needed keeps the same promise, in whatever unit that is; less may keep what is told by itself.
    """
    law: Any = channel.law
    same = _agree(told, asked.guarantee) and (channel is asked or law.noise.scale >= (_calibrated(asked) or 0.0))
    return same or (channel is not asked and channel.guarantee.implies(told))


def decode(form: ReleaseForm, folder: Path) -> Release:
    """The release of a form, with all that can be checked against something else checked."""
    asked = decode_channel(form.channel)
    channel, told = _with_noise(asked, form.noise), decode_privacy(form.guarantee.model_dump())
    if not _keeps(told, asked, channel):
        raise FileError("the guarantee is not the one that the channel gives")
    if (form.value is None) != (form.records is not None) or (form.records and form.integers):
        raise FileError("exactly one of `value` and `records` must say what came out")
    outcome: dict[str, Any] = {}
    if form.records is not None:
        outcome["records"] = Records(folder / form.records.file, form.records.digest, Fraction(form.records.step))
    elif form.integers is not None:
        outcome["integers"] = Integers(tuple(form.integers.counts), Fraction(form.integers.step))
        if len(form.integers.counts) != int(np.prod(channel.value_shape)):
            raise FileError("the whole numbers are not as many as the channel publishes")
    else:
        outcome["value"] = _decode_value(form, channel)
    release = Release(
        channel,
        dataset=form.dataset,
        part=decode_part(form.part.model_dump() if form.part else None),
        column=form.column,
        purpose=form.purpose,
        missing=form.missing,
        entry=_decode_entry(form),
        processed=_decode_processed(form),
        **outcome,
    )
    if form.integers is not None and np.asarray(release.value).tolist() != form.value:
        raise FileError("the value does not follow from the whole numbers")
    check(form)
    return release


def _decode_processed(form: ReleaseForm) -> Processed | None:
    if form.processed is None:
        return None
    options = form.processed.model_dump(exclude={"kind"}, exclude_none=True)
    return PROCESSINGS[form.processed.kind](**options)


def _decode_value(form: ReleaseForm, channel: Channel) -> Any:
    """The published value; None in it is what was left out."""
    if form.processed is None:
        if isinstance(form.value, list) and None in form.value:
            raise FileError("a number is left out, but nothing says that numbers were")
        return form.value
    if not isinstance(form.value, list):
        raise FileError("a value that was processed is a list of numbers")
    if channel.value_shape == ():
        return form.value[0] if len(form.value) == 1 else form.value
    return form.value


def _decode_entry(form: ReleaseForm) -> Entry | None:
    if form.provenance is None or form.provenance.entry is None:
        return None
    return Entry(**form.provenance.entry.model_dump())
