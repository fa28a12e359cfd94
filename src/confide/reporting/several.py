"""A page for several releases, and for the accounts of a ledger: what was published, how exactly, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

from confide.errors import InvalidArgument, PrivacyError
from confide.plots.budget import plot_budgets, share_spent
from confide.plots.share import shorten
from confide.privacy import Privacy, compose
from confide.published import Grouped, Release, Statement
from confide.published.imputation import effect
from confide.reporting.content import PageContent, Picture, content
from confide.reporting.publishing import columns_told, named_columns, nearness, number_of_records, published

#: the δ at which guarantees of different kinds are added up
_DELTA = 1e-6

_COLUMNS = ("column", "what", "published", "noise ±", "records", "guarantee", "purpose")
_LEGEND = (
    ("published", "the number that came out, noise included"),
    ("noise ±", "how far the noise moved it at most, with 90% probability; about, where it depends on the records"),
    ("guarantee", "what the release cost"),
)


@content.register(list)
@content.register(tuple)
def _(result: Any) -> PageContent:
    for kind, told in ((Release, _releases), (Statement, _statements)):
        if result and all(isinstance(each, kind) for each in result):
            return told(result)
    remedy = "give releases, as ledger.releases(name), or statements, as ledger.statement(name)"
    raise InvalidArgument("result", result, "is not a list of releases", remedy)


@content.register
def _(result: Statement) -> PageContent:
    return _statements([result])


def _releases(result: Sequence[Release]) -> PageContent:
    names = ", ".join(dict.fromkeys(each.dataset for each in result if each.dataset is not None))
    disjoint = _one_group_each(result)
    total = result[0].guarantee if disjoint else _total([each.guarantee for each in result])
    answer = f"If all of them are about the same records, together they promise each record {total}."
    if disjoint:
        answer = f"No record is in two of these groups: together the releases promise each record {total}."
    return PageContent(
        title="Numbers, published in confidence",
        question=f"{len(result)} releases{f' from {names}' if names else ''}: what came out of each.",
        answer=answer,
        pictures=(),
        columns=_COLUMNS,
        rows=tuple(_row(each) for each in result),
        channels=_channels(result),
        guarantee=total,
        legend=_LEGEND,
        warnings=_warnings(result),
    )


def _one_group_each(releases: Sequence[Release]) -> bool:
    """Whether all are about groups of one data set of which no record is in two, at one guarantee."""
    one, parts = releases[0], [each.part for each in releases]
    alike = all((each.dataset, each.guarantee) == (one.dataset, one.guarantee) for each in releases)
    if one.dataset is None or not alike:
        return False
    groups = [each for each in parts if isinstance(each, Grouped)]
    return len(groups) == len(parts) and not any(a.overlaps(b) for a, b in combinations(groups, 2))


def _statements(result: Sequence[Statement]) -> PageContent:
    made = [each for statement in result for each in statement.releases]
    shares = [share_spent(each.budget, each.spent) for each in result]
    one = result[0] if len(result) == 1 else None
    title = "What has been published, and what it cost"
    return PageContent(
        title=title if one is None else f"The account of the data set {one.dataset}",
        question=f"{len(result)} data set{'s' * (one is None)} and {len(made)} release{'s' * (len(made) != 1)}.",
        answer=" ".join(_account(each) for each in result),
        pictures=(Picture(plot_budgets([shorten(each.dataset) for each in result], shares), "What is spent of each "
                  "budget. A budget is for all releases from its data set together, and never grows."),),
        columns=("data set", "day", *_COLUMNS),
        rows=tuple((each.dataset, day, *_row(release))
                   for each in result for release, day in zip(each.releases, each.days, strict=True)),
        channels=_channels(made),
        guarantee=None if one is None else one.spent,
        legend=(("day", "when the release was made"), *_LEGEND),
        warnings=_warnings(made),
    )  # fmt: skip


def _account(statement: Statement) -> str:
    if statement.spent is None:
        return f"The data set {statement.dataset} may spend {statement.budget}, and has spent nothing."
    rest = "nothing" if statement.left is None else str(statement.left)
    spent = f"may spend {statement.budget}, has spent {statement.spent}, and has {rest} left"
    return f"The data set {statement.dataset} {spent}."


def _row(release: Release) -> tuple[Any, ...]:
    channel = release.channel
    group = f" ({release.part})" if isinstance(release.part, Grouped) else ""
    about = (
        columns_told(release) or named_columns(release) or "–",
        str(channel.statistic),
        published(release),
        nearness(channel),
        number_of_records(channel).removesuffix(" of") + group,
    )
    return *about, str(release.guarantee), release.purpose or "–"


def _channels(releases: Sequence[Release]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each.channel.described("Published:") for each in releases))


def _warnings(releases: Sequence[Release]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(told for each in releases if (told := effect(each)) is not None))


def _total(guarantees: list[Privacy]) -> Privacy:
    try:
        return compose(guarantees)
    except PrivacyError:
        return compose(guarantees, delta=_DELTA)
