"""Example 4: three ways to publish bits, and what the paper's formulas leave out."""

from __future__ import annotations

from typing import Any

import numpy as np

import confide as cf
from confide.design.studies.study_cache import StudyCache
from confide.paper import mistakes
from confide.paper.examples import Path
from confide.paper.figures import label, panels, style
from confide.paper.result import Check, Effect, Result
from confide.paper.settings import N, cell

#: the two answers, and their population
_BITS = (0.0, 1.0)
_BERNOULLI = cf.populations.bernoulli()


def models(epsilon: float, n: int) -> dict[str, cf.Model]:
    """F1: randomized response. F2: the average of noisy records, each with N(0, 1/ε²). F3: the noisy average."""
    response = cf.Channel(cf.Each("x", bounds=_BITS), cf.RandomizedResponse(cf.PureDP(epsilon)), n)
    averaged = cf.Channel(cf.Mean("x", bounds=_BITS), cf.Gaussian(scale=1.0 / (epsilon * np.sqrt(n))), n)
    noisy_mean = cf.Channel(cf.Mean("x", bounds=_BITS), cf.Gaussian(cf.GDP(epsilon)), n)
    named = {"randomized response": response, "average of noisy records": averaged, "noisy average": noisy_mean}
    return {name: cf.Model(_BERNOULLI, channel) for name, channel in named.items()}


@cell("example 4")
def _table(levels: np.ndarray, theta: np.ndarray, n: int) -> dict[str, Any]:
    """The information of the three, (levels, θ)."""
    rows: dict[str, list[Any]] = {}
    for level in levels:
        for name, model in models(float(level), n).items():
            method = "auto" if name == "randomized response" else "normal"
            rows.setdefault(name, []).append(np.ravel(cf.information(model, theta, method=method).matrix))
    return rows


@cell("example 4, equal")
def _equal(epsilon: float, theta: np.ndarray) -> dict[str, Any]:
    """All three at one guarantee, ε-DP: Laplace noise for the means; F2 is the exact law of the noisy records."""
    privacy = cf.PureDP(epsilon)
    channels = {
        "randomized response": cf.Channel(cf.Each("x", bounds=_BITS), cf.RandomizedResponse(privacy), N),
        "noisy records": cf.Channel(cf.Each("x", bounds=_BITS), cf.Laplace(privacy), N),
        "noisy average": cf.Channel(cf.Mean("x", bounds=_BITS), cf.Laplace(privacy), N),
    }
    named = {name: cf.Model(_BERNOULLI, channel) for name, channel in channels.items()}
    return {name: np.ravel(cf.information(model, theta).matrix) for name, model in named.items()}


def _draw(levels: np.ndarray, theta: np.ndarray, found: dict[str, Any], by_n: Any, equal: dict[str, Any]) -> Any:
    figure, axes = panels(4)
    first, second, third = found.values()
    for axis, other, name in zip(axes, (second, third), ("average of noisy records", "noisy average"), strict=False):
        ratio = np.log10(other / first)
        shown = axis.contourf(theta, levels, np.clip(ratio, -1, 1), np.linspace(-1, 1, 11), cmap="cividis")
        axis.contour(theta, levels, ratio, [0.0], colors="white", linewidths=1.8)
        figure.colorbar(shown, ax=axis, label="log₁₀ of the ratio (cut at ±1)")
        label(axis, f"{name} against randomized response", "θ, the probability", "ε", log="y", legend=False)
    for index, name in enumerate(found):
        axes[2].plot(by_n["n"], by_n[name], label=name, **style(index, markers=True))
    label(axes[2], "ε = 1, θ = 0.25", "n, the number of records", "Fisher information F(θ)", log="y")
    for index, (name, values) in enumerate(equal.items()):
        axes[3].plot(theta, values, label=name, **style(index))
    label(axes[3], "all three at one guarantee: 1-DP, exact", "θ, the probability", "Fisher information F(θ)", log="y")
    return figure


def example_4(*, full: bool = False, path: Path = None) -> Result:
    """Example 4: bits published by randomized response, as noisy records, or as a noisy average."""
    import pandas as pd

    cells = StudyCache(path)
    levels = np.geomspace(0.01, 50.0, 120 if full else 30)
    theta = np.linspace(0.001, 0.999, 199 if full else 49)
    found = _table(levels, theta, N, cells=cells)
    first, second, third = found.values()
    small = levels < 1.0
    rows = []
    for n in range(10, 101, 10 if full else 30):
        at = _table(np.asarray([1.0]), np.asarray([0.25]), n, cells=cells)
        rows.append({"n": n} | {name: float(np.ravel(values)[0]) for name, values in at.items()})
    by_n = pd.DataFrame(rows)
    equal = _equal(1.0, theta, cells=cells)
    top = (third > first) & (third > second)
    gain = by_n["noisy average"] / by_n[["randomized response", "average of noisy records"]].max(axis=1)
    share = equal["randomized response"] / equal["noisy records"]
    checks = (
        Check(
            "for small ε randomized response beats the average of noisy records",
            "F1 > F2 for small ε",
            f"F1 > F2 at {np.mean(first[small] > second[small]):.0%} of (θ, ε) with ε < 1, "
            f"{np.mean(first > second):.0%} of all",
            bool(np.all(first[small] > second[small])),
        ),
        Check(
            "there the noisy average beats both",
            "F3 > F1 and F3 > F2",
            f"F3 largest at {np.mean(top[small]):.0%} of (θ, ε) with ε < 1",
            bool(np.all(top[small])),
        ),
        Check(
            "the same for n from 10 to 100 (θ = 0.25, ε = 1)",
            "F3 on top",
            f"F3 is {gain.min():.1f} to {gain.max():.1f} times the larger of the others",
            bool(gain.min() > 1),
        ),
        Check(
            "the ranking holds at equal guarantees (1-DP for all three)",
            "not computed: F1 is under ε-DP, F2 and F3 under GDP",
            f"noisy average on top at {np.mean(equal['noisy average'] > equal['randomized response']):.0%} of θ; "
            f"randomized response has {share.min():.2f} to {share.max():.2f} times the information of noisy records",
            bool(np.all(share > 1) and np.all(equal["noisy average"] > equal["randomized response"])),
        ),
    )
    wrong = mistakes.example_4_information(float(theta[0]), float(levels[-1]), N)
    effect = Effect(
        4,
        f"the factor ½ on the variance term of F2 is missing (θ = {theta[0]:.3f}, ε = {levels[-1]:.0f})",
        f"{wrong:,.0f}",
        f"{second[-1, 0]:,.0f}",
        bool(wrong > 1.1 * second[-1, 0]),
    )
    long = pd.DataFrame(
        {"epsilon": np.repeat(levels, len(theta)), "theta": np.tile(theta, len(levels))}
        | {name: np.ravel(values) for name, values in found.items()}
    )
    return Result(
        "example-4",
        "Example 4: bits",
        "When ε is small, randomized response says more than the average of noisy bits, and the noisy average says "
        "more than either.",
        "X ~ Bern(θ), n = 100. F1: each bit flipped with probability 1/(1 + e^ε) (ε-DP). F2: each bit plus N(0, "
        "1/ε²), averaged. F3: the average plus N(0, 1/(nε)²) (both ε-GDP).",
        checks,
        {"information": _draw(levels, theta, found, by_n, equal)},
        {"information": long, "by-n": by_n},
        "The paper compares F1 under ε-DP with F2 and F3 under ε-GDP, which are different promises. At one promise, "
        "1-DP for all three and exact laws, the order is the same (last panel). All noisy records together say more "
        "than their average: the paper calls the two equally informative.",
        (effect,),
        {
            "information": "Top: information relative to randomized response; lighter is more, and the white line is "
            "where the two are equal. Bottom left: against n. Bottom right: at equal guarantees."
        },
    )
