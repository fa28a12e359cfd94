"""The second screen: which statistic to publish, and what an analyst will get of the one that is chosen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import confide as cf
from confide import design
from confide._progress import progress
from confide.errors import ConfideWarning, IncompatibleError
from confide.inference import infer
from confide.plots.posterior import curves
from confide.plots.style import COLOURS, LINES, new_figure, styled
from confide.privacy.relation import ADD_REMOVE
from confide.reporting import choosing  # noqa: F401  # registers the content of comparisons and searches
from confide.reporting.content import PageContent, Picture, content
from confide.reporting.script import script
from confide.reporting.source import source
from confide_explorer.answer import Answer, Table, cell, drawing, table
from confide_explorer.assumed import Assumed
from confide_explorer.reading import labels, lines_of, read_channel, read_channels, read_plan
from confide_explorer.screens.know import likely
from confide_explorer.scripts import beginning, bounds_as_options, command, complete, options_for, words_of
from confide_explorer.state import PageState

#: chosen: noiseless values whose spread is the sampling error, which two thousand tell to 2%; and the records of each,
#: as that of more records is less by the square root
_MANY, _RECORDS = 2000, 1000
#: rows of a search that are shown: the rest is worth less than a tenth of the best
_MOST_ROWS = 10
#: what is told once if it is the same in every row, for a table to be read at a glance
_ONCE = ("method", "efficiency")
#: parameters of which a picture still has panels that can be read
_MOST_PANELS = 4


def rank(state: PageState, _: str) -> Answer:
    """A ranked table, by the moments of the statistics or exactly."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    channels, errors = read_channels(state, plan)
    assert not errors, errors
    found, picks = searched(state, plan) if not channels else compared(state, plan, channels)
    told = content(found)
    ranked, alike = _table(told, picks)
    return Answer(
        told.answer,
        tables=(ranked,),
        drawings=tuple(map(drawing, told.pictures)),
        notes=(*alike, *told.why, *_caveats(state, plan, channels)),
        warnings=told.warnings,
        script=script(found),
        command=command_of(state, plan),
    )


def searched(state: PageState, plan: Assumed) -> tuple[Any, list[str]]:
    """The best of the families, and the words of each row."""
    exact: dict[str, Any] = {} if state.precision == "exact" else {"exact": False}
    private: dict[str, Any] = {"neighbours": ADD_REMOVE} if plan.private else {}
    found = design.optimize(plan.population, privacy=plan.privacy, n=plan.n, prior=plan.prior, **private, **exact)
    return found, [words_of(channel) for channel in found.channels]


def compared(state: PageState, plan: Assumed, channels: dict[str, Any]) -> tuple[Any, list[str]]:
    """The statistics that the reader listed, side by side."""
    models = {name: cf.Model(plan.population, channel) for name, channel in channels.items()}
    # the normal law of a mean has a closed form; a median has none, and is computed
    found = design.compare(models, prior=plan.prior, **quickly(state, channels), **plan.assumed)
    return found, list(found.table.index)


def quickly(state: PageState, channels: dict[str, Any]) -> dict[str, Any]:
    """The normal law of means, where figures are to be quick; of a private number of records there is no other."""
    means = all(channel.statistic.averages for channel in channels.values())
    return {"method": "normal"} if means and state.precision == "quick" else {}


def _table(told: PageContent, picks: list[str]) -> tuple[Table, list[str]]:
    """The ranked table, and what is not told in each row of it, being the same in all."""
    rows = told.rows[:_MOST_ROWS]
    same = {
        name: cell(rows[0][place])
        for place, name in enumerate(told.columns)
        if name in _ONCE and len({cell(row[place]) for row in rows}) == 1
    }
    kept = [place for place, name in enumerate(told.columns) if name not in same]
    found = table(
        "Ranked, the best first",
        [told.columns[place] for place in kept],
        [[row[place] for place in kept] for row in rows],
        legend=tuple(each for each in told.legend if each[0] not in same),
        picks=tuple(picks[:_MOST_ROWS]),
    )
    meaning = dict(told.legend)
    known = {name: value for name, value in same.items() if value != cell(np.nan)}
    return found, [f"In all rows, {name} ({meaning[name]}): {value}." for name, value in known.items()]


def _caveats(state: PageState, plan: Assumed, channels: dict[str, Any]) -> tuple[str, ...]:
    """What the figures leave out, and what cannot be planned here, in words."""
    told = []
    if plan.several and not state.statistics:
        told.append("Over rows nothing is searched: usual statistics are compared. Write down others to compare them.")
    laplace = any(each.law.added is not None and not each.law.added.normal for each in channels.values())
    if plan.private:
        told.append(
            f"That there are {plan.n:,} records is assumed: the noise hides their number, so sums are published. "
            f"Figures are by the normal law of sums{', Laplace noise taken for normal of its variance' * laplace}."
        )
    elif laplace and any(each.statistic.dimension > 1 and each.statistic.averages for each in channels.values()):
        told.append("Of several numbers with Laplace noise the figures are what their best linear combination tells.")
    elif state.precision == "quick":
        how = "the normal law of a mean" if channels else "moments and asymptotic laws"
        told.append(f"Quick figures, by {how}: ask for exact ones before you decide between near rivals.")
    return tuple(told)


def command_of(state: PageState, plan: Assumed) -> str:
    """The command line that ranks alike."""
    listed = lines_of(state, plan)
    about = ["--population", plan.population_words, *(part for law in plan.prior_words for part in ("--prior", law))]
    told = [*about, *options_for(plan)]
    if not listed:
        return command("optimize", *told)
    each = [part for line in listed for part in ("--statistic", line)]
    channels, _ = read_channels(state, plan)
    method = [part for name, value in quickly(state, channels).items() for part in (f"--{name}", value)]
    return command("compare", *told, *each, *bounds_as_options(plan, listed), *method)


def expect(state: PageState, _: str) -> Answer:
    """What an analyst will get: releases simulated at a low, a likely and a high truth, and their posteriors."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    channel = read_channel(state.pick, plan)
    thetas = likely(plan)
    # a posterior of a private n takes most of a minute, so that there is one, in the middle
    thetas = thetas[len(thetas) // 2 :][:1] if plan.private else thetas
    model = cf.Model(plan.population, channel)
    values = [np.asarray(model.simulate(key, theta, **plan.assumed)) for key, theta in enumerate(thetas)]
    notes = str(channel).splitlines()[1:]
    posteriors: list[Any] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConfideWarning)
            for key, value in enumerate(progress(values, "simulated releases, analysed")):
                posteriors.append(infer(plan.population, cf.Release(channel, value), plan.prior, key=key))
    except IncompatibleError as error:
        notes.insert(0, f"What an analyst would say of it is not shown: {error}.")
    told = len(posteriors) == len(values)
    results = (_results(plan, thetas, values, posteriors),) if told else ()
    return Answer(
        str(channel).splitlines()[0],
        tables=(_spread(plan, channel, thetas), *results),
        drawings=(drawing(_picture(plan, thetas, posteriors)),) if told else (),
        notes=tuple(notes),
        warnings=tuple(filter(None, [channel.warning])),
        script=_script(plan, channel, thetas, told),
    )


def _spread(plan: Assumed, channel: Any, thetas: Any) -> Table:
    noise = channel.law.added
    told = "–" if noise is None else f"{float(noise.variance) ** 0.5:.3g}"
    rows = [(*map(float, theta), told, sampling(plan, channel, theta)) for theta in thetas]
    legend = (
        ("noise", "the standard deviation of what is added for privacy; – where it depends on the records"),
        ("sampling error", "that of the statistic itself, from one sample of so many records to another; simulated"),
    )
    columns = (*(f"if {name} is" for name in labels(plan)), "noise", "sampling error")
    return table("Noise against sampling error", columns, rows, legend=legend)


def sampling(plan: Assumed, channel: Any, theta: Any) -> float:
    """How far the statistic moves without noise, of several numbers the one that moves most."""
    if channel.statistic.per_record:
        return float("nan")
    few = min(plan.n, _RECORDS)
    bare = cf.Model(plan.population, cf.Channel(channel.statistic, cf.Noiseless(), few))
    spread = np.std(np.asarray(bare.simulate(0, theta, (_MANY,))), axis=0).max()
    return float(spread * (few / plan.n) ** _power(channel))


def _power(channel: Any) -> float:
    """Sums and counts move more with more records, everything else less."""
    return -0.5 if channel.statistic.totals or channel.statistic.tallies else 0.5


def _results(plan: Assumed, thetas: Any, values: list[Any], posteriors: list[Any]) -> Table:
    rows = []
    for theta, value, found in zip(thetas, values, posteriors, strict=True):
        shown = f"{float(value):.4g}" if value.ndim == 0 else f"{value.size:,} numbers"
        truths = [*map(float, theta), float(plan.n)]
        for (name, mean, sd, low, high), truth in zip(entries(found), truths, strict=False):
            rows.append((name, truth, shown, mean, sd, f"{low:.4g} to {high:.4g}"))
    columns = ("parameter", "truth", "published", "estimate", "±", "90% interval")
    return table("Simulated releases, and what an analyst would say of each", columns, rows)


def entries(found: Any) -> list[tuple[str, float, float, float, float]]:
    """Every number that a posterior is about, the entries of vectors one by one: mean, sd and the central 90%."""
    told, ends = [], found.interval(0.9)
    for name in found.names:
        mean, sd, low, high = (np.ravel(part).tolist() for part in (found.mean[name], found.sd[name], *ends[name]))
        for place in range(len(mean)):
            label = f"{name}[{place}]" if np.ndim(found.mean[name]) else name
            told.append((label, mean[place], sd[place], low[place], high[place]))
    return told


def _picture(plan: Assumed, thetas: Any, posteriors: list[Any]) -> Picture:
    names = labels(plan)[:_MOST_PANELS]
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


def _script(plan: Assumed, channel: Any, thetas: Any, inferred: bool) -> str:
    few, assumed = min(plan.n, _RECORDS), f", n={plan.n}" if plan.private else ""
    spread = f"bare.simulate(0, theta, ({_MANY},)).std(axis=0).max()"
    error = f"    print('sampling error', {spread} * ({few} / {plan.n}) ** {_power(channel)})"
    return complete(
        [
            *beginning(plan),
            f"channel = {source(channel)}",
            "model = cf.Model(population, channel)",
            f"bare = cf.Model(population, cf.Channel(channel.statistic, cf.Noiseless(), {few}))",
            f"for key, theta in enumerate({thetas.tolist()!r}):  # what the prior holds for low, middle and high",
            f"    release = cf.Release(channel, model.simulate(key, theta{assumed}))",
            "    print(theta, release.value)",
            *([] if channel.statistic.per_record else [error]),
            *(["    print(cf.infer(population, release, prior, key=key))"] if inferred else []),
        ]
    )
