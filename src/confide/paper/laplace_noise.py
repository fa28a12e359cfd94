"""Section 5.2: |x| against x² with Laplace noise, in Fisher information and in the error of Algorithm 5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import confide as cf
from confide._progress import progress
from confide.design.studies.study_cache import StudyCache
from confide.inference.kernel import PseudoMarginal
from confide.paper import mistakes
from confide.paper.examples import Path
from confide.paper.figures import dots, label, panels, style
from confide.paper.posteriors import exact_means, squares
from confide.paper.ranking import rankings
from confide.paper.result import Check, Effect, Result
from confide.paper.settings import LEVELS, NAMES, TRUTH, VARIANCE, N, cell, laplace, mean, prior
from confide.paper.targets import PowerMean, chains, empty, laplace_scale
from confide.prior import Prior

#: the paper's walk
WALK = cf.Walk(20 / math.sqrt(N), on="log")
#: the information under the normal model, in the settings of the paper
KNOWN = {
    (1, 0.5): 1.2630,
    (1, 1.0): 3.3577,
    (1, 2.0): 6.6699,
    (1, 5.0): 9.9653,
    (1, 10.0): 10.7746,
    (2, 0.5): 0.2141,
    (2, 1.0): 0.7375,
    (2, 2.0): 2.2227,
    (2, 5.0): 6.6316,
    (2, 10.0): 10.3273,
}
#: by default errors are computed at some levels, and Algorithm 1 is run at fewer
SOME = (0.25, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
_SIMULATED = (0.5, 2.0, 10.0)


def _key(power: int, level: float) -> int:
    return 52_000_000 + 10_000 * power + round(100 * level)


@cell("5.2")
def pmmh(power: int, level: float, releases: int, steps: int, copies: int, *, proper: bool = True) -> dict[str, Any]:
    """Posterior means by Algorithm 5, with a proper prior or with the published code's."""
    values = mean(power, laplace(level)).simulate(_key(power, level), TRUTH, (releases,))
    believed = Prior.of(VARIANCE, prior()) if proper else mistakes.FlatOnLog()
    found = chains(
        PseudoMarginal(copies),
        empty(PowerMean, believed, power, N),
        values,
        laplace_scale(power, level, N),
        walk=WALK,
        steps=steps,
        key=_key(power, level) + 1,
    )
    return {"mean": found.mean, "acceptance": found.acceptance.mean()}


@cell("5.2 exact")
def _exact(power: int, level: float, releases: int, *, noisy_enough: bool = True) -> dict[str, Any]:
    """Exact posterior means; with too little noise in the data, which the posterior does not know of (erratum 1)."""
    model = mean(power, laplace(level))
    source = model if noisy_enough else mistakes.too_little_noise(model)
    found = exact_means(model, source.simulate(_key(power, level), TRUTH, (releases,)))
    return {"mean": found.mean, "error": found.error}


@cell("5.2 information")
def _information(power: int, level: float, size: int) -> dict[str, Any]:
    """Exact, and by Algorithm 1 where a size is given: as printed, paired, and as the published code has it."""
    model, key = mean(power, laplace(level)), _key(power, level) + 2
    known = {
        "F normal": cf.information(model, TRUTH, method="normal").matrix[0, 0],
        "F exact": cf.information(model, TRUTH).matrix[0, 0],
    }
    if not size:
        return known
    options: dict[str, Any] = {"method": "importance", "outer": size, "inner": size, "key": key}
    printed, paired = (cf.information(model, TRUTH, paired=paired, **options) for paired in (False, True))
    wrong = mistakes.algorithm_1_with_the_wrong_score(power, level, outer=size, inner=size, key=key)
    return known | {
        "F Algorithm 1": printed.matrix[0, 0],
        "F Algorithm 1, paired": paired.matrix[0, 0],
        "F Algorithm 1 error": paired.standard_error[0, 0],
        "F erratum 5": wrong,
    }


def _rows(
    levels: Sequence[float], releases: int, many: int, steps: int, copies: int, size: int, cells: StudyCache
) -> Any:
    import pandas as pd

    rows = []
    for power, level in progress([(power, level) for power in NAMES for level in levels], "Sec 5.2"):
        row: dict[str, Any] = {"power": power, "epsilon": level}
        by_chain = pmmh(power, level, releases, steps, copies, cells=cells)
        true = _exact(power, level, many, cells=cells)
        row["mse PMMH"], row["mse PMMH error"] = squares(by_chain["mean"], TRUTH)
        row["mse"], row["mse error"] = squares(true["mean"], TRUTH)
        row["difference"] = float(np.sqrt(np.mean((true["mean"][:releases] - by_chain["mean"]) ** 2)))
        row["acceptance"] = float(by_chain["acceptance"])
        asked = size if size >= 1000 or level in _SIMULATED else 0
        rows.append(
            row | {name: float(value) for name, value in _information(power, level, asked, cells=cells).items()}
        )
    return pd.DataFrame(rows)


def _draw(table: Any) -> Any:
    figure, axes = panels(3, columns=3)
    for index, (power, name) in enumerate(NAMES.items()):
        part = table[table["power"] == power]
        axes[0].plot(part["epsilon"], part["mse"], label=f"{name}, exact posterior", **style(index))
        axes[0].plot(part["epsilon"], part["mse PMMH"], label=f"{name}, PMMH", **dots(index))
        axes[1].plot(part["epsilon"], part["F exact"], label=f"{name}, exact", **style(index))
        axes[1].plot(part["epsilon"], part["F Algorithm 1"], label=f"{name}, Algorithm 1", **dots(index))
        some = part.dropna()
        ratio = some[["F Algorithm 1", "F erratum 5"]].div(some["F normal"], axis=0)
        axes[2].plot(some["epsilon"], ratio["F Algorithm 1"], label=f"{name}, as printed", **style(index, markers=True))
        axes[2].plot(some["epsilon"], ratio["F erratum 5"], label=f"{name}, as coded", **style(index + 2, markers=True))
    label(axes[0], "error", "ε", "MSE of the posterior mean", log="y")
    label(axes[1], "information", "ε", "F(2)", log="y")
    label(axes[2], "Algorithm 1 over the truth (normal model)", "ε", "estimate of F(2) over its value")
    return figure


def section_5_2(
    *,
    full: bool = False,
    path: Path = None,
    levels: Sequence[float] | None = None,
    releases: int = 100,
    many: int = 1000,
    steps: int | None = None,
    copies: int = 100,
    size: int | None = None,
) -> Result:
    """Section 5.2: Laplace noise, Algorithm 5 (PMMH), and whether the error follows the information."""
    cells = StudyCache(path)
    levels = levels or (LEVELS if full else SOME)
    steps = steps or (10_000 if full else 2_000)
    size = size or (1000 if full else 400)
    table = _rows(levels, releases, many, steps, copies, size, cells)
    one, two = (table[table["power"] == power].reset_index(drop=True) for power in NAMES)
    numbers = {
        at: float(cf.information(mean(at[0], laplace(at[1])), TRUTH, method="normal").matrix[0, 0]) for at in KNOWN
    }
    worst = max(abs(numbers[at] - value) for at, value in KNOWN.items())
    difference = float((table["difference"] / np.sqrt(table["mse"])).max())
    at = (1, 1.0)
    right, wrong = (
        squares(_exact(*at, many, cells=cells, noisy_enough=enough)["mean"], TRUTH) for enough in (True, False)
    )
    improper = squares(pmmh(2, 1.0, releases, steps, copies, cells=cells, proper=False)["mean"], TRUTH)
    proper = squares(pmmh(2, 1.0, releases, steps, copies, cells=cells)["mean"], TRUTH)
    half = _information(2, 0.5, size, cells=cells)
    checks = (
        *rankings(one, two, "F exact", "|x| says more and errs less", "|x| better"),
        Check(
            "F(2) of the normal model at ε = 0.5, 1, 2, 5, 10",
            "10 known values, 4 decimals",
            f"largest difference {worst:.0e}",
            worst < 6e-5,
        ),
        Check(
            "Algorithm 5 finds the posterior: its means against the exact ones",
            "not computed",
            f"differ by at most {difference:.2f} of the root of the MSE",
            difference < 0.5,
        ),
    )
    effects = (
        Effect(
            1,
            "Laplace noise drawn with scale b/√2 (|x|, ε = 1): MSE",
            f"{wrong.mse:.3f} ± {wrong.error:.3f}",
            f"{right.mse:.3f} ± {right.error:.3f}",
            abs(wrong.mse - right.mse) > 3 * math.hypot(wrong.error, right.error),
        ),
        Effect(
            2,
            f"a flat prior on log θ has no posterior (x², ε = 1, {steps:,} steps): MSE",
            f"{improper.mse:.2f} ± {improper.error:.2f}",
            f"{proper.mse:.2f} ± {proper.error:.2f}",
            abs(improper.mse - proper.mse) > 3 * math.hypot(improper.error, proper.error),
        ),
        Effect(
            5,
            "the wrong first term in the normal score (x², ε = 0.5): F by Algorithm 1",
            f"{float(half['F erratum 5']):.3f}",
            f"{float(half['F normal']):.3f}",
            bool(half["F erratum 5"] > 1.4 * half["F normal"]),
        ),
        Effect(
            9,
            "the square of a noisy score (x², ε = 0.5): F by Algorithm 1 as printed",
            f"{float(half['F Algorithm 1']):.3f}",
            f"{float(half['F Algorithm 1, paired']):.3f} ± {float(half['F Algorithm 1 error']):.3f} paired, "
            f"{float(half['F normal']):.3f} in truth",
            bool(half["F Algorithm 1"] > 1.05 * half["F normal"]),
        ),
    )
    return Result(
        "section-5.2",
        "Section 5.2: additive statistics, Laplace noise",
        "With Laplace noise, too, the mean of |x| says more about the variance than the mean of x², and the errors "
        "of posterior means follow the Fisher information.",
        f"As Section 5.1 with ε-DP and Laplace noise of scale 10^a/(100ε). PMMH (Algorithm 5) with N = {copies} and "
        f"{steps:,} steps on {releases} releases per point (walk of sd 2 on log θ); the exact posterior on {many:,}. "
        f"Algorithm 1 with {size} × {size}. PMMH is the library's kernel, run on all releases side by side.",
        checks,
        {"laplace": _draw(table)},
        {"laplace": table},
        "With Laplace noise p(y | θ) of the normal model is a closed formula, and the exact law an integral: neither "
        "information nor posterior needs Monte Carlo.",
        effects,
        {
            "laplace": "Left: errors, lines by exact integration, markers by the paper's algorithm. Middle: the "
            "information that predicts them. Right: what the printed Algorithm 1 and its code make of F."
        },
    )
