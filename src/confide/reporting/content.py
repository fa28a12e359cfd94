"""What a report says about each kind of result: the sentence that answers the question, pictures and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from confide.clipping import clippings, releases_of
from confide.design import Comparison, Optimum
from confide.errors import InvalidArgument
from confide.plots.chains import chains, plot_chains
from confide.plots.information import draw, lines
from confide.plots.noise import plot_spread, spread
from confide.plots.posterior import plot_posterior
from confide.plots.share import bars, plot_bars, shorten
from confide.plots.style import empty_figure, new_figure, panels_of, panels_size, styled
from confide.posterior import Posterior
from confide.privacy import Privacy
from confide.published import Release
from confide.published.imputation import effect
from confide.published.value import shown
from confide.statistic import Each

_MOST_LINES = 5


@dataclass(frozen=True, eq=False)
class Picture:
    """A matplotlib figure and what it shows."""

    figure: Any
    caption: str


@dataclass(frozen=True, eq=False)
class Content:
    """A report before it is a page."""

    title: str
    question: str
    #: the sentence that answers it
    answer: str
    pictures: tuple[Picture, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    #: what is published, each a channel in words, and what it promises
    channels: tuple[str, ...]
    guarantee: Privacy | None
    why: tuple[str, ...] = ()
    #: what a reader must know besides
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@singledispatch
def content(result: Any) -> Content:
    """The content of a result."""
    raise InvalidArgument(
        "result", result, "cannot be reported", "give what compare, optimize, infer or release returned"
    )


@content.register
def _(result: Comparison) -> Content:
    table, first = result.table, result.evaluations[result.names[0]]
    population = first.model.population
    pictures = [_shares(table.index, table, result.criterion.name)]
    if population.dimension == 1 and len(result.points.thetas) > 1:
        pictures.append(_curves({name: result.evaluations[name] for name in table.index[:_MOST_LINES]}))
    wanted = [result.criterion.name, "information", "efficiency", "share of best", "method"]
    columns = list(dict.fromkeys(name for name in wanted if name in table))
    expected = [*(name for name in table if name.startswith("sd ")), "noise ±", "clipped"]
    shown = [*columns[:-1], *expected, columns[-1]]
    return Content(
        title=f"Which statistic says the most about {', '.join(population.names)}?",
        question=f"{len(result.names)} channels, each a statistic and a mechanism, compared {_where(result.points)}.",
        answer=f"{result.verdict} {_lead(table)}".strip(),
        pictures=tuple(pictures),
        columns=("channel", *(name.replace("_", " ") for name in shown)),
        rows=tuple((name, *(_cell(column, row[column]) for column in shown)) for name, row in table.iterrows()),
        channels=tuple(str(each.model.channel) for each in result.evaluations.values()),
        guarantee=first.model.channel.guarantee,
    )


def _lead(table: Any) -> str:
    """By how much the first leads, in the posterior standard deviation to expect."""
    deviation = [name for name in table if name.startswith("sd ")]
    if len(deviation) != 1 or not np.isfinite(table[deviation[0]].iloc[0]):
        return ""
    spreads = table[deviation[0]]
    text = f"Expect to learn {deviation[0].removeprefix('sd ')} to about ± {spreads.iloc[0]:.3g}"
    rest = spreads.iloc[-1]
    return f"{text}, against ± {rest:.3g} with {table.index[-1]}." if np.isfinite(rest) else f"{text}."


@content.register
def _(result: Optimum) -> Content:
    table = result.table
    population = result.problem.law.population
    ranks = result.problem.criterion.name
    pictures = [_shares(_unique(table), table, ranks)]
    leaders = dict(zip(_unique(table), (each.evaluation for each in result.candidates), strict=True))
    if population.dimension == 1 and len(result.problem.law.points.thetas) > 1:
        pictures.append(_curves(dict(list(leaders.items())[:_MOST_LINES])))
    expected = [*(name for name in table if name.startswith("sd ")), "noise ±", "clipped"]
    wanted = ["statistic", "mechanism", ranks, "information", "efficiency", "share of best", *expected, "method"]
    columns = list(dict.fromkeys(wanted))
    return Content(
        title=f"What to publish about {', '.join(population.names)}",
        question=f"The best statistic, clipping and mechanism for {result.problem.n:,} records at "
        f"{result.problem.privacy}, searched over {len(table)} pairs of a family of statistics and a mechanism, "
        f"{_where(result.problem.law.points)}.",
        answer=_recommendation(result),
        pictures=tuple(pictures),
        columns=tuple(name.replace("_", " ") for name in columns),
        rows=tuple(tuple(_cell(name, row[name]) for name in columns) for _, row in table.iterrows()),
        channels=(str(result.best),),
        guarantee=result.best.guarantee,
        why=(result.explain(),),
    )


def _cell(column: str, value: Any) -> Any:
    """A share in per cent, and everything else as it is."""
    shares = ("efficiency", "share of best", "clipped")
    return f"{value:.1%}" if column in shares and np.isfinite(value) else value


def _recommendation(result: Optimum) -> str:
    publish = str(result.best).splitlines()[0]
    share = result.candidates[0].evaluation.efficiency
    if not np.isfinite(share):
        return publish
    spread = ", ".join(
        f"{name.removeprefix('sd ')} to about ± {value:.3g}"
        for name, value in result.table.iloc[0].items()
        if str(name).startswith("sd ") and np.isfinite(value)
    )
    return (
        f"{publish} It keeps {share:.0%} of what the records themselves say{_average(result.problem.law.points)}"
        f"{f', enough to know {spread}' if spread else ''}."
    )


def _average(points: Any) -> str:
    return "" if len(points.thetas) == 1 else ", on average"


def _unique(table: Any) -> list[str]:
    return [f"{row['statistic']}, {row['mechanism']}" for _, row in table.iterrows()]


@content.register
def _(result: Posterior) -> Content:
    releases = _releases(result)
    summary = result.summary()
    low, high = summary.columns[2:4]
    told = [
        f"{name} is {row['mean']:.4g} ± {row['sd']:.2g}, and with 90% probability between {row[low]:.4g} and "
        f"{row[high]:.4g}"
        for name, row in summary.iterrows()
    ]
    with styled():
        figure = empty_figure(*panels_size(len(summary)))
        panels = panels_of(figure, len(summary))
    pictures = [Picture(plot_posterior(result, panels), "What was believed before, what the published value says, "
                        "and what is known now; noise, clipping and the finite sample are accounted for.")]  # fmt: skip
    if result.method != "grid":
        pictures += _traces(result)
    return Content(
        title=f"What is known about {', '.join(result.names)}",
        question=_asked(releases),
        answer=f"Given what was published, {'; '.join(told)}.",
        pictures=tuple(pictures),
        columns=("parameter", *summary.columns),
        rows=tuple((name, *row) for name, row in zip(summary.index, summary.to_numpy().tolist(), strict=True)),
        channels=tuple(str(each) for each in releases),
        guarantee=releases[0].guarantee if len(releases) == 1 else None,
        notes=tuple(dict.fromkeys(str(each) for each in clippings(result.call, result.mean))),
        warnings=(*result.diagnostics.warnings, *(note for each in releases if (note := effect(each)) is not None)),
    )


def _releases(result: Posterior) -> tuple[Release, ...]:
    return () if result.call is None else releases_of(result.call)


def _asked(releases: Sequence[Release]) -> str:
    values = ", ".join(
        "several numbers" if np.size(each.value) > 8 else shown(each.channel, each.value) for each in releases
    )
    return f"The posterior given the published {'value' if len(releases) == 1 else 'values'} {values or 'above'}."


def _traces(result: Posterior) -> list[Picture]:
    found = []
    for name, draws in result.draws.items():
        columns = draws.reshape(*draws.shape[:2], -1)
        for j in range(columns.shape[-1]):
            label = name if columns.shape[-1] == 1 else f"{name}[{j}]"
            caption = (
                f"The chains of {label} by method {result.method}: traces (left) should look alike, ranks (right) flat."
            )
            found.append(Picture(plot_chains(chains(label, columns[..., j])), caption))
    return found


@content.register
def _(result: Release) -> Content:
    drawn = spread(result)
    statistic = result.channel.statistic
    many = np.size(result.value)
    value = f"{many:,} numbers" if many > 8 else shown(result.channel, result.value)
    pictures, told = [], f"Published: {value}, {statistic} over {result.channel.n:,} records."
    if drawn is not None:
        low, high = drawn.interval
        told += (
            f" The noise alone leaves {statistic.noun} the clipped records between {low:.4g} and {high:.4g} (90%); "
            f"without clipping it may be anything, if records lie outside [{statistic.bounds[0]:g}, "
            f"{statistic.bounds[1]:g}]."
        )
        pictures.append(Picture(plot_spread(drawn, f"{statistic.noun} {statistic.transforms[0]}"),
                        "Where the statistic of the clipped records lies given the noise alone. What it says about "
                        "the population, a part of which may be out of bounds, is for inference."))  # fmt: skip
    elif (margin := result.channel.margin()) is not None and many > 1:
        own = isinstance(statistic, Each)
        about = "its record's clipped value" if own else f"{statistic.noun} the clipped records"
        told += f" The noise alone leaves each number within ± {margin:.2g} of {about} (90%)."
    facts = {"data set": result.dataset, "part": result.part, "column": result.column, "purpose": result.purpose,
             "missing values": result.missing, "records": f"{result.channel.n:,}"}  # fmt: skip
    return Content(
        title="A number, published in confidence",
        question="What came out, and how exactly it can be read.",
        answer=told,
        pictures=tuple(pictures),
        columns=("about", "this release"),
        rows=tuple((name, str(each)) for name, each in facts.items() if each not in (None, "")),
        channels=(str(result.channel),),
        guarantee=result.guarantee,
        warnings=tuple(told for told in (effect(result),) if told is not None),
    )


def _shares(labels: Sequence[str], table: Any, ranks: str) -> Picture:
    """Efficiency where it has the order of the table, which an average over θ need not have; else what ranks."""
    if table["efficiency"].is_monotonic_decreasing:
        drawn = bars(list(labels), list(table["efficiency"]))
        title = "Information kept, as a share of what the records themselves hold"
        return Picture(
            plot_bars(drawn, title), "100% is what the records themselves say, without clipping and without noise."
        )
    drawn = bars(list(labels), list(table["share of best"]))
    words = ranks.replace("_", " ")
    return Picture(plot_bars(drawn, f"By {words}, as a share of the best"), f"100% is the best of them by {words}.")


def _curves(evaluations: dict[str, Any]) -> Picture:
    with styled():
        figure, (axis,) = new_figure(7.2, 3.6)
        for line in lines(evaluations):
            draw(axis, line._replace(label=shorten(line.label)))
        axis.set_yscale("log")
        axis.set_xlabel(next(iter(evaluations.values())).model.population.names[0])
        axis.set_ylabel("Fisher information")
        axis.legend()
    return Picture(figure, "The Fisher information of what is published: the higher, the more precisely θ is learnt.")


def _where(points: Any) -> str:
    if points.prior:
        return "on average over the prior"
    if len(points.thetas) == 1:
        return f"at θ = {', '.join(f'{value:.4g}' for value in points.thetas[0])}"
    return f"over {len(points.thetas)} values of θ"
