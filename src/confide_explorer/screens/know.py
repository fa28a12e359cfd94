"""The first screen: the population that is assumed, as a picture under the prior."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpyro.distributions as dist
from scipy.special import ndtri

from confide._precision import float64
from confide.clipping import clipped_share
from confide.design.points import quantiles
from confide.plots.style import COLOURS, GREY, LINES, new_figure, styled
from confide.prior import Prior
from confide.reporting.content import Picture, of_population
from confide.statistic import Mean
from confide_explorer.answer import Answer, drawing, table
from confide_explorer.assumed import Assumed
from confide_explorer.columns import columns_of
from confide_explorer.families import FORMS
from confide_explorer.reading import labels, read_plan
from confide_explorer.scripts import about, complete
from confide_explorer.state import PageState

#: the prior's quantiles at which the population is drawn, and points of a curve: about as many as a picture has pixels
_LEVELS, _POINTS = (0.05, 0.5, 0.95), 500
#: standard deviations of a prior's quantile from zero that are its rounding
_ZERO = 1e-5
#: of whole numbers that many still have a mark each
_MOST_MARKS = 60
#: rows by which shares are told, to half a percent, and how many of them a picture shows
_MANY, _SHOWN = 10_000, 400


def know(state: PageState, _: str) -> Answer:
    """Densities of a record at what the prior holds for low, likely and high, and how much of it is clipped."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    thetas = likely(plan)
    told = _of_rows(plan, thetas) if plan.several else _of_numbers(plan, thetas)
    return replace(
        told,
        sentence=f"Before anything is published: {said(state, plan)}.",
        notes=(f"That is, records from {plan.population_words}, each by itself, and {', '.join(plan.prior_words)}.",),
        script=complete([*about(plan), *told.script.splitlines(), _PROMISE]),
    )


_PROMISE = "print(privacy, 0.5 + 0.5 * privacy.delta_at(0.0))"


def _of_numbers(plan: Assumed, thetas: Any) -> Answer:
    """Densities, and how much of them lies beyond the bounds."""
    shares = np.ravel(clipped_share(plan.population, Mean("x", bounds=plan.bounds), thetas))
    rows = [
        (*(float(value) for value in theta), f"{share:.1%}")
        for theta, share in zip(thetas, shares.tolist(), strict=True)
    ]
    lines = [
        f"thetas = np.array({thetas.tolist()!r})  # what the prior holds for low, middle and high",
        f"low, high = {plan.bounds!r}",
        "clipped = population.cdf(low, thetas) + population.survival(high, thetas)"
        if not plan.population.discrete
        else "clipped = population.cdf(np.ceil(low) - 1, thetas) + population.survival(high, thetas)",
        "print(clipped)",
    ]
    return Answer(
        "",
        tables=(table("How much is clipped", (*labels(plan), "outside of the bounds"), rows),),
        drawings=(drawing(_picture(plan, thetas)),),
        script="\n".join(lines),
    )


def _of_rows(plan: Assumed, thetas: Any) -> Answer:
    """Rows that were drawn, and how many of their columns lie beyond the bounds."""
    middle = thetas[len(thetas) // 2]
    many = {name: np.asarray(each) for name, each in plan.population.sample(0, middle, (_MANY,)).items()}
    outside = {
        name: float(np.mean((many[name] < low) | (many[name] > high))) for name, (low, high) in plan.bounds.items()
    }
    rows = [(name, *plan.bounds[name], f"{share:.1%}") for name, share in outside.items()]
    lines = [
        f"middle = {middle.tolist()!r}  # of the prior: {', '.join(labels(plan))}",
        f"rows = population.sample(0, middle, ({_MANY},))",
        f"for name, (low, high) in {plan.bounds!r}.items():",
        "    print(name, np.mean((rows[name] < low) | (rows[name] > high)))",
    ]
    return Answer(
        "",
        tables=(table("How much is clipped", ("column", "below", "above", "outside of the bounds"), rows),),
        drawings=(drawing(_scatter(plan, many)),),
        script="\n".join(lines),
    )


def said(state: PageState, plan: Assumed) -> str:
    """What is believed, in words."""
    believed, columns = [], columns_of(state)
    for column in columns:
        for place, (parameter, kind, *_) in enumerate(column.offered.parameters, start=1):
            low, high = (getattr(state, name) for name in column.fields(f"low{place}", f"high{place}"))
            if kind == "assumed":
                believed.append(f"{column.name} itself is mostly between {low} and {high}")
                continue
            named = f"the {parameter} of {column.name}" if plan.several else of_population([parameter])
            believed.append(f"{named} is most likely between {low} and {high}")
    if plan.several:
        return f"a record is a row of {', '.join(plan.bounds)}: {'; '.join([FORMS[state.rows].words, *believed])}"
    return f"a record is {columns[0].offered.words}, and {' and '.join(believed)}"


@float64
def likely(plan: Assumed) -> Any:
    """θ at the prior's quantiles: one entry after the other, the rest in the middle; of rows all of them together."""
    prior = Prior.of(plan.population, plan.prior)
    each = np.array([values for part in prior.parts for values in _levels(part)])
    middle = each[:, 1]
    found = [middle]
    if plan.several:
        found += [each[:, 0], each[:, 2]]
    else:
        found += [
            np.where(np.arange(len(each)) == place, each[:, end], middle)
            for place in range(len(each))
            for end in (0, 2)
        ]
    # to as many digits as are read, so that scripts and tables have the same
    return np.array(sorted(tuple(float(f"{value:.4g}") for value in theta) for theta in found))


def _levels(part: Any) -> list[Any]:
    """Low, middle and high of each entry of a parameter; those of a vector are normal."""
    normal = part.base_dist if part.event_dim else part
    if not isinstance(normal, dist.Normal):
        return [np.asarray(quantiles(part, np.asarray(_LEVELS)))]
    ends = zip(*np.broadcast_arrays(np.atleast_1d(normal.loc), np.atleast_1d(normal.scale)), strict=True)
    found = [(loc + scale * ndtri(_LEVELS), scale) for loc, scale in ends]
    # what is next to zero is zero, but that a prior is told to six digits
    return [np.where(abs(values) < _ZERO * scale, 0.0, values) for values, scale in found]


def _picture(plan: Assumed, thetas: Any) -> Picture:
    population, (low, high) = plan.population, plan.bounds
    margin = 0.08 * (high - low)
    first, last = low - margin, high + margin
    with styled():
        figure, (axis,) = new_figure(7.2, 3.2)
        for place, theta in enumerate(thetas):
            x, density = _density(population, theta, first, last)
            label = ", ".join(f"{name} {value:.3g}" for name, value in zip(population.names, theta, strict=True))
            marked = {"marker": "o", "markersize": 3} if population.discrete and x.size <= _MOST_MARKS else {}
            look = {"color": COLOURS[place % len(COLOURS)], "linestyle": LINES[place % len(LINES)]}
            axis.plot(x, density, label=label, **look, **marked)
        for end in (low, high):
            axis.axvline(end, color=GREY, linewidth=1, linestyle=":")
        axis.axvspan(first, low, color=GREY, alpha=0.12, linewidth=0)
        axis.axvspan(high, last, color=GREY, alpha=0.12, linewidth=0)
        axis.set_xlim(first, last)
        axis.set_ylim(bottom=0)
        axis.set_yticks([])
        axis.set_xlabel("x, a record")
        axis.legend()
    told = "What one record may be, at low, middle and high values of what is not known; in the grey, it is clipped."
    return Picture(figure, told)


def _scatter(plan: Assumed, many: dict[str, Any]) -> Picture:
    """The first column against each of the others, and the box that they are clipped to."""
    first, *others = plan.bounds
    with styled():
        figure, axes = new_figure(7.2, 3.2, len(others))
        for axis, name in zip(axes, others, strict=True):
            axis.plot(many[name][:_SHOWN], many[first][:_SHOWN], ".", color=COLOURS[0], markersize=3, alpha=0.6)
            (left, right), (low, high) = plan.bounds[name], plan.bounds[first]
            axis.plot([left, right, right, left, left], [low, low, high, high, low], color=GREY, linewidth=1)
            axis.set_xlabel(name)
        axes[0].set_ylabel(first)
    told = f"{_SHOWN} rows, drawn at the middle of what is believed; what lies outside of the box is clipped to it."
    return Picture(figure, told)


def _density(population: Any, theta: Any, first: float, last: float) -> tuple[Any, Any]:
    if population.discrete:
        x = np.arange(np.ceil(max(first, -1e6)), np.floor(min(last, 1e6)) + 1)
        x = x[:: max(1, x.size // _POINTS)]
    else:
        x = np.linspace(first, last, _POINTS)
    with np.errstate(all="ignore"):
        inside, outside = population.support(theta)
        density = np.exp(np.asarray(population.log_prob(np.clip(x, inside, outside), theta)))
    density = np.where((x >= inside) & (x <= outside) & np.isfinite(density), density, 0.0)
    return x, density
