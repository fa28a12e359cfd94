"""A page for several releases: what was published, how exactly each number can be read, and what it cost together."""

from __future__ import annotations

from typing import Any

from confide.errors import InvalidArgument, PrivacyError
from confide.privacy import Privacy, compose
from confide.published import Release
from confide.published.imputation import effect
from confide.reporting.content import Content, content
from confide.reporting.publishing import nearness, published

#: the δ at which guarantees of different kinds are added up
_DELTA = 1e-6


@content.register(list)
@content.register(tuple)
def _(result: Any) -> Content:
    if not result or not all(isinstance(each, Release) for each in result):
        raise InvalidArgument("result", result, "is not a list of releases", "give releases, as ledger.releases(name)")
    names = ", ".join(dict.fromkeys(each.dataset for each in result if each.dataset is not None))
    total = _total([each.guarantee for each in result])
    return Content(
        title="Numbers, published in confidence",
        question=f"{len(result)} releases{f' from {names}' if names else ''}: what came out of each.",
        answer=f"If all of them are about the same records, together they promise each record {total}.",
        pictures=(),
        columns=("column", "what", "published", "noise ± (90%)", "records", "guarantee", "purpose"),
        rows=tuple(_row(each) for each in result),
        channels=tuple(str(each) for each in result),
        guarantee=total,
        warnings=tuple(dict.fromkeys(told for each in result if (told := effect(each)) is not None)),
    )


def _row(release: Release) -> tuple[Any, ...]:
    channel = release.channel
    about = (release.column or "–", str(channel.statistic), published(release), nearness(channel), f"{channel.n:,}")
    return *about, str(release.guarantee), release.purpose or "–"


def _total(guarantees: list[Privacy]) -> Privacy:
    try:
        return compose(guarantees)
    except PrivacyError:
        return compose(guarantees, delta=_DELTA)
