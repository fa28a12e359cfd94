"""Section 5.6 (from the authors' code): choose the power by a pilot on a tenth of the records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpyro.distributions as dist

import confide as cf
from confide._progress import progress
from confide.design.studies.study_cache import StudyCache
from confide.paper.examples import Path
from confide.paper.figures import label, panels, style
from confide.paper.posteriors import squares
from confide.paper.result import Check, Result
from confide.paper.settings import BOUND, N, cell, kept

#: the paper's setting
POPULATION = cf.populations.uniform_width()
PRIVACY = cf.GDP(1.0)
ENDS = (0.01, 10.0)
#: the candidates by default; all of 0.1, 0.2, …, 2 in full
SOME = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.5, 2.0)
GRID = np.geomspace(*ENDS, 400)


def _mean(power: float) -> cf.Statistic:
    return cf.Mean(f"abs(x)**{power:g}", bounds=(-BOUND, BOUND))


def plan(powers: Sequence[float]) -> cf.Pilot:
    """A pilot with |x| on 10 of 100 records, which chooses the power for the other 90."""
    return cf.pilot(
        POPULATION,
        prior={"width": dist.Uniform(*ENDS)},
        privacy=PRIVACY,
        n=N,
        fraction=0.1,
        first=_mean(1.0),
        candidates=[_mean(power) for power in powers],
    )


@cell("5.6 F")
def inverse_information(powers: Sequence[float]) -> dict[str, Any]:
    """1/F of each candidate at all θ of the grid: (candidates, θ)."""
    models = [cf.Model(POPULATION, channel) for channel in plan(powers).candidates or ()]
    return {"1/F": [1.0 / cf.information(model, GRID, method="normal").matrix.ravel() for model in models]}


def _shares(log_likelihood: Any) -> np.ndarray:
    """The posterior's share of each θ of the grid, (θ, releases); a density flat on θ grows as θ on its logarithm."""
    log_weight = np.log(GRID)[:, None] + np.asarray(log_likelihood)
    share = np.exp(log_weight - log_weight.max(axis=0))
    return np.asarray(share / share.sum(axis=0))


def choices(values: Any, powers: Sequence[float], cells: StudyCache) -> tuple[np.ndarray, np.ndarray]:
    """What the plan chooses for many pilot values at once (positions in `powers`), and their log-likelihoods."""
    first = cf.Model(POPULATION, plan(powers).channel)
    seen = np.asarray(first.log_likelihood(GRID, values, route="normal"))
    return np.argmin(inverse_information(powers, cells=cells)["1/F"] @ _shares(seen), axis=0), seen


def _study(theta: float, releases: int, powers: Sequence[float], cells: StudyCache) -> dict[str, Any]:
    """Errors of three strategies, and how often the pilot chooses each power."""

    def compute() -> dict[str, Any]:
        pilot, key = plan(powers), 56_000 + round(1000 * theta)
        values = cf.Model(POPULATION, pilot.channel).simulate(key, theta, (releases,))
        chosen, seen = choices(values, powers, cells)
        means = np.empty(releases)
        for index in np.unique(chosen):
            some = np.flatnonzero(chosen == index)
            second = cf.Model(POPULATION, (pilot.candidates or ())[index])
            # all are drawn, so that one shape is compiled; those of the others are not looked at
            more = second.simulate(key + 1 + int(index), theta, (releases,))
            both = seen + second.log_likelihood(GRID, more, route="normal")
            means[some] = GRID @ _shares(both[:, some])
        numbers: dict[str, Any] = {"pilot": squares(means, theta)}
        for name, power in (("|x| of all", 1.0), ("|x|^0.5 of all", 0.5)):
            model = cf.Model(POPULATION, cf.Channel(_mean(power), cf.Gaussian(PRIVACY), N))
            single = model.log_likelihood(GRID, model.simulate(key, theta, (releases,)), route="normal")
            numbers[name] = squares(GRID @ _shares(single), theta)
        return numbers | {"counts": np.bincount(chosen, minlength=len(powers))}

    return kept(cells, {"what": "5.6", "theta": theta, "releases": releases, "powers": list(powers)}, compute)


def _draw(table: Any) -> Any:
    figure, axes = panels(2)
    for index, name in enumerate(("|x| of all", "pilot", "|x|^0.5 of all")):
        axes[0].plot(table["theta"], table[name], label=name, **style(index, markers=True))
    label(axes[0], "error", "θ, the true half-width", "MSE of the posterior mean", log="y")
    axes[1].fill_between(table["theta"], table["power 25%"], table["power 75%"], color="0.85", label="middle half")
    axes[1].plot(table["theta"], table["power 50%"], label="median", **style(1, markers=True))
    axes[1].set_ylim(0, 1.4)
    label(axes[1], "what the pilot chooses", "θ, the true half-width", "power a of |x|^a")
    return figure


def section_5_6(
    *,
    full: bool = False,
    path: Path = None,
    thetas: Sequence[float] | None = None,
    releases: int | None = None,
    powers: Sequence[float] | None = None,
) -> Result:
    """Section 5.6: is a tenth of the records well spent on choosing the statistic."""
    import pandas as pd

    cells = StudyCache(path)
    thetas = thetas or tuple(np.arange(1, 11) / 10 if full else (0.1, 0.3, 0.6, 1.0))
    releases = releases or (15_000 if full else 2_000)
    powers = powers or (tuple((np.arange(1, 21) / 10).tolist()) if full else SOME)
    rows = []
    for theta in progress(thetas, "Sec 5.6"):
        found = _study(float(theta), releases, powers, cells)
        row: dict[str, float] = {"theta": float(theta)}
        for name in ("pilot", "|x| of all", "|x|^0.5 of all"):
            row[name], row[f"{name} error"] = (float(number) for number in found[name])
        order = np.cumsum(found["counts"]) / np.sum(found["counts"])
        row |= {f"power {level:.0%}": float(powers[int(np.argmax(order >= level))]) for level in (0.25, 0.5, 0.75)}
        rows.append(row)
    table = pd.DataFrame(rows)
    gain = table["|x| of all"] / table["pilot"]
    noise = np.hypot(table["pilot error"], table["|x| of all error"])
    better = table["|x| of all"] - table["pilot"]
    checks = (
        Check(
            "a pilot that chooses the power errs less than |x| on all records",
            "smaller MSE (authors' later experiment)",
            f"MSE {gain.min():.2f} to {gain.max():.2f} times smaller over θ = {table['theta'].min():g} … "
            f"{table['theta'].max():g}",
            bool(np.mean(better) > 0 and np.any(better > 4.7 * noise)),
        ),
        Check(
            "the chosen power is below 1",
            "about 0.25 to 1.25 plotted",
            f"in the median {table['power 50%'].min():g} to {table['power 50%'].max():g}",
            bool(np.all(table["power 50%"] < 1)),
        ),
    )
    direct = (table["pilot"] / table["|x|^0.5 of all"]).mean()
    return Result(
        "section-5.6",
        "Section 5.6: a pilot release that chooses the statistic",
        "Publish |x| of a tenth of the records first, choose by its posterior the power a that makes the average of "
        "1/F smallest, and publish |x|^a of the other records: better than |x| of all of them. (Of a later version "
        "of the paper; settings from the authors' code.)",
        f"X ~ Unif(−θ, θ), n = 100, A = 10, 1-GDP, powers {min(powers):g} to {max(powers):g} ({len(powers)} of them); "
        f"{releases:,} releases per θ; the plan is that of `pilot`, applied to all releases at once on the normal "
        "model, prior Uniform(0.01, 10). The code carries the pilot to the second stage as a normal prior; here the "
        "posterior is given both releases.",
        checks,
        {"pilot": _draw(table)},
        {"pilot": table},
        "Much of the gain needs no pilot: |x|^0.5 of all records, chosen without looking, errs less still; the pilot's "
        f"MSE is {direct:.2f} times its MSE on average over θ. A pilot of ten records says too little to repay them.",
        captions={
            "pilot": "Left: errors of three strategies at the same guarantee. Right: the power that the pilot leads to."
        },
    )
