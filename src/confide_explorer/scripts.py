"""What the reader takes along: scripts, command lines and the channel file."""

from __future__ import annotations

import json
import shlex
from typing import Any

from confide import registry
from confide.channel import Channel
from confide.reporting.script import with_imports
from confide.reporting.source import source
from confide_cli import words
from confide_explorer.assumed import Assumed
from confide_explorer.reading import bounds_for

#: what a mechanism may be given beside its guarantee
_OPTIONS = ("scale", "step", "alpha", "beta", "cap")


def words_of(channel: Channel) -> str:
    """A channel's statistic, bounds and mechanism in words that read as the same channel again.

    >>> import confide as cf
    >>> words_of(cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100))
    'mean abs(x) on -10.0 10.0 with laplace'
    """
    return " ".join([_statistic(channel), *_on(channel), "with", _mechanism(channel)])


def _on(channel: Channel) -> list[str]:
    """Bounds in words, of one column or of several; a count has none."""
    bounds = channel.statistic.bounds
    if channel.statistic.counts or channel.statistic.tallies:
        return []
    if isinstance(bounds, tuple):
        return ["on", *map(repr, bounds)]
    return ["on", *(f"{name}={low!r}:{high!r}" for name, (low, high) in bounds.numbers.items())]


def _statistic(channel: Channel) -> str:
    statistic: Any = channel.statistic
    head = next(word for word, name in registry.STATISTICS.items() if name == type(statistic).__name__)
    if statistic.tallies:
        cells = (f"{cut.column}: {', '.join(map(str, cut.categories or cut.edges))}" for cut in statistic.cuts)
        return f"{head} {'; '.join(cells)}"
    level = "".join(f" {value!r}" for value in statistic.options.values())
    return " ".join([f"{head}{level}", ", ".join(map(str, statistic.transforms))]).rstrip()


def _mechanism(channel: Channel) -> str:
    mechanism = channel.mechanism
    noise = next(word for word, name in registry.MECHANISMS.items() if name == type(mechanism).__name__)
    given = {name: getattr(mechanism, name, None) for name in _OPTIONS}
    told = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
    return f"{noise}({told})" if told else noise


def beginning(plan: Assumed) -> list[str]:
    """The lines that every script begins with."""
    return [f"population = {source(plan.population)}", f"prior = {source(plan.prior)}"]


def about(plan: Assumed) -> list[str]:
    """What every script begins with, and the guarantee."""
    return [*beginning(plan), f"privacy = {source(plan.privacy)}"]


def complete(lines: list[str]) -> str:
    """A script."""
    return with_imports(lines)


def mechanism_of_privacy(channel: Channel) -> str:
    """Python for what makes the mechanism of a guarantee."""
    told = source(channel.mechanism)
    own = source(channel.mechanism.privacy)
    bare = told == f"cf.{type(channel.mechanism).__name__}({own})"
    return told.partition("(")[0] if bare else f"lambda privacy: {told.replace(own, 'privacy')}"


def command(*parts: str) -> str:
    """A command line, as a shell reads it."""
    return shlex.join(["confide", *parts])


def options_for(plan: Assumed) -> list[str]:
    """A guarantee and a number of records as options of a command that plans."""
    assumed = ["--n", "private", "--assume", str(plan.n)] if plan.private else ["--n", str(plan.n)]
    return [*assumed, "--privacy", plan.privacy_words]


def bounds_as_options(plan: Assumed, texts: list[str]) -> list[str]:
    """The bounds of the columns that statistics are about, where one of them has none of its own."""
    bare = [what for what, own, _ in map(words.split_statistic, texts) if own is None]
    if not plan.several:
        return ["--bounds", *map(repr, plan.bounds)] if bare else []
    found = {name: ends for what in bare for name, ends in (bounds_for(what, None, plan) or {}).items()}
    return [part for name, (low, high) in found.items() for part in ("--bounds", f"{name}={low!r}:{high!r}")]


def channel_file(channel: Channel, plan: Assumed, about_n: bool) -> str:
    """The channel as a study file for `confide release DATA --study FILE`, which is TOML."""
    column = "" if plan.several else " --column NAME"
    return "\n".join(
        [
            f"# what is published; for: confide release DATA{column} --study channel.toml",
            f"statistic = {_toml(_statistic(channel))}",
            *_bounds_of_file(channel),
            f"mechanism = {_toml(_mechanism(channel))}",
            f"privacy = {_toml(plan.privacy_words)}",
            *(["# the number of records is about this: write the exact one, which will be public"] if about_n else []),
            'n = "private"' if channel.n is None else f"n = {channel.n}",
            "",
        ]
    )


def _bounds_of_file(channel: Channel) -> list[str]:
    bounds = channel.statistic.bounds
    if channel.statistic.counts or channel.statistic.tallies:
        return []
    if isinstance(bounds, tuple):
        return [f"bounds = {list(bounds)!r}"]
    return [f"bounds = {{{', '.join(f'{name} = {[low, high]!r}' for name, (low, high) in bounds.numbers.items())}}}"]


def _toml(text: str) -> str:
    # a basic string of TOML is a string of JSON, which escapes no more than TOML knows
    return json.dumps(text)
