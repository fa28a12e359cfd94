"""What a report says about a comparison and about a search for the best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from confide._digits import around
from confide.design import Comparison, Optimum
from confide.plots.information import draw, lines
from confide.plots.share import bars, plot_bars, shorten
from confide.plots.style import new_figure, styled
from confide.reporting.content import PageContent, Picture, content, of_population

#: curves in one picture that are still told apart
_MOST_LINES = 5


@content.register
def _(result: Comparison) -> PageContent:
    table, first = result.table, result.evaluations[result.names[0]]
    population = first.model.population
    pictures = [_shares(table.index, table, result.criterion.name)]
    if population.dimension == 1 and len(result.points.thetas) > 1:
        pictures.append(_curves({name: result.evaluations[name] for name in table.index[:_MOST_LINES]}))
    wanted = [result.criterion.name, "information", "efficiency", "share of best", "method"]
    columns = list(dict.fromkeys(name for name in wanted if name in table))
    expected = [*(name for name in table if name.startswith("sd ")), "noise ±", "clipped"]
    shown = [*columns[:-1], *expected, columns[-1]]
    return PageContent(
        title=f"Which statistic says the most about {of_population(population.names)}?",
        question=f"{len(result.names)} channels, each a statistic and a mechanism, compared "
        f"{_where(result.points, population.names)}.",
        answer=f"{result.verdict} {_lead(table)}".strip(),
        pictures=tuple(pictures),
        columns=("channel", *(name.replace("_", " ") for name in shown)),
        rows=tuple((name, *(_cell(column, row[column]) for column in shown)) for name, row in table.iterrows()),
        channels=tuple(f"{name}: {result.evaluations[name].model.channel}" for name in table.index),
        guarantee=first.model.channel.guarantee,
        legend=_legend(shown),
        ranked=True,
    )


def _lead(table: Any) -> str:
    """By how much the first leads, in the posterior standard deviation to expect."""
    deviation = [name for name in table if name.startswith("sd ")]
    if len(deviation) != 1 or not np.isfinite(table[deviation[0]].iloc[0]):
        return ""
    spreads = table[deviation[0]]
    known = f"± {around(spreads.iloc[0])} (one standard deviation)"
    text = f"Expect to learn {of_population([deviation[0].removeprefix('sd ')])} to about {known}"
    rest = spreads.iloc[-1]
    return f"{text}, against ± {around(rest)} with {table.index[-1]}." if np.isfinite(rest) else f"{text}."


@content.register
def _(result: Optimum) -> PageContent:
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
    return PageContent(
        title=f"What to publish about {of_population(population.names)}",
        question=f"The best statistic, clipping and mechanism for {result.problem.n:,} records at "
        f"{result.problem.privacy}, searched over {len(table)} pairs of a family of statistics and a mechanism, "
        f"{_where(result.problem.law.points, population.names)}.",
        answer=_recommendation(result),
        pictures=tuple(pictures),
        columns=tuple(name.replace("_", " ") for name in columns),
        rows=tuple(tuple(_cell(name, row[name]) for name in columns) for _, row in table.iterrows()),
        channels=(str(result.best),),
        guarantee=result.best.guarantee,
        legend=_legend(columns),
        ranked=True,
        why=(result.explain(),),
    )


_MEANINGS = {
    "expected_variance": "the variance with which the parameter will be known; of several the sum: less is better",
    "information": "Fisher information of the published number about the parameter: more is better",
    "efficiency": "that information as a share of what the records themselves hold",
    "share of best": "how good it is by the criterion that ranks, as a share of the best",
    "noise ±": "how far the noise moves the published number at most, with 90% probability, in its own units",
    "clipped": "the share of the assumed population that lies outside of the bounds",
    "method": "how the information was computed",
}


def _legend(columns: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What each column is about."""
    deviations = {
        name: f"how well {of_population([name.removeprefix('sd ')])} will be known: a standard deviation"
        for name in columns
        if name.startswith("sd ")
    }
    meanings = _MEANINGS | deviations
    return tuple((name.replace("_", " "), meanings[name]) for name in columns if name in meanings)


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
        f"{of_population([str(name).removeprefix('sd ')])} to about ± {around(value)} (one standard deviation)"
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
        (name,) = next(iter(evaluations.values())).model.population.names
        axis.set_xlabel(f"if {of_population([name])} is")
        axis.set_ylabel("Fisher information")
        axis.legend()
    told = f"What the published number says about {of_population([name])}: the higher, the better it will be known."
    return Picture(figure, told)


def _where(points: Any, names: Sequence[str]) -> str:
    if points.prior:
        return "on average over the prior"
    if len(points.thetas) == 1:
        return f"at {', '.join(names)} = {', '.join(f'{value:.4g}' for value in points.thetas[0])}"
    ends = f", from {points.thetas.min():.4g} to {points.thetas.max():.4g}" if len(names) == 1 else ""
    return f"over {len(points.thetas)} values of {of_population(names)}{ends}"
