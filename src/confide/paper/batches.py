"""Estimators of batches, averaged privately (Dwork and Smith 2010, Smith 2011): the paper's other named scheme.

The records fall into k = n/m batches, each gives its own estimate, clipped, and the mean of the k estimates is
published with noise. A record changes one of them, so that noise shrinks with k, not with n; in return an estimate of
m records needs narrower bounds than a function of one. For a normal variance θ the estimate of a batch, its mean of
x², has the law Gamma(m/2, m/(2θ)): a batch is a record of a population of its own, and its information is exact. With
m = 1 it is the mean of x² itself.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import numpy as np
import numpyro.distributions as dist
from jax.scipy.special import gammainc, gammaincc
from numpyro.distributions import constraints
from scipy import optimize

import confide as cf
from confide.design.studies.study_cache import StudyCache
from confide.paper.examples import Path
from confide.paper.figures import label, panels, style
from confide.paper.result import Check, Result
from confide.paper.settings import TRUTH, VARIANCE, N, cell

#: records of a batch, and numbers of records beside the paper's
SIZES = (1, 2, 5, 10, 20, 50)
COUNTS = (100, 1000, 10_000, 100_000)
#: the batches that are shown against the number of records
_SHOWN = 10
#: powers of |x| that are published directly
DIRECT = {"mean of |x|": "abs(x)", "mean of x²": "x**2"}


@functools.cache
def batches_of(size: int) -> cf.Population:
    """The variance as a batch of so many normal records estimates it.

    >>> batches_of(10).name
    'mean of 10 squares'
    """

    def share(x: jax.Array, variance: jax.Array) -> jax.Array:
        return 0.5 * size * x / variance

    return cf.Population(
        lambda variance: dist.Gamma(0.5 * size, 0.5 * size / variance),
        {"variance": constraints.positive},
        f"mean of {size} squares",
        cdf=lambda x, variance: gammainc(0.5 * size, share(x, variance)),
        survival=lambda x, variance: gammaincc(0.5 * size, share(x, variance)),
        information=lambda variance: 0.5 * size / variance**2,
    )


def batched(size: int, n: int, epsilon: float, top: float) -> cf.Model:
    """The private mean of the estimates of n/size batches, each clipped to (0, top)."""
    channel = cf.Channel(cf.Mean("x", bounds=(0.0, top)), cf.Laplace(cf.PureDP(epsilon)), n // size)
    return cf.Model(batches_of(size), channel)


def direct(power: str, n: int, epsilon: float, top: float) -> cf.Model:
    """The mean of a power of |x|, records clipped to ±top."""
    return cf.Model(VARIANCE, cf.Channel(cf.Mean(power, bounds=(-top, top)), cf.Laplace(cf.PureDP(epsilon)), n))


def _best(model_at: Any, low: float, high: float) -> dict[str, Any]:
    """The exact information at θ = 2 with the bounds that are best by the normal approximation."""

    def loss(log_top: float) -> float:
        found = cf.information(model_at(float(np.exp(log_top))), TRUTH, method="normal")
        return -float(np.log(found.matrix.item()))

    found = optimize.minimize_scalar(
        loss, bounds=(np.log(low), np.log(high)), method="bounded", options={"xatol": 1e-2}
    )
    top = float(np.exp(found.x))
    return {"top": top, "information": float(cf.information(model_at(top), TRUTH).matrix.item())}


@cell("batches")
def _of_batches(size: int, n: int, epsilon: float) -> dict[str, Any]:
    return _best(functools.partial(batched, size, n, epsilon), 0.5 * TRUTH, 40.0 * TRUTH)


@cell("batches, direct")
def _of_records(power: str, n: int, epsilon: float) -> dict[str, Any]:
    return _best(functools.partial(direct, power, n, epsilon), 0.5, 10.0)


def batches(*, full: bool = False, path: Path = None) -> Result:
    """Estimates of batches, averaged privately, against a statistic of the records."""
    import pandas as pd

    cells = StudyCache(path)
    levels = (0.5, 1.0, 2.0, 5.0, 10.0) if full else (0.5, 1.0, 5.0)
    rows = []
    for n in COUNTS if full else COUNTS[:3]:
        for epsilon in levels if n == N else (1.0,):
            asked = {"n": n, "epsilon": epsilon}
            schemes = [(name, 0, _of_records(power, n, epsilon, cells=cells)) for name, power in DIRECT.items()]
            schemes += [(f"batches of {size}", size, _of_batches(size, n, epsilon, cells=cells)) for size in SIZES]
            for name, size, found in schemes:
                efficiency = found["information"] / (0.5 * n / TRUTH**2)
                rows.append(asked | {"scheme": name, "size": size, **found, "efficiency": efficiency})
    table = pd.DataFrame(rows)
    small = table[table["n"] == N]
    kept = {level: _kept(small[small["epsilon"] == level]) for level in levels}
    large = table[table["epsilon"] == 1.0].pivot_table(index="n", columns="scheme", values="efficiency")
    tens = large[f"batches of {_SHOWN}"]
    one = table[table["size"] == 1].set_index(["n", "epsilon"])["information"]
    same = table[table["scheme"] == "mean of x²"].set_index(["n", "epsilon"])["information"]
    apart = float(np.max(np.abs(one / same - 1.0)))
    checks = (
        Check(
            "batches of one record are the mean of x²",
            "by definition",
            f"informations differ by at most {apart:.2%}, as far as bounds are searched",
            apart < 5e-3,
        ),
        Check(
            "a statistic of the records says more than the best batches (n = 100)",
            "not computed: named as another scheme",
            "; ".join(f"ε = {level:g}: batches keep {best:.0%} (m = {size})" for level, (best, size) in kept.items()),
            all(best < 1.0 for best, _ in kept.values()),
        ),
        Check(
            f"with more records the private average of batches of {_SHOWN} comes near the records themselves",
            "Smith (2011): the same asymptotic variance",
            f"efficiency {', '.join(f'{v:.0%}' for v in tens)} at n = {', '.join(map(str, large.index))} (ε = 1)",
            bool(np.all(np.diff(tens) > 0) and tens.iloc[-1] > 0.9),
        ),
    )
    return Result(
        "batches",
        "Estimators of batches",
        "Statistics of records are one way to a private estimator; another averages estimates of batches with noise "
        "(Dwork and Smith 2010, Smith 2011).",
        "X ~ N(0, θ), θ = 2. Laplace noise, ε-DP; bounds chosen for the most information at θ by the normal "
        "approximation, information exact. A batch of m records estimates θ by its mean of x².",
        checks,
        {"batches": _draw(small, levels, large)},
        {"batches": table},
        "What batches buy is narrow bounds for estimates that need many records; where a sum of functions of single "
        "records says as much, as here, they only give noise away: its scale is m times that of a mean of records.",
        captions={
            "batches": "Left: information of batches, as a share of the best direct statistic's. Right: the share of "
            "the records' own information that is kept, by the number of records."
        },
    )


def _kept(rows: Any) -> tuple[float, int]:
    """What the best batches of two records or more keep of the best direct statistic, and how large they are."""
    some = rows[rows["size"] > 1]
    best = some.loc[some["information"].idxmax()]
    return float(best["information"] / rows[rows["size"] == 0]["information"].max()), int(best["size"])


def _draw(small: Any, levels: tuple[float, ...], large: Any) -> Any:
    figure, axes = panels(2)
    for index, level in enumerate(levels):
        rows = small[small["epsilon"] == level]
        by_size = rows[rows["size"] > 0]
        told = by_size["information"] / rows[rows["size"] == 0]["information"].max()
        axes[0].plot(by_size["size"], told, label=f"ε = {level:g}", **style(index, markers=True))
    label(axes[0], f"batches of m, n = {N}", "m, the records of a batch", "share of the best direct one", log="xy")
    axes[0].set_xticks(SIZES, map(str, SIZES))
    axes[0].minorticks_off()
    for index, name in enumerate((*DIRECT, f"batches of {_SHOWN}")):
        axes[1].plot(large.index, large[name], label=name, **style(index, markers=True))
    label(axes[1], "information kept, ε = 1, θ = 2", "n, the number of records", "efficiency", log="x")
    return figure
