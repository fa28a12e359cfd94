"""Section 5.1: |x| against x² with Gaussian noise, in Fisher information and in the error of Algorithm 4."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

import confide as cf
from confide._progress import progress
from confide.design.studies.study_cache import StudyCache
from confide.paper.examples import Path
from confide.paper.figures import dots, label, panels, style
from confide.paper.metropolis import metropolis
from confide.paper.posteriors import exact_means, squares
from confide.paper.ranking import rankings
from confide.paper.result import Check, Effect, Result
from confide.paper.settings import BOUND, ENDS, LEVELS, NAMES, TRUTH, VARIANCE, N, cell, gaussian, mean

#: the paper's step
WALK = 10 / math.sqrt(N)
#: levels at which the exact posterior is computed by default
EXACT = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)


def _key(power: int, level: float) -> int:
    return 51_000_000 + 10_000 * power + (9_999 if math.isinf(level) else round(100 * level))


def released(power: int, level: float, releases: int) -> np.ndarray:
    """Simulated releases at θ* = 2."""
    return np.asarray(mean(power, gaussian(level)).simulate(_key(power, level), TRUTH, (releases,)))


@cell("5.1")
def chains(power: int, level: float, releases: int, steps: int, *, proper: bool) -> dict[str, Any]:
    """Posterior means by Algorithm 4, with a proper prior or with the published code's."""
    values = released(power, level, releases)
    scale = 0.0 if math.isinf(level) else BOUND**power / (N * level)
    ends = ENDS if proper else None
    found = metropolis(values, scale, power=power, n=N, steps=steps, sd=WALK, ends=ends, key=_key(power, level) + 1)
    return {"mean": found.mean, "acceptance": found.acceptance.mean()}


@cell("5.1 exact")
def _exact(power: int, level: float, releases: int) -> dict[str, Any]:
    model = mean(power, gaussian(level))
    found = exact_means(model, released(power, level, releases))
    return {"mean": found.mean, "error": found.error, "F": cf.information(model, TRUTH).matrix[0, 0]}


def _rows(levels: Sequence[float], releases: int, steps: int, exact: Sequence[float], cells: StudyCache) -> Any:
    """A row per statistic and level, the chains on as many threads as there are cores."""
    import pandas as pd

    todo = [(power, level) for power in NAMES for level in levels]
    pool = ThreadPoolExecutor(os.cpu_count())
    try:
        # the right prior and the wrong one, side by side
        runs = [
            [pool.submit(chains, *each, releases, steps, proper=proper, cells=cells) for proper in (True, False)]
            for each in todo
        ]
        done = [tuple(run.result() for run in both) for both in progress(runs, "Sec 5.1, Algorithm 4")]
    finally:
        pool.shutdown(cancel_futures=True)  # an interrupt waits for the cells that are running, and keeps them
    rows = []
    for (power, level), (right, wrong) in progress(list(zip(todo, done, strict=True)), "Sec 5.1, exact"):
        normal = float(cf.information(mean(power, gaussian(level)), TRUTH, method="normal").matrix[0, 0])
        row = {"power": power, "epsilon": level, "F normal": normal, "acceptance": float(right["acceptance"])}
        row["mse"], row["mse error"] = squares(right["mean"], TRUTH)
        row["mse improper"], _ = squares(wrong["mean"], TRUTH)
        if level in exact:
            true = _exact(power, level, releases, cells=cells)
            row["mse exact"], row["mse exact error"] = squares(true["mean"], TRUTH)
            row["F exact"] = float(true["F"])
            row["difference"] = float(np.sqrt(np.mean((true["mean"] - right["mean"]) ** 2)))
        rows.append(row)
    return pd.DataFrame(rows)


def _draw(table: Any) -> Any:
    figure, axes = panels(3, columns=3)
    for index, (power, name) in enumerate(NAMES.items()):
        part = table[table["power"] == power]
        finite = part[np.isfinite(part["epsilon"])]
        axes[0].plot(finite["epsilon"], finite["mse"], label=f"{name}, Algorithm 4", **style(index))
        axes[0].plot(finite["epsilon"], finite["mse exact"], label=f"{name}, exact posterior", **dots(index))
        axes[1].plot(finite["epsilon"], finite["F normal"], label=f"{name}, normal", **style(index))
        axes[1].plot(finite["epsilon"], finite["F exact"], label=f"{name}, exact", **dots(index))
        axes[2].plot(finite["epsilon"], finite["mse"], label=f"{name}, proper prior", **style(index))
        axes[2].plot(finite["epsilon"], finite["mse improper"], label=f"{name}, improper", **style(index + 2))
        for axis, column in ((axes[0], "mse"), (axes[1], "F normal")):
            limit = part[~np.isfinite(part["epsilon"])][column]
            if len(limit):
                axis.axhline(float(limit.iloc[0]), color=style(index)["color"], linewidth=0.7, linestyle=":")
    label(axes[0], "error (dotted: without privacy)", "ε", "MSE of the posterior mean", log="y")
    label(axes[1], "information (dotted: without privacy)", "ε", "F(2)", log="y")
    label(axes[2], "what the improper prior did", "ε", "MSE by Algorithm 4", log="y")
    return figure


def _drift(releases: int, longest: int, cells: StudyCache) -> Any:
    """The published prior with more and more steps: the error that it reports depends on where a chain is stopped."""
    import pandas as pd

    rows = []
    for steps in (longest // 100, longest // 10, longest):
        row: dict[str, float] = {"steps": steps}
        for proper in (True, False):
            found = chains(2, 1.0, releases, steps, proper=proper, cells=cells)
            row["uniform on (0.01, 60)" if proper else "flat on log θ"] = squares(found["mean"], TRUTH).mse
        rows.append(row)
    return pd.DataFrame(rows)


@cell("5.1 precision")
def _precision() -> dict[str, Any]:
    """Single against double precision, the same random numbers; and against other random numbers (root mean square)."""
    values = released(2, 1.0, 200)
    options: dict[str, Any] = {"power": 2, "n": N, "steps": 8000, "sd": WALK}
    single, double = (metropolis(values, 1.0, key=1, double=double, **options).mean for double in (False, True))
    other = metropolis(values, 1.0, key=2, **options).mean
    return {"rounding": np.sqrt(np.mean((single - double) ** 2)), "chance": np.sqrt(np.mean((single - other) ** 2))}


@cell("5.1 clip")
def _tighter(releases: int) -> dict[str, Any]:
    """Posterior means from x² with the clip that suits θ = 2, at ε = 1."""
    channel = cf.Channel(cf.Mean("x**2", bounds=(-3.2, 3.2)), gaussian(1.0), N)
    model = cf.Model(VARIANCE, channel)
    return {"mean": exact_means(model, model.simulate(_key(2, 1.0), TRUTH, (releases,))).mean}


def section_5_1(
    *,
    full: bool = False,
    path: Path = None,
    releases: int = 1000,
    steps: int | None = None,
    levels: Sequence[float] = (*LEVELS, math.inf),
    exact: Sequence[float] = EXACT,
) -> Result:
    """Section 5.1: Gaussian noise, Algorithm 4, and whether the error follows the information."""
    cells = StudyCache(path)
    steps = steps or (100_000 if full else 10_000)
    table = _rows(levels, releases, steps, [e for e in exact if e in levels], cells)
    drift = _drift(releases, max(steps, 10_000) if releases < 1000 else 100_000, cells)
    one, two = (table[table["power"] == power].reset_index(drop=True) for power in NAMES)
    last = drift.iloc[-1]
    difference = float(table["difference"].max())
    rounding, chance = (float(_precision(cells=cells)[name]) for name in ("rounding", "chance"))
    tighter = squares(_tighter(releases, cells=cells)["mean"], TRUTH).mse
    at_one = {power: float(np.interp(1.0, part["epsilon"], part["mse"])) for power, part in ((1, one), (2, two))}
    worst = table.loc[(table["mse improper"] / table["mse"]).sub(1).abs().idxmax()]
    checks = (
        *rankings(one, two, "F normal", "|x| has the smaller MSE unless ε is large", "unless ε is very large"),
        Check(
            "Algorithm 4 finds the posterior: its means against the exact ones",
            "not computed",
            f"differ by at most {difference:.3f} (root mean square over releases)",
            difference < 0.25,
        ),
        Check(
            "steps in single precision do not matter (200 chains of 8,000 steps)",
            "double precision",
            f"posterior means move by {rounding:.4f}; by {chance:.4f} with other random numbers (root mean square)",
            rounding < 0.5 * chance,
        ),
    )
    effects = (
        Effect(
            2,
            f"a flat prior on log θ has no posterior; {NAMES[worst['power']]}, ε = {worst['epsilon']:g}: MSE",
            f"{worst['mse improper']:.3g}",
            f"{worst['mse']:.3g}",
            bool(abs(worst["mse improper"] - worst["mse"]) > 5 * worst["mse error"]),
        ),
        Effect(
            2,
            f"its MSE depends on when chains are stopped (x², ε = 1; {', '.join(f'{s:,.0f}' for s in drift['steps'])} "
            "steps)",
            ", ".join(f"{v:.2f}" for v in drift["flat on log θ"]),
            ", ".join(f"{v:.2f}" for v in drift["uniform on (0.01, 60)"]),
            bool(abs(last["flat on log θ"] / drift["flat on log θ"].iloc[0] - 1) > 0.2),
        ),
        Effect(
            8,
            "the normal approximation exceeds the information in the records (x², ε = ∞): F(2)",
            f"{float(two['F normal'].max()):.2f}",
            f"at most {N / 8:.2f}",
            bool(two["F normal"].max() > N / 8),
        ),
    )
    return Result(
        "section-5.1",
        "Section 5.1: additive statistics, Gaussian noise",
        "The mean of |x| gives better estimates of a variance than the mean of x² unless ε is very large, and the "
        "estimates are better exactly where the Fisher information is larger.",
        f"X ~ N(0, θ), θ* = 2, n = 100, records clipped to ±10, ε-GDP; {releases:,} releases per point, Algorithm 4 "
        f"with {steps:,} steps (walk of sd {WALK:g} on log θ, first quarter dropped), prior Uniform(0.01, 60). The "
        "chains run in `confide.paper.metropolis`, one loop over steps with all releases side by side.",
        checks,
        {"gaussian": _draw(table)},
        {"gaussian": table, "drift": drift},
        "The exact posterior (circles and squares) needs no chain: it is integrated. And the clip matters more than "
        f"the choice between the two: at ε = 1 the MSE of x² is {at_one[2]:.3f} and that of |x| {at_one[1]:.3f} when "
        f"records are clipped at 10, but {tighter:.3f} for x² clipped at 3.2, which suits θ near 2.",
        effects,
        {
            "gaussian": "Left: errors, lines by the paper's algorithm on the normal model, markers by exact "
            "integration. Middle: the information that predicts them. Right: the same chains with the prior of the "
            "published code."
        },
    )
