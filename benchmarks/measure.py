"""From draws and times to a row: effective draws per second, and seconds to one percent.

*Effective draws per second* are those of all warm runs together over all their time, warm-up included; of several
parameters the worst counts. Draws by quadrature are independent.

*Seconds to 1%*: how long until the Monte Carlo standard errors of the posterior mean and of the posterior standard
deviation are both 1%: E ≥ (100·sd/mean)² effective draws of θ for the mean, and E₂ ≥ 2500·(κ − 1) of (θ − mean)² for
the standard deviation, with κ the kurtosis. The warm-up is paid once, the rest in proportion. Quadrature is there at
once, if it is: the row says how far it is from the truth. A contender whose mean or standard deviation is off by more
than 1% and four standard errors (the normal approximation of u at small n) never gets there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.contenders import Draws, Truth


def quality(runs: list[Draws], seconds: list[float], truth: Truth | None) -> dict[str, Any]:
    """What the draws of all runs are worth."""
    from numpyro.diagnostics import effective_sample_size

    from confide.inference.diagnostics import integrated_autocorrelation

    first, total = runs[0], sum(seconds)
    if first.effective is not None:
        return {"rate": sum(run.effective or 0.0 for run in runs) / total, "to_1pct": None}
    if first.mean is not None and first.sd is not None:
        size = sum(run.theta.shape[0] * run.theta.shape[1] for run in runs)
        off = _off(first.mean, first.sd, truth)
        good = truth is None or max(off) <= 0.01
        return {"rate": size / total, "to_1pct": total / len(runs) if good else None, **_named(off, truth)}
    theta = np.concatenate([run.theta for run in runs])
    chains, length, dimension = theta.shape
    steps = {"step_us": 1e6 * total / (len(runs) * first.steps * first.theta.shape[0])}
    if length < 50:
        # too few to tell how they mix: no chain has more effective draws than steps
        return {"rate": chains * length / total, "at_most": True, "to_1pct": None, **steps}
    mean, sd = theta.mean(axis=(0, 1)), theta.std(axis=(0, 1))
    squares = (theta - mean) ** 2
    kurtosis = (squares**2).mean(axis=(0, 1)) / sd**4
    each = [(theta[..., j], squares[..., j]) for j in range(dimension)]
    ess, ess_squares = (np.asarray([float(effective_sample_size(pair[i])) for pair in each]) for i in (0, 1))
    share = max(np.max((100 * sd / mean) ** 2 / ess), np.max(2500 * (kurtosis - 1) / ess_squares)) * len(runs)
    off = _off(mean, sd, truth)
    errors = np.max(sd / np.abs(mean) / np.sqrt(ess)), np.max(np.sqrt((kurtosis - 1) / 4 / ess_squares))
    biased = any(distance > 0.01 + 4 * error for distance, error in zip(off, errors, strict=True))
    usual = total / len(runs)
    return {
        "rate": float(ess.min()) / total,
        "to_1pct": None if biased or math.isnan(share) else usual * (first.warmup + (1 - first.warmup) * float(share)),
        "iac": float(np.mean([[integrated_autocorrelation(chain) for chain in pair[0]] for pair in each])),
        **steps,
        **_named(off, truth),
        "error_mean": float(errors[0]),
        "error_sd": float(errors[1]),
    }


def _off(mean: np.ndarray, sd: np.ndarray, truth: Truth | None) -> tuple[float, float]:
    if truth is None:
        return 0.0, 0.0
    return float(np.max(np.abs(mean / truth.mean - 1))), float(np.max(np.abs(sd / truth.sd - 1)))


def _named(off: tuple[float, float], truth: Truth | None) -> dict[str, float]:
    return {} if truth is None else {"off_mean": off[0], "off_sd": off[1]}
