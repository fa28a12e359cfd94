"""From what was typed to values, with what is wrong beside the field that it was typed in."""

from __future__ import annotations

import re
from typing import Any

from confide.channel import Channel
from confide.errors import InvalidArgument
from confide_cli import words
from confide_cli.priors import read_prior
from confide_explorer.assumed import Assumed
from confide_explorer.candidates import candidates
from confide_explorer.columns import read_record
from confide_explorer.fields import FieldReader
from confide_explorer.state import WANTED, PageState

#: statistics that are still told apart in a table, and the command line's own limit on n
_MOST_STATISTICS, _MOST_RECORDS = 12, 10**12
#: what is known of the number of records
COUNTING = {
    "public": "public: it may be published",
    "about": "public, and known about by now",
    "private": "private: it is protected, too",
}
#: the kinds of guarantees: what the number is called, and where a slider of it begins and ends
KINDS = {
    "pure": ("ε", 0.05, 10.0),
    "gdp": ("μ", 0.05, 10.0),
    "zcdp": ("ρ", 0.001, 10.0),
    "approx": ("ε", 0.05, 10.0),
}


def read_plan(state: PageState) -> tuple[Assumed | None, dict[str, str]]:
    """The values of the first screen, or what is wrong with them."""
    reader = FieldReader(state)
    record = read_record(reader)
    n = reader("n", _records)
    counting = reader("counting", lambda text: words.choice("number of records", text, COUNTING))
    privacy, told = read_privacy(reader)
    if record is None or n is None or reader.errors:
        return None, reader.errors
    # the columns are right by themselves: that two of them have a parameter of one name is seen when they meet
    population = reader("rows", lambda _: words.read_population(record.population))
    if population is None:
        return None, reader.errors
    private = counting == "private"
    given = read_prior(record.prior)
    return Assumed(population, record.population, given, record.prior, record.bounds, n, private, privacy, told), {}


def _records(text: str) -> int:
    bare = text.replace(",", "").replace(" ", "")
    # more digits than any n has are not even read
    if not (bare.isascii() and bare.isdigit() and len(bare) < 20 and 1 <= int(bare) <= _MOST_RECORDS):
        raise InvalidArgument("n", text, "is no number of records", "give a whole number, such as 1000")
    return int(bare)


def read_privacy(reader: FieldReader) -> tuple[Any, str]:
    """The guarantee, and its words."""
    kind = reader("kind", lambda text: words.choice("guarantee", text, KINDS))
    level = reader.number("level")
    delta = reader.number("delta") if kind == "approx" else None
    if kind is None or level is None or (kind == "approx" and delta is None):
        return None, ""
    if level <= 0:
        reader.wrong("level", f"“{reader.state.level}” is not above 0; give a positive number")
        return None, ""
    told = f"{kind}:{level!r}" + (f",{delta!r}" if delta is not None else "")
    bad_delta = delta is not None and not 0 < delta < 1
    return reader("delta" if bad_delta else "level", lambda _: words.read_privacy(told)), told


def read_channel(text: str, plan: Assumed) -> Channel:
    """A statistic in words, with bounds and a mechanism of its own or those of the plan."""
    what, bounds, mechanism = words.split_statistic(text)
    statistic = words.read_statistic(what, bounds_for(what, bounds, plan))
    return Channel(statistic, words.read_mechanism(mechanism or "laplace", plan.privacy), plan.records)


def bounds_for(what: str, own: Any, plan: Assumed | None) -> Any:
    """A statistic's own bounds, or those of the columns that it is about."""
    if own or plan is None or not plan.several:
        return own or (None if plan is None else plan.bounds)
    used = set(re.findall(r"[A-Za-z_]\w*", what))
    return {name: ends for name, ends in plan.bounds.items() if name in used} or None


def lines_of(state: PageState, plan: Assumed) -> list[str]:
    """The statistics to compare: those that are listed, or for rows, over which nothing is searched, the usual ones."""
    listed = list(dict.fromkeys(line.strip() for line in state.statistics.splitlines() if line.strip()))
    return listed or (candidates(plan) if plan.several else [])


def read_channels(state: PageState, plan: Assumed) -> tuple[dict[str, Channel], dict[str, str]]:
    """The statistics that are compared, by their words: none if the best is to be looked for."""
    reader = FieldReader(state)

    def read(text: str) -> dict[str, Channel]:
        lines = lines_of(state, plan)
        if len(lines) == 1 or len(lines) > _MOST_STATISTICS:
            remedy = f"give two to {_MOST_STATISTICS}, one a line; none, and the best is looked for"
            raise InvalidArgument("statistics", text, "cannot be compared", remedy)
        return {line: read_channel(line, plan) for line in lines}

    reader("precision", lambda text: words.choice("figures", text, ("quick", "exact")))
    return reader("statistics", read) or {}, reader.errors


def read_pick(state: PageState, plan: Assumed) -> tuple[Channel | None, dict[str, str]]:
    """The statistic that was chosen, if one was."""
    reader = FieldReader(state)
    return (reader("pick", lambda text: read_channel(text, plan)) if state.pick else None), reader.errors


def labels(plan: Assumed) -> list[str]:
    """A name for each entry of θ."""
    return [
        part.name if not part.vector else f"{part.name}[{place}]"
        for part in plan.population.space
        for place in range(part.size)
    ]


def read_wanted(state: PageState, plan: Assumed) -> tuple[dict[str, float], dict[str, str]]:
    """The accuracy that is wanted of each parameter."""
    reader = FieldReader(state)
    found = {}
    for field, name in zip(WANTED, labels(plan), strict=False):
        if getattr(state, field):
            value = reader.number(field)
            if value is not None and value <= 0:
                reader.wrong(field, f"“{value:g}” is not positive; give how near the answer is to come")
            elif value is not None:
                found[name] = value
    return found, reader.errors
