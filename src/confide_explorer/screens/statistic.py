"""The second screen: which statistic to publish, and what an analyst will get of the one that is chosen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import confide as cf
from confide import design
from confide.errors import ConfideWarning
from confide.inference import infer
from confide.plots.posterior import curves
from confide.plots.style import COLOURS, LINES, new_figure, styled
from confide.reporting import choosing  # noqa: F401  # registers the content of comparisons and searches
from confide.reporting.content import PageContent, Picture, content
from confide.reporting.script import script
from confide.reporting.source import source
from confide_explorer.answer import Answer, Table, drawing, table
from confide_explorer.reading import Assumed, read_channel, read_channels, read_plan
from confide_explorer.screens.know import likely
from confide_explorer.scripts import beginning, command, complete, words_of
from confide_explorer.state import PageState

#: chosen: noiseless values whose spread is the sampling error, which two thousand tell to 2%; and the records of each,
#: as that of more records is less by the square root
_MANY, _RECORDS = 2000, 1000
#: rows of a search that are shown: the rest is worth less than a tenth of the best
_MOST_ROWS = 10


def rank(state: PageState, _: str) -> Answer:
    """A ranked table, by the moments of the statistics or exactly."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    channels, errors = read_channels(state, plan)
    assert not errors, errors
    found, picks = searched(state, plan) if not channels else compared(state, plan, channels)
    told = content(found)
    return Answer(
        told.answer,
        tables=(_table(told, picks),),
        drawings=tuple(map(drawing, told.pictures)),
        notes=(*told.why, *_caveats(state, bool(channels))),
        warnings=told.warnings,
        script=script(found),
        command=_command(state, plan, list(channels)),
    )


def searched(state: PageState, plan: Assumed) -> tuple[Any, list[str]]:
    """The best of the families, and the words of each row."""
    exact: dict[str, Any] = {} if state.precision == "exact" else {"exact": False}
    found = design.optimize(plan.population, privacy=plan.privacy, n=plan.n, prior=plan.prior, **exact)
    return found, [words_of(channel) for channel in found.channels]


def compared(state: PageState, plan: Assumed, channels: dict[str, Any]) -> tuple[Any, list[str]]:
    """The statistics that the reader listed, side by side."""
    models = {name: cf.Model(plan.population, channel) for name, channel in channels.items()}
    # the normal law of a mean has a closed form; a median has none, and is computed
    quick = state.precision == "quick" and all(channel.statistic.averages for channel in channels.values())
    method: dict[str, Any] = {"method": "normal"} if quick else {}
    found = design.compare(models, prior=plan.prior, **method)
    return found, list(found.table.index)


def _table(told: PageContent, picks: list[str]) -> Table:
    rows = told.rows[:_MOST_ROWS]
    return table("Ranked, the best first", told.columns, rows, legend=told.legend, picks=tuple(picks[:_MOST_ROWS]))


def _caveats(state: PageState, listed: bool) -> tuple[str, ...]:
    if state.precision == "exact":
        return ()
    how = "the normal law of a mean" if listed else "moments and asymptotic laws"
    return (f"Quick figures, by {how}: ask for exact ones before you decide between near rivals.",)


def _command(state: PageState, plan: Assumed, listed: list[str]) -> str:
    told = [*_options(plan), "--n", str(plan.n), "--privacy", plan.privacy_words]
    if not listed:
        return command("optimize", *told)
    low, high = plan.bounds
    each = [part for line in listed for part in ("--statistic", line)]
    quick = ["--method", "normal"] if state.precision == "quick" else []
    return command("compare", *told, *each, "--bounds", repr(low), repr(high), *quick)


def _options(plan: Assumed) -> list[str]:
    return ["--population", plan.population_words, *(part for law in plan.prior_words for part in ("--prior", law))]


def expect(state: PageState, _: str) -> Answer:
    """What an analyst will get: releases simulated at a low, a likely and a high truth, and their posteriors."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    channel = read_channel(state.pick, plan)
    thetas = likely(plan)
    model = cf.Model(plan.population, channel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConfideWarning)
        values = [np.asarray(model.simulate(key, theta)) for key, theta in enumerate(thetas)]
        posteriors = [
            infer(plan.population, cf.Release(channel, value), plan.prior, key=key) for key, value in enumerate(values)
        ]
    return Answer(
        str(channel).splitlines()[0],
        tables=(_spread(plan, channel, thetas), _results(plan, thetas, values, posteriors)),
        drawings=(drawing(_picture(plan, thetas, posteriors)),),
        notes=tuple(str(channel).splitlines()[1:]),
        warnings=tuple(filter(None, [channel.warning])),
        script=_script(plan, channel, thetas),
    )


def _spread(plan: Assumed, channel: Any, thetas: Any) -> Table:
    noise = channel.law.added
    told = "–" if noise is None else f"{float(noise.variance) ** 0.5:.3g}"
    rows = [(*map(float, theta), told, sampling(plan, channel, theta)) for theta in thetas]
    legend = (
        ("noise", "the standard deviation of what is added for privacy; – where it depends on the records"),
        ("sampling error", "that of the statistic itself, from one sample of so many records to another; simulated"),
    )
    columns = (*(f"if {name} is" for name in plan.population.names), "noise", "sampling error")
    return table("Noise against sampling error", columns, rows, legend=legend)


def sampling(plan: Assumed, channel: Any, theta: Any) -> float:
    """How far the statistic moves without noise."""
    if channel.statistic.per_record:
        return float("nan")
    few = min(plan.n, _RECORDS)
    bare = cf.Model(plan.population, cf.Channel(channel.statistic, cf.Noiseless(), few))
    spread = np.std(np.asarray(bare.simulate(0, theta, (_MANY,))), axis=0).max()
    return float(spread * np.sqrt(few / plan.n))


def _results(plan: Assumed, thetas: Any, values: list[Any], posteriors: list[Any]) -> Table:
    rows = []
    for theta, value, found in zip(thetas, values, posteriors, strict=True):
        shown = f"{float(value):.4g}" if value.ndim == 0 else f"{value.size:,} numbers"
        for place, name in enumerate(plan.population.names):
            low, high = (float(end) for end in found.interval(0.9)[name])
            rows.append(
                (
                    name,
                    float(theta[place]),
                    shown,
                    float(found.mean[name]),
                    float(found.sd[name]),
                    f"{low:.4g} to {high:.4g}",
                )
            )
    columns = ("parameter", "truth", "published", "estimate", "±", "90% interval")
    return table("Simulated releases, and what an analyst would say of each", columns, rows)


def _picture(plan: Assumed, thetas: Any, posteriors: list[Any]) -> Picture:
    names = plan.population.names
    with styled():
        figure, axes = new_figure(7.2, 3.0, len(names))
        for axis, place in zip(axes, range(len(names)), strict=True):
            for order, (theta, found) in enumerate(zip(thetas, posteriors, strict=True)):
                curve, look = curves(found)[place], {"color": COLOURS[order % len(COLOURS)]}
                axis.plot(curve.theta, curve.posterior, linestyle=LINES[order % len(LINES)], **look)
                axis.axvline(theta[place], linestyle=":", linewidth=1, **look)
            axis.set_yticks([])
            axis.set_ylim(bottom=0)
            axis.set_xlabel(names[place])
    told = "What an analyst would know after each simulated release; dotted, the truth that it came from."
    return Picture(figure, told)


def _script(plan: Assumed, channel: Any, thetas: Any) -> str:
    few = min(plan.n, _RECORDS)
    spread = f"bare.simulate(0, theta, ({_MANY},)).std(axis=0).max()"
    error = f"    print('sampling error', {spread} * ({few} / {plan.n}) ** 0.5)"
    return complete(
        [
            *beginning(plan),
            f"channel = {source(channel)}",
            "model = cf.Model(population, channel)",
            f"bare = cf.Model(population, cf.Channel(channel.statistic, cf.Noiseless(), {few}))",
            f"for key, theta in enumerate({thetas.tolist()!r}):  # what the prior holds for low, middle and high",
            "    release = cf.Release(channel, model.simulate(key, theta))",
            "    print(theta, release.value)",
            *([] if channel.statistic.per_record else [error]),
            "    print(cf.infer(population, release, prior, key=key))",
        ]
    )
