"""What a report says about a posterior."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from confide._digits import around, within
from confide.clipping import clippings, releases_of
from confide.missing import asked_for
from confide.plots.chains import chains, plot_chains
from confide.plots.posterior import curves, plot_curves
from confide.plots.style import empty_figure, panels_of, panels_size, styled
from confide.posterior import Posterior
from confide.published import Release
from confide.published.imputation import effect
from confide.published.value import shown
from confide.reporting.content import PageContent, Picture, content, of_population
from confide.reporting.publishing import number_of_records
from confide.reporting.source import Unwritable, source

#: methods whose draws are no chains
_WITHOUT_CHAINS = frozenset({"grid", "importance", "prior"})
#: parameters that are still told in a sentence, and numbers that are
_MOST_TOLD, _MOST_LISTED, _MOST_NUMBERS = 3, 8, 8

_LEGEND = (
    ("estimate", "the posterior mean: the best single number for the parameter"),
    ("±", "the posterior standard deviation"),
    ("5%, 95%", "the parameter lies between them with 90% probability"),
)
_CHAINS = (
    ("effective draws", "how many independent draws these are worth; from about 400 the digits shown are good"),
    ("R-hat", "whether the chains agree: 1.01 or less if they do"),
)


@content.register
def _(result: Posterior) -> PageContent:
    releases = _releases(result)
    summary, exact = result.summary(), result.method == "grid"
    chained = not _WITHOUT_CHAINS.issuperset(result.method.split(" and "))
    low, high = summary.columns[2:4]
    columns = ["mean", "sd", low, high, *(() if exact else ("ess",)), *(("r_hat",) if chained else ())]
    named = {"mean": "estimate", "sd": "±", "ess": "effective draws", "r_hat": "R-hat"}
    return PageContent(
        title=f"What is known about {of_population(result.names)}",
        question=_asked(releases),
        answer=f"Given what was published, {_told(summary, result.names)}",
        pictures=(_densities(result),),
        columns=("parameter", *(named.get(name, name) for name in columns)),
        rows=tuple((name, *_cells(row, columns)) for name, row in summary.iterrows()),
        channels=tuple(str(each) for each in releases),
        guarantee=releases[0].guarantee if len(releases) == 1 else None,
        legend=_LEGEND + _CHAINS[: (not exact) + chained],
        notes=tuple(dict.fromkeys([*_assumed(result), *_clipped(result), *_shared(result, releases), *_fit(result)])),
        warnings=(*result.diagnostics.warnings, *_imputed(result, releases)),
        workings=tuple(_traces(result)) if chained else (),
    )


def _assumed(result: Posterior) -> list[str]:
    """What the answer rests on, beside what was published."""
    if result.call is None or "population" not in result.call.arguments:
        return []
    laws = [f"{name} ~ {_law(part)}" for name, part in zip(result.prior.names, result.prior.parts, strict=True)]
    drawn = result.call.arguments["population"].name
    return [f"Assumed: every record is drawn from {drawn}, by itself; believed beforehand: {', '.join(laws)}."]


def _law(part: Any) -> str:
    """A prior as the command line writes it."""
    try:
        return re.sub(r"\bdist\.|\w+=|\.0\b", "", source(part))
    except Unwritable:
        return "a law of your own"


def _clipped(result: Posterior) -> list[str]:
    return [str(each) for each in clippings(result.call, result.mean)]


def _modelled(result: Posterior) -> bool:
    """Whether the share of missing records was learnt too."""
    call = result.call
    return call is not None and asked_for(call.arguments["population"], call.arguments["prior"])


def _imputed(result: Posterior, releases: Sequence[Release]) -> list[str]:
    """What imputation may have done, unless it is a part of the model."""
    return [] if _modelled(result) else [note for each in releases if (note := effect(each)) is not None]


def _shared(result: Posterior, releases: Sequence[Release]) -> list[str]:
    return [
        f"Missing values were replaced by {each.missing:g} before anything was computed; their share is learnt with "
        "the rest, and values are taken to be missing whatever they are."
        for each in releases
        if _modelled(result)
    ]


def _fit(result: Posterior) -> list[str]:
    """How well the family fits, where a histogram can tell."""
    releases = _releases(result)
    tables = [each for each in releases if each.channel.statistic.tallies]
    return [f"Model check (posterior predictive): {result.check()}"] if len(tables) == 1 else []


def _told(summary: Any, names: Sequence[str]) -> str:
    """What is known, in a sentence; of many numbers only how well they are known."""
    low, high = summary.columns[2:4]
    if len(summary) > _MOST_LISTED:
        return f"each of {of_population(names)} is known as well as the table below says."
    told = []
    for name, row in summary.iterrows():
        value, first, last = (within(row[each], row["sd"]) for each in ("mean", low, high))
        if len(summary) > _MOST_TOLD:
            told.append(f"{name} from {first} to {last}")
            continue
        ends = f"with 90% probability between {first} and {last}"
        told.append(f"{of_population([name])} is {value} ± {around(row['sd'])} (one standard deviation), and {ends}")
    if len(summary) > _MOST_TOLD:
        return f"the population's parameters lie in these intervals, each with 90% probability: {'; '.join(told)}."
    return f"{'; '.join(told)}."


def _cells(row: Any, columns: Sequence[str]) -> list[Any]:
    """Numbers as far as they are known."""
    near = {name: within(row[name], row["sd"]) for name in columns if name not in ("sd", "ess", "r_hat")}
    own = {"sd": f"{around(row['sd'])}", "ess": f"{row['ess']:,.0f}", "r_hat": f"{row['r_hat']:.3f}"}
    return [(near | own)[name] for name in columns]


def _densities(result: Posterior) -> Picture:
    drawn = curves(result)
    with styled():
        panels = panels_of(empty_figure(*panels_size(len(drawn))), len(drawn))
        figure = plot_curves(drawn, panels)
    before = "What was believed before (dashed), " if any(each.prior is not None for each in drawn) else ""
    says = "what the published value says (dotted), " if any(each.likelihood is not None for each in drawn) else ""
    known = f"{before}{says}{'and ' * bool(before or says)}what is known now (blue, 90% shaded)"
    return Picture(figure, f"{known[0].upper()}{known[1:]}; noise, clipping and the finite sample are accounted for.")


def _releases(result: Posterior) -> tuple[Release, ...]:
    return () if result.call is None else releases_of(result.call)


def _asked(releases: Sequence[Release]) -> str:
    if not releases:
        return "The posterior given what was published."
    told = [
        f"{np.size(each.value):,} numbers" if np.size(each.value) > _MOST_NUMBERS else shown(each.channel, each.value)
        for each in releases
    ]
    if len(releases) > 1:
        return f"The posterior given what was published: {', '.join(told)}."
    (one,) = releases
    column = "" if not isinstance(one.column, str) else f", x being the column {one.column}"
    about = f"{told[0]}, {one.channel.statistic} over {number_of_records(one.channel)} records{column}"
    return f"The posterior given what was published: {about}."


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
