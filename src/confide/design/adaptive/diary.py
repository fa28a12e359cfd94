"""What plans have in common that are told of releases one after the other."""

from __future__ import annotations

from collections.abc import Sequence

from confide.channel import Channel
from confide.errors import IncompatibleError, InvalidArgument
from confide.published import Release


def check_next(release: Release, channel: Channel, records: str) -> None:
    """Refuse what is not a release through the plan's next channel, which is for such records."""
    if not isinstance(release, Release):
        raise InvalidArgument("release", release, "is not a release", "give Release(plan.channel, value)")
    if release.channel != channel:
        remedy = f"release plan.channel from {records}"
        raise InvalidArgument("release", release.channel, "is not through the plan's next channel", remedy)


def require_releases(releases: Sequence[Release]) -> None:
    """Refuse a posterior of nothing."""
    if not releases:
        raise IncompatibleError("nothing has been released yet, so the posterior is the prior; release plan.channel")
