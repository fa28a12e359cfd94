"""Section 5.6 (from the authors' code): choose the power by a pilot on a tenth of the records."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpyro.distributions as dist

import confide as cf
from confide._progress import progress
from confide.design.cells import Cells
from confide.paper.examples import Path
from confide.paper.figures import label, panels, style
from confide.paper.result import Check, Result
from confide.paper.settings import BOUND, N, kept

POPULATION = cf.populations.uniform_width()
PRIVACY = cf.GDP(1.0)
ENDS = (0.01, 10.0)


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


def _study(theta: float, releases: int, powers: Sequence[float], route: str, cells: Cells) -> dict[str, Any]:
    settings = {"what": "5.6", "theta": theta, "releases": releases, "powers": list(powers), "route": route}

    def compute() -> dict[str, Any]:
        strategies: dict[str, cf.Channel | cf.Pilot] = {
            "pilot": plan(powers),
            "|x| of all": cf.Channel(_mean(1.0), cf.Gaussian(PRIVACY), N),
            "|x|^0.5 of all": cf.Channel(_mean(0.5), cf.Gaussian(PRIVACY), N),
        }
        prior = {"width": dist.Uniform(*ENDS)}
        found = cf.study(POPULATION, strategies, prior=prior, theta=theta, releases=releases, key=56, route=route).table
        numbers: dict[str, Any] = {}
        for row in found.to_dict("records"):
            numbers |= {f"{row['strategy']}": row["mse"], f"{row['strategy']} error": row["mse_se"]}
        return numbers | {"choice": str(found["choice"][0])}

    return kept(cells, settings, compute)


def _draw(table: Any) -> Any:
    figure, axes = panels(2)
    for index, name in enumerate(("|x| of all", "pilot", "|x|^0.5 of all")):
        axes[0].plot(table["theta"], table[name], label=name, **style(index, markers=True))
    label(axes[0], "error", "θ, the true half-width", "MSE of the posterior mean", log="y")
    axes[1].plot(table["theta"], table["chosen power"], **style(1, markers=True))
    axes[1].set_ylim(0, 1.2)
    label(axes[1], "what the pilot chooses most often", "θ, the true half-width", "power a of |x|^a", legend=False)
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

    cells = Cells(path)
    thetas = thetas or tuple(np.arange(1, 11) / 10 if full else (0.1, 0.3, 0.6, 1.0))
    releases = releases or (15_000 if full else 400)
    powers = powers or tuple((np.arange(1, 21) / 10 if full else np.arange(1, 11) / 5).tolist())
    rows = []
    for theta in progress(thetas, "Sec 5.6"):
        found = _study(float(theta), releases, powers, "normal", cells)
        share = re.search(r"\((\d+)%\)$", found["choice"])
        power = re.search(r"\*\*([\d.]+)", found["choice"])
        numbers = {name: float(value) for name, value in found.items() if name != "choice"}
        chosen = {"chosen power": float(power[1]) if power else 1.0, "share": float(share[1]) / 100 if share else 1.0}
        rows.append({"theta": float(theta)} | numbers | chosen)
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
            f"most often {table['chosen power'].min():g} to {table['chosen power'].max():g}",
            bool(np.all(table["chosen power"] < 1)),
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
        f"{releases:,} releases per θ by `pilot` and `study` on the normal model, prior Uniform(0.01, 10). The code "
        "carries the pilot to the second stage as a normal prior; here the posterior is given both releases.",
        checks,
        {"pilot": _draw(table)},
        {"pilot": table},
        "Part of the gain needs no pilot: |x|^0.5 of all records was a better choice than |x| from the start, and "
        f"the pilot's MSE is {direct:.2f} times its MSE on average. Choosing by the prior, before any release, costs "
        "nothing.",
        captions={
            "pilot": "Left: errors of three strategies at the same guarantee. Right: the power that the pilot leads to."
        },
    )
