"""What the reader takes along: scripts, command lines and the channel file."""

from __future__ import annotations

import json
import shlex
from typing import Any

from confide import registry
from confide.channel import Channel
from confide.reporting.script import with_imports
from confide.reporting.source import source
from confide_explorer.reading import Assumed

#: what a mechanism may be given beside its guarantee
_OPTIONS = ("scale", "step", "alpha", "beta", "cap")


def words_of(channel: Channel) -> str:
    """A channel's statistic, bounds and mechanism in words that read as the same channel again.

    >>> import confide as cf
    >>> words_of(cf.Channel(cf.Mean("abs(x)", bounds=(-10, 10)), cf.Laplace(cf.PureDP(1.0)), n=100))
    'mean abs(x) on -10.0 10.0 with laplace'
    """
    low, high = channel.statistic.bounds
    return f"{_statistic(channel)} on {low!r} {high!r} with {_mechanism(channel)}"


def _statistic(channel: Channel) -> str:
    statistic = channel.statistic
    head = next(word for word, name in registry.STATISTICS.items() if name == type(statistic).__name__)
    level = "".join(f" {value!r}" for value in statistic.options.values())
    return f"{head}{level} {', '.join(map(str, statistic.transforms))}"


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


def channel_file(channel: Channel, plan: Assumed, about_n: bool) -> str:
    """The channel as a study file for `confide release DATA --study FILE`, which is TOML."""
    low, high = channel.statistic.bounds
    note = "# the number of records is about this: write the exact one, which will be public\n" if about_n else ""
    return (
        "# what is published; for: confide release DATA --column NAME --study channel.toml\n"
        f"statistic = {_toml(_statistic(channel))}\n"
        f"bounds = [{low!r}, {high!r}]\n"
        f"mechanism = {_toml(_mechanism(channel))}\n"
        f"privacy = {_toml(plan.privacy_words)}\n"
        f"{note}n = {plan.n}\n"
    )


def _toml(text: str) -> str:
    # a basic string of TOML is a string of JSON, which escapes no more than TOML knows
    return json.dumps(text)


def several(names: tuple[str, ...], values: dict[str, Any]) -> str:
    """Numbers by name, as a command line's repeated option has them."""
    return " ".join(f"{name}={values[name]!r}" for name in names if name in values)
