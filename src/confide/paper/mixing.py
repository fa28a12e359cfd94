"""Section 5.3: how fast PMMH (Algorithm 5) and MHAAR (Algorithm 6) mix, against the number of copies N."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpyro.distributions as dist

import confide as cf
from confide._progress import progress
from confide.design.studies.study_cache import StudyCache
from confide.inference.diagnostics import integrated_autocorrelation
from confide.inference.kernel import Averaged, PseudoMarginal
from confide.paper.examples import Path
from confide.paper.figures import label, panels, style
from confide.paper.result import Check, Effect, Result
from confide.paper.settings import VARIANCE, N, cell, laplace, mean
from confide.paper.targets import PowerMean, chains, empty, laplace_scale
from confide.prior import Prior

#: the noise-free value at θ = 2, which stands for a typical release
VALUE = 1.128379
WALK = cf.Walk(2.0, on="log")
COPIES = (2, 5, 10, 20, 50, 100)
#: the paper's table (each N on its own random y, one run)
PAPER = {
    2: (44.03, 17.99),
    5: (28.19, 17.10),
    10: (21.11, 16.13),
    20: (18.16, 15.44),
    50: (15.32, 13.78),
    100: (16.42, 15.86),
}
#: the same at VALUE by long runs
LONG = {2: (48.8, 17.9), 5: (27.6, 16.8), 10: (20.7, 16.5), 20: (18.0, 16.1), 50: (15.7, 14.9), 100: (15.0, 15.2)}
#: chosen: how far, relatively, an autocorrelation time from one run may be from that of the long runs
_SHARE = 0.12
#: flat in log θ over six decades
_PRIOR = {"variance": dist.LogUniform(1e-3, 1e3)}


@cell("5.3")
def latent(method: str, copies: int, count: int, draws: int, *, centre: str = "maximum") -> dict[str, Any]:
    """The integrated autocorrelation time of each of `count` chains of Algorithm 5 or 6."""
    kernel = PseudoMarginal(copies) if method == "pmmh" else Averaged(copies)
    target = empty(PowerMean, Prior.of(VARIANCE, _PRIOR), 1, N, centre=centre)
    scale = laplace_scale(1, 5.0, N)
    found = chains(kernel, target, [VALUE] * count, scale, walk=WALK, steps=draws, key=53 + copies, traced=True)
    assert found.trace is not None
    return {"iac": [integrated_autocorrelation(chain[draws // 4 :]) for chain in found.trace]}


@cell("5.3 infer")
def verb(method: str, count: int, draws: int, **options: Any) -> dict[str, Any]:
    """The same for a method of `infer`, as a user would ask for it."""
    release = cf.Release(mean(1, laplace(5.0)).channel, VALUE)
    sizes: dict[str, Any] = {"chains": count, "warmup": 500, "draws": draws, "key": 53}
    found = cf.infer(VARIANCE, release, _PRIOR, method=method, walk=WALK, **sizes, **options)
    return {"iac": [integrated_autocorrelation(chain) for chain in found.draws["variance"]]}


def _summary(found: dict[str, Any]) -> tuple[float, float]:
    """The mean over chains and its standard error."""
    each = np.atleast_1d(found["iac"])
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(each.size))


def _rows(copies: Sequence[int], count: int, draws: int, cells: StudyCache) -> Any:
    import pandas as pd

    rows = []
    for size in progress(copies, "Sec 5.3"):
        row: dict[str, Any] = {"N": size}
        for method in ("pmmh", "mhaar"):
            row[method], row[f"{method} error"] = _summary(latent(method, size, count, draws, cells=cells))
        rows.append(row)
    return pd.DataFrame(rows)


def _draw(table: Any, floor: float) -> Any:
    figure, (axis,) = panels(1, height=3.8)
    for index, (method, name) in enumerate((("pmmh", "PMMH"), ("mhaar", "MHAAR"))):
        axis.errorbar(
            table["N"], table[method], 2 * table[f"{method} error"], label=name, capsize=3, **style(index, markers=True)
        )
        axis.plot(
            list(PAPER),
            [pair[index] for pair in PAPER.values()],
            label=f"{name}, the paper's",
            linestyle="none",
            marker="*x"[index],
            color="0.35",
            markersize=7,
        )
    axis.axhline(floor, color="black", linewidth=0.9, linestyle=":", label="MH on the exact likelihood")
    axis.set_xticks(table["N"], [str(count) for count in table["N"]])
    label(axis, "mixing (smaller is better)", "N, the number of copies", "integrated autocorrelation time", log="xy")
    axis.set_xticks(table["N"], [str(count) for count in table["N"]])
    axis.set_yticks([15, 20, 30, 50], ["15", "20", "30", "50"])
    axis.minorticks_off()
    return figure


def section_5_3(
    *,
    full: bool = False,
    path: Path = None,
    copies: Sequence[int] = COPIES,
    count: int = 16,
    draws: int | None = None,
) -> Result:
    """Section 5.3: mixing of Algorithms 5 and 6, and the floor that both have."""
    cells = StudyCache(path)
    draws = draws or (200_000 if full else 25_000)
    table = _rows(copies, count, draws, cells)
    floor, floor_error = _summary(verb("mh", 8, min(draws, 20_000), cells=cells))
    conditional = _summary(verb("pmmh", 8, 5_000, cells=cells, latent="u", copies=2, conditional=True))[0]
    midpoint = _summary(latent("mhaar", 2, count, draws, cells=cells, centre="midpoint"))
    long = {count: LONG[count] for count in copies if count in LONG}
    ratios = {
        (row["N"], method): row[method] / long[row["N"]][index]
        for _, row in table.iterrows()
        for index, method in enumerate(("pmmh", "mhaar"))
        if row["N"] in long
    }
    gap = (table["pmmh"] - table["mhaar"]).to_numpy()
    noise = np.hypot(table["pmmh error"], table["mhaar error"]).to_numpy()
    few, some = table["N"].to_numpy() <= 10, table["N"].to_numpy() <= 50
    last = table.iloc[-1]
    pairs = ", ".join(f"{row['N']:.0f}: {row['pmmh']:.1f}/{row['mhaar']:.1f}" for _, row in table.iterrows())
    known = ", ".join(f"{count}: {a:.1f}/{b:.1f}" for count, (a, b) in PAPER.items() if count in set(copies))
    checks = (
        Check("the table (N: PMMH/MHAAR)", known, pairs, all(abs(ratio - 1) < _SHARE for ratio in ratios.values())),
        Check(
            "MHAAR mixes better than PMMH for N up to 50",
            "for almost all N",
            f"PMMH/MHAAR from {(table['pmmh'] / table['mhaar']).max():.2f} down to "
            f"{(table['pmmh'] / table['mhaar']).min():.2f}",
            bool(np.all(gap[few] > 4.7 * noise[few]) and np.all(gap[some] > -2 * noise[some])),
        ),
        Check(
            "the gap closes as N grows",
            "closes",
            f"from {gap[0]:.1f} at N = {table['N'].iloc[0]:.0f} to {gap[-1]:.1f} at N = {last['N']:.0f}",
            bool(abs(gap[-1]) < 0.15 * gap[0]),
        ),
        Check(
            "both end at the floor, MH on the exact likelihood with the same walk",
            "not computed",
            f"floor {floor:.1f} ± {floor_error:.1f}; at N = {last['N']:.0f} {last['pmmh']:.1f} and {last['mhaar']:.1f}",
            bool(max(abs(last["pmmh"] - floor), abs(last["mhaar"] - floor)) < 0.12 * floor),
        ),
    )
    effect = Effect(
        7,
        "the code draws u at max(θ, θ'), the paper at the midpoint (both valid): IAC of MHAAR at N = 2",
        f"{table['mhaar'].iloc[0]:.1f} ± {table['mhaar error'].iloc[0]:.1f}",
        f"{midpoint[0]:.1f} ± {midpoint[1]:.1f}",
        abs(table["mhaar"].iloc[0] - midpoint[0]) > 4.7 * np.hypot(table["mhaar error"].iloc[0], midpoint[1]),
    )
    return Result(
        "section-5.3",
        "Section 5.3: mixing of PMMH and MHAAR",
        "A chain's integrated autocorrelation time (IAC) is the number of its draws that are worth one independent "
        "draw. MHAAR needs fewer copies N than PMMH for the same mixing, and the gap closes as N grows.",
        f"The mean of |x|, ε = 5, y = {VALUE}, prior log-uniform on (10⁻³, 10³), walk of sd 2 on log θ; {count} "
        f"chains of {draws:,} steps of the library's kernels (the paper: one of 200,000, each N on another random y, "
        "so that its numbers scatter by about 2). IAC is Sokal's windowed estimate with c = 6.",
        checks,
        {"mixing": _draw(table, floor)},
        {"mixing": table},
        "With u drawn from its exact law given y (`conditional=True`), PMMH is at the floor with N = 2 already: IAC "
        f"{conditional:.1f}. And the posterior needs no chain: `infer` integrates it and draws independently (IAC 1).",
        (effect,),
        {"mixing": "Bars: two standard errors over chains. Stars and crosses: the paper's table."},
    )
