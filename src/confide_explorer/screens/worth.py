"""The third screen: how accurate the answer is against ε and n, and what an accuracy costs."""

from __future__ import annotations

from typing import Any

import numpy as np

import confide as cf
from confide import design
from confide._progress import progress
from confide.plots.style import COLOURS, GREY, LINES, new_figure, styled
from confide.privacy import Privacy
from confide.reporting.content import Picture
from confide.reporting.source import source
from confide_cli import words
from confide_explorer.answer import Answer, Table, drawing
from confide_explorer.assumed import Assumed
from confide_explorer.reading import read_channel, read_plan, read_wanted
from confide_explorer.screens.costs import (
    AccuracyCurve,
    guarantee,
    level_of,
    mechanism_at,
    read_off,
    required,
    served,
    symbol,
)
from confide_explorer.scripts import about, command, complete, mechanism_of_privacy, words_of
from confide_explorer.state import PageState

#: levels and sizes around what was said: a factor of ten on either side, in steps of about 1.8
_FACTORS = np.geomspace(0.1, 10.0, 9)
#: the two models of a comparison that is about one of them
_TWINS = ("here", "there")


def worth(state: PageState, _: str) -> Answer:
    """Two curves; and where an accuracy is asked for, what it costs in privacy or in records."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    channel = read_channel(state.pick, plan)
    quick: dict[str, Any] = {"method": "normal"} if channel.statistic.averages else {}
    levels = [_privacy(plan, factor) for factor in _FACTORS]
    sizes = sorted({max(1, round(plan.n * factor)) for factor in _FACTORS})
    curves = [_along_levels(state, plan, channel, levels, quick), _along_sizes(plan, channel, sizes, quick)]
    wanted, errors = read_wanted(state, plan)
    assert not errors, errors
    answers: tuple[Table, ...] = ()
    sentence, asked = _PLAIN, list[str]()
    if wanted:
        asks = required if served(plan) else read_off
        sentence, answers, asked = asks(state, plan, channel, wanted, curves)
    return Answer(
        sentence,
        tables=(*answers, *(curve.table for curve in curves)),
        drawings=(drawing(_picture(plan, curves, wanted)),),
        notes=(_how(plan, bool(quick)),),
        script=_script(plan, channel, levels, sizes, quick, asked),
        command=_command(plan, channel, wanted),
    )


_PLAIN = "Say below how near the answer must come, and you are told what that costs, in privacy or in records."


def _how(plan: Assumed, quick: bool) -> str:
    by = ", by the normal law of sums" if plan.private else ", by the normal law of a mean" if quick else ""
    told = f"The curves are what the Fisher information promises{by}"
    if served(plan):
        return f"{told}; what an accuracy costs is found by simulating releases and analysing all of them."
    why = "n is private" if plan.private else "a record is a row of several columns"
    return (
        f"{told}, and what an accuracy costs is read off them: where {why}, confide require does not serve. To be "
        "sure, look at simulated releases on the second screen, or at hundreds of them with confide.study from Python."
    )


def _along_levels(
    state: PageState, plan: Assumed, channel: Any, levels: list[Any], quick: dict[str, Any]
) -> AccuracyCurve:
    """At all levels of privacy, in one comparison."""
    channels = {guarantee(each): cf.Channel(channel.statistic, mechanism_at(state, each), channel.n) for each in levels}
    title = f"Accuracy against privacy, with {plan.n:,} records"
    here = level_of(plan.privacy)
    return AccuracyCurve(
        title, "privacy", [level_of(each) for each in levels], list(channels), here, _sd(plan, channels, quick)
    )


def _along_sizes(plan: Assumed, channel: Any, sizes: list[int], quick: dict[str, Any]) -> AccuracyCurve:
    """At all numbers of records; of a private one each is assumed in a comparison of its own."""
    at = [f"{n:,}" for n in sizes]
    if plan.private:
        twins = dict.fromkeys(_TWINS, channel)
        each = [_sd(plan, twins, quick, n=n) for n in progress(sizes, "numbers of records")]
        sd = {name: [found[name][0] for found in each] for name in each[0]}
    else:
        channels = {f"{n:,}": cf.Channel(channel.statistic, channel.mechanism, n) for n in sizes}
        sd = _sd(plan, channels, quick)
    title = f"Accuracy against n, under {guarantee(plan.privacy)}"
    return AccuracyCurve(title, "n", [float(n) for n in sizes], at, plan.n, sd)


def _sd(plan: Assumed, channels: dict[str, Any], quick: dict[str, Any], **assumed: Any) -> dict[str, list[float]]:
    """What is to be expected through each channel, by the names of θ."""
    models = {name: cf.Model(plan.population, each) for name, each in channels.items()}
    found = design.compare(models, prior=plan.prior, unequal=True, **quick, **(assumed or plan.assumed)).table
    columns = [name for name in found if name.startswith("sd ")]
    return {name.removeprefix("sd "): [float(found.loc[each, name]) for each in channels] for name in columns}


def _privacy(plan: Assumed, factor: float) -> Privacy:
    kind, _, rest = plan.privacy_words.partition(":")
    level, *more = rest.split(",")
    return words.read_privacy(f"{kind}:{','.join([repr(float(f'{float(level) * factor:.3g}')), *more])}")


def _picture(plan: Assumed, curves: list[AccuracyCurve], wanted: dict[str, float]) -> Picture:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    with styled():
        figure, axes = new_figure(7.2, 3.2, 2)
        for axis, curve, label in zip(axes, curves, (f"{symbol(plan)}, the privacy loss", "records"), strict=True):
            for place, (name, y) in enumerate(curve.sd.items()):
                look = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)]}
                axis.plot(curve.x, y, label=name, **look)
                if name in wanted:
                    axis.axhline(wanted[name], color=COLOURS[place % len(COLOURS)], linewidth=1, linestyle=":")
            axis.axvline(curve.here, color=GREY, linewidth=1, linestyle=":")
            axis.set_xscale("log")
            axis.set_yscale("log")
            axis.set_xlabel(label)
            for scale, steps in ((axis.xaxis, (1.0,)), (axis.yaxis, (1.0, 2.0, 5.0))):
                scale.set_major_locator(LogLocator(subs=steps))
                scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
                scale.set_minor_formatter(NullFormatter())
        axes[0].set_ylabel("known to ±")
        axes[0].legend()
    return Picture(
        figure, "How near the answer will come, against the privacy loss and against n; dotted, what was said."
    )


def _script(
    plan: Assumed, channel: Any, levels: list[Any], sizes: list[int], quick: dict[str, str], asked: list[str]
) -> str:
    method = ', method="normal"' if quick else ""
    maker = mechanism_of_privacy(channel)
    made = f"({maker})(level)" if maker.startswith("lambda") else f"{maker}(level)"
    assumed = f", n={plan.n}" if plan.private else ""
    lines = [
        *about(plan),
        f"channel = {source(channel)}",
        f"levels, sizes = {source(levels)}, {sizes!r}",
        "by_level = {str(level): cf.Channel(channel.statistic, " + made + ", channel.n) for level in levels}",
        "models = {name: cf.Model(population, each) for name, each in by_level.items()}",
        f"found = cf.compare(models, prior=prior, unequal=True{method}{assumed})",
        "tables = [found.table.filter(like='sd ').loc[list(by_level)]]",
        *(_SIZES_OF_PRIVATE if plan.private else _sizes(method)),
        "for each in tables:",
        "    print(each)",
    ]
    if asked and not served(plan):
        lines.append(f"axes = [{[level_of(each) for each in levels]!r}, sizes]")
    return complete(lines + asked)


#: one comparison for each number of records that is assumed
_SIZES_OF_PRIVATE = [
    f"twins = {{name: cf.Model(population, channel) for name in {_TWINS!r}}}",
    "each = [cf.compare(twins, prior=prior, n=n).table.loc['here'] for n in sizes]",
    "tables.append({name: [float(row[name]) for row in each] for name in each[0].index if name.startswith('sd ')})",
]


def _sizes(method: str) -> list[str]:
    return [
        "by_size = {f'{n:,}': cf.Channel(channel.statistic, channel.mechanism, n) for n in sizes}",
        "models = {name: cf.Model(population, each) for name, each in by_size.items()}",
        f"found = cf.compare(models, prior=prior, unequal=True{method})",
        "tables.append(found.table.filter(like='sd ').loc[list(by_size)])",
    ]


def _command(plan: Assumed, channel: Any, wanted: dict[str, float]) -> str:
    """Where `confide require` serves."""
    if not (wanted and served(plan)):
        return ""
    prior = [part for law in plan.prior_words for part in ("--prior", law)]
    sd = [part for name, value in wanted.items() for part in ("--sd", f"{name}={value!r}")]
    statistic = ["--statistic", words_of(channel)]
    return command(
        "require", "--population", plan.population_words, *statistic, *sd, *prior, "--privacy", plan.privacy_words
    )
