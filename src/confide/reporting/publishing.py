"""What a report says about a release."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from confide._digits import around, within
from confide.channel import Channel
from confide.evenly import margin_if_even
from confide.plots.counts import plot_counts
from confide.plots.noise import plot_answers, plot_spreads, spread_if_even, spreads
from confide.published import Release
from confide.published.imputation import effect
from confide.published.value import shown
from confide.reporting.content import PageContent, Picture, content
from confide.statistic import Statistic

#: numbers that are still told in a sentence
MOST_NUMBERS = 8


@content.register
def _(result: Release) -> PageContent:
    channel = result.channel
    number = "A number" if channel.value_shape == () else "Numbers"
    return PageContent(
        title=f"{number}, published in confidence",
        question="What came out, and how exactly it can be read.",
        answer=" ".join(filter(None, [f"Published: {published(result)}, {channel.statistic} over "
                                      f"{number_of_records(channel)} records.", _named(result), _near(result)])),
        pictures=tuple(_pictures(result)),
        columns=("about", "this release"),
        rows=tuple((name, str(each)) for name, each in _facts(result).items() if each not in (None, "")),
        channels=(channel.described("Published:"),),
        guarantee=result.guarantee,
        warnings=tuple(told for told in (effect(result),) if told is not None),
    )  # fmt: skip


def number_of_records(channel: Channel) -> str:
    """How many records there are, where that is public."""
    return "a private number of" if channel.n is None else f"{channel.n:,}"


def published(release: Release) -> str:
    """The numbers, if they are few."""
    count = np.size(release.value)
    return f"{count:,} numbers" if count > MOST_NUMBERS else shown(release.channel, release.value)


def nearness(channel: Channel) -> str:
    """± and its size, if it is known."""
    margin, even = channel.margin(), margin_if_even(channel)
    if margin is not None:
        return around(margin)
    return "–" if even is None else f"about {around(even)}"


def _named(release: Release) -> str:
    """What the columns are called in the data, where they have other names there."""
    if not isinstance(release.column, Mapping):
        return "" if release.column is None else f"x is {release.column}."
    return f"{', '.join(f'{name} is {found}' for name, found in release.column.items())} in the data."


#: what becomes of a point that is drawn between records
_EQUAL = ", and anywhere in the range where many of them share one value, as whole numbers do"


def _where(bounds: Any) -> str:
    """The bounds in words: those of x, or of each column."""
    return f"[{bounds[0]:g}, {bounds[1]:g}]" if isinstance(bounds, tuple) else f"their bounds ({bounds})"


def _about(statistic: Statistic) -> str:
    """What a published number would be without noise: of which s it is the mean, not of the records by themselves."""
    s = statistic.transforms[0]
    return f"{statistic.noun} {'' if s.is_identity else f'{s} over '}the clipped records"


def _near(release: Release) -> str:
    """How near the published numbers are to what they are about."""
    channel, statistic, margin = release.channel, release.channel.statistic, release.channel.margin()
    about = "the count of its cell" if statistic.tallies else _about(statistic)
    if channel.value_shape == () and margin is not None:
        first, last = (within(release.value + side * margin, margin) for side in (-1, 1))
        return (
            f"The noise alone leaves {about} between {first} and {last} (90%); without clipping it may be anything, if "
            f"records lie outside {_where(statistic.bounds)}."
        )
    if margin is not None:
        own = "its record's clipped value" if statistic.per_record else about
        many = not (statistic.per_record or statistic.tallies) and statistic.dimension > 1
        own = f"what {statistic.noun.removesuffix(' of')} is over the clipped records" if many else own
        return f"The noise alone leaves each number within ± {around(margin)} of {own} (90%)."
    even = margin_if_even(channel)
    if even is None:
        return ""
    return (
        f"How near that is to {about} depends on how they lie, which is secret: if they lay evenly over "
        f"{_range(release)}, within ± {around(even)} (90%); nearer where they are dense about it, and not so near in a "
        f"gap{_EQUAL if channel.law.selects else ''}."
    )


def _range(release: Release) -> str:
    low, high = release.channel.statistic.ranges[0]
    return f"[{low:g}, {high:g}]"


def _pictures(release: Release) -> list[Picture]:
    if release.channel.statistic.tallies:
        return [_counts(release)]
    drawn, even = spreads(release), spread_if_even(release)
    if drawn:
        told = "Where each of them lies" if len(drawn) > 1 else "Where the statistic of the clipped records lies"
        rest = "What that says about the population, a part of which may be out of bounds, is asked of `confide infer`."
        return [Picture(plot_spreads(drawn), f"{told}, given the noise alone. {rest}")]
    if even is not None:
        told = f"The noise as it would be if the records lay evenly over {_range(release)}: an example, for the real "
        return [Picture(plot_spreads([even]), f"{told}scale of the noise depends on the records and is not told.")]
    if release.channel.statistic.per_record:
        told = "What was published of the records, with each record's noise in it; inference takes the noise out again."
        return [Picture(plot_answers(release.value), told)]
    return []


def _counts(release: Release) -> Picture:
    value, margin = np.asarray(release.value), release.channel.margin() or 0.0
    figure = plot_counts(release.channel.statistic.labels, value, np.stack([value - margin, value + margin], axis=1))
    told = "The published counts, and how far the noise alone may have moved each of them (90%)."
    return Picture(
        figure, f"{told} What the true counts were, with totals that are known, is asked of `confide denoise`."
    )


def _facts(release: Release) -> dict[str, Any]:
    channel = release.channel
    facts = {"data set": release.dataset, "part": release.part, "column": columns_told(release),
             "purpose": release.purpose, "missing values": _missing(release),
             "records": number_of_records(channel).removesuffix(" of")}  # fmt: skip
    few = isinstance(release.value, np.ndarray) and release.value.size <= MOST_NUMBERS
    if few and not channel.statistic.per_record:
        each = zip(channel.statistic.labels, release.value, strict=True)
        margin = channel.margin()
        spread = "" if margin is None else f" ± {around(margin)}"
        facts |= {label: f"{shown(channel, float(value))}{spread}" for label, value in each}
    near = nearness(channel)
    rows, protected = channel.statistic.persons, None
    if rows is not None:
        protected = f"ONE PERSON by {rows.column}, of whom at most {rows.at_most} rows are used"
    elif channel.protects:
        protected = f"{channel.protects.upper()}, not a person, who may have several"
    facts |= {"noise ± (90%)": None if near == "–" else near, "guarantee": str(release.guarantee)}
    return facts | {"protected": protected}


def columns_told(release: Release) -> str | None:
    """What the columns are called in the data, in words; None where it is not said."""
    if not isinstance(release.column, Mapping):
        return release.column
    return ", ".join(f"{name}: {found}" for name, found in release.column.items())


def named_columns(release: Release) -> str:
    """The columns of a table that the statistic itself names."""
    names = release.channel.statistic.columns
    return "" if names == ("x",) else ", ".join(names)


def _missing(release: Release) -> str | None:
    if release.missing is None:
        return None
    if isinstance(release.missing, Mapping):
        return ", ".join(f"{name} replaced by {value:g}" for name, value in release.missing.items())
    return "left out" if isinstance(release.missing, str) else f"replaced by {release.missing:g}"
