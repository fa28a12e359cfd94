"""The fifth screen: what is taken along, the script, the command line, the channel file and the report."""

from __future__ import annotations

import confide as cf
from confide.reporting import choosing  # noqa: F401  # registers the content of comparisons and searches
from confide.reporting.content import content
from confide.reporting.page import page
from confide.reporting.promise import in_plain_words
from confide.reporting.script import script
from confide.reporting.source import source
from confide_explorer.answer import Answer
from confide_explorer.reading import read_channel, read_channels, read_plan
from confide_explorer.screens.statistic import command_of, compared, searched
from confide_explorer.scripts import channel_file, command
from confide_explorer.state import PageState


def take(state: PageState, _: str) -> Answer:
    """Everything about the statistic that was chosen, or that is the best of those compared."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    channels, errors = read_channels(state, plan)
    assert not errors, errors
    found, picks = compared(state, plan, channels) if channels else searched(state, plan)
    first = found.best if not channels else channels[picks[0]]
    chosen = read_channel(state.pick, plan) if state.pick else first
    line = command_of(state, plan)
    told = script(found) + f"\nchannel = {source(chosen)}\nprint(channel)\n"
    release = command(
        *("release", "DATA.csv", *([] if plan.several else ["--column", state.column or "x"])),
        *("--study", "channel.toml"),
        *("--ledger", "budget.db", "--dataset", "people", "--output", "release.json"),
    )
    return Answer(
        str(chosen).splitlines()[0],
        notes=(*str(chosen).splitlines()[1:], in_plain_words(chosen.guarantee)),
        script=told,
        command=f"{line}\n{release}",
        channel_file=channel_file(chosen, plan, state.counting == "about"),
        page=page(content(found), version=cf.__version__, command=line, script=told),
    )
