"""How well chains have mixed, as the paper computes it and as the field does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
#: Sokal's window constant, the paper's
_C = 6.0


def autocorrelation(chain: Any, lags: int | None = None) -> Floats:
    """ρ(0), ρ(1), …, of one chain, by FFT; NaN if it never moved.

    >>> import numpy as np
    >>> autocorrelation(np.array([1.0, 0.0, 1.0, 0.0]), 1)
    array([ 1.  , -0.75])
    """
    x = np.asarray(chain, dtype=np.float64)
    size = x.size
    centred = x - x.mean()
    spectrum = np.fft.rfft(centred, 2 * size)
    covariance = np.fft.irfft(np.abs(spectrum) ** 2, 2 * size)[:size] / size
    with np.errstate(invalid="ignore", divide="ignore"):
        found: Floats = np.where(covariance[0] > 0, covariance / covariance[0], np.nan)
    return found[: None if lags is None else lags + 1]


def integrated_autocorrelation(chain: Any) -> float:
    """Sokal's windowed estimate of the integrated autocorrelation time, with c = 6.

    τ(m) = 1 + 2 Σ_{k≤m} ρ(k) at the first m with τ(m) < 2(m + 1)/c. NaN for a chain that never moved, or that is too
    short for any window.
    """
    rho = autocorrelation(chain)
    tau = 2.0 * np.cumsum(rho) - 1.0
    short = np.flatnonzero(tau < 2.0 * (np.arange(tau.size) + 1.0) / _C)
    return float(tau[short[0]]) if short.size else float("nan")


@dataclass(frozen=True)
class Diagnostics:
    """Per parameter: effective sample size, R-hat and integrated autocorrelation time; and the acceptance rate."""

    ess: Mapping[str, Any]
    r_hat: Mapping[str, Any]
    iac: Mapping[str, Any]
    acceptance: float
    #: the variance of the log-likelihood estimate at a central θ, where one is used
    log_likelihood_variance: float | None = None
    warnings: tuple[str, ...] = field(default=())
    #: where the central limit theorem was used, about how far it is off: the largest relative change of a density of
    #: what was published, two standard deviations from its mean, by the first correction of Edgeworth
    clt: float | None = None

    def __str__(self) -> str:
        rows = [
            f"  {name}: ESS {np.min(self.ess[name]):,.0f}, R-hat {np.max(self.r_hat[name]):.3f}, "
            f"IAC {np.max(self.iac[name]):.2f}"
            for name in self.ess
        ]
        if self.clt is not None:
            rows.append(f"  the central limit theorem is off by about {self.clt:.1g}, relative, at two sd")
        return "\n".join([*rows, f"  acceptance {self.acceptance:.2f}", *(f"  warning: {w}" for w in self.warnings)])


def diagnose(draws: Mapping[str, Floats], acceptance: float, variance: float | None, notes: list[str]) -> Diagnostics:
    """Diagnostics of draws (chain, draw, …), with warnings in words."""
    from numpyro.diagnostics import effective_sample_size, split_gelman_rubin

    ess, r_hat, iac = {}, {}, {}
    for name, chains in draws.items():
        columns = chains.reshape(*chains.shape[:2], -1)
        moved = np.ptp(columns, axis=1).min() > 0
        long = chains.shape[1] >= 4
        per = range(columns.shape[-1])
        ess[name] = _squeeze([effective_sample_size(columns[..., j]) if moved and long else np.nan for j in per])
        r_hat[name] = _squeeze([split_gelman_rubin(columns[..., j]) if moved and long else np.nan for j in per])
        iac[name] = _squeeze([np.mean([integrated_autocorrelation(c) for c in columns[..., j]]) for j in per])
    warnings = [*notes, *_warnings(draws, ess, r_hat, acceptance, variance)]
    return Diagnostics(ess, r_hat, iac, float(acceptance), variance, tuple(warnings))


def independent(draws: Mapping[str, Floats], notes: list[str]) -> Diagnostics:
    """Diagnostics of draws that are independent by construction."""
    one = {name: chains.shape[0] * chains.shape[1] for name, chains in draws.items()}
    ones = dict.fromkeys(draws, 1.0)
    return Diagnostics({name: float(size) for name, size in one.items()}, ones, ones, 1.0, None, tuple(notes))


def _squeeze(values: list[Any]) -> Any:
    return float(values[0]) if len(values) == 1 else np.asarray(values, dtype=np.float64)


def _warnings(
    draws: Mapping[str, Floats],
    ess: Mapping[str, Any],
    r_hat: Mapping[str, Any],
    acceptance: float,
    variance: float | None,
) -> list[str]:
    said = []
    for name, chains in draws.items():
        if np.any(np.isnan(ess[name])):
            said.append(f"a chain of {name} never moved, or is too short to judge: run longer, or change the walk")
            continue
        if np.any(np.asarray(r_hat[name]) > 1.01):
            said.append(
                f"R-hat of {name} is {np.max(r_hat[name]):.3f}: the chains disagree; run longer (warmup=, draws=)"
            )
        if np.any(np.asarray(ess[name]) < 100 * chains.shape[0]):
            said.append(f"only {np.min(ess[name]):.0f} effective draws of {name}: run longer (draws=)")
    if not 0.05 <= acceptance <= 0.95:
        said.append(f"acceptance is {acceptance:.2f}: the walk is too {'long' if acceptance < 0.5 else 'short'}")
    if variance is not None and variance > 3.0:
        said.append(
            f"the variance of the log-likelihood estimate is {variance:.1f}: "
            "use more copies (copies=), or method='mhaar'"
        )
    return said
