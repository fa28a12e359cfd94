"""The first screen: the population that is assumed, as a picture under the prior."""

from __future__ import annotations

from typing import Any

import numpy as np

from confide._precision import float64
from confide.clipping import clipped_share
from confide.design.points import quantiles
from confide.plots.style import COLOURS, GREY, LINES, new_figure, styled
from confide.prior import Prior
from confide.reporting.content import Picture, of_population
from confide.statistic import Mean
from confide_explorer.answer import Answer, drawing, table
from confide_explorer.families import FAMILIES
from confide_explorer.reading import Assumed, read_plan
from confide_explorer.scripts import about, complete
from confide_explorer.state import PageState

#: the prior's quantiles at which the population is drawn, and points of a curve: about as many as a picture has pixels
_LEVELS, _POINTS = (0.05, 0.5, 0.95), 500
#: of whole numbers that many still have a mark each
_MOST_MARKS = 60


def know(state: PageState, _: str) -> Answer:
    """Densities of a record at what the prior holds for low, likely and high, and how much of it is clipped."""
    plan, errors = read_plan(state)
    assert plan is not None, errors
    thetas = likely(plan)
    shares = np.ravel(clipped_share(plan.population, Mean("x", bounds=plan.bounds), thetas))
    rows = [
        (*(float(value) for value in theta), f"{share:.1%}")
        for theta, share in zip(thetas, shares.tolist(), strict=True)
    ]
    names = plan.population.names
    lines = [
        *about(plan),
        f"thetas = np.array({thetas.tolist()!r})  # what the prior holds for low, middle and high",
        f"low, high = {plan.bounds!r}",
        "clipped = population.cdf(low, thetas) + population.survival(high, thetas)"
        if not plan.population.discrete
        else "clipped = population.cdf(np.ceil(low) - 1, thetas) + population.survival(high, thetas)",
        "print(clipped)",
        "print(privacy, 0.5 + 0.5 * privacy.delta_at(0.0))",
    ]
    return Answer(
        f"Before anything is published: {said(state, plan)}.",
        tables=(table("How much is clipped", (*names, "outside of the bounds"), rows),),
        drawings=(drawing(_picture(plan, thetas)),),
        notes=(f"That is, records from {plan.population_words}, each by itself, and {', '.join(plan.prior_words)}.",),
        script=complete(lines),
    )


def said(state: PageState, plan: Assumed) -> str:
    """What is believed, in words."""
    ends = ((state.low1, state.high1), (state.low2, state.high2))
    believed = [
        f"{of_population([name])} is most likely between {low} and {high}"
        for name, (low, high) in zip(plan.population.names, ends, strict=False)
    ]
    return f"a record is {FAMILIES[state.population].words}, and {' and '.join(believed)}"


@float64
def likely(plan: Assumed) -> Any:
    """θ at the prior's quantiles, one parameter after the other, the rest in the middle."""
    prior = Prior.of(plan.population, plan.prior)
    each = [np.asarray(quantiles(part, np.asarray(_LEVELS))) for part in prior.parts]
    middle = np.array([values[1] for values in each])
    found = [middle]
    for place, values in enumerate(each):
        for value in (values[0], values[2]):
            theta = middle.copy()
            theta[place] = value
            found.append(theta)
    # to as many digits as are read, so that scripts and tables have the same
    return np.array(sorted(tuple(float(f"{value:.4g}") for value in theta) for theta in found))


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
