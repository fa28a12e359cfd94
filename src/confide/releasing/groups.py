"""Releases by group: the same statistic of the records of each group, of which there is a public list.

Groups come from that list, never from the data: what is in none of them is in no release, and one without records has
the sum 0. A record is in one group at most. Where n is public so are the groups' sizes, and membership is fixed: a
neighbour is replaced within its group. Where n is private a record is added to one group, or removed from it. In both
cases releases from all groups cost what the dearest of them costs (`published.part.Grouped`); a record that moves is
one removal and one addition (`privacy.composition.moved`), which a budget for replaced records pays.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from confide.channel import Channel
from confide.errors import InvalidArgument
from confide.published.part import Grouped, Part
from confide.statistic.columns import as_list

_REMEDY = 'say how many records each group has, as in groups={"f": 6100, "m": 5900}'


def parts_of(
    channel: Channel, by: object, groups: object, part: Part | str | None
) -> dict[str, tuple[Channel, Grouped]]:
    """The channel of each group and the part that its records are.

    >>> import confide as cf
    >>> channel = cf.Channel(cf.Mean("x", bounds=(0, 1)), cf.Laplace(cf.PureDP(1.0)), n=10)
    >>> parts_of(channel, "sex", {"f": 6, "m": 4}, None)["m"][1]
    Grouped(column='sex', value='m')
    """
    if not isinstance(by, str) or not by:
        raise InvalidArgument("by", by, "is not the name of a column", 'name the public attribute, as in by="sex"')
    if part is not None:
        raise InvalidArgument("part", part, "is given beside groups, which are parts", "leave one of them out")
    sizes = _sizes(channel, groups)
    return {name: (replace(channel, n=size), Grouped(by, name)) for name, size in sizes.items()}


def _sizes(channel: Channel, groups: Any) -> dict[str, int | None]:
    """How many records each group has: public numbers, which are those of the channel together, or private."""
    if channel.n is None:
        if isinstance(groups, Mapping):
            remedy = 'list their names, as in groups=["f", "m"]'
            raise InvalidArgument("groups", dict(groups), "has sizes, but n is private and so are they", remedy)
        return dict.fromkeys(as_list("groups", groups))
    if not isinstance(groups, Mapping):
        raise InvalidArgument("groups", groups, "does not say how many records each group has", _REMEDY)
    found: dict[str, int] = {}
    for name in as_list("groups", groups):
        try:
            size = -1 if isinstance(groups[name], bool) else operator.index(groups[name])
        except TypeError:
            size = -1
        if size < 1:
            raise InvalidArgument(f"groups[{name!r}]", groups[name], "is no number of records", _REMEDY)
        found[name] = size
    if sum(found.values()) != channel.n:
        problem = f"has {sum(found.values()):,} records in all, but the channel is made for n = {channel.n:,}"
        raise InvalidArgument("groups", dict(groups), problem, "both are public: correct one of them")
    return dict(found)
