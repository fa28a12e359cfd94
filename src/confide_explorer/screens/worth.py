"""The third screen: how accurate the answer is against ε and n, and what an accuracy costs."""

from __future__ import annotations

from typing import Any

import numpy as np

import confide as cf
from confide import design
from confide.errors import AccuracyError, IncompatibleError, InvalidArgument
from confide.plots.style import COLOURS, GREY, LINES, new_figure, styled
from confide.privacy import ApproxDP, Privacy
from confide.reporting.content import Picture, of_population
from confide.reporting.source import source
from confide_cli import words
from confide_explorer.answer import Answer, Table, drawing, table
from confide_explorer.reading import Assumed, read_channel, read_plan, read_wanted
from confide_explorer.scripts import about, command, complete, mechanism_of_privacy, words_of
from confide_explorer.state import PageState

#: levels and sizes around what was said: a factor of ten on either side, in steps of about 1.8
_FACTORS = np.geomspace(0.1, 10.0, 9)


def worth(state: PageState, _: str) -> Answer:
    """Two curves; and where an accuracy is asked for, what it costs in privacy or in records."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    channel = read_channel(state.pick, plan)
    levels = [_privacy(plan, factor) for factor in _FACTORS]
    sizes = sorted({max(1, round(plan.n * factor)) for factor in _FACTORS})
    by_level = {_told(each): cf.Channel(channel.statistic, _mechanism(state, each), plan.n) for each in levels}
    by_size = {f"{n:,}": cf.Channel(channel.statistic, channel.mechanism, n) for n in sizes}
    quick: dict[str, Any] = {"method": "normal"} if channel.statistic.averages else {}
    found = [
        design.compare(
            {name: cf.Model(plan.population, each) for name, each in channels.items()},
            prior=plan.prior, unequal=True, **quick,
        )
        for channels in (by_level, by_size)
    ]  # fmt: skip
    tables = [
        _curve(title, each, list(channels))
        for title, each, channels in zip(
            (f"Accuracy against privacy, with {plan.n:,} records", f"Accuracy against n, under {_told(plan.privacy)}"),
            found, (by_level, by_size), strict=True,
        )
    ]  # fmt: skip
    wanted, errors = read_wanted(state, plan)
    assert not errors, errors
    sentence, answers, asked = _required(state, plan, channel, wanted) if wanted else (_PLAIN, (), [])
    return Answer(
        sentence,
        tables=(*answers, *tables),
        drawings=(drawing(_picture(plan, found, levels, sizes, wanted)),),
        notes=(
            "The curves are what the Fisher information promises"
            + (", by the normal law of a mean" if quick else "")
            + "; what an accuracy costs is found by simulating releases and analysing all of them.",
        ),
        script=_script(plan, channel, levels, sizes, quick, asked),
        command=_command(state, plan, channel, wanted),
    )


_PLAIN = "Say below how near the answer must come, and you are told what that costs, in privacy or in records."


def _privacy(plan: Assumed, factor: float) -> Privacy:
    kind, _, rest = plan.privacy_words.partition(":")
    level, *more = rest.split(",")
    return words.read_privacy(f"{kind}:{','.join([repr(float(f'{float(level) * factor:.3g}')), *more])}")


def _mechanism(state: PageState, privacy: Any) -> Any:
    return words.read_mechanism(words.split_statistic(state.pick)[2] or "laplace", privacy)


def _curve(title: str, found: Any, names: list[str]) -> Table:
    columns = [name for name in found.table if name.startswith("sd ")]
    rows = [(name, *(float(found.table.loc[name, column]) for column in columns)) for name in names]
    told = [f"{column.removeprefix('sd ')} to ±" for column in columns]
    return table(title, (title.split()[2].rstrip(","), *told), rows)


def _required(
    state: PageState, plan: Assumed, channel: Any, wanted: dict[str, float]
) -> tuple[str, tuple[Table, ...], list[str]]:
    """What the accuracy costs, both ways, and the lines of the script."""
    call = f"cf.require(population, channel.statistic, {mechanism_of_privacy(channel)}, sd={wanted!r}, prior=prior, "
    lines, rows, said = [], [], []
    ways: list[tuple[str, dict[str, Any], str]] = [
        ("the least privacy loss", {"n": plan.n, "unit": _unit(plan)}, f"n={plan.n}, unit={_unit_in_python(plan)}"),
        ("the fewest records", {"privacy": plan.privacy}, "privacy=privacy"),
    ]
    for name, given, python in ways:
        lines.append(f"print({call}{python}))")
        try:
            found = cf.require(
                plan.population, channel.statistic, lambda level: _mechanism(state, level),
                sd=wanted, prior=plan.prior, **given,
            )  # fmt: skip
        except (AccuracyError, IncompatibleError, InvalidArgument) as error:
            rows.append((name, "–", "–", str(error)))
            continue
        reached = ", ".join(f"{each} to ± {found.sd[each]:.3g}" for each in wanted)
        rows.append((name, _told(found.privacy), f"{found.n:,}", reached))
        said.append(f"{_told(found.privacy)} with {found.n:,} records")
    told = ", ".join(f"{of_population([name])} to ± {value:g}" for name, value in wanted.items())
    sentence = (
        f"To know {told} takes {'; or '.join(said)}." if said else f"{told} is out of reach, or needs no release."
    )
    return (
        sentence[0].upper() + sentence[1:],
        (table("What it costs", ("asked for", "guarantee", "records", "reached"), rows),),
        lines,
    )


def _told(privacy: Any) -> str:
    """ε = 0.5 and its like."""
    names = {"epsilon": "ε", "delta": "δ", "mu": "μ", "rho": "ρ"}
    return ", ".join(f"{names[name]} = {value:.4g}" for name, value in vars(privacy).items())


def _unit(plan: Assumed) -> Any:
    if isinstance(plan.privacy, ApproxDP):
        delta = plan.privacy.delta
        return lambda epsilon: ApproxDP(epsilon, delta)
    return type(plan.privacy)


def _unit_in_python(plan: Assumed) -> str:
    if isinstance(plan.privacy, ApproxDP):
        return f"lambda epsilon: cf.ApproxDP(epsilon, {plan.privacy.delta!r})"
    return f"cf.{type(plan.privacy).__name__}"


def _picture(plan: Assumed, found: list[Any], levels: list[Any], sizes: list[int], wanted: dict[str, float]) -> Picture:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    xs = [[next(iter(vars(each).values())) for each in levels], sizes]
    here = [next(iter(vars(plan.privacy).values())), plan.n]
    with styled():
        figure, axes = new_figure(7.2, 3.2, 2)
        for axis, each, x, now, label in zip(axes, found, xs, here, ("privacy loss", "records"), strict=True):
            # in the order they were given, not as they rank
            for place, name in enumerate(plan.population.names):
                y = [each.evaluations[key].expected()[f"sd {name}"] for key in each.names]
                look = {"color": COLOURS[place], "linestyle": LINES[place]}
                axis.plot(x, y, label=name, **look)
                if name in wanted:
                    axis.axhline(wanted[name], color=COLOURS[place], linewidth=1, linestyle=":")
            axis.axvline(now, color=GREY, linewidth=1, linestyle=":")
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
    lines = [
        *about(plan),
        f"channel = {source(channel)}",
        f"by_level = {{str(level): cf.Channel(channel.statistic, {made}, channel.n) for level in {source(levels)}}}",
        f"by_size = {{f'{{n:,}}': cf.Channel(channel.statistic, channel.mechanism, n) for n in {sizes!r}}}",
        "for channels in (by_level, by_size):",
        "    models = {name: cf.Model(population, each) for name, each in channels.items()}",
        f"    found = cf.compare(models, prior=prior, unequal=True{method})",
        "    print(found.table.filter(like='sd ').loc[list(channels)])",
    ]
    return complete(lines + asked)


def _command(state: PageState, plan: Assumed, channel: Any, wanted: dict[str, float]) -> str:
    if not wanted:
        return ""
    prior = [part for law in plan.prior_words for part in ("--prior", law)]
    sd = [part for name, value in wanted.items() for part in ("--sd", f"{name}={value!r}")]
    statistic = ["--statistic", words_of(channel)]
    return command(
        "require", "--population", plan.population_words, *statistic, *sd, *prior, "--privacy", plan.privacy_words
    )
